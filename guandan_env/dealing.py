"""Dealing, and all else that is random at a table: functions of (seed, table, deal) alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from guandan_env import randomness
from guandan_env.cards import NUM_KINDS, Bits, to_bits

Int = NDArray[np.integer]


@dataclass(frozen=True)
class Dealt:
    """`hands` `(n, 4, 2)` as bits; `sequence` `(n, 108)`: kinds in the order of dealing.

    Card i of the sequence went to seat i % 4.
    """

    hands: Bits
    sequence: NDArray[np.int64]

    def first_heart(self, levels: Int) -> NDArray[np.int64]:
        """The seat `(n,)` that was dealt a heart of the level rank first."""
        seat: NDArray[np.int64] = np.argmax(self.sequence == (4 * levels + 1)[:, None], axis=1) % 4
        return seat


def deal(seed: int, tables: Int, deals: Int) -> Dealt:
    """Shuffle two decks and deal them out, 27 cards a seat, for keys `(n,)`."""
    keys = randomness.key(seed, tables, deals, randomness.DECK)
    sequence = np.argsort(randomness.numbers(keys, 2 * NUM_KINDS), axis=1, kind="stable") // 2
    n = len(keys)
    hand = 4 * np.arange(n)[:, None] + np.arange(2 * NUM_KINDS) % 4
    counts = np.bincount((hand * NUM_KINDS + sequence).ravel(), minlength=4 * n * NUM_KINDS)
    return Dealt(to_bits(counts.reshape(n, 4, NUM_KINDS)), sequence)


def turned(seed: int, tables: Int, deals: Int) -> NDArray[np.int64]:
    """The seat `(n,)` that holds the card turned up: uniform over the seats."""
    return randomness.below(randomness.key(seed, tables, deals, randomness.TURNED), 4)


def levels(seed: int, tables: Int, deals: Int) -> NDArray[np.int64]:
    """A level rank `(n,)`, uniform over the thirteen."""
    return randomness.below(randomness.key(seed, tables, deals, randomness.LEVEL), 13)


def _finishing_orders() -> NDArray[np.int64]:
    orders = []
    for a, b, c, d in permutations(range(4)):
        if b == (a + 2) % 4:  # a double-down: the losers' places follow from the first's
            c, d = (a + 3) % 4, (a + 1) % 4
        orders.append((a, b, c, d))
    return np.array(orders)


FINISHING_ORDERS = _finishing_orders()


def previous_orders(seed: int, tables: Int, deals: Int, *, half: bool) -> NDArray[np.int64]:
    """A random finishing order `(n, 4)` before each deal; with `half`, -1 for one in two."""
    keys = randomness.key(seed, tables, deals, randomness.PREVIOUS)
    pick = randomness.below(keys, 48 if half else 24)
    orders = np.concatenate([FINISHING_ORDERS, np.full((24, 4), -1)])
    chosen: NDArray[np.int64] = orders[pick]
    return chosen
