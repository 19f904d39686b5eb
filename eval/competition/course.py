"""The course of a competition: stages one after the other, as a pure function of what was played.

`History` holds the rounds of every stage that has begun. Nothing else is known or kept, so a
competition goes on from its results alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.competition.description import Competition
from eval.competition.draw import Lot
from eval.competition.field import Field
from eval.competition.results import Played, Round
from eval.competition.scoring import Line

History = Sequence[Sequence[Played]]


@dataclass(frozen=True)
class Next:
    """A round to be played: which stage (from 0), which round of it (from 0)."""

    stage: int
    number: int
    round: Round


class Course:
    """What follows from a competition's description and its history."""

    def __init__(self, competition: Competition) -> None:
        self.competition = competition
        self._lot = Lot.from_seed(competition.seed)

    def next(self, history: History) -> Next | None:
        """The next round; None when the competition is over."""
        for number, stage in enumerate(self.competition.stages):
            played = history[number] if number < len(history) else ()
            found = stage.format.next_round(self.field(number, history), played)
            if found is not None:
                return Next(number, len(played), found)
        return None

    def field(self, number: int, history: History) -> Field:
        """Who takes part in a stage; those before it are over."""
        everybody = range(len(self.competition.entrants))
        clubs = {i: self.competition.entrants[i].club for i in everybody}
        lot = self._lot.of(number)
        if number == 0:
            return Field(tuple(everybody), clubs, {}, lot)
        lines = self.standings(number - 1, history)
        advance = self.competition.stages[number - 1].advance
        lines = _cut(lines, advance, lot)
        groups = {line.entrant: line.group or None for line in lines}
        return Field(tuple(line.entrant for line in lines), clubs, groups, lot)

    def standings(self, number: int, history: History) -> list[Line]:
        """How things stand in a stage that has begun, or can begin."""
        played = history[number] if number < len(history) else ()
        field = self.field(number, history)
        return self.competition.stages[number].format.standings(field, played)

    def ranking(self, history: History) -> list[Line]:
        """Everybody's place in the whole competition: by the last stage they took part in."""
        lines: list[Line] = []
        for number in reversed(range(max(1, len(history)))):
            known = {line.entrant for line in lines}
            name = self.competition.stages[number].name
            rest = [x for x in self.standings(number, history) if x.entrant not in known]
            places: dict[int, int] = {}  # of the stage, to those of the whole
            for line in rest:
                place = places.setdefault(line.place, len(lines) + 1)
                lines.append(Line(line.entrant, place, stage=name))
        return lines


def _cut(lines: list[Line], advance: int | None, lot: Lot) -> list[Line]:
    """The first so many lines; among those who share the last place that counts the lot decides.

    Groups are dealt with by their places: the standings list all firsts, then all seconds.
    """
    if advance is None or advance >= len(lines):
        return lines
    edge = lines[advance - 1]
    if edge.place != lines[advance].place or edge.figures != lines[advance].figures:
        return lines[:advance]
    same = [x for x in lines if (x.place, x.figures) == (edge.place, edge.figures)]
    others = [x for x in lines[:advance] if x not in same]
    return others + lot.of(1 << 21).shuffled(same)[: advance - len(others)]
