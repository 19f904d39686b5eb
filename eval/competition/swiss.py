"""Swiss (RULES 9.10): equals meet, and nobody twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx

from eval.competition.field import Field
from eval.competition.results import Pairing, Played, Round
from eval.competition.scoring import Line, Points, ranked
from eval.competition.terms import MatchTerms

MOST_ENTRANTS = 256  # a round of so many takes seconds to pair, of four times as many minutes
TIE_BREAKS = ("opponents", "level_difference", "direct")
_BYE = -1
_CLUB = 1  # what it costs, in squared half wins, if members of a club meet
_CHANCE = 64


def most_rounds(entrants: int) -> int:
    """So many rounds can always be paired without a rematch: half the entrants, rounded up.

    While nobody has met half of all others (a bye counting as one), everybody can be paired
    with somebody new (Dirac).
    """
    return (entrants + 1) // 2


@dataclass(frozen=True)
class Swiss:
    """So many rounds in which entrants of equal or nearly equal points meet, never twice.

    With an odd number one has a bye each round, nobody twice, as low in the standings as can be;
    it counts as a win.
    """

    terms: MatchTerms
    rounds: int
    apart: str = "club"
    points: Points = field(default_factory=lambda: Points(tie_breaks=TIE_BREAKS))

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The next round: of all pairings without rematches the one with the least differences.

        Differences in points count squared. Among pairings that are equally good the lot decides.
        """
        if len(played) >= self.rounds:
            return None
        pairs = self._matching(field, played)
        order = {line.entrant: i for i, line in enumerate(self.standings(field, played))}
        pairs.sort(key=lambda pair: min(order[e] for e in pair if e != _BYE))
        pairings = [self._sides(pair, played, field) for pair in pairs]
        return Round(f"round {len(played) + 1}", tuple(pairings), self.terms)

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """By points; then by the opponents' points, the level differences, the direct result."""
        matches = [match for past in played for match in past.matches()]
        byes = [p.a for past in played for p in past.round.pairings if p.b is None]
        return ranked(field.lot.shuffled(field.entrants), matches, self.points, byes)

    def _matching(self, field: Field, played: Sequence[Played]) -> list[tuple[int, int]]:
        """Pairs of entrants, or of one and `_BYE`, of least cost."""
        costs = self._costs(field, played)
        highest = max(costs.values())
        graph = nx.Graph()
        graph.add_nodes_from([*field.entrants, *([_BYE] * (len(field.entrants) % 2))])
        graph.add_weighted_edges_from((a, b, highest - cost) for (a, b), cost in costs.items())
        pairs = nx.max_weight_matching(graph, maxcardinality=True)
        assert 2 * len(pairs) == graph.number_of_nodes()  # see `most_rounds`
        return [(max(p), _BYE) if _BYE in p else (min(p), max(p)) for p in pairs]

    def _costs(self, field: Field, played: Sequence[Played]) -> dict[tuple[int, int], int]:
        """What every pairing without a rematch costs; a bye is written `(entrant, _BYE)`."""
        met = {frozenset(_both(p)) for past in played for p in past.round.pairings}
        points = {line.entrant: line.figures["points"] for line in self.standings(field, played)}
        labels = field.kept_apart(self.apart)
        unit = max(1, self.points.win - self.points.loss) / 2
        lowest, lot = min(points.values()), field.lot.of(len(played))
        # All chance together weighs less than a difference of a quarter of half a win.
        scale = 4 * _CHANCE * len(points)
        entrants = sorted(field.entrants)
        costs = {}
        for i, a in enumerate(entrants):
            for b in entrants[i + 1 :] + ([_BYE] if len(entrants) % 2 else []):
                if frozenset((a, b)) in met:
                    continue
                apart = points[a] - (lowest if b == _BYE else points[b])
                same = b != _BYE and labels.get(a) is not None and labels.get(a) == labels.get(b)
                cost = (apart / unit) ** 2 + _CLUB * same
                costs[a, b] = round(cost * scale) + lot.of(a, b + 1).below(_CHANCE)
        return costs

    def _sides(self, pair: tuple[int, int], played: Sequence[Played], field: Field) -> Pairing:
        a, b = pair
        if b == _BYE:
            return Pairing(a)
        first = [p.a for past in played for p in past.round.pairings if p.b is not None]
        often = first.count(a) - first.count(b)
        turn = often > 0 or (often == 0 and field.lot.of(len(played), a, b).below(2) == 1)
        return Pairing(b, a) if turn else Pairing(a, b)


def _both(pairing: Pairing) -> tuple[int, int]:
    return pairing.a, _BYE if pairing.b is None else pairing.b
