"""Points and tie-breaks (RULES 9.6): standings as a pure function of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eval.competition.results import DRAW, MatchResult

TIE_BREAKS = ("level_difference", "direct", "games", "opponents")
Match = tuple[int, int, MatchResult]


@dataclass(frozen=True)
class Points:
    """What a match brings, and what decides on equal points, in this order."""

    win: int = 2
    draw: int = 1
    loss: int = 0
    tie_breaks: tuple[str, ...] = ("level_difference", "direct")


@dataclass(frozen=True)
class Line:
    """One line of standings. place: from 1, shared by those whom nothing tells apart.

    figures: what led to it, by the heading of its column. group: of the entrant, where there are
    groups. stage: the last one that it took part in, in the ranking of a whole competition.
    """

    entrant: int
    place: int
    figures: Mapping[str, float] = field(default_factory=dict)
    group: str = ""
    stage: str = ""


@dataclass
class Tally:
    """What an entrant has got so far."""

    played: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    points: int = 0
    levels: int = 0
    games: int = 0
    opponents: list[int] = field(default_factory=list)


def tallies(
    entrants: Iterable[int], matches: Iterable[Match], points: Points, byes: Iterable[int] = ()
) -> dict[int, Tally]:
    """What every entrant has got from matches, and from byes, each worth a win."""
    result = {entrant: Tally() for entrant in entrants}
    for a, b, match in matches:
        for side, entrant, other in ((0, a, b), (1, b, a)):
            if entrant not in result:
                continue
            tally = result[entrant]
            tally.played += 1
            tally.won += match.winner == side
            tally.drawn += match.winner == DRAW
            tally.lost += match.winner == 1 - side
            tally.levels += match.levels if side == 0 else -match.levels
            tally.games += match.wins[side] - match.wins[1 - side]
            tally.opponents.append(other)
            tally.points += (
                points.draw
                if match.winner == DRAW
                else points.win
                if match.winner == side
                else points.loss
            )
    for entrant in byes:
        result[entrant].points += points.win
    return result


def ranked(
    entrants: Sequence[int],
    matches: Sequence[Match],
    points: Points,
    byes: Sequence[int] = (),
    group: str = "",
) -> list[Line]:
    """Standings by points and tie-breaks; those whom all of these leave equal share a place."""
    tally = tallies(entrants, matches, points, byes)
    against = {e: sum(tally[o].points for o in tally[e].opponents) for e in entrants}

    def direct(tied: Sequence[int]) -> Callable[[int], float]:
        among = [match for match in matches if match[0] in tied and match[1] in tied]
        own = tallies(tied, among, points)
        return lambda entrant: own[entrant].points

    values: dict[str, Callable[[Sequence[int]], Callable[[int], float]]] = {
        "level_difference": lambda tied: lambda e: tally[e].levels,
        "games": lambda tied: lambda e: tally[e].games,
        "opponents": lambda tied: lambda e: against[e],
        "direct": direct,
    }
    parts = _split(entrants, lambda e: tally[e].points)
    for name in points.tie_breaks:
        parts = [part for tied in parts for part in _split(tied, values[name](tied))]
    lines: list[Line] = []
    for tied in parts:
        place = len(lines) + 1
        for entrant in tied:
            t = tally[entrant]
            figures: dict[str, float] = {
                "played": t.played, "won": t.won, "drawn": t.drawn, "lost": t.lost,
                "points": t.points, "levels": t.levels,
            }  # fmt: skip
            if "games" in points.tie_breaks:
                figures["games"] = t.games
            if "opponents" in points.tie_breaks:
                figures["opponents"] = against[entrant]
            lines.append(Line(entrant, place, figures, group))
    return lines


def _split(tied: Sequence[int], value: Callable[[int], float]) -> list[list[int]]:
    """Entrants cut into those of the highest value, the next, and so on; order is kept in each."""
    by_value: dict[float, list[int]] = {}
    for entrant in tied:
        by_value.setdefault(value(entrant), []).append(entrant)
    return [by_value[v] for v in sorted(by_value, reverse=True)]


def places(
    parts: Iterable[Sequence[int]], figures: Mapping[int, Mapping[str, float]]
) -> list[Line]:
    """Lines for entrants who share places, the best part first."""
    lines: list[Line] = []
    for part in parts:
        place = len(lines) + 1
        lines += [Line(entrant, place, figures.get(entrant, {})) for entrant in part]
    return lines
