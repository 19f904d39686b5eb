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
from guandan_env.cards import KIND_RANK, NUM_RANKS, Bits, remove, to_bits, to_counts
from guandan_env.legality import split_wilds, straight_flushes

U64 = NDArray[np.uint64]
_u = np.uint64
_SLOTS = 5
_CHOICES = 19  # most ways to take k of eight cards of a rank, copies not told apart (k = 4)


def _row_tables() -> tuple[NDArray[np.int64], NDArray[np.int64], U64]:
    """Ranks `(R, 5)` and counts `(R, 5)` whose suits are free, fixed cards `(R, 2)` as bits."""
    ranks = np.zeros((NUM_ACTIONS, _SLOTS), dtype=np.int64)
    takes = np.zeros((NUM_ACTIONS, _SLOTS), dtype=np.int64)
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
                ranks[i, slot], takes[i, slot] = rank, number
                slot += 1
    return ranks, takes, fixed


ROW_RANKS, ROW_TAKES, ROW_FIXED = _row_tables()
_PLAIN_STRAIGHT = (table.ROW_PATTERN == Pattern.STRAIGHT) & (table.ROW_WILDS == 0)


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


def _wild_cards(rows: NDArray[np.integer], levels: NDArray[np.integer]) -> Bits:
    """The wilds that rows take, as bits `(n, 2)`."""
    wilds = table.ROW_WILDS[rows]
    bit = _u(1) << (4 * levels.astype(np.uint64) + _u(1))
    return np.stack([np.where(wilds > 0, bit, _u(0)), np.where(wilds > 1, bit, _u(0))], axis=-1)


def _suits_of(one: U64, two: U64, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    shift = 4 * ranks.astype(np.uint64)
    code = ((one >> shift) & _u(15)) | (((two >> shift) & _u(15)) << _u(4))
    suits: NDArray[np.int64] = code.astype(np.int64)
    return suits


def _put(cards: Bits, ways: NDArray[np.uint8], ranks: NDArray[np.int64]) -> None:
    shift = 4 * ranks.astype(np.uint64)
    cards[:, 0] |= (ways & 15).astype(np.uint64) << shift
    cards[:, 1] |= (ways >> 4).astype(np.uint64) << shift


def choose_cards(
    hands: Bits,
    rows: NDArray[np.integer],
    levels: NDArray[np.integer],
    *,
    flush_is_straight: bool = False,
) -> Bits:
    """Cards `(n, 2)` that leave hands `(n, 2)` for legal play rows `(n,)` at levels `(n,)`."""
    one, two, held_wilds = split_wilds(hands, levels)
    cards: Bits = ROW_FIXED[rows] | _wild_cards(rows, levels)
    ways, _ = _ways()
    takes, ranks = ROW_TAKES[rows], ROW_RANKS[rows]
    # All five cards of a plain straight must share a suit for it to be a flush.
    shared = np.full(len(rows), 15, dtype=np.uint8)
    for slot in range(_SLOTS):
        take = takes[:, slot]
        if not take.any():
            break
        way = ways[_suits_of(one, two, ranks[:, slot]), take, 0]
        _put(cards, way, ranks[:, slot])
        shared &= np.where(take > 0, way, shared)
    wilds_left = held_wilds - table.ROW_WILDS[rows].astype(np.uint64)
    after = remove(np.stack([one, two], axis=-1), cards)[:, 0]
    lost = straight_flushes(one, wilds_left) != straight_flushes(after, wilds_left)
    search = lost & (takes[:, 0] > 0)
    if not flush_is_straight:
        search |= _PLAIN_STRAIGHT[rows] & (shared & 15 != 0)
    if search.any():
        at = np.flatnonzero(search)
        cards[at] = _search(
            one[at], two[at], rows[at], levels[at], wilds_left[at], flush_is_straight
        )
    return cards


def _search(
    one: U64,
    two: U64,
    rows: NDArray[np.integer],
    levels: NDArray[np.integer],
    wilds_left: U64,
    flush_is_straight: bool,
) -> Bits:
    """`choose_cards` by trying all cards that make the rows, in one ragged batch."""
    ways, numbers = _ways()
    ranks, takes = ROW_RANKS[rows], ROW_TAKES[rows]
    codes = _suits_of(one[:, None], two[:, None], ranks)
    options = numbers[codes, takes]
    totals = options.prod(axis=1)
    starts = np.cumsum(totals) - totals
    item = np.repeat(np.arange(len(rows)), totals)
    trial = np.arange(len(item)) - starts[item]
    cards = np.zeros((len(item), 2), dtype=np.uint64)
    shared = np.full(len(item), 15, dtype=np.uint8)
    rest = trial.copy()
    for slot in range(_SLOTS - 1, -1, -1):  # the last rank varies fastest: canonical order
        radix = options[item, slot]
        take = takes[item, slot]
        way = np.where(take > 0, ways[codes[item, slot], take, rest % radix], np.uint8(0))
        rest //= radix
        _put(cards, way, ranks[item, slot])
        shared &= np.where(take > 0, way, shared)
    after = remove(np.stack([one[item], two[item]], axis=-1), cards)[:, 0]
    score = np.bitwise_count(straight_flushes(after, wilds_left[item])).astype(np.int64)
    if not flush_is_straight:
        score[_PLAIN_STRAIGHT[rows[item]] & (shared & 15 != 0)] = -1
    best = np.maximum.reduceat(score * 2048 + (2047 - trial), starts)
    chosen = starts + (2047 - best % 2048)
    taken: Bits = cards[chosen] | ROW_FIXED[rows] | _wild_cards(rows, levels)
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
