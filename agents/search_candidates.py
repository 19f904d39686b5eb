"""Which plays of a decision are worth trying: the base agent's choice and what `planner` rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.planner import Planner
from guandan_env.decisions import Decisions

_TOGETHER = 512  # decisions that are scored at a time


@dataclass(frozen=True)
class Tries:
    """Plays to try for n decisions, m together, by ascending decision, the base's choice first.

    of, rows: `(m,)`. start, number: `(n,)`, the first of each decision, and how many there are.
    """

    of: NDArray[np.int64]
    rows: NDArray[np.int64]
    start: NDArray[np.int64]
    number: NDArray[np.int64]

    def take(self, chosen: NDArray[np.integer]) -> Tries:
        """Those of some decisions, by their positions in ascending order."""
        place = np.full(len(self.number), -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.of] >= 0
        number = self.number[chosen]
        start = np.cumsum(number) - number
        return Tries(place[self.of[kept]], self.rows[kept], start, number)


def tries(
    d: Decisions, chosen: NDArray[np.int64], planner: Planner, most: int, gap: float
) -> Tries:
    """For decisions of the phase of play and the rows `(n,)` that the base agent chose there.

    At most `most` rows each: the base's choice, and of the rows that `planner` scores at most
    `gap` below its best one, the best.
    """
    parts = []
    for start in range(0, len(d), _TOGETHER):
        some = np.arange(start, min(start + _TOGETHER, len(d)))
        plays, score = planner.scores(d.take(some))
        is_base = plays.rows == chosen[some][plays.of]
        best = np.maximum.reduceat(score, plays.start)[plays.of]
        near = (score >= best - gap) | is_base
        of, rows, score, later = (x[near] for x in (plays.of, plays.rows, score, ~is_base))
        order = np.lexsort((rows, -score, later, of))
        of, rows = of[order], rows[order]
        first = np.searchsorted(of, np.arange(len(some)))
        kept = np.arange(len(of)) - first[of] < most
        parts.append((some[of[kept]], rows[kept]))
    of = np.concatenate([p[0] for p in parts]) if parts else np.zeros(0, dtype=np.int64)
    rows = np.concatenate([p[1] for p in parts]) if parts else np.zeros(0, dtype=np.int64)
    number = np.bincount(of, minlength=len(d))
    return Tries(of, rows, np.cumsum(number) - number, number)
