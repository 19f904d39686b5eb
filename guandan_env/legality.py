"""Which rows of the action table a hand can make, and which beat a lead: bit-parallel.

For every fact that a row can need ("at least k natural cards of rank r", "the S7 is there", "two
wilds", …) there is one bit per table, 64 tables a word: a *plane*. A row is the AND of at most six
planes, so a few gathers give the whole table for all hands; transposing 64 x 64 bits then gives
each hand its row mask, packed in 36 words. What beats a lead at a level is precomputed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from guandan_env import actions as table
from guandan_env.actions import NUM_ACTIONS, Pattern
from guandan_env.cards import NUM_RANKS, Bits

U64 = NDArray[np.uint64]
MASK_WORDS = 36
_PADDED = 64 * MASK_WORDS
_u = np.uint64
NIBBLES = _u(0x1111111111111)  # the lowest bit of each of 13 ranks' four suits
NATURAL = _u((1 << 52) - 1)
SUIT_CARDS = _u((1 << 52) - 1)
WINDOWS = _u((1 << 40) - 1)

# Planes: 0-51 natural kinds; 52/53 jokers; 54/55 both of them; 56/57 wilds; 58 true; 59 false;
# 64 + 4r + k-1 and 128 + 4r + k-5: at least k naturals of rank r; 192 + 4p: straight p not forced
# to be of one suit.
_TWO_JOKERS, _WILDS, _TRUE, _FALSE = 54, 56, 58, 59


def split_wilds(hands: Bits, levels: NDArray[np.integer]) -> tuple[U64, U64, U64]:
    """Hands `(n, 2)` as naturals held once, held twice, and the number of wilds, each `(n,)`."""
    kind = (4 * levels.astype(np.uint64)) + _u(1)
    wild = _u(1) << kind
    one, two = hands[:, 0], hands[:, 1]
    wilds = ((one >> kind) & _u(1)) + ((two >> kind) & _u(1))
    return one & ~wild, two & ~wild, wilds


def _rank_counts(one: U64, two: U64) -> U64:
    """Cards of each rank, one nibble a rank, from the two bit sets (jokers must be masked)."""
    counts = np.zeros_like(one)
    for bits in (one, two):
        for suit in range(4):
            counts += (bits >> _u(suit)) & NIBBLES
    return counts


def _ace_low(cards: U64) -> U64:
    """The 52 suited kinds with the aces once more below the twos: 14 nibbles."""
    cards = cards & SUIT_CARDS
    return (cards << _u(4)) | (cards >> _u(48))


def straight_flushes(naturals: U64, wilds: U64) -> U64:
    """Straight flushes that can be made, `(n,)`: bit 4p + s for position p (0 = A low), suit s."""
    a = _ace_low(naturals)
    b, c, d, e = a >> _u(4), a >> _u(8), a >> _u(12), a >> _u(16)
    # Two full adders count the five cards: twice (c1 + c2) plus s2.
    s1, c1 = a ^ b ^ c, (a & b) | (c & (a ^ b))
    s2, c2 = s1 ^ d ^ e, (s1 & d) | (e & (s1 ^ d))
    four = c1 & c2
    three = four | ((c1 ^ c2) & s2)
    made = np.where(wilds == 0, four & s2, np.where(wilds == 1, four, three))
    windows: U64 = made & WINDOWS
    return windows


# Distance of a swap, and the lower of each two groups of that many bits.
_SWAPS = [
    (shift, _u(sum(((1 << shift) - 1) << i for i in range(0, 64, 2 * shift))))
    for shift in (32, 16, 8, 4, 2, 1)
]


def _transpose(words: U64) -> None:
    """Transpose, in place, the 64 x 64 bits of each `[g, :, m]` of `(groups, 64, m)` words."""
    groups, _, inner = words.shape
    for shift, pattern in _SWAPS:
        pairs = words.reshape(groups, 32 // shift, 2, shift, inner)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        swap = low >> _u(shift)
        swap ^= high
        swap &= pattern
        high ^= swap
        swap <<= _u(shift)
        low ^= swap


def _planes(hands: Bits, levels: NDArray[np.integer], flush_is_straight: bool) -> U64:
    """Planes `(256, n / 64)` of hands `(n, 2)`, n a multiple of 64."""
    one, two, wilds = split_wilds(hands, levels)
    suited = one & SUIT_CARDS
    counts = _rank_counts(suited, two & SUIT_CARDS)
    facts = np.empty((len(hands), 4), dtype=np.uint64)
    facts[:, 0] = one | ((two >> _u(52)) << _u(_TWO_JOKERS)) | (_u(1) << _u(_TRUE))
    facts[:, 0] |= ((wilds >= 1).astype(np.uint64) << _u(_WILDS)) | (
        (wilds >= 2).astype(np.uint64) << _u(_WILDS + 1)
    )
    for word in (1, 2):
        facts[:, word] = 0
        for i in range(4):
            k = 4 * (word - 1) + i + 1
            # A nibble of k or more carries into its highest bit when 8 - k is added.
            reached = ((counts + NIBBLES * _u(8 - k)) >> _u(3)) & NIBBLES
            facts[:, word] |= reached << _u(i)
    if flush_is_straight:
        facts[:, 3] = ~_u(0)
    else:
        kinds = (suited & NIBBLES) + ((suited >> _u(1)) & NIBBLES)
        kinds += ((suited >> _u(2)) & NIBBLES) + ((suited >> _u(3)) & NIBBLES)
        alone = NIBBLES & kinds & ~(kinds >> _u(1))  # of 0…4 suits, exactly one
        forced = straight_flushes(suited & (alone * _u(15)), np.zeros_like(wilds))
        forced |= (forced >> _u(1)) | (forced >> _u(2)) | (forced >> _u(3))
        facts[:, 3] = ~forced
    blocks = facts.reshape(-1, 64, 4)
    _transpose(blocks)
    return np.ascontiguousarray(blocks.transpose(2, 1, 0)).reshape(256, -1)


def _needs(row: table.Row) -> list[int]:
    """Planes whose AND says that a hand can make a row."""
    if row.pattern in table.NOT_PLAYS:
        return [_TRUE if row.pattern is Pattern.PASS else _FALSE]
    needs = [_WILDS + row.wilds - 1] if row.wilds else []
    for rank in (13, 14):
        if row.naturals[rank]:
            needs.append((52 if row.naturals[rank] == 1 else _TWO_JOKERS) + rank - 13)
    for rank, count in enumerate(row.naturals[:NUM_RANKS]):
        if not count:
            continue
        if row.suit >= 0:
            needs.append(4 * rank + row.suit)
        else:
            needs.append((64 if count <= 4 else 128) + 4 * rank + (count - 1) % 4)
    if row.pattern is Pattern.STRAIGHT and not row.wilds:
        needs.append(192 + 4 * ((row.key + 1) % NUM_RANKS))
    return needs


@cache
def _needs_by_size() -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows grouped by how many planes they need: (rows, planes `(size, rows)`)."""
    needs = [_needs(row) for row in table.ROWS]
    groups = []
    for size in range(1, 7):
        rows = [i for i, n in enumerate(needs) if len(n) == size]
        groups.append((np.array(rows, np.intp), np.array([needs[i] for i in rows], np.intp).T))
    return groups


def hand_masks(hands: Bits, levels: NDArray[np.integer], *, flush_is_straight: bool = False) -> U64:
    """Rows that hands `(n, 2)` can make at levels `(n,)`, whatever the lead: `(n, 36)` packed.

    Bit r % 64 of word r // 64 is row r. The pass row is always set, card and resist rows never.
    """
    n = len(hands)
    blocks = -(-n // 64)
    padded = np.zeros((64 * blocks, 2), dtype=np.uint64)
    padded[:n] = hands
    at = np.zeros(64 * blocks, dtype=np.uint64)
    at[:n] = levels
    planes = _planes(padded, at, flush_is_straight)
    rows = np.zeros((_PADDED, blocks), dtype=np.uint64)
    for members, needs in _needs_by_size():
        legal = planes[needs[0]]
        for need in needs[1:]:
            legal &= planes[need]
        rows[members] = legal
    cube = rows.reshape(MASK_WORDS, 64, blocks)
    _transpose(cube)
    return cube.transpose(2, 1, 0).reshape(64 * blocks, MASK_WORDS)[:n]


def pack(mask: NDArray[np.generic]) -> U64:
    """Packed `(…, 36)` form of masks `(…, 2244)`."""
    padded = np.zeros((*mask.shape[:-1], _PADDED), dtype=bool)
    padded[..., :NUM_ACTIONS] = mask != 0
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


def unpack(packed: U64) -> NDArray[np.int8]:
    """Masks `(n, 2244) int8` of 0 and 1, of packed masks `(n, 36)`."""
    octets = np.ascontiguousarray(packed).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=NUM_ACTIONS, bitorder="little").view(np.int8)


def is_set(packed: U64, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether row `rows[i]` is in packed mask i: `(n,)`. Rows must be in range."""
    words = packed[np.arange(len(rows)), rows >> 6]
    bits: NDArray[np.bool_] = ((words >> (rows & 63).astype(np.uint64)) & _u(1)).astype(bool)
    return bits


@cache
def beating_masks() -> tuple[NDArray[np.int16], U64]:
    """What may answer a lead: index `(13, 2244)` by level and lead, into masks `(m, 36)`.

    A lead of row 0 (none) allows every play and no pass; any other lead allows the pass row.
    """
    free = table.IS_PLAY.copy()
    masks = [free]
    index = np.zeros((NUM_RANKS, NUM_ACTIONS), dtype=np.int16)
    for level in range(NUM_RANKS):
        strength = table.STRENGTH[level]
        classes: dict[tuple[int, int], int] = {}
        for row in np.flatnonzero(table.IS_PLAY):
            kind = -1 if table.IS_BOMB[row] else int(table.ROW_PATTERN[row])
            claim = (kind, int(strength[row]))
            if claim not in classes:
                mask = table.beats(level, int(row))
                mask[table.PASS] = True
                classes[claim] = len(masks)
                masks.append(mask)
            index[level, row] = classes[claim]
    return index, pack(np.stack(masks))


def select(packed: U64, nth: NDArray[np.integer]) -> NDArray[np.int64]:
    """The row of the `nth` set bit (from 0) of each packed mask `(n, 36)`: `(n,)`."""
    upto = np.cumsum(np.bitwise_count(packed), axis=1, dtype=np.int32)
    word = (upto <= nth[:, None]).sum(axis=1)
    at = np.arange(len(packed))
    bits = packed[at, word]
    left = nth - np.where(word > 0, upto[at, np.maximum(word, 1) - 1], 0)
    position = np.zeros(len(packed), dtype=np.uint64)
    for width in (32, 16, 8, 4, 2, 1):
        low = bits & _u((1 << width) - 1)
        count = np.bitwise_count(low).astype(np.int64)
        above = left >= count
        left = left - np.where(above, count, 0)
        position += np.where(above, _u(width), _u(0))
        bits = np.where(above, bits >> _u(width), low)
    row: NDArray[np.int64] = 64 * word + position.astype(np.int64)
    return row


def count(packed: U64) -> NDArray[np.int64]:
    """Number of rows in each packed mask `(n, 36)`."""
    number: NDArray[np.int64] = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
    return number
