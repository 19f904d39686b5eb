"""`guandan export AGENT [FILE] --onnx`: a trained agent as an ONNX model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from agents.registry import parse
from guandan_env.errors import GuandanError


def main(argv: list[str]) -> int:
    """Write the model and say what it takes; returns the exit status."""
    args = _parser().parse_args(argv)
    file: Path = args.file or Path(f"{parse(args.agent).kind}.onnx")
    if file.exists():
        raise GuandanError(f"{file} exists; nothing is written over")
    if not file.parent.is_dir():
        raise GuandanError(f"{file} cannot be written: {file.parent} is no folder")
    # Imported here: they take torch, which whoever asks for help or errs should not wait for.
    from agents import make
    from agents.onnx_file import export
    from agents.policy_net import TrainedPlayer

    agent = make(args.agent)
    if not isinstance(agent, TrainedPlayer):
        raise GuandanError(
            f"{args.agent!r} is no trained network; ppo:PATH, dqn:PATH and dmc:PATH are allowed"
        )
    described = export(agent.network, file, agent.about)
    if args.json:
        print(json.dumps(described, ensure_ascii=False))
        return 0
    print(f"{file}: {file.stat().st_size:,} bytes")
    for what in ("inputs", "outputs"):
        print(what)
        for name, text in described[what].items():
            print(f"  {name:12} {text}")
    print("the file's metadata, under the key 'guandan', say the same and more")
    print(f"to play it: guandan match onnx:{file} greedy")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan export",
        allow_abbrev=False,
        description="Write a trained agent as an ONNX model, which scores legal rows of any number "
        "of decisions at once and describes its inputs itself.",
    )
    parser.add_argument("agent", metavar="AGENT", help="such as ppo:pretrained or dmc:runs/dmc")
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="a new file; else the learner's name in the current folder, such as ppo.onnx",
    )
    parser.add_argument(
        "--onnx", action="store_true", help="the format: the only one, and so taken unasked"
    )
    parser.add_argument("--json", action="store_true", help="print the description as JSON")
    return parser
