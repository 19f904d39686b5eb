"""Duplicate (RULES 9.11): the same deals at all tables, scores compared across them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.competition.field import Field
from eval.competition.groups import circle
from eval.competition.results import Pairing, Played, Round
from eval.competition.scoring import Line, places
from eval.competition.terms import MatchTerms

SCORINGS = ("levels", "matchpoints")


@dataclass(frozen=True)
class Duplicate:
    """Rounds in which all tables play the same deals, and opponents change.

    On each deal a pair is compared with the others who held the same cards, at the other tables.
    scoring: levels, its own gain less the mean gain of the others; or matchpoints, the share of
    the others that it beat, half for a draw. An entrant's score is its mean over all its deals,
    as with an odd number everybody rests at times.
    """

    terms: MatchTerms
    rounds: int
    deals: int
    scoring: str = "levels"

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The next round of a round robin, from the beginning again if there are more."""
        number = len(played)
        if number >= self.rounds:
            return None
        schedule = circle(field.lot.shuffled(field.entrants))
        lap, turn = divmod(number, len(schedule))
        pairs = [pair[::-1] if lap % 2 else pair for pair in schedule[turn]]
        pairings = tuple(Pairing(a, b) for a, b in pairs)
        return Round(f"round {number + 1}", pairings, self.terms, deals=self.deals)

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """By the mean score, then by the levels won less those lost, over all deals."""
        scores: dict[int, list[float]] = {e: [] for e in field.entrants}
        levels = dict.fromkeys(field.entrants, 0)
        for past in played:
            matches = past.matches()
            for deal in range(past.round.deals):
                gains = [result.games[deal].levels for _, _, result in matches]
                for (a, b, _), gain in zip(matches, gains, strict=True):
                    # Who sat as a did held the cards of a, who sat as b those of b.
                    scores[a].append(score(gain, gains, self.scoring))
                    scores[b].append(score(-gain, [-g for g in gains], self.scoring))
                    levels[a] += gain
                    levels[b] -= gain
        mean = {e: sum(own) / len(own) if own else 0.0 for e, own in scores.items()}
        # Sums of the same numbers in another order differ in their last bits.
        value = {e: (round(mean[e], 9), levels[e]) for e in field.entrants}
        parts: dict[tuple[float, int], list[int]] = {}
        for entrant in field.lot.shuffled(field.entrants):
            parts.setdefault(value[entrant], []).append(entrant)
        figures = {
            e: {"deals": len(scores[e]), "score": mean[e], "levels": levels[e]}
            for e in field.entrants
        }
        return places([parts[v] for v in sorted(parts, reverse=True)], figures)


def score(own: float, all_gains: Sequence[float], scoring: str) -> float:
    """What a gain is worth among the gains (its own is one of them) with the same cards.

    0 where nobody else held them; half a matchpoint then.
    """
    others = len(all_gains) - 1
    if scoring == "levels":
        return own - (sum(all_gains) - own) / others if others else 0.0
    beaten = sum(g < own for g in all_gains) + (sum(g == own for g in all_gains) - 1) / 2
    return beaten / others if others else 0.5
