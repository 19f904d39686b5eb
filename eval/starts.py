"""How the deals of a match begin: dealt again from its terms, without playing them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.duplicate import Terms
from guandan_env.cards import BIG_JOKER, NUM_RANKS, SMALL_JOKER, to_counts, wild_kind
from guandan_env.engine import Engine
from guandan_env.state import State

_TOGETHER = 4096  # deals that are in memory at a time
_WILD = np.array([wild_kind(level) for level in range(NUM_RANKS)])


@dataclass(frozen=True)
class Starts:
    """How n deals begin: level `(n,) int64`, its rank; points `(n, 4) int64`, see `points`."""

    level: NDArray[np.int64]
    points: NDArray[np.int64]

    @property
    def balance(self) -> NDArray[np.int64]:
        """Points of seats 0 and 2 less those of seats 1 and 3, `(n,)`."""
        return self.points @ np.array([1, -1, 1, -1])


def starts(terms: Terms, count: int) -> Starts:
    """How deals 0 … `count` - 1 of a match begin."""
    parts = list(_states(terms, count))
    return Starts(
        np.concatenate([part.level.astype(np.int64) for part in parts]),
        np.concatenate([points(part) for part in parts]),
    )


def points(state: State) -> NDArray[np.int64]:
    """How strong each hand is, `(n, 4)`: a rough count that a person can check.

    A big joker, a wild card and a rank with four cards or more are two points each, a small joker
    and any other card of the level one. Of sums of such counts this one goes well with the levels
    that equal sides win (correlation 0.47; the best weights reach 0.52).
    """
    counts = to_counts(state.hands).astype(np.int64)
    level = state.level.astype(np.int64)
    wild = np.take_along_axis(counts, _WILD[level][:, None, None], axis=2)[:, :, 0]
    ranks = counts[:, :, : 4 * NUM_RANKS].reshape(len(level), 4, NUM_RANKS, 4).sum(axis=3)
    of_level = np.take_along_axis(ranks, level[:, None, None], axis=2)[:, :, 0]
    fours = ((ranks >= 4) & (np.arange(NUM_RANKS) != level[:, None, None])).sum(axis=2)
    jokers = 2 * counts[:, :, BIG_JOKER] + counts[:, :, SMALL_JOKER]
    total: NDArray[np.int64] = jokers + wild + of_level + 2 * fours
    return total


def digest(terms: Terms, count: int) -> str:
    """SHA-256 over deals 0 … `count` - 1, in hexadecimal digits.

    Each deal is 222 bytes: the level's rank, the seat that decides first, the finishing order of
    the deal before (255 four times for none), and the hands of seats 0 … 3 as counts of the 54
    kinds.
    """
    hashed = hashlib.sha256()
    for state in _states(terms, count):
        hands = to_counts(state.hands).reshape(len(state.level), -1)
        begins = (state.level[:, None], state.seat[:, None], state.previous)
        hashed.update(np.hstack([*(part.astype(np.uint8) for part in begins), hands]).tobytes())
    return hashed.hexdigest()


def _states(terms: Terms, count: int) -> Iterator[State]:
    level = terms.rules.fixed_level if terms.level is None else terms.level
    for first in range(0, count, _TOGETHER):
        tables = np.arange(first, min(first + _TOGETHER, count))
        yield Engine(len(tables), terms.rules, seed=terms.seed, level=level, tables=tables).state
