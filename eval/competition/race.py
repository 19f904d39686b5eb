"""A stage that ranks by the deals it took to pass A, fewest first (RULES 9.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.competition import draw
from eval.competition.elimination import round_name
from eval.competition.field import Field
from eval.competition.results import Pairing, Played, Round
from eval.competition.scoring import Line, places
from eval.competition.terms import MatchTerms


@dataclass(frozen=True)
class Race:
    """One round, drawn by lot; all tables begin together, and who passes A first is first.

    A deal stands for the time it takes. It needs an even number of entrants: nobody passes A alone.
    """

    terms: MatchTerms
    apart: str = "club"

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The one round."""
        if played:
            return None
        order = draw.in_pairs(field.entrants, field.kept_apart(self.apart), field.lot)
        pairings = tuple(Pairing(a, b) for a, b in zip(order[::2], order[1::2], strict=True))
        return Round(round_name(len(order), 0), pairings, self.terms, decides=True)

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """Winners by deals, fewest first; of those who did not win, who lost by fewest levels."""
        value: dict[int, tuple[int, float, float]] = dict.fromkeys(field.entrants, (1, 0, 0))
        figures = {}
        for a, b, result in played[0].matches() if played else []:
            for side, entrant in ((0, a), (1, b)):
                won, levels = result.winner == side, result.levels * (1, -1)[side]
                value[entrant] = (0, result.deals, -levels) if won else (1, -levels, 0)
                figures[entrant] = {"won": won, "deals": result.deals, "levels": levels}
        parts: dict[tuple[int, float, float], list[int]] = {}
        for entrant in field.entrants:
            parts.setdefault(value[entrant], []).append(entrant)
        return places([parts[v] for v in sorted(parts)], figures)
