"""`guandan leaderboard`: ratings of agents and who wins against whom, from the results store."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eval.benchmark import identities
from eval.commands.eval import add_options, benchmark_of, play_match
from eval.crosstable import CrossTable
from eval.leaderboard import as_json, by_rating, gain_table, rating_table, win_table
from eval.ratings import ANCHOR, Rating, rate
from eval.store import Store
from eval.suites import Suite
from guandan_env.checks import check_seed
from guandan_env.errors import GuandanError

if TYPE_CHECKING:
    from eval.report import Report

RESAMPLES = 1000


def main(argv: list[str]) -> int:
    """Print the tables, or JSON; returns the exit status."""
    args = _parser().parse_args(argv)
    check_seed(args.seed)
    if args.resamples < 100:
        raise GuandanError(f"--resamples is {args.resamples}; 100 or more are allowed")
    report = None
    if args.report is not None:
        from eval.report import Report

        report = Report(args.report)
    benchmark = benchmark_of(args)
    if args.agents:
        agents = identities([*args.agents, *([] if ANCHOR in args.agents else [ANCHOR])])
        store = Store(args.store, create=True)
        for i, j in benchmark.missing(agents, benchmark.known(store)):
            pairs = play_match(benchmark, agents[i], agents[j], store, not args.json)
            if len(pairs) < benchmark.deals:
                raise KeyboardInterrupt
        table = CrossTable(agents, benchmark.known(store))
    else:
        results = benchmark.known(Store(args.store))
        if not results:
            raise GuandanError(
                f"{str(args.store)!r} has no results on {benchmark.suite.name}; name agents to "
                "play: guandan leaderboard greedy planner"
            )
        table = CrossTable.of_all(results)
    ratings = rate(table, np.random.default_rng(args.seed), args.resamples)
    tables = [rating_table(table, ratings), win_table(table, ratings), gain_table(table, ratings)]
    page = None
    if report is not None:
        command = ["guandan", "leaderboard", *argv]
        page = _write(report, benchmark.suite, table, ratings, command)
    if args.json:
        about = {"suite": benchmark.suite.name, "suite_sha256": benchmark.suite.sha256}
        print(json.dumps({**about, **as_json(table, ratings)}, ensure_ascii=False))
    elif args.markdown:
        print(markdown(table, ratings), end="")
    else:
        for shown in tables:
            shown.show()
        if page is not None:
            print(f"Report: {page}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="guandan leaderboard",
        allow_abbrev=False,
        description="Ratings and the table of who wins how much against whom. Without agents: of "
        "all that the store has results of. With agents: of those and greedy, and what is missing "
        "is played first and kept.",
    )
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="an agent, such as planner")
    add_options(parser)
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default 0)")
    parser.add_argument(
        "--resamples", type=int, default=RESAMPLES, help=f"of the bootstrap (default {RESAMPLES})"
    )
    return parser


def markdown(table: CrossTable, ratings: list[Rating]) -> str:
    """The tables as Markdown, each under its title."""
    tables = (rating_table(table, ratings), win_table(table, ratings), gain_table(table, ratings))
    return "\n".join(f"{shown.title}:\n\n{shown.markdown()}" for shown in tables)


def _write(
    report: Report, suite: Suite, table: CrossTable, ratings: list[Rating], command: list[str]
) -> Path:
    from eval import plots
    from eval.report import Part, Picture, deal_pictures, facts_of, played_table
    from eval.starts import starts

    order = by_rating(ratings)
    ends = []
    for i in order:
        low, high = ratings[i].low, ratings[i].high
        # A bound has one end only: the other side of it is open.
        ends.append((ratings[i].points if low is None else low,
                     ratings[i].points if high is None else high))  # fmt: skip
    svg = plots.scale([table.labels[i] for i in order], [ratings[i].points for i in order], ends)
    parts = [
        Part(
            "Ratings",
            [rating_table(table, ratings), win_table(table, ratings), gain_table(table, ratings)],
            [Picture("Ratings with 95% intervals", svg)],
        )
    ]
    for place, i in enumerate(order):
        for j in order[place + 1 :]:
            duel = table.duels.get((i, j))
            if duel is not None:
                begun = starts(suite.terms(), duel.result.deals)
                parts.append(
                    Part(
                        f"{table.labels[i]} against {table.labels[j]}",
                        [played_table(table.labels[i], table.labels[j], duel)],
                        deal_pictures(table.labels[i], duel.won, duel.gain, begun),
                    )
                )
    facts = facts_of(suite=suite.name, SHA_256=suite.sha256, rules=suite.rules, seed=suite.seed)
    return report.write(f"Leaderboard on {suite.name}", parts, command, facts)
