"""`guandan equity`: what every standing of a game is worth, by an agent's play against itself."""

from __future__ import annotations

import argparse
from pathlib import Path

from agents import make
from eval.equity import MANNERS, Equity, check_rules, measure
from guandan_env.cards import RANKS
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet

GAMES = 2000


def main(argv: list[str]) -> int:
    """Measure, print and save; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.games < 1:
        raise GuandanError(f"--games is {args.games}; 1 or more are allowed")
    if args.seed < 0:
        raise GuandanError(f"--seed is {args.seed}; 0 or more is allowed")
    rules = RuleSet.preset(args.rules)
    check_rules(rules)
    if args.out is not None and (args.out.is_dir() or not args.out.parent.is_dir()):
        raise GuandanError(f"--out is {args.out}; a file in a folder that exists is allowed")
    if args.out is not None and args.out.exists():
        raise GuandanError(f"--out: {args.out} exists; nothing is written over")
    equity = _measured(args, rules)
    if args.out is not None:
        equity.save(args.out)
    if args.json:
        print(equity.to_json().decode())
    else:
        _print(equity, args.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan equity",
        allow_abbrev=False,
        description="An agent plays whole games against itself; from how its deals end follows "
        "the probability of winning the game at every standing. Training can be paid by it "
        "(reward: equity).",
    )
    parser.add_argument("agent", metavar="AGENT", help="an agent, such as planner")
    parser.add_argument("--rules", default="default", help="a preset; `guandan rules` lists them")
    parser.add_argument(
        "--games", type=int, default=GAMES, help=f"games to measure (default {GAMES})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="save the table")
    parser.add_argument("--json", action="store_true", help="print the saved form, no progress")
    return parser


def _measured(args: argparse.Namespace, rules: RuleSet) -> Equity:
    from rich.console import Console
    from rich.progress import Progress

    agent = make(args.agent)
    bar = Progress(console=Console(stderr=True), disable=args.json)
    with bar:
        task = bar.add_task(f"{agent.name} against itself", total=args.games)
        return measure(
            agent, rules, args.games, args.seed, lambda done: bar.update(task, completed=done)
        )


def _print(equity: Equity, out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    share = equity.counts / equity.counts.sum(axis=1, keepdims=True)
    ends = Table(title=f"How deals end: {equity.agent} against itself, rules {equity.rules.name}")
    ends.add_column("deal before won by")
    for manner in MANNERS:
        ends.add_column(manner, justify="right")
    ends.add_row("deals", *(f"{deals:,}" for deals in equity.counts.sum(axis=1)))
    results = [f"{side} {manner}" for side in ("declarers", "others") for manner in MANNERS]
    for result, row in zip(results, share.T, strict=True):
        ends.add_row(result, *(f"{p:.1%}" for p in row))
    console.print(ends)
    worth = Table(title="Probability (%) that the declarers win the game, after a double-down")
    worth.add_column("own level \\ theirs")
    for rank in RANKS:
        worth.add_column(rank, justify="right")
    for rank, row in zip(RANKS, equity.table[0, :, :, 0, 0], strict=True):
        worth.add_row(rank, *(f"{100 * p:.0f}" for p in row))
    console.print(worth)
    if out is not None:
        console.print(f"Saved to {out}.")
