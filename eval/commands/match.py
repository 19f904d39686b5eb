"""`guandan match A B`: two agents on the same deals, sides exchanged."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from agents import describe, make
from eval.duplicate import Duplicate, play_duplicate
from eval.statistics import paired_mean, sign_flip_p
from guandan_env.cards import parse_rank
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet

SIGNIFICANT = 0.05


def main(argv: list[str]) -> int:
    """Play a match and print its table, or JSON; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan match",
        allow_abbrev=False,
        description="Two agents play every deal twice, the second time with the sides exchanged.",
        epilog="agents: "
        + "; ".join(f"{name} ({text})" for name, text in describe().items())
        + "; module:Class of your own in the current folder",
    )
    parser.add_argument("a", metavar="A", help="an agent, such as greedy")
    parser.add_argument("b", metavar="B", help="the agent it plays against")
    parser.add_argument(
        "--deals", type=int, default=1000, help="distinct deals, each played twice (default 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    parser.add_argument("--rules", default="default", help="a preset; `guandan rules` lists them")
    parser.add_argument("--level", help="play this level, 2…A (default: a random one each deal)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")
    args = parser.parse_args(argv)
    result = run_match(
        args.a,
        args.b,
        deals=args.deals,
        seed=args.seed,
        rules=args.rules,
        level=args.level,
        show_progress=not args.json,
    )
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        print_result(result)
    return 0


def run_match(
    a: str,
    b: str,
    *,
    deals: int,
    seed: int = 0,
    rules: str = "default",
    level: str | None = None,
    show_progress: bool = False,
) -> dict[str, Any]:
    """Play two specs against each other; the result is what `--json` prints (see `summary`)."""
    if deals < 2:
        raise GuandanError(f"--deals is {deals}; 2 or more are allowed")
    if level is not None:
        parse_rank(level)
    rule_set = RuleSet.preset(rules)
    agents = make(a), make(b)
    if show_progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Progress is no result: it does not belong into a file that standard output goes to.
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(f"{a} against {b}", total=2 * deals)
            played = play_duplicate(
                *agents,
                deals,
                rules=rule_set,
                seed=seed,
                level=level,
                progress=lambda done: bar.update(task, completed=done),
            )
    else:
        played = play_duplicate(*agents, deals, rules=rule_set, seed=seed, level=level)
    return {
        "a": a,
        "b": b,
        "deals": deals,
        **summary(played, seed),
        "decisions_per_second": _speeds(a, b, played),
        "rules": rules,
        "seed": seed,
        "level": level,
    }


def summary(played: Duplicate, seed: int) -> dict[str, Any]:
    """Rates and gains of a's side with 95% intervals over pairs, and the p-value.

    The p-value is that of level gains: how often flipping the sign of each pair's mean at random
    gives a mean at least as far from zero.
    """
    wins = paired_mean(played.won.mean(axis=1))
    gains = played.gain.astype(np.float64).mean(axis=1)
    gain = paired_mean(gains)
    return {
        "deal_win_rate": wins.mean,
        "deal_win_rate_ci": [max(0.0, wins.low), min(1.0, wins.high)],
        "level_gain": gain.mean,
        "level_gain_ci": [gain.low, gain.high],
        "double_down_rate": float(played.double_down.mean()),
        "p_value": sign_flip_p(gains, np.random.default_rng(abs(seed))),
    }


def print_result(result: dict[str, Any]) -> None:
    """Print a match's result as a table for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    a, b, deals = result["a"], result["b"], result["deals"]
    level = f"level {result['level']}" if result["level"] else "random levels"
    table = Table(
        "",
        "of " + a,
        "95% interval",
        title=Text(f"{a} against {b}: {deals:,} deals, each played from both sides"),
        caption=Text(f"rules {result['rules']}, {level}, seed {result['seed']}"),
    )
    low, high = result["deal_win_rate_ci"]
    table.add_row("deals won", f"{result['deal_win_rate']:.1%}", f"{low:.1%} … {high:.1%}")
    low, high = result["level_gain_ci"]
    gain = f"{result['level_gain']:+.3f}"
    table.add_row("levels gained a deal", gain, f"{low:+.3f} … {high:+.3f}")
    table.add_row("won by double-down", f"{result['double_down_rate']:.1%}", "")
    console = Console()
    console.print(table)
    p = result["p_value"]
    verdict = "significant" if p < SIGNIFICANT else "not significant"
    console.print(Text(f"The difference is {verdict} (paired permutation test, p = {p:.2g})."))
    speeds = ", ".join(f"{n} {v:,.0f}" for n, v in result["decisions_per_second"].items())
    console.print(Text(f"Decisions a second: {speeds}."))


def _speeds(a: str, b: str, played: Duplicate) -> dict[str, float]:
    """Decisions per second of thinking by agent; an agent against itself has one entry."""
    if a == b:
        return {a: float(played.decisions.sum() / played.seconds.sum())}
    speed = played.decisions / played.seconds
    return {a: float(speed[0]), b: float(speed[1])}
