"""The action table: every play of Guandan, for all levels, as one fixed list of 2,244 rows.

A row is a claim with everything that matters except suits: the pattern, its key, how many
natural (non-wild) cards of each rank it takes, at which ranks wilds stand in, and the suit only
for straight flushes. Two ways to resolve a wild are two rows (RULES 2.12). The rows come by
pattern, inside a pattern by key, inside a key with fewer wilds first:

====================  =====  ==========================================================
pattern               rows   order inside
====================  =====  ==========================================================
pass                      1
single                   16  ranks 2…A, small joker, big joker, a lone wild
pair                     29  rank, wilds; then SB SB, HR HR, two wilds
triple                   39  rank, wilds
full house              871  rank of the three, wilds, rank of the pair, then joker pairs
straight                160  lowest card A…T, wilds and where they stand
tube                    120  lowest card A…Q, wilds and where they stand
plate                    78  lowest card A…K, wilds and where they stand
bomb                    234  size, rank, wilds
straight flush          640  lowest card, suit, wilds and where they stand
joker bomb                1
card                     54  one card kind, to pay, to return or to pick in tribute
resist                    1  (declining to resist is the pass row)
====================  =====  ==========================================================

Reordering the table breaks every trained agent and every record: it is versioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guandan_env.cards import NUM_KINDS, NUM_RANKS

ACTION_TABLE_VERSION = "actions-v1"
NUM_ACTIONS = 2244


class Pattern(IntEnum):
    """What kind of claim a row is (牌型)."""

    PASS = 0
    SINGLE = 1
    PAIR = 2
    TRIPLE = 3
    FULL_HOUSE = 4
    STRAIGHT = 5
    TUBE = 6
    PLATE = 7
    BOMB = 8
    STRAIGHT_FLUSH = 9
    JOKER_BOMB = 10
    CARD = 11
    RESIST = 12


SEQUENCES = (Pattern.STRAIGHT, Pattern.TUBE, Pattern.PLATE, Pattern.STRAIGHT_FLUSH)
SMALL, BIG = 13, 14
# Key of the lone wild and of the pair of wilds: the level, whatever it is.
LEVEL_KEY = 15


class Row(NamedTuple):
    """One row: pattern, key, natural cards by rank (15), wilds by rank (13), wilds, suit."""

    pattern: Pattern
    key: int
    naturals: tuple[int, ...]
    wild_as: tuple[int, ...]
    wilds: int
    suit: int


def _row(
    pattern: Pattern,
    key: int,
    needs: dict[int, int],
    stands: tuple[int, ...] = (),
    free_wilds: int = 0,
    suit: int = -1,
) -> Row:
    """A row from the cards that it shows: `needs` by rank, of which wilds stand at `stands`."""
    wild_as = [0] * NUM_RANKS
    for rank in stands:
        wild_as[rank] += 1
    naturals = [needs.get(r, 0) - (wild_as[r] if r < NUM_RANKS else 0) for r in range(15)]
    return Row(pattern, key, tuple(naturals), tuple(wild_as), len(stands) + free_wilds, suit)


def _placements(ranks: tuple[int, ...], copies: int) -> list[tuple[int, ...]]:
    """All ways to let none, one or two wilds stand at `ranks`, each of which takes `copies`."""
    ways = [w for n in range(3) for w in combinations_with_replacement(ranks, n)]
    return [w for w in ways if all(w.count(r) <= copies for r in w)]


def _full_houses(rank: int) -> Iterator[Row]:
    others = [r for r in range(NUM_RANKS) if r != rank]
    pattern = Pattern.FULL_HOUSE
    for in_three, in_pair in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1)):
        for other in others:
            stands = (rank,) * in_three + (other,) * in_pair
            yield _row(pattern, rank, {rank: 3, other: 2}, stands)
        if not in_pair:
            for joker in (SMALL, BIG):
                yield _row(pattern, rank, {rank: 3, joker: 2}, (rank,) * in_three)
    yield _row(pattern, rank, {rank: 3}, free_wilds=2)


def _sequence(pattern: Pattern, length: int, copies: int) -> Iterator[Row]:
    # Position 0 is A low; the key is the rank index of the lowest card (A = 12).
    for position in range(NUM_RANKS + 2 - length):
        ranks = tuple((position + i - 1) % NUM_RANKS for i in range(length))
        suits = range(4) if pattern is Pattern.STRAIGHT_FLUSH else (-1,)
        for suit in suits:
            for stands in _placements(ranks, copies):
                yield _row(pattern, ranks[0], dict.fromkeys(ranks, copies), stands, suit=suit)


def _rows() -> Iterator[Row]:
    yield _row(Pattern.PASS, -1, {})
    for rank in range(15):
        yield _row(Pattern.SINGLE, rank, {rank: 1})
    yield _row(Pattern.SINGLE, LEVEL_KEY, {}, free_wilds=1)
    for rank in range(NUM_RANKS):
        for wilds in range(2):
            yield _row(Pattern.PAIR, rank, {rank: 2}, (rank,) * wilds)
    for joker in (SMALL, BIG):
        yield _row(Pattern.PAIR, joker, {joker: 2})
    yield _row(Pattern.PAIR, LEVEL_KEY, {}, free_wilds=2)
    for rank in range(NUM_RANKS):
        for wilds in range(3):
            yield _row(Pattern.TRIPLE, rank, {rank: 3}, (rank,) * wilds)
    for rank in range(NUM_RANKS):
        yield from _full_houses(rank)
    yield from _sequence(Pattern.STRAIGHT, 5, 1)
    yield from _sequence(Pattern.TUBE, 3, 2)
    yield from _sequence(Pattern.PLATE, 2, 3)
    for size in range(4, 11):
        for rank in range(NUM_RANKS):
            for wilds in range(3):
                if size - wilds <= 8:
                    yield _row(Pattern.BOMB, rank, {rank: size}, (rank,) * wilds)
    yield from _sequence(Pattern.STRAIGHT_FLUSH, 5, 1)
    yield _row(Pattern.JOKER_BOMB, SMALL, {SMALL: 2, BIG: 2})
    for kind in range(NUM_KINDS):
        rank = kind // 4 if kind < 52 else kind - 39
        yield _row(Pattern.CARD, rank, {rank: 1}, suit=kind % 4 if kind < 52 else -1)
    yield _row(Pattern.RESIST, -1, {})


ROWS: tuple[Row, ...] = tuple(_rows())
assert len(ROWS) == NUM_ACTIONS


def _frozen(values: Sequence[object]) -> NDArray[np.int8]:
    array = np.array(values, dtype=np.int8)
    array.setflags(write=False)
    return array


ROW_PATTERN = _frozen([r.pattern for r in ROWS])
ROW_KEY = _frozen([r.key for r in ROWS])
ROW_WILDS = _frozen([r.wilds for r in ROWS])
ROW_NATURALS = _frozen([r.naturals for r in ROWS])
ROW_WILD_AS = _frozen([r.wild_as for r in ROWS])
ROW_SUIT = _frozen([r.suit for r in ROWS])
ROW_SIZE: NDArray[np.int8] = ROW_NATURALS.sum(axis=1, dtype=np.int8) + ROW_WILDS
ROW_SIZE.setflags(write=False)

PASS = 0
RESIST = NUM_ACTIONS - 1
FIRST_CARD = RESIST - NUM_KINDS
LONE_WILD = 16
PAIR_OF_WILDS = 45
JOKER_BOMB = FIRST_CARD - 1


def level_order(level: int) -> NDArray[np.int64]:
    """Place `(15,)` of each rank in level order at a level: 2 lowest, big joker 14 (RULES 3.1)."""
    order = np.arange(15)
    order[level + 1 : 13] -= 1
    order[level] = 12
    return order


def strengths(level: int) -> NDArray[np.int16]:
    """What is compared, `(2244,) int16`, at a level: inside a pattern the higher beats the lower.

    Bombs of all kinds share one scale, above 100; pass, card and resist rows have -1.
    """
    order = level_order(level)
    key = np.where(ROW_KEY == LEVEL_KEY, level, ROW_KEY).astype(np.int64)
    natural = np.isin(ROW_PATTERN, SEQUENCES)
    value = np.where(natural, (key + 1) % NUM_RANKS, order[key])
    # Bombs of 4 and 5, then straight flushes, then bombs of 6 and more (RULES 3.4).
    size = ROW_SIZE.astype(np.int64)
    tier = np.where(size >= 6, size + 1, size)
    value = np.where(ROW_PATTERN == Pattern.BOMB, 100 * (tier - 3) + value, value)
    value = np.where(ROW_PATTERN == Pattern.STRAIGHT_FLUSH, 300 + value, value)
    value = np.where(ROW_PATTERN == Pattern.JOKER_BOMB, 1000, value)
    return np.where(np.isin(ROW_PATTERN, NOT_PLAYS), -1, value).astype(np.int16)


NOT_PLAYS = (Pattern.PASS, Pattern.CARD, Pattern.RESIST)
IS_PLAY: NDArray[np.bool_] = ~np.isin(ROW_PATTERN, NOT_PLAYS)
IS_BOMB: NDArray[np.bool_] = np.isin(
    ROW_PATTERN, (Pattern.BOMB, Pattern.STRAIGHT_FLUSH, Pattern.JOKER_BOMB)
)
# (13, 2244): strengths at every level.
STRENGTH: NDArray[np.int16] = np.stack([strengths(level) for level in range(NUM_RANKS)])
STRENGTH.setflags(write=False)


def beats(level: int, lead: int) -> NDArray[np.bool_]:
    """Rows `(2244,)` that beat the row `lead` at a level; the pass row is not among them."""
    strength = STRENGTH[level]
    higher = strength > strength[lead]
    same = (ROW_PATTERN == ROW_PATTERN[lead]) & ~IS_BOMB
    rows: NDArray[np.bool_] = IS_BOMB & higher if IS_BOMB[lead] else IS_BOMB | (same & higher)
    return rows & IS_PLAY
