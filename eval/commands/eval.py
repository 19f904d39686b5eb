"""`guandan eval AGENT`: an agent against the standard opponents, on a fixed suite of deals."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents import describe
from eval.benchmark import Benchmark, identities, progress_of
from eval.commands.match import SIGNIFICANT, keep_faults
from eval.duplicate import Pairs
from eval.faults import AgentFaultError
from eval.identity import Identity
from eval.match import figures
from eval.store import STANDARD, STORE, Store, versions
from eval.suites import DEFAULT, SUITES, find_suite
from eval.tables import Table
from guandan_env.errors import GuandanError

if TYPE_CHECKING:
    from eval.report import Report


def main(argv: list[str]) -> int:
    """Play and print the agent's row, or JSON; returns the exit status."""
    args = _parser().parse_args(argv)
    if args.suites:
        print_suites(args.json)
        return 0
    if args.agent is None:
        raise GuandanError("guandan eval needs an agent, such as greedy, or --suites")
    benchmark = benchmark_of(args)
    report = None
    if args.report is not None:
        from eval.report import Report

        report = Report(args.report)
    agent, *opponents = identities([args.agent, *STANDARD])
    store = Store(args.store, create=True)
    played = _play(benchmark, agent, opponents, store, not args.json)
    rows = [figures(benchmark.match(agent.spec, b.spec), pairs, None) for b, pairs in played]
    result = {
        "agent": agent.spec,
        "version": agent.version,
        "files": agent.files,
        "suite": benchmark.suite.name,
        "suite_sha256": benchmark.suite.sha256,
        "versions": versions(),
        "opponents": rows,
    }
    page = _write(report, benchmark, agent, played, ["guandan", "eval", *argv]) if report else None
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        table_of(agent, benchmark, rows).show()
        whole = sum(len(pairs) == benchmark.deals for _, pairs in played)
        print(f"Kept in {args.store}: {whole} of {len(opponents)} matches.")
        if page is not None:
            print(f"Report: {page}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan eval",
        allow_abbrev=False,
        description=f"The agent plays {', '.join(STANDARD)} on a fixed suite of deals, each deal "
        "from both sides, so that numbers of different people compare. What comes out is kept in "
        "an append-only store, from which `guandan leaderboard` makes its tables. Ctrl-C ends it "
        "early and prints what is known by then; the store gets whole matches only.",
        epilog="agents: "
        + "; ".join(f"{name} ({text})" for name, text in describe().items())
        + "; module:Class of your own in the current folder",
    )
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="an agent, such as greedy")
    parser.add_argument("--suites", action="store_true", help="list the suites and do no more")
    add_options(parser)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that `guandan eval` and `guandan leaderboard` have in common."""
    parser.add_argument("--suite", default=DEFAULT, help=f"the deals (default {DEFAULT})")
    parser.add_argument("--deals", type=int, help="the first so many (default: all of the suite)")
    parser.add_argument("--workers", type=int, default=1, help="processes to play in (default 1)")
    parser.add_argument(
        "--illegal-play",
        choices=("error", "pass", "forfeit"),
        default="error",
        help="what the fault of an agent leads to (default: the match stops)",
    )
    parser.add_argument(
        "--store", type=Path, default=Path(STORE), metavar="FILE", help=f"default {STORE}"
    )
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write a page with plots to a new folder"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")


def benchmark_of(args: argparse.Namespace) -> Benchmark:
    """How the arguments say that agents are compared; the suite's deals are verified."""
    suite = find_suite(args.suite)
    deals = suite.count if args.deals is None else args.deals
    if args.workers < 1:
        raise GuandanError(f"--workers is {args.workers}; 1 or more are allowed")
    return Benchmark(suite, deals, args.illegal_play, args.workers)


def print_suites(as_json: bool) -> None:
    """Print what suites there are."""
    if as_json:
        print(json.dumps([vars(suite) for suite in SUITES.values()]))
        return
    for suite in SUITES.values():
        levels = "random levels" if suite.level is None else f"level {suite.level}"
        print(
            f"{suite.name}: {suite.count:,} deals, rules {suite.rules}, {levels}, "
            f"seed {suite.seed}\n  SHA-256 {suite.sha256}"
        )


def play_match(
    benchmark: Benchmark, a: Identity, b: Identity, store: Store, show_progress: bool
) -> Pairs:
    """Play one match into the store; faults are kept in the file of faults."""
    what = f"{a.spec} against {b.spec}"
    try:
        # What agents print is no result.
        with redirect_stdout(sys.stderr), progress_of(benchmark.deals, what, show_progress) as told:
            pairs, _ = benchmark.play(a, b, store, told)
    except AgentFaultError as error:
        raise GuandanError(f"{error} ({keep_faults([error.fault])})") from error
    faults = [fault for fault in pairs.faults if fault.record]
    if faults:
        print(f"{what}: failures; {keep_faults(faults)}", file=sys.stderr)
    return pairs


Played = list[tuple[Identity, Pairs]]


def _play(
    benchmark: Benchmark, agent: Identity, opponents: Sequence[Identity], store: Store, show: bool
) -> Played:
    played: Played = []
    try:
        for opponent in opponents:
            if opponent == agent:
                continue  # exactly even, by construction
            pairs = play_match(benchmark, agent, opponent, store, show)
            if len(pairs) >= 2:
                played.append((opponent, pairs))
            if len(pairs) < benchmark.deals:
                break
    except KeyboardInterrupt:  # before anything of this match was known
        pass
    if not played:
        raise KeyboardInterrupt
    return played


def table_of(agent: Identity, benchmark: Benchmark, rows: Sequence[dict[str, Any]]) -> Table:
    """The agent's row: one line an opponent."""
    lines = []
    for row in rows:
        a, b = row["a"], row["b"]
        (low, high), (few, many) = row["deal_win_rate_ci"], row["level_gain_ci"]
        lines.append(
            (
                b,
                f"{row['deals']:,}",
                f"{100 * row['deal_win_rate']:.1f} ± {50 * (high - low):.1f}%",
                f"{row['level_gain']:+.2f} ± {(many - few) / 2:.2f}",
                f"{row['p_value']:.2g}" + ("" if row["p_value"] < SIGNIFICANT else " (luck?)"),
                f"{row['failures'][a]} / {row['failures'][b]}",
                f"{row['decisions_per_second'][a]:,.0f}",
            )
        )
    columns = ("against", "deals", "won", "levels", "p", "failures", "decisions/s")
    suite = benchmark.suite
    return Table(
        f"{agent} on {suite.name}",
        columns,
        lines,
        "Each deal is played from both sides; levels are those gained a deal; ± is half "
        "the 95% interval, p of a paired "
        f"permutation test; failures of it / of the other. Deals: SHA-256 {suite.sha256[:16]}…",
    )


def _write(
    report: Report, benchmark: Benchmark, agent: Identity, played: Played, command: Sequence[str]
) -> Path:
    from eval.report import Part, facts_of, match_part

    parts: list[Part] = []
    rows = []
    for opponent, pairs in played:
        match = benchmark.match(agent.spec, opponent.spec)
        rows.append(figures(match, pairs, None))
        links = report.replays(match, pairs.gain, f"against-{len(parts) + 1}")
        parts.append(match_part(match, pairs, None, links))
    summary = Part("Summary", [table_of(agent, benchmark, rows)])
    suite = benchmark.suite
    facts = facts_of(
        suite=suite.name, SHA_256=suite.sha256, rules=suite.rules, seed=suite.seed, agent=agent,
        **{opponent.spec: opponent for opponent, _ in played},
    )  # fmt: skip
    return report.write(f"{agent.spec} on {suite.name}", [summary, *parts], command, facts)
