"""Which cards leave the hand when a row is played: rows say ranks, not suits.

Of all cards that make the row, those go after which the hand can still make the most straight
flushes (positions and suits, wilds included); among equals, the first in canonical order (RULES
4.9). A straight without wilds never takes five cards of one suit by accident (RULES 2.8).
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from guandan_env import actions as table
from guandan_env.actions import NUM_ACTIONS, Pattern
from guandan_env.cards import KIND_RANK, NUM_RANKS, Bits, to_bits, to_counts, wild_kind
from guandan_env.legality import split_wilds, straight_flushes

U64 = NDArray[np.uint64]
_u = np.uint64
_SLOTS = 5
_CHOICES = 19  # most ways to take k of eight cards of a rank, copies not told apart (k = 4)


def _row_tables() -> tuple[U64, NDArray[np.int64], NDArray[np.uint8], U64]:
    """What rows take. Of ranks whose suits are free, slot by slot, `(5, R)`: where the rank's four
    suits begin in the bits of a hand, how many cards it gives, and 15 for a slot that is not used.
    Of all others the cards, `(R, 2)` as bits.
    """
    shifts = np.zeros((_SLOTS, NUM_ACTIONS), dtype=np.uint64)
    takes = np.zeros((_SLOTS, NUM_ACTIONS), dtype=np.int64)
    fixed = np.zeros((NUM_ACTIONS, 2), dtype=np.uint64)
    for i, row in enumerate(table.ROWS):
        if row.pattern in table.NOT_PLAYS:
            continue
        slot = 0
        for rank, number in enumerate(row.naturals):
            if number and (rank >= NUM_RANKS or row.suit >= 0):
                kind = 4 * rank + row.suit if row.suit >= 0 else 39 + rank
                fixed[i, :number] |= _u(1) << _u(kind)
            elif number:
                shifts[slot, i], takes[slot, i] = 4 * rank, number
                slot += 1
    return shifts, takes, np.where(takes == 0, np.uint8(15), np.uint8(0)), fixed


ROW_SHIFTS, ROW_TAKES, ROW_UNUSED, ROW_FIXED = _row_tables()
_PLAIN_STRAIGHT = (table.ROW_PATTERN == Pattern.STRAIGHT) & (table.ROW_WILDS == 0)
# [level, wilds]: the wilds as bits.
_WILDS = np.array(
    [[[0, 0], [1 << wild_kind(r), 0], [1 << wild_kind(r)] * 2] for r in range(NUM_RANKS)],
    dtype=np.uint64,
)


@cache
def _ways() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Ways to take k cards of a rank: `[held once | held twice << 4, k, way]` and their number.

    A way is coded as its own suits held once | twice << 4; ways come in canonical order.
    """
    ways = np.zeros((256, 9, _CHOICES), dtype=np.uint8)
    number = np.ones((256, 9), dtype=np.int64)
    for code in range(256):
        once, twice = code & 15, code >> 4
        if twice & ~once:
            continue
        cards = [s for s in range(4) for _ in range((once >> s & 1) + (twice >> s & 1))]
        for k in range(1, len(cards) + 1):
            found = sorted(set(combinations(cards, k)))
            number[code, k] = len(found)
            for i, way in enumerate(found):
                ones = sum(1 << s for s in set(way))
                twos = sum(1 << s for s in range(4) if way.count(s) == 2)
                ways[code, k, i] = ones | twos << 4
    return ways, number


def _suits_of(one: U64, two: U64, shifts: U64) -> NDArray[np.int64]:
    """Suits held once | twice << 4, of hands `(n,)` in the ranks at `shifts` `(5, n)`."""
    code = ((one >> shifts) & 15) | (((two >> shifts) & 15) << 4)
    suits: NDArray[np.int64] = code.astype(np.int64)
    return suits


def _cards_of(ways: NDArray[np.uint8], shifts: U64) -> Bits:
    """The cards `(n, 2)` of ways `(5, n)` to take from the ranks at `shifts`."""
    cards = np.empty((ways.shape[1], 2), dtype=np.uint64)
    np.bitwise_or.reduce((ways & 15).astype(np.uint64) << shifts, axis=0, out=cards[:, 0])
    np.bitwise_or.reduce((ways >> 4).astype(np.uint64) << shifts, axis=0, out=cards[:, 1])
    return cards


def _once_after(one: U64, two: U64, cards: Bits) -> U64:
    """The kinds that hands still hold without some cards."""
    return one & ~(cards[:, 1] | (cards[:, 0] & ~two))


def _makes_flush(ways: NDArray[np.uint8], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether ways `(5, n)` take the five cards of a plain straight from one suit."""
    shared = np.bitwise_and.reduce(ways | ROW_UNUSED.take(rows, axis=1), axis=0)
    flush: NDArray[np.bool_] = _PLAIN_STRAIGHT[rows] & (shared & 15 != 0)
    return flush


def choose_cards(
    hands: Bits,
    rows: NDArray[np.integer],
    levels: NDArray[np.integer],
    *,
    flush_is_straight: bool = False,
) -> Bits:
    """Cards `(n, 2)` that leave hands `(n, 2)` for legal play rows `(n,)` at levels `(n,)`."""
    one, two, held_wilds = split_wilds(hands, levels)
    wilds = table.ROW_WILDS[rows]
    wilds_left = held_wilds - wilds.astype(np.uint64)
    fixed = ROW_FIXED.take(rows, axis=0)
    takes, shifts = ROW_TAKES.take(rows, axis=1), ROW_SHIFTS.take(rows, axis=1)
    ways = _ways()[0][_suits_of(one, two, shifts), takes, 0]
    cards = _cards_of(ways, shifts) | fixed
    after = _once_after(one, two, cards)
    before, left = straight_flushes(np.stack([one, after]), wilds_left)
    search = (before != left) & (takes[0] > 0)
    if not flush_is_straight:
        search |= _makes_flush(ways, rows)
    at = search.nonzero()[0]
    if at.size:
        found = _search(one[at], two[at], rows[at], wilds_left[at], flush_is_straight)
        cards[at] = found | fixed[at]
    cards |= _WILDS[levels, wilds]
    return cards


def _search(
    one: U64,
    two: U64,
    rows: NDArray[np.integer],
    wilds_left: U64,
    flush_is_straight: bool,
) -> Bits:
    """The cards of free suits in `choose_cards`, by trying all of them in one ragged batch."""
    ways, numbers = _ways()
    shifts, takes = ROW_SHIFTS.take(rows, axis=1), ROW_TAKES.take(rows, axis=1)
    codes = _suits_of(one, two, shifts)
    options = numbers[codes, takes]
    totals = options.prod(axis=0)
    starts = np.cumsum(totals) - totals
    item = np.repeat(np.arange(len(rows)), totals)
    trial = np.arange(len(item)) - starts[item]
    tried = np.empty((_SLOTS, len(item)), dtype=np.uint8)
    rest = trial.copy()
    for slot in range(_SLOTS - 1, -1, -1):  # the last rank varies fastest: canonical order
        radix = options[slot, item]
        tried[slot] = ways[codes[slot, item], takes[slot, item], rest % radix]
        rest //= radix
    cards = _cards_of(tried, shifts.take(item, axis=1))
    after = _once_after(one[item], two[item], cards)
    score = np.bitwise_count(straight_flushes(after, wilds_left[item])).astype(np.int64)
    if not flush_is_straight:
        score[_makes_flush(tried, rows[item])] = -1
    best = np.maximum.reduceat(score * 2048 + (2047 - trial), starts)
    taken: Bits = cards[starts + (2047 - best % 2048)]
    return taken


def match_cards(
    hands: Bits,
    rows: NDArray[np.integer],
    levels: NDArray[np.integer],
    cards: NDArray[np.integer],
    *,
    flush_is_straight: bool = False,
) -> tuple[Bits, NDArray[np.bool_]]:
    """Cards given as counts `(n, 54)` for rows `(n,)`: their bits, and where they are wrong.

    Where a hand plays and no card is given the engine's choice stands in. Cards are wrong if the
    hand does not hold them or they do not make the row.
    """
    none = (cards == 0).all(axis=1)
    bits = to_bits(cards)
    chosen = choose_cards(hands, rows, levels, flush_is_straight=flush_is_straight)
    one, two, wilds = split_wilds(bits, levels)
    naturals = np.stack([one, two], axis=-1)
    counts = to_counts(naturals)
    by_rank = np.zeros((len(rows), 15), dtype=np.int64)
    np.add.at(by_rank.T, KIND_RANK, counts.T)
    wrong = (by_rank != table.ROW_NATURALS[rows]).any(axis=1)
    wrong |= wilds != table.ROW_WILDS[rows].astype(np.uint64)
    wrong |= (cards > to_counts(hands)).any(axis=1) | (cards < 0).any(axis=1)
    # A straight flush takes exactly the cards of its suit, which are fixed by its row.
    flush = table.ROW_PATTERN[rows] == Pattern.STRAIGHT_FLUSH
    wrong |= flush & (one != ROW_FIXED[rows, 0])
    if not flush_is_straight:
        made = straight_flushes(one, np.zeros(len(rows), dtype=np.uint64)) != 0
        wrong |= _PLAIN_STRAIGHT[rows] & made
    return np.where(none[:, None], chosen, bits), wrong & ~none
