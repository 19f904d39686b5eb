"""The page of a competition: bracket, cross tables, standings, ratings, faults, replays.

It is one file that needs no network, written anew after each round; while games are played it
loads itself again from time to time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
import numpy as np

from eval.competition.elimination import Elimination, Repechage
from eval.competition.race import Race
from eval.competition.replays import replay_name
from eval.competition.results import DRAW, MatchResult, Pairing, Round
from eval.competition.running import Listener, Now
from eval.competition.scoring import Line
from eval.competition.strength import strengths
from guandan_env.aside import written_aside
from guandan_env.errors import GuandanError

FILE = "index.html"
MOST_CROSSED = 64  # entrants of a cross table; a larger one nobody reads
_REFRESH = 10  # seconds


@dataclass(frozen=True)
class Box:
    """A match as the page shows it. won: side, or None; link: to its replay, or empty."""

    names: tuple[str, str]
    scores: tuple[str, str]
    won: int | None
    label: str
    note: str
    link: str


@dataclass(frozen=True)
class Column:
    """A round."""

    title: str
    terms: str
    boxes: Sequence[Box]


@dataclass(frozen=True)
class Chapter:
    """A stage. bracket: whether its rounds are shown as one. Tables are rows of cells."""

    title: str
    bracket: bool
    columns: Sequence[Column]
    standings: Sequence[Sequence[str]]
    crosses: Sequence[tuple[str, Sequence[Sequence[str]]]]


@dataclass(frozen=True)
class Bar:
    """A rating on the scale of the page, in percent of its width."""

    name: str
    played_by: str
    points: str
    interval: str
    deals: str
    at: float
    low: float
    high: float


class Page(Listener):
    """Writes the page of a competition into its folder whenever there is something new.

    facts: versions and the like, shown at its end.
    """

    def __init__(self, folder: Path, facts: Mapping[str, str]) -> None:
        self.path = folder / FILE
        self._facts = facts
        environment = jinja2.Environment(
            autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        source = (files("eval") / "templates" / "competition.html").read_text(encoding="utf-8")
        self._template = environment.from_string(source)

    def drawn(self, now: Now, known: bool) -> None:
        """The draw is shown before the play."""
        self.write(now)

    def round_over(self, now: Now, lines: Sequence[Line]) -> None:
        """The results of a round, and what they lead to."""
        self.write(now)

    def write(self, now: Now) -> None:
        """Write the page as things stand; what stood there before is replaced at once."""
        competition = now.competition
        ranking = now.course.ranking(now.history) if now.history else []
        text = self._template.render(
            competition=competition,
            refresh=None if now.over else _REFRESH,
            present=None if now.present is None else now.present.round.name,
            ranking=self._table(now, ranking),
            chapters=self._chapters(now),
            ratings=self._ratings(now),
            faults=faults(now),
            facts={**self._facts, "seed": str(competition.seed), "source": competition.source},
        )
        try:
            with written_aside(self.path) as file:
                file.write(text.encode("utf-8", "replace"))
        except OSError as error:
            raise GuandanError(f"{str(self.path)!r}: {error.strerror or error}") from error

    def _table(self, now: Now, lines: Sequence[Line]) -> list[list[str]]:
        """Standings as rows of cells, the first row the heading; empty columns are left out."""
        shown = headings(lines)
        rows = []
        for line in lines:
            entrant = now.competition.entrants[line.entrant]
            first = [str(line.place), entrant.name, entrant.club or "", entrant.played_by]
            rows.append(first + [figure(line, name) for name in shown[len(first) :]])
        columns = [i for i in range(len(shown)) if any(row[i] for row in rows)]
        return [[row[i] for i in columns] for row in (shown, *rows)]

    def _chapters(self, now: Now) -> list[Chapter]:
        chapters = []
        rounds = now.all_rounds()
        for number, stage in enumerate(now.competition.stages):
            own = [(n, r, results) for s, n, r, results in rounds if s == number]
            if not own:
                continue
            lines = now.course.standings(number, now.history)
            tree = isinstance(stage.format, Elimination | Repechage | Race)
            chapters.append(
                Chapter(
                    title=stage.name,
                    bracket=tree,
                    columns=[self._column(now, number, n, r, res) for n, r, res in own],
                    standings=self._table(now, lines),
                    crosses=[] if tree else crosses(now, lines, own),
                )
            )
        return chapters

    def _column(
        self, now: Now, stage: int, number: int, round: Round, results: Mapping[int, MatchResult]
    ) -> Column:
        boxes = [
            self._box(now, stage, number, match, pairing, results.get(match), bool(round.deals))
            for match, pairing in enumerate(round.pairings)
        ]
        terms = f"{round.deals} deals" if round.deals else round.terms.told()
        return Column(round.name, terms, boxes)

    def _box(
        self,
        now: Now,
        stage: int,
        number: int,
        match: int,
        pairing: Pairing,
        result: MatchResult | None,
        deals: bool,
    ) -> Box:
        entrants = now.competition.entrants
        name = entrants[pairing.a].name
        if pairing.b is None:
            return Box((name, "bye"), ("", ""), None, pairing.label, "", "")
        names = (name, entrants[pairing.b].name)
        if result is None:
            return Box(names, ("", ""), None, pairing.label, "", "")
        link = f"{replay_name(stage, number, match)}.html"
        link = link if (self.path.parent / link).exists() else ""
        note = f"{_many(result.deals, 'deal')}, {_many(abs(result.levels), 'level')} apart"
        if result.forfeit >= 0:
            note += f", {names[result.forfeit]} forfeits"
        elif result.by:
            note += f", decided {result.by}"
        scores = (f"{result.levels:+d}", f"{-result.levels:+d}") if deals else (
            str(result.wins[0]), str(result.wins[1]))  # fmt: skip
        won = None if deals or result.winner == DRAW else result.winner
        return Box(names, scores, won, pairing.label, note, link)

    def _ratings(self, now: Now) -> list[Bar]:
        competition = now.competition
        generator = np.random.default_rng(competition.seed)
        found = strengths(len(competition.entrants), now.history, generator)
        ends = [v for s in found for v in (s.points, s.low, s.high) if v is not None]
        bottom, top = min(ends, default=0.0), max(ends, default=0.0)

        def percent(value: float) -> float:
            return round(100 * (value - bottom) / max(1.0, top - bottom), 2)

        return [
            Bar(
                name=competition.entrants[s.entrant].name,
                played_by=competition.entrants[s.entrant].played_by,
                points=f"{s.points:+.0f}",
                interval="" if s.low is None or s.high is None else f"{s.low:+.0f} … {s.high:+.0f}",
                deals=f"{s.won} of {s.deals}",
                at=percent(s.points),
                low=percent(s.points if s.low is None else s.low),
                high=percent(s.points if s.high is None else s.high),
            )
            for s in found
        ]


def headings(lines: Sequence[Line]) -> list[str]:
    """The columns of standings: place, entrant, club, agents, group if any, figures."""
    shown = ["place", "entrant", "club", "agents"]
    shown += ["group"] if any(line.group for line in lines) else []
    shown += ["last stage"] if any(line.stage for line in lines) else []
    return shown + list(dict.fromkeys(name for line in lines for name in line.figures))


def figure(line: Line, name: str) -> str:
    """A figure of a line as text; empty where there is none."""
    if name == "group":
        return line.group.removeprefix("group ")
    if name == "last stage":
        return line.stage
    value = line.figures.get(name)
    if value is None:
        return ""
    sign = "+" if name in ("levels", "score", "games") else ""
    return f"{value:{sign}.3f}" if isinstance(value, float) else f"{int(value):{sign}d}"


def crosses(
    now: Now, lines: Sequence[Line], rounds: Sequence[tuple[int, Round, Mapping[int, MatchResult]]]
) -> list[tuple[str, list[list[str]]]]:
    """A cross table for every group: its title, and rows of cells, the first row the heading."""
    scores: dict[tuple[int, int], list[str]] = {}
    for _, round, results in rounds:
        for match, result in results.items():
            a, b = round.pairings[match].a, round.pairings[match].b
            assert b is not None
            wins = result.wins
            both = (f"{wins[0]}–{wins[1]}", f"{wins[1]}–{wins[0]}")
            if round.deals:
                both = (f"{result.levels:+d}", f"{-result.levels:+d}")
            scores.setdefault((a, b), []).append(both[0])
            scores.setdefault((b, a), []).append(both[1])
    tables = []
    for group in dict.fromkeys(line.group for line in lines):
        members = [line.entrant for line in lines if line.group == group]
        if not 2 <= len(members) <= MOST_CROSSED:
            continue
        names = [now.competition.entrants[e].name for e in members]
        rows = [["", *(str(i) for i in range(1, len(members) + 1))]]
        for number, (a, name) in enumerate(zip(members, names, strict=True), 1):
            cells = ["×" if a == b else ", ".join(scores.get((a, b), [])) for b in members]
            rows.append([f"{number} {name}", *cells])
        tables.append((group, rows))
    return sorted(tables, key=lambda table: table[0])


def faults(now: Now) -> list[tuple[str, str, str, str, int]]:
    """Entrant, agent, cause, what the first fault of this kind was, and how many were told.

    Of each game the first `play.MOST_FAULTS` faults are told.
    """
    found: dict[tuple[str, str, str], tuple[str, int]] = {}
    for _, _, round, results in now.all_rounds():
        for match, result in results.items():
            pairing = round.pairings[match]
            assert pairing.b is not None
            both = (now.competition.entrants[pairing.a], now.competition.entrants[pairing.b])
            for game in result.games:
                for side, seat, cause, text in game.faults:
                    key = (both[side].name, both[side].agents[seat // 2], cause)
                    first, count = found.get(key, (text, 0))
                    found[key] = (first, count + 1)
    return [(*key, text, count) for key, (text, count) in found.items()]


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
