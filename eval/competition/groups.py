"""Groups in which everybody meets everybody, and round robin, which is one group (RULES 9.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eval.competition import draw
from eval.competition.field import Field
from eval.competition.results import Pairing, Played, Round
from eval.competition.scoring import Line, Points, ranked
from eval.competition.terms import MatchTerms

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Groups:
    """Round robins side by side: `groups` of them, drawn with clubs (or groups) kept apart.

    meetings: how often two entrants meet.
    """

    terms: MatchTerms
    groups: int = 1
    meetings: int = 1
    apart: str = "club"
    points: Points = field(default_factory=Points)

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The next round of all groups; groups of fewer entrants are done earlier."""
        number = len(played)
        pairings: list[Pairing] = []
        for name, members in self.members(field).items():
            schedule = circle(members)
            if number < self.meetings * len(schedule):
                lap, turn = divmod(number, len(schedule))
                pairs = [pair[::-1] if lap % 2 else pair for pair in schedule[turn]]
                pairings += [Pairing(a, b, name) for a, b in pairs]
        return Round(f"round {number + 1}", tuple(pairings), self.terms) if pairings else None

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """All firsts of groups, then all seconds, and so on, each by points a match."""
        lines = []
        matches = [match for past in played for match in past.matches()]
        for name, members in self.members(field).items():
            own = [match for match in matches if match[0] in members]
            lines += ranked(members, own, self.points, group=name)
        if self.groups == 1:
            return lines

        def strength(line: Line) -> tuple[float, ...]:
            figures = line.figures
            matches = max(1, figures["played"])
            return line.place, -figures["points"] / matches, -figures["levels"] / matches

        return sorted(lines, key=strength)

    def members(self, field: Field) -> dict[str, list[int]]:
        """Who is in each group, by its name."""
        if self.groups == 1:
            return {"": field.lot.shuffled(field.entrants)}
        labels = field.kept_apart(self.apart)
        sizes = draw.even_sizes(len(field.entrants), self.groups, field.lot)
        parts = draw.apart(field.entrants, labels, field.lot, sizes)
        return {f"group {LETTERS[i]}": part for i, part in enumerate(parts)}


def circle(entrants: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Rounds in which everybody meets everybody once; with an odd number one rests each round.

    The circle method: one stays, the others turn by one place a round. Sides change about, so that
    nobody is first of a pair much more often than second.
    """
    ring: list[int | None] = [*entrants, *([None] * (len(entrants) % 2))]
    half = len(ring) // 2
    rounds = []
    for number in range(len(ring) - 1):
        pairs = []
        for i in range(half):
            a, b = ring[i], ring[-1 - i]
            if a is not None and b is not None:
                pairs.append((b, a) if (number if i == 0 else i) % 2 else (a, b))
        rounds.append(pairs)
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return rounds
