"""`guandan curves`: the learning curves of runs in one picture."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from guandan_env.aside import written_aside
from guandan_env.errors import GuandanError
from train.curves import as_dict, draw, groups, opponents

KINDS = ("svg", "png")


def main(argv: list[str]) -> int:
    """Read, draw and save; returns the exit status."""
    args = _parser().parse_args(argv)
    kind = _kind(args.out) if args.out is not None else ""
    if args.out is None and not args.json:
        raise GuandanError("nothing is asked for: --out FILE draws, --json prints the numbers")
    found = groups(args.runs)
    chosen = opponents(found, args.against)
    numbers = as_dict(found, chosen)
    if args.out is not None:
        picture = draw(found, chosen, kind)
        try:
            with written_aside(args.out) as out:
                out.write(picture)
        except OSError as error:
            raise GuandanError(f"{args.out} cannot be written: {error.strerror}") from error
    if args.json:
        print(json.dumps({"curves": numbers}, ensure_ascii=False))
    else:
        print(f"{args.out}: {', '.join(group.label for group in found)} "
              f"against {', '.join(chosen)}")  # fmt: skip
    return 0


def _kind(out: Path) -> str:
    """The kind of picture that a file's name asks for."""
    kind = out.suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise GuandanError(f"--out is {out}; a name that ends in .svg or .png is allowed")
    return kind


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan curves",
        allow_abbrev=False,
        description="Draw the learning curves of runs: duplicate deals won in their evaluations, "
        "over moves and over hours. A run has a line with its 95% intervals; runs under one label, "
        "such as the seeds of one configuration, have their mean with their range.",
        epilog="example: guandan curves ppo=runs/a,runs/b,runs/c runs/dqn --out curves.svg",
    )
    parser.add_argument(
        "runs", nargs="+", metavar="RUN",
        help="the folder of a run, or a curve.csv; LABEL=RUN names it, LABEL=RUN,RUN,… joins runs",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="the picture, .svg or .png")
    parser.add_argument(
        "--against", action="append", default=[], metavar="AGENT",
        help="only evaluations against this agent; may be given again (default: all but best)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser
