"""`guandan train`: learn by self-play."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from guandan_env.cli import EXIT_INTERRUPTED
from guandan_env.errors import GuandanError, nearest

if TYPE_CHECKING:
    from train.learner import Learner
    from train.run import Run

# learner: module, class of its settings, class
LEARNERS = {
    "ppo": ("train.ppo", "PPOConfig", "PPO"),
    "dqn": ("train.dqn", "DQNConfig", "DQN"),
    "dmc": ("train.dmc", "DMCConfig", "DMC"),
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
    from train.config import described, load
    from train.run import settings_of

    module, settings, learner = LEARNERS[args.algo]
    found = importlib.import_module(module)
    if args.settings:
        print(described(getattr(found, settings)))
        return 0
    out = args.out or Path("runs") / args.algo
    # A run that goes on has its settings, unless others are given.
    before = settings_of(out, args.algo) if args.resume and args.config is None else {}
    config = load(getattr(found, settings), args.config, args.set, before)
    if not train(getattr(found, learner)(config, out), args.resume):
        return EXIT_INTERRUPTED
    print(f"done; to see what it can do: guandan match {args.algo}:{out} greedy", file=sys.stderr)
    return 0


def train(learner: Learner, resume: bool) -> bool:
    """Train a learner with a progress bar; whether it came to its end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from train.run import Run

    console = Console(stderr=True, log_path=False)

    def said(text: str) -> None:
        console.log(text, highlight=False, markup=False)

    run = Run(learner, resume, said)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[now]}"),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{learner.kind} in {learner.folder}", total=1.0, now="")

        def told(at: Learner, figures: dict[str, float]) -> None:
            entropy = figures.get("losses/entropy")
            now = f"{at.moves:,} moves, {figures['charts/SPS']:,.0f}/s"
            now += f", entropy {entropy:.2f}" if entropy is not None else ""
            bar.update(task, completed=at.done, now=now)

        with _interrupts(run, said):
            finished = run.train(told)
    if not finished:
        said(f"stopped and saved; --resume goes on with {learner.folder}")
    return finished


@contextmanager
def _interrupts(run: Run, said: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C ends the run after the present update, the second at once."""

    def interrupted(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        said("stopping after this update; once more Ctrl-C stops at once and saves nothing")
        run.stop()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan train",
        allow_abbrev=False,
        description="Learn Guandan by self-play. Ctrl-C saves a checkpoint; --resume goes on.",
    )
    parser.add_argument("algo", metavar="ALGO", help=f"the learner: {', '.join(LEARNERS)}")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings in YAML; a run that goes on has its own, which FILE replaces",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change one setting"
    )
    parser.add_argument(
        "--settings",
        action="store_true",
        help="print every setting, as a file for --config: default, meaning, what is allowed",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="the run's folder (runs/ALGO)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    return parser
