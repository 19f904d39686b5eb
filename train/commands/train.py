"""`guandan train`: learn by self-play."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from guandan_env.errors import GuandanError, nearest

# learner: module, class of its settings, class
LEARNERS = {
    "ppo": ("train.ppo", "PPOConfig", "PPO"),
}


def main(argv: list[str]) -> int:
    """Train, with a progress bar; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.algo not in LEARNERS:
        raise GuandanError(
            f"unknown learner {args.algo!r}{nearest(args.algo, LEARNERS)}; "
            f"allowed: {', '.join(LEARNERS)}"
        )
    # Imported here: they take torch, which whoever asks for help or errs should not wait for.
    from train.config import load
    from train.run import Run

    module, settings, learner = LEARNERS[args.algo]
    found = importlib.import_module(module)
    config = load(getattr(found, settings), args.config, args.set)
    out = args.out or Path("runs") / args.algo
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    said = lambda text: console.log(text, highlight=False)  # noqa: E731
    run = Run(getattr(found, learner)(config, out), args.resume, said)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[now]}"),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{args.algo} in {out}", total=1.0, now="")

        def told(at, figures: dict[str, float]) -> None:
            entropy = figures.get("losses/entropy")
            now = f"{at.moves:,} moves, {figures['charts/SPS']:,.0f}/s"
            now += f", entropy {entropy:.2f}" if entropy is not None else ""
            bar.update(task, completed=at.done, now=now)

        run.train(told)
    console.print(f"done: guandan match {args.algo}:{out} greedy")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan train",
        allow_abbrev=False,
        description="Learn Guandan by self-play. Ctrl-C saves a checkpoint; --resume goes on.",
    )
    parser.add_argument("algo", metavar="ALGO", help=f"the learner: {', '.join(LEARNERS)}")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in YAML")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change one setting"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="the run's folder (runs/ALGO)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    return parser
