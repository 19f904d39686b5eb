"""Single elimination, and repechage (RULES 9.2 to 9.5, 9.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eval.competition import draw
from eval.competition.field import Field
from eval.competition.results import MatchResult, Pairing, Played, Round
from eval.competition.scoring import Line, places
from eval.competition.terms import MatchTerms

DRAWS = ("lot", "seeded", "order", "pools")
BYES = ("first", "each")
THIRD = "third place"
REPECHAGE = "repechage"
_BYE = 1 << 20  # purpose of a lot: who has a bye
_NAMES = {2: "final", 4: "semi-finals", 8: "quarter-finals"}


@dataclass(frozen=True)
class Elimination:
    """The loser of a match is out, until so many are left.

    how: where entrants stand comes by lot, by strength (seeded), as they are listed (order), or
    by lot in two pools of which the i-th meet (pools). apart: who is kept in different halves.
    byes: all in the first round, which fills a power of two, or one in each round with an odd
    number. redraw: every round is drawn anew. late: other terms for rounds with so many entrants
    or fewer, fewest first.
    """

    terms: MatchTerms
    until: int = 1
    how: str = "lot"
    apart: str = "club"
    byes: str = "first"
    redraw: bool = False
    third_place: bool = False
    late: tuple[tuple[int, MatchTerms], ...] = ()

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The next round: the winners of the last one, paired."""
        number = len(played)
        left = list(field.entrants) if not played else _goes_on(played[-1])
        if len(left) <= self.until:
            return None
        lot = field.lot.of(number)
        if not played:
            pairings = self._first(field, lot)
        elif self.redraw:
            pairings = self._paired(
                field, draw.in_pairs(left, field.kept_apart(self.apart), lot), played, lot
            )
        else:
            pairings = self._paired(field, left, played, lot)
        name = round_name(len(left), number)
        if len(left) == 2 and self.until == 1:
            pairings = [Pairing(pairings[0].a, pairings[0].b, "final")]
            losers = _losers(played[-1]) if played else []
            if self.third_place and len(losers) == 2:
                pairings.append(Pairing(losers[0], losers[1], THIRD))
        return Round(name, tuple(pairings), self._terms(len(left)), decides=True)

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """Those still in, then those who are out, the last to go out first."""
        left = list(field.entrants) if not played else _goes_on(played[-1])
        parts: list[list[int]] = [left] if left else []
        for past in reversed(played):
            out, third = _losers(past), _third(past)
            if third is not None:
                pairing, result = third
                both = [pairing.a, pairing.b or 0]
                parts += [[out[0]], *([e] for e in (both if result.winner == 0 else both[::-1]))]
                continue
            known = {e for part in parts for e in part}
            out = [e for e in out if e not in known]
            parts += [out] if out else []
        return places(parts, _figures(played))

    def _terms(self, left: int) -> MatchTerms:
        return next((terms for most, terms in self.late if left <= most), self.terms)

    def _first(self, field: Field, lot: draw.Lot) -> list[Pairing]:
        entrants = field.entrants
        if self.how == "pools":
            return self._pools(field, lot)
        if self.byes == "each":
            order = list(entrants)
            if self.how == "lot":
                order = draw.in_pairs(entrants, field.kept_apart(self.apart), lot)
            return self._paired(field, order, (), lot)
        slots = draw.power_of_two(len(entrants))
        if self.how == "lot":
            lines = draw.bracket(entrants, field.kept_apart(self.apart), lot, slots)
        elif self.how == "seeded":
            lines = draw.seeded(entrants, slots)
        else:
            byes = slots - len(entrants)
            lines = [line for e in entrants[:byes] for line in (e, None)]
            lines += entrants[byes:]
        return [_pairing(*lines[i : i + 2]) for i in range(0, slots, 2)]

    def _pools(self, field: Field, lot: draw.Lot) -> list[Pairing]:
        """Two pools, by lot; i of the first meets i of the second."""
        sizes = draw.even_sizes(len(field.entrants), 2, lot)
        one, other = draw.apart(field.entrants, field.kept_apart(self.apart), lot, sizes)
        if len(one) < len(other):
            one, other = other, one
        pairings = [
            Pairing(a, b, f"A{i}–B{i}") for i, (a, b) in enumerate(zip(one, other, strict=False), 1)
        ]
        return pairings + [Pairing(a, None, f"A{len(one)}") for a in one[len(other) :]]

    def _paired(
        self, field: Field, order: list[int], played: Sequence[Played], lot: draw.Lot
    ) -> list[Pairing]:
        """Neighbours meet, as many as must; who has a bye is drawn from those with fewest."""
        matches = min(len(order) - self.until, len(order) // 2)
        had = Counter(p.a for past in played for p in past.round.pairings if p.b is None)
        waiting = lot.of(_BYE).shuffled(order)
        waiting = sorted(waiting, key=lambda e: had[e])[: len(order) - 2 * matches]
        meet = [e for e in order if e not in waiting]
        pairs = _neighbours(meet)
        return pairs + [Pairing(e) for e in order if e in waiting]


@dataclass(frozen=True)
class Repechage:
    """One round of matches; its winners, and as many of the others as are needed, go on (9.4).

    The losers and who drew the bye play on for the places that are left.
    """

    terms: MatchTerms
    advance: int
    apart: str = "club"

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The round of all, then rounds of those who have lost once."""
        if not played:
            order = draw.in_pairs(field.entrants, field.kept_apart(self.apart), field.lot.of(0))
            waiting = field.lot.of(0, _BYE).shuffled(order)[: len(order) % 2]
            meet = [e for e in order if e not in waiting]
            pairings = _neighbours(meet)
            pairings += [Pairing(e, None, f"bye, to the {REPECHAGE}") for e in waiting]
            name = round_name(len(order), 0)
            return Round(name, tuple(pairings), self.terms, decides=True)
        need = self.advance - len(_first_winners(played[0]))
        left = self._left(field, played)
        if len(left) <= need:
            return None
        matches = min(len(left) - need, len(left) // 2)
        order = draw.in_pairs(left, field.kept_apart(self.apart), field.lot.of(len(played)))
        pairings = _neighbours(order[: 2 * matches], REPECHAGE)
        pairings += [Pairing(e, None, REPECHAGE) for e in order[2 * matches :]]
        return Round(REPECHAGE, tuple(pairings), self.terms, decides=True)

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """The winners of the first round, those left in the repechage, and who is out."""
        if not played:
            return places([list(field.entrants)], {})
        parts = [_first_winners(played[0]), self._left(field, played)]
        parts += [past.losers() for past in reversed(played[1:])]
        return places([part for part in parts if part], _figures(played))

    def _left(self, field: Field, played: Sequence[Played]) -> list[int]:
        if len(played) > 1:
            return played[-1].winners()
        byes = [p.a for p in played[0].round.pairings if p.b is None]
        return played[0].losers() + byes


def round_name(left: int, number: int) -> str:
    """What a round with so many entrants is called; its number counts from 0."""
    if left in _NAMES:
        return _NAMES[left]
    return f"round {number + 1} ({left} entrants)"


def _neighbours(order: Sequence[int], label: str = "") -> list[Pairing]:
    return [Pairing(a, b, label) for a, b in zip(order[::2], order[1::2], strict=True)]


def _pairing(a: int | None, b: int | None) -> Pairing:
    if a is None:
        a, b = b, None
    assert a is not None
    return Pairing(a, b)


def _goes_on(past: Played) -> list[int]:
    return [
        winner
        for winner, pairing in zip(past.winners(), past.round.pairings, strict=True)
        if pairing.label != THIRD
    ]


def _losers(past: Played) -> list[int]:
    third = _third(past)
    both = () if third is None else (third[0].a, third[0].b)
    return [loser for loser in past.losers() if loser not in both]


def _third(past: Played) -> tuple[Pairing, MatchResult] | None:
    for pairing, result in zip(past.round.pairings, past.results, strict=True):
        if pairing.label == THIRD and result is not None:
            return pairing, result
    return None


def _first_winners(past: Played) -> list[int]:
    return [
        winner
        for winner, pairing in zip(past.winners(), past.round.pairings, strict=True)
        if pairing.b is not None
    ]


def _figures(played: Sequence[Played]) -> dict[int, dict[str, float]]:
    """Matches won and level difference of everybody who played."""
    figures: dict[int, dict[str, float]] = {}
    for past in played:
        for a, b, result in past.matches():
            for side, entrant in ((0, a), (1, b)):
                own = figures.setdefault(entrant, {"played": 0, "won": 0, "levels": 0})
                own["played"] += 1
                own["won"] += result.winner == side
                own["levels"] += result.levels if side == 0 else -result.levels
    return figures
