"""`guandan match A B`: two agents on the same deals, sides exchanged."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from itertools import chain
from pathlib import Path
from typing import Any

from agents import describe
from eval.duplicate import Pairs, Terms
from eval.faults import AgentFaultError, Fault
from eval.match import Match, figures, of_games
from eval.sequential import ALPHA
from eval.statistics import SMALLEST_P
from guandan_env.cards import parse_rank
from guandan_env.checks import check_seed
from guandan_env.errors import GuandanError
from guandan_env.record_file import RecordWriter
from guandan_env.record_shape import RecordError
from guandan_env.rules_file import HELP, load_rules

SIGNIFICANT = 0.05
DEALS = 1000
FAULTS = "guandan-faults.jsonl"


def main(argv: list[str]) -> int:
    """Play a match and print its table, or JSON; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.deals is None:
        args.deals = 0 if args.games else DEALS
    match = match_of(args)
    report = None
    if args.report is not None:
        # Imported here: most matches do without plots.
        from eval.report import Report

        report = Report(args.report)
    try:
        # What agents print is no result.
        with redirect_stdout(sys.stderr):
            deals, games, result = run_match(match, args.games, not args.json, args.record)
    except AgentFaultError as error:
        raise GuandanError(f"{error} ({keep_faults([error.fault])})") from error
    faults = [fault for pairs in (deals, games) if pairs for fault in pairs.faults if fault.record]
    kept = keep_faults(faults) if faults else ""
    page = report and report.write_match(match, deals, games, ["guandan", "match", *argv])
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        print_result(result, deals, games)
        if kept:
            print(kept[0].upper() + kept[1:] + ".")
        if page is not None:
            print(f"Report: {page}")
    return 0


def keep_faults(faults: Sequence[Fault]) -> str:
    """Append the positions of faults to the file of faults; says where they are, or why not."""
    try:
        with RecordWriter(FAULTS, resume=True) as writer:
            for fault in faults:
                writer.write(fault.record)
    except RecordError as error:
        return f"the positions could not be kept: {error}"
    if len(faults) == 1:
        return f"the position is the last record of {FAULTS}"
    return f"the positions are the last {len(faults)} records of {FAULTS}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan match",
        allow_abbrev=False,
        description="Two agents play every deal twice, the second time with the sides exchanged. "
        "Ctrl-C ends the match early and prints what is known by then.",
        epilog="agents: "
        + "; ".join(f"{name} ({text})" for name, text in describe().items())
        + "; module:Class of your own in the current folder",
    )
    parser.add_argument("a", metavar="A", help="an agent, such as greedy")
    parser.add_argument("b", metavar="B", help="the agent it plays against")
    parser.add_argument(
        "--deals", type=int, help=f"distinct deals, each played twice (default {DEALS})"
    )
    parser.add_argument("--games", type=int, default=0, help="whole games, each played twice")
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    parser.add_argument("--rules", default="default", metavar="RULES", help=HELP)
    parser.add_argument("--level", help="play this level, 2…A (default: a random one each deal)")
    parser.add_argument("--workers", type=int, default=1, help="processes to play in (default 1)")
    parser.add_argument(
        "--until-significant",
        action="store_true",
        help=f"stop as soon as one is better at an error rate of {ALPHA:.0%}%, however often one "
        "looks; --deals or --games is then the most that is played",
    )
    parser.add_argument(
        "--illegal-play",
        choices=("error", "pass", "forfeit"),
        help="what the fault of an agent leads to (default: what the rules' conduct says; error, "
        "which stops the match, where it says nothing)",
    )
    parser.add_argument(
        "--move-time",
        type=float,
        metavar="SECONDS",
        help="time for a decision; agents of your own then run in processes of their own, which "
        "are ended when they take longer (default: what the rules' conduct says; most say nothing)",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write every deal to a file")
    parser.add_argument(
        "--choices",
        action="store_true",
        help="with what agents thought of their moves, where they can tell, for replays to show",
    )
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write a page with plots to a new folder"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")
    return parser


def match_of(args: argparse.Namespace) -> Match:
    """The match that the arguments describe, in deals; `GuandanError` where they make none."""
    for name in ("deals", "games"):
        if getattr(args, name) == 1 or getattr(args, name) < 0:
            raise GuandanError(f"--{name} is {getattr(args, name)}; 2 or more are allowed, or 0")
    if not args.deals and not args.games:
        raise GuandanError("--deals and --games are both 0; there is nothing to play")
    check_seed(args.seed)
    if args.choices and args.record is None:
        raise GuandanError("--choices goes into records: it needs --record FILE")
    if args.level is not None:
        parse_rank(args.level)
        if not args.deals:
            raise GuandanError("--level is the level of single deals, and --games alone plays none")
    rules, conduct = load_rules(args.rules)
    said = {"illegal_play": args.illegal_play, "move_time": args.move_time}
    conduct = conduct.replace(**{name: value for name, value in said.items() if value is not None})
    return Match(
        a=args.a,
        b=args.b,
        pairs=args.deals,
        terms=Terms(
            rules=rules,
            seed=args.seed,
            level=args.level,
            conduct=conduct,
            record=args.record is not None,
            choices=args.choices,
            context={"a": args.a, "b": args.b, "seed": args.seed},
        ),
        until=ALPHA if args.until_significant else None,
        workers=args.workers,
    )


def run_match(
    match: Match, games: int = 0, show_progress: bool = False, record: Path | None = None
) -> tuple[Pairs | None, Pairs | None, dict[str, Any]]:
    """Play the deals of a match, then `games` whole games: both, and what `--json` prints.

    Ctrl-C ends it with what is known by then; `KeyboardInterrupt` if that is nothing.
    """
    with ExitStack() as stack:
        writer = stack.enter_context(RecordWriter(record)) if record is not None else None

        def write(part: Pairs) -> None:
            if writer is not None:
                for record in chain.from_iterable(part.records):
                    writer.write(record)

        deals = _played(match, "deals", show_progress, write) if match.pairs else None
        played_games = None
        if games and (deals is None or match.is_whole(deals)):
            try:
                played_games = _played(of_games(match, games), "games", show_progress, write)
            except KeyboardInterrupt:
                if deals is None:
                    raise
    return deals, played_games, figures(match, deals, played_games)


def _played(match: Match, what: str, show_progress: bool, write: Any) -> Pairs:
    if not show_progress:
        return match.play(part_done=write)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining(),
        TextColumn("{task.fields[rate]}"),
    )  # fmt: skip
    # Progress is no result: it does not belong into a file that standard output goes to.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{match.a} against {match.b}, {what}", total=2 * match.pairs, rate="")
        return match.play(
            lambda done, rate: bar.update(task, completed=done, rate=f"{rate:.1%} won"), write
        )


def verdict(result: dict[str, Any]) -> str:
    """Whether the difference is more than luck, in words."""
    if (test := result["until_significant"]) is not None:
        rate = f"error rate {test['error_rate']:.0%}"
        if test["decided"]:
            return f"The difference is significant (sequential test, {rate})."
        return f"The difference is not significant so far (sequential test, {rate})."
    p = result["p_value"]
    word = "significant" if p < SIGNIFICANT else "not significant"
    sign = "≤" if p <= SMALLEST_P else "="
    return f"The difference is {word} (paired permutation test, p {sign} {p:.2g})."


def print_result(result: dict[str, Any], deals: Pairs | None, games: Pairs | None) -> None:
    """Print a match's result as a table for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    a, b = result["a"], result["b"]
    level = f"level {result['level']}" if result["level"] else "random levels"
    terms = [f"rules {result['rules']}", *([level] if result["deals"] else []),
             f"seed {result['seed']}"]  # fmt: skip
    played = [f"{result[k]:,} {k}" for k in ("deals", "games") if result[k]]
    table = Table(
        "",
        "of " + a,
        "95% interval",
        title=Text(f"{a} against {b}: {' and '.join(played)}, each played from both sides"),
        caption=Text(", ".join(terms)),
    )

    def row(name: str, key: str, form: str) -> None:
        if result.get(key) is not None:
            low, high = result.get(key + "_ci") or (None, None)
            interval = "" if low is None else f"{low:{form}} … {high:{form}}"
            table.add_row(name, f"{result[key]:{form}}", interval)

    row("deals won", "deal_win_rate", ".1%")
    row("levels gained a deal", "level_gain", "+.3f")
    row("won by double-down", "double_down_rate", ".1%")
    row("games won", "game_win_rate", ".1%")
    row("deals a game", "deals_per_game", ".1f")
    if deals is not None:
        firsts = zip(result["first_place_by_seat"], result["first_place_by_seat_ci"], strict=True)
        for seat, (share, (low, high)) in enumerate(firsts):
            table.add_row(f"first at seat {seat}", f"{share:.1%}", f"{low:.1%} … {high:.1%}")
    console = Console()
    console.print(table)
    console.print(Text(verdict(result)))
    speeds = ", ".join(f"{n} {v:,.0f}" for n, v in result["decisions_per_second"].items())
    console.print(Text(f"Decisions a second: {speeds}."))
    faults = [fault for pairs in (deals, games) if pairs for fault in pairs.faults]
    if faults:
        counts = ", ".join(f"{name} {count:,}" for name, count in result["failures"].items())
        console.print(Text(f"Failures: {counts}. The first: {faults[0]}.", style="bold red"))
