"""Ratings of the entrants of a competition, with intervals (the model of `eval.ratings`).

In a competition many never meet, and some meet once. So everybody is also given one deal won and
one lost against an average player, whose rating is 0: what little is known pulls no rating far.
Intervals come from drawing the games again (a bootstrap of 95%); deals of one game stay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.competition.results import Played
from eval.ratings import CONFIDENCE, SCALE, fit

RESAMPLES = 200
MOST_WITH_INTERVALS = 256  # entrants; for more the page would take longer than the play
_PRIOR = 1.0


@dataclass(frozen=True)
class Strength:
    """An entrant's rating in points, and its interval where there is one."""

    entrant: int
    points: float
    low: float | None
    high: float | None
    deals: int
    won: int


def strengths(
    entrants: int, history: Sequence[Sequence[Played]], generator: np.random.Generator
) -> list[Strength]:
    """The ratings of all who have played, the strongest first, from deals won and lost."""
    games = np.array(
        [
            (a, b, *game.won)
            for own in history
            for past in own
            for a, b, result in past.matches()
            for game in result.games
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    if not len(games):
        return []
    points = SCALE * fit(_wins(entrants, games, np.ones((1, len(games)))), entrants)[0]
    low = high = None
    if entrants <= MOST_WITH_INTERVALS:
        even = np.full(len(games), 1 / len(games))
        weights = generator.multinomial(len(games), even, size=RESAMPLES).astype(np.float64)
        draws = SCALE * fit(_wins(entrants, games, weights), entrants)
        tails = (50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE))
        low, high = np.percentile(draws, tails, axis=0)
    deals, won = np.zeros(entrants, dtype=np.int64), np.zeros(entrants, dtype=np.int64)
    for side in (0, 1):
        np.add.at(deals, games[:, side], games[:, 2] + games[:, 3])
        np.add.at(won, games[:, side], games[:, 2 + side])
    return [
        Strength(
            entrant=int(i),
            points=float(points[i]),
            low=None if low is None else float(low[i]),
            high=None if high is None else float(high[i]),
            deals=int(deals[i]),
            won=int(won[i]),
        )
        for i in np.argsort(-points[:entrants], kind="stable")
        if deals[i]
    ]


def _wins(entrants: int, games: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Deals won `(m, k + 1, k + 1)` by row against column, for weights `(m, games)` of the games.

    The last row and column are the average player's.
    """
    wins = np.zeros((len(weights), entrants + 1, entrants + 1))
    for weight, (a, b, by_a, by_b) in zip(weights.T, games.tolist(), strict=True):
        wins[:, a, b] += weight * by_a
        wins[:, b, a] += weight * by_b
    wins[:, :-1, -1] = wins[:, -1, :-1] = _PRIOR
    return wins
