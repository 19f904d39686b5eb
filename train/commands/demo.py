"""`guandan demo`: a short match of the two simplest agents, a deal to read, and PPO that learns."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents import make
from agents.answers import require
from eval.commands.match import print_result, run_match
from eval.duplicate import Terms
from eval.match import Match
from guandan_env.checks import check_seed
from guandan_env.decisions import Agent
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.render_deal import deal_lines

if TYPE_CHECKING:
    from train.ppo import PPO

FIRST, SECOND = "greedy", "random"
MINUTES = 2.0
# A small network, small batches and large steps: what rises soon, not what gets furthest. They
# stand here, not in a file of settings, as wheels come without configs.
SETTINGS: dict[str, Any] = {
    "moves": 3_000_000,  # where the rates below end; the demo stops long before
    "threads": 1,
    "tables": 128,
    "steps": 48,
    "width": 128,
    "blocks": 1,
    "candidate_width": 48,
    "row_width": 16,
    "critic_width": 96,
    "critic_blocks": 1,
    "trace": 0.9,
    "epochs": 3,
    "minibatch": 512,
    "minibatch_end": 2048,
    "lr": 5e-4,
    "lr_end": 5e-5,
    "critic_lr": 2e-3,
    "critic_lr_end": 2e-4,
    "average": 0.5,
    "target_kl": 0.05,
    "eval_every": 4,
    "eval_deals": 60,
    "eval_against": [FIRST],
    "checkpoint_minutes": 1.0,
}
# What the extra `train` brings; without it the demo ends with the deal.
_OF_TRAINING = ("torch", "tensorboard", "safetensors")


def main(argv: list[str]) -> int:
    """Play, print, train; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.deals < 2:
        raise GuandanError(f"--deals is {args.deals}; 2 or more are allowed")
    if not 0 <= args.minutes <= 1e4:
        raise GuandanError(f"--minutes is {args.minutes:g}; a number from 0 to 10,000 is allowed")
    check_seed(args.seed)
    if args.minutes and args.out is not None and (args.out.is_file() or _filled(args.out)):
        raise GuandanError(f"--out is {args.out}; a new or an empty folder is allowed")
    play(args.deals, args.seed, args.record)
    if args.minutes:
        print()
        try:
            _train(args)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in _OF_TRAINING:
                raise
            print(f"Training needs {package}, which is not installed: pip install 'guandan[train]'")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan demo",
        allow_abbrev=False,
        description=f"A duplicate match of {FIRST} and {SECOND}; one of its deals, written out as "
        "a person would read it; and PPO that begins with random weights and learns by playing "
        f"itself, with the deals it wins against {FIRST} as it learns.",
    )
    parser.add_argument(
        "--deals", type=int, default=2000, help="deals, each played twice (default 2000)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the deals, and of training (default 0)"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write every deal of the match to a new file"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help=f"of training, evaluations included; 0 for none (default {MINUTES:g})",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the training's folder (default: a temporary one)"
    )
    return parser


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


# ---------------------------------------------------------------------- playing


def play(deals: int, seed: int, record: Path | None) -> None:
    """The match and the deal."""
    from rich.console import Console

    console = Console(highlight=False)
    match = Match(FIRST, SECOND, deals, Terms(seed=seed, record=record is not None))
    pairs, games, result = run_match(match, show_progress=True, record=record)
    print_result(result, pairs, games)
    console.print(f"\nOne of these deals, with {FIRST} at seats 0 and 2:\n")
    color = console.is_terminal and console.color_system is not None
    print("\n".join(deal_in_words(seed, color=color)))


def deal_in_words(seed: int, deal: int = 0, *, color: bool = False) -> list[str]:
    """Deal `deal` of a match of `FIRST` (seats 0 and 2) and `SECOND`, written out line by line."""
    agents = [make(FIRST), make(SECOND)]
    engine = Engine(1, seed=seed, tables=np.array([deal]))
    names = [agent.name for agent in agents] * 2
    return list(deal_lines(_played(engine, agents), names, f"Deal {deal}", color=color))


def _played(engine: Engine, agents: Sequence[Agent]) -> Iterator[Engine]:
    """The engine as its deal begins and after each decision of two agents, side by side."""
    yield engine
    while not engine.state.over[0]:
        rows, cards = require(agents[int(engine.state.seat[0]) % 2], engine.decisions())
        engine.step(rows, cards)
        yield engine


# ---------------------------------------------------------------------- training


def _train(args: argparse.Namespace) -> None:
    """Train before the reader's eyes, and say how to go on."""
    # Imported here: without torch there is still a match to see.
    from train.live import watch

    learner = _learner(args.seed, args.out)
    print(
        f"Now {args.minutes:g} minutes of PPO, from nothing. A small network with random weights "
        "plays all four seats\nand learns from the levels that its deals bring; it imitates "
        f"nobody. It sees what each legal play\nwould leave in its hand. Now and then it plays "
        f"{SETTINGS['eval_deals']} deals against {FIRST}, each twice with the sides\nexchanged; "
        f"from those it does not learn. The run is in {learner.folder}\n"
    )
    watch(learner, FIRST, args.minutes)
    print(
        f"\nTo go on with it:        guandan train ppo --out {learner.folder} --resume\n"
        f"To play against it:      guandan play --agents ppo:{learner.folder}\n"
        f"To draw what you saw:    guandan curves {learner.folder} --out curve.svg"
    )


def _learner(seed: int, out: Path | None) -> PPO:
    from train.config import from_mapping
    from train.ppo import PPO, PPOConfig

    config = from_mapping(PPOConfig, {**SETTINGS, "seed": seed % 2**31}, "the demo")
    return PPO(config, out or Path(tempfile.mkdtemp(prefix="guandan-demo-")))
