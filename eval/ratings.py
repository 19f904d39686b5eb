"""Ratings: one number an agent, from who won how many deals against whom (Bradley and Terry, 1952).

The model: i wins a deal against j with probability 1 / (1 + 10 ** ((r_j - r_i) / 400)), so 400
points are odds of ten to one, and `greedy` has 0. Deals are the same for all agents of a table, so
intervals come from drawing deals again, for all matches at once (a bootstrap of 95%).

Every two agents that met are given half a deal more to each, so that estimates stay finite. Where
that decides – an agent of which no chain of won deals leads back to it from `greedy`, because it
lost nothing – no number is supported but a bound, and a bound is what is stated: the rating at
which so clean a result would still come out once in forty times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.crosstable import CrossTable
from guandan_env.errors import GuandanError

Float = NDArray[np.float64]

ANCHOR = "greedy"
SCALE = 400 / np.log(10)  # points of one unit of log odds
PRIOR = 0.5  # won deals that every two agents who met are given, each
CONFIDENCE = 0.95
# With probability 1/40 none of n pairs shows what happens in one of n / RARE.
RARE = -float(np.log((1 - CONFIDENCE) / 2))
_ROUNDS = 200
_STEP = 2.0  # the longest step of Newton's method, in log odds
_PRECISE = 1e-9  # a step so short is the last
_TOGETHER = 1 << 22  # weights of resampled deals in memory at a time


@dataclass(frozen=True)
class Rating:
    """A rating and its interval, in points; of `bound` "at least" or "at most" all is a bound.

    low is None for "at most", high for "at least".
    """

    label: str
    points: float
    low: float | None
    high: float | None
    bound: str = ""


def rate(
    table: CrossTable, generator: np.random.Generator, resamples: int = 1000, anchor: str = ANCHOR
) -> list[Rating]:
    """Ratings of all agents of a table, by index; `anchor` is the spec that has 0.

    Raises `GuandanError` if the anchor is not in the table, or nothing links an agent with it.
    """
    zero = table.index(anchor)
    wins = _wins(table, None)
    above, below = _separated(wins, zero, table)
    points = SCALE * fit(_with_prior(wins, np.zeros_like(above)), zero)
    bounds = SCALE * fit(_with_prior(wins, above | below), zero)
    draws = SCALE * fit(_resampled(table, generator, resamples), zero)
    tails = (100 * (1 - CONFIDENCE) / 2, 100 * (1 + CONFIDENCE) / 2)
    low, high = np.percentile(draws, tails, axis=0)
    ratings = []
    for i, label in enumerate(table.labels):
        if above[i]:
            ratings.append(Rating(label, float(bounds[i]), float(bounds[i]), None, "at least"))
        elif below[i]:
            ratings.append(Rating(label, float(bounds[i]), None, float(bounds[i]), "at most"))
        else:
            ratings.append(Rating(label, float(points[i]), float(low[i]), float(high[i])))
    return ratings


def expected(points: float) -> float:
    """Share of the deals that an agent wins against one so many points below."""
    return float(1 / (1 + 10 ** (-points / 400)))


def fit(wins: Float, zero: int) -> Float:
    """The most likely log odds `(…, k)` for deals won `(…, k, k)` by row against column.

    Agent `zero` has 0. All agents must be linked by deals won both ways, or there is no maximum
    (`GuandanError`). Newton's method with bounded steps; the likelihood is concave.
    """
    k = wins.shape[-1]
    met = wins + np.swapaxes(wins, -1, -2)
    others = np.flatnonzero(np.arange(k) != zero)
    strength = np.zeros(wins.shape[:-1])
    if not others.size:
        return strength
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(strength[..., None, :] - strength[..., :, None]))
        slope = (wins - met * chance).sum(axis=-1)[..., others]
        weight = met * chance * (1 - chance)
        curve = np.eye(k) * weight.sum(axis=-1)[..., None] - weight
        curve = curve[..., others[:, None], others]
        try:
            step = np.linalg.solve(curve, slope[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        longest = np.abs(step).max(axis=-1, keepdims=True)
        strength[..., others] += step * np.minimum(1, _STEP / np.maximum(longest, _STEP))
        if longest.max() <= _PRECISE:
            return strength
    raise GuandanError("there are no most likely ratings: some agents did not meet, or only won")


def _wins(table: CrossTable, weights: Float | None) -> Float:
    """Deals won by row against column: `(k, k)`, or `(m, k, k)` with weights `(m, deals)`."""
    k = len(table)
    shape = () if weights is None else (len(weights),)
    wins = np.zeros((*shape, k, k))
    for (i, j), duel in table.duels.items():
        won = duel.won.sum(axis=1)
        wins[..., i, j] = won.sum() if weights is None else weights[:, : len(won)] @ won
    return wins


def _with_prior(wins: Float, separated: NDArray[np.bool_]) -> Float:
    """Wins with the prior; where a separated agent lost nothing, with losses it may have hidden."""
    met = (wins + wins.T) > 0
    given = PRIOR * met
    never = met & (wins == 0) & (separated[:, None] | separated)
    # RARE pairs of deals, each lost twice.
    given[never] = 2 * RARE
    result: Float = wins + given
    return result


def _resampled(table: CrossTable, generator: np.random.Generator, resamples: int) -> Float:
    """Wins with the prior `(resamples, k, k)`, each of as many deals drawn with replacement."""
    deals = max((duel.result.deals for duel in table.duels.values()), default=0)
    met = np.zeros((len(table), len(table)))
    for pair in table.duels:
        met[pair] = PRIOR
    parts = []
    size = max(1, _TOGETHER // max(1, deals))
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        weights = generator.multinomial(deals, np.full(deals, 1 / deals), size=count)
        parts.append(_wins(table, weights.astype(np.float64)) + met)
    return np.concatenate(parts)


def _separated(
    wins: Float, zero: int, table: CrossTable
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which agents `(k,)` no losses link with the anchor, and which no wins do."""
    reach = (wins > 0) | np.eye(len(wins), dtype=bool)
    for middle in range(len(wins)):
        reach |= reach[:, middle, None] & reach[middle]
    up, down = reach[:, zero], reach[zero]
    if not (up | down).all():
        lost = [table.labels[i] for i in np.flatnonzero(~(up | down))]
        raise GuandanError(
            f"no deals won or lost lead from {', '.join(lost)} to {table.labels[zero]}, "
            "which ratings count from; they have to meet"
        )
    return up & ~down, down & ~up
