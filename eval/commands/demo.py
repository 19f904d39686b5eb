"""`guandan demo`: a short match of the two simplest agents, and one deal to read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from agents import make
from agents.answers import require
from eval.commands.match import print_result, run_match
from eval.duplicate import Terms
from eval.match import Match
from guandan_env.decisions import Agent
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.render_deal import deal_lines

FIRST, SECOND = "greedy", "random"


def main(argv: list[str]) -> int:
    """Play and print; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan demo",
        allow_abbrev=False,
        description=f"A duplicate match of {FIRST} and {SECOND}, then one of its deals, written "
        "out as a person would read it.",
    )
    parser.add_argument(
        "--deals", type=int, default=2000, help="deals, each played twice (default 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write every deal to a new file"
    )
    args = parser.parse_args(argv)
    if args.deals < 2:
        raise GuandanError(f"--deals is {args.deals}; 2 or more are allowed")
    from rich.console import Console

    console = Console(highlight=False)
    match = Match(FIRST, SECOND, args.deals, Terms(seed=args.seed, record=args.record is not None))
    deals, games, result = run_match(match, show_progress=True, record=args.record)
    print_result(result, deals, games)
    console.print(f"\nOne of these deals, with {FIRST} at seats 0 and 2:\n")
    color = console.is_terminal and console.color_system is not None
    print("\n".join(deal_in_words(args.seed, color=color)))
    return 0


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
