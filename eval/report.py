"""Reports: a folder with one web page that needs no network, and replays beside it."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from agents.process_agent import close, make_under
from eval import plots
from eval.crosstable import Duel
from eval.duplicate import Pairs, play_pairs
from eval.identity import identify
from eval.match import Match
from eval.starts import Starts, starts
from eval.statistics import Estimate, paired_mean, paired_rate
from eval.tables import Table
from guandan_env import __version__
from guandan_env.aside import written_aside
from guandan_env.cards import RANKS
from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError, shown
from guandan_env.record_file import write_records
from guandan_env.replay_html import replay_page

Float = NDArray[np.float64]

LOPSIDED = 3  # deals with replays, of each side
_AUDITS = {
    "bombs_over_partner": "bombs over the partner's play, a deal",
    "wilds_left": "wild cards left at the end, a deal",
}
_EDGES = (-7, -4, -1, 2, 5, 8)  # of groups by strength: each begins at one of these
_GROUPS = ("≤ -8", "-7 … -5", "-4 … -2", "-1 … 1", "2 … 4", "5 … 7", "≥ 8")


class ReportError(GuandanError):
    """A folder that a report cannot be written to."""


@dataclass(frozen=True)
class Picture:
    """An SVG text and what is seen on it."""

    caption: str
    svg: str

    @property
    def markup(self) -> Markup:
        """The SVG as it stands in the page: our own, made by `eval.plots`."""
        return Markup(self.svg)


@dataclass(frozen=True)
class Part:
    """A chapter of a page. links: `(text, address)` of replays."""

    title: str
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    links: Sequence[tuple[str, str]] = ()


class Report:
    """A report in a folder that is new or empty, made ready before anything is played."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            full = any(self.folder.iterdir())
        except OSError as error:
            raise ReportError(
                f"--report {shown(str(folder))}: {error.strerror or error}; a folder that is new "
                "or empty is allowed"
            ) from error
        if full:
            raise ReportError(
                f"--report {shown(str(folder))} is not empty; a folder that is new or empty is "
                "allowed"
            )

    def write(
        self,
        title: str,
        parts: Sequence[Part],
        command: Sequence[str],
        facts: Mapping[str, object],
    ) -> Path:
        """Write the page; `command` repeats it, `facts` are versions and the like."""
        environment = jinja2.Environment(
            autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        source = (files("eval") / "templates" / "report.html").read_text(encoding="utf-8")
        page = environment.from_string(source).render(
            title=title, parts=parts, command=shlex.join(command), facts=facts
        )
        path = self.folder / "index.html"
        try:
            with written_aside(path) as file:
                file.write(page.encode("utf-8", "replace"))
        except OSError as error:
            raise ReportError(f"{str(path)!r}: {error.strerror or error}") from error
        return path

    def write_match(
        self, match: Match, deals: Pairs | None, games: Pairs | None, command: Sequence[str]
    ) -> Path:
        """Write the page of one match, in deals, games or both."""
        links = [] if deals is None else self.replays(match, deals.gain)
        terms = match.terms
        facts = facts_of(rules=terms.rules.name, seed=terms.seed, level=terms.level or "random")
        for spec in dict.fromkeys((match.a, match.b)):
            facts[f"agent {spec}"] = identify(spec)
        title = f"{match.a} against {match.b}"
        return self.write(title, [match_part(match, deals, games, links)], command, facts)

    def replays(
        self, match: Match, gain: NDArray[np.floating], name: str = "match"
    ) -> list[tuple[str, str]]:
        """Play the most lopsided deals again, with records: links to the pages of their replays.

        gain: `(n, 2)`, what a won in each deal and leg of the match. Of equal deals the first.
        name: what the files' names begin with.
        """
        total = gain.sum(axis=1)
        order = np.argsort(total, kind="stable"), np.argsort(-total, kind="stable")
        chosen = [k for k in order[1][:LOPSIDED] if total[k] > 0]
        chosen += [k for k in order[0][:LOPSIDED] if total[k] < 0]
        terms = replace(match.terms, record=True)
        with ExitStack() as stack:
            agents: list[Agent] = []
            for spec in (match.a, match.b):
                agents.append(make_under(spec, terms.conduct))
                stack.callback(close, agents[-1])
            again = {
                int(k): play_pairs(agents[0], agents[1], int(k), 1, terms).records[0]
                for k in chosen
            }
        links = []
        kept: list[dict[str, Any]] = []
        for k, records in again.items():
            kept += records
            page = f"{name}-deal-{k}.html"
            with written_aside(self.folder / page) as file:
                file.write(replay_page(enumerate(records, 1)).encode())
            winner = match.a if total[k] > 0 else match.b
            links.append((f"deal {k}: {winner} wins {abs(total[k]):g} levels in both legs", page))
        if kept:
            write_records(self.folder / f"{name}-deals.jsonl", kept)
        return links


# ---------------------------------------------------------------------- chapters


def match_part(
    match: Match, deals: Pairs | None, games: Pairs | None, links: Sequence[tuple[str, str]] = ()
) -> Part:
    """The chapter of one match: figures, plots, what the play shows, replays."""
    tables, pictures = [], []
    if deals is not None:
        won, gain = deals.won, deals.gain.astype(np.float64)
        tables.append(_deal_table(match.a, won, gain, deals.double_down.astype(np.float64)))
        audit = {text: getattr(deals, name).mean(axis=(0, 1)) for name, text in _AUDITS.items()}
        tables.append(_audit_table(match.a, match.b, audit, deals.decisions, deals.seconds,
                                   deals.failures))  # fmt: skip
        pictures += deal_pictures(match.a, won, gain, starts(match.terms, len(deals)))
    if games is not None:
        rate, length = paired_rate(games.won.mean(axis=1)), paired_mean(games.deals.mean(axis=1))
        rows = [
            _row("games won", rate, ".1%"),
            _row("deals a game", length, ".1f"),
        ]
        title = f"{len(games):,} games, each played from both sides"
        tables.append(Table(title, ("", f"of {match.a}", "95% interval"), rows))
        values = games.won.mean(axis=1)
        pictures.append(Picture(f"Games won by {match.a}", plots.running(values, 0.5, "games won")))
        if deals is None:
            tables.append(_audit_table(match.a, match.b, {}, games.decisions, games.seconds,
                                       games.failures))  # fmt: skip
    return Part(f"{match.a} against {match.b}", tables, pictures, links)


def played_table(a: str, b: str, duel: Duel) -> Table:
    """What a stored match says of how its agents played."""
    audit = {text: duel.figure(name) for name, text in _AUDITS.items()}
    decisions, seconds, failures = (
        np.array(duel.figure(name)) for name in ("decisions", "seconds", "failures")
    )
    return _audit_table(a, b, audit, decisions, seconds, failures)


def deal_pictures(a: str, won: Float, gain: Float, begun: Starts) -> list[Picture]:
    """What is to be seen of a's deals: the running estimates, and where it wins."""
    rates = won.mean(axis=1)
    by_level = [_rate_of(rates[begun.level == level]) for level in range(len(RANKS))]
    # Of the side of a, which is that of seats 0 and 2 in leg 0 and the other in leg 1.
    balance = begun.balance[:, None] * np.array([1, -1])
    group = np.searchsorted(_EDGES, balance, side="right")
    by_strength = [_rate_of(_mean_where(won, group == g)) for g in range(len(_GROUPS))]
    return [
        Picture(
            f"Deals won by {a}, as pairs were added; the band is the 95% interval",
            plots.running(rates, 0.5, "deals won"),
        ),
        Picture(
            f"Levels gained by {a} a deal, as pairs were added",
            plots.running(gain.mean(axis=1), 0.0, "levels a deal"),
        ),
        Picture(
            f"Deals won by {a} at each level, with 95% intervals",
            plots.groups(list(RANKS), by_level, "level"),
        ),
        Picture(
            f"Deals won by {a} by how much stronger its starting hands were: big jokers, wild "
            "cards and ranks of four or more count two points, small jokers and other cards of the "
            "level one",
            plots.groups(_GROUPS, by_strength, "points of its side less those of the other"),
        ),
    ]


def _mean_where(values: Float, chosen: NDArray[np.bool_]) -> Float:
    """The mean of each pair's chosen legs, of the pairs that have any."""
    count = chosen.sum(axis=1)
    total = np.where(chosen, values, 0).sum(axis=1)
    result: Float = total[count > 0] / count[count > 0]
    return result


def _rate_of(values: Float) -> Estimate | None:
    return paired_rate(values) if len(values) >= 2 else None


def _row(name: str, estimate: Estimate, form: str) -> tuple[str, str, str]:
    interval = f"{estimate.low:{form}} … {estimate.high:{form}}"
    return name, f"{estimate.mean:{form}}", interval


def _deal_table(a: str, won: Float, gain: Float, double_down: Float) -> Table:
    rows = [
        _row("deals won", paired_rate(won.mean(axis=1)), ".1%"),
        _row("levels gained a deal", paired_mean(gain.mean(axis=1)), "+.3f"),
        _row("won by double-down", paired_rate(double_down.mean(axis=1)), ".1%"),
    ]
    title = f"{len(won):,} deals, each played from both sides"
    return Table(title, ("", f"of {a}", "95% interval"), rows)


def _audit_table(
    a: str,
    b: str,
    figures: Mapping[str, Iterable[float]],
    decisions: NDArray[np.number],
    seconds: Float,
    failures: NDArray[np.number],
) -> Table:
    rows = [(name, *(f"{value:.3f}" for value in both)) for name, both in figures.items()]
    speed = decisions / np.maximum(seconds, 1e-9)
    rows.append(("decisions a second", *(f"{value:,.0f}" for value in speed)))
    rows.append(("failures", *(f"{value:,}" for value in failures)))
    return Table("How they played", ("", a, b), rows)


def facts_of(**more: object) -> dict[str, object]:
    """What a page says of how its numbers came about."""
    return {**more, "guandan": __version__, "Python": platform.python_version(),
            "NumPy": np.__version__}  # fmt: skip
