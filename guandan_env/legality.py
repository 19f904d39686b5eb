"""Which rows of the action table a hand can make, and which beat a lead: bit-parallel.

For every fact that a row can need ("at least k natural cards of rank r", "the S7 is there", "two
wilds", …) there is a bit, a *plane*, 256 in all; a row is the AND of at most six of them. For many
hands a plane is laid out as one bit per hand, 64 hands a word: a few gathers give the whole table
for all hands, and transposing 64 x 64 bits then gives each hand its row mask, packed in 36 words.
For a few hands each row looks its planes up in each hand. What beats a lead at a level is
precomputed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from guandan_env import actions as table
from guandan_env.actions import NUM_ACTIONS, Pattern
from guandan_env.cards import NUM_RANKS, Bits
from guandan_env.errors import GuandanError

U64 = NDArray[np.uint64]
MASK_WORDS = 36
FEW = 16  # up to so many hands it is quicker not to transpose
_PADDED = 64 * MASK_WORDS
_UNPACKED = 64  # hands that are unpacked at a time into a given array
_u = np.uint64
NIBBLES = _u(0x1111111111111)  # the lowest bit of each of 13 ranks' four suits
SUIT_CARDS = _u((1 << 52) - 1)
WINDOWS = _u((1 << 40) - 1)
_ONE, _TWO, _ALL_SUITS = _u(1), _u(2), _u(15)
_RANK, _TWELVE_RANKS = _u(4), _u(4 * 12)  # bits
_EVEN_BITS = _u(0x5555555555555)
_LOW_PAIRS = _u(0x3333333333333)
_WILD_BIT = _u(1) << np.arange(1, 4 * NUM_RANKS, 4, dtype=np.uint64)  # by level

# Planes: 0-51 natural kinds; 52/53 jokers; 54/55 both of them; 56/57 wilds; 58 true; 59 false;
# 64 + 4r + k-1 and 128 + 4r + k-5: at least k naturals of rank r; 192 + 4p: straight p not forced
# to be of one suit.
_TWO_JOKERS, _WILDS, _TRUE, _FALSE = 54, 56, 58, 59
_NUM_PLANES = 256
_ALWAYS = _u(1 << _TRUE)
# For k = 1…4 and 5…8, `[word, k, 1]`: what makes a nibble of k or more reach 8, and k's place.
_TO_EIGHT = NIBBLES * np.arange(7, -1, -1, dtype=np.uint64).reshape(2, 4, 1)
_PLACE = np.arange(4, dtype=np.uint64)[:, None]


def split_wilds(hands: Bits, levels: NDArray[np.integer]) -> tuple[U64, U64, U64]:
    """Hands `(n, 2)` as naturals held once, held twice, and the number of wilds, each `(n,)`."""
    wild = _WILD_BIT[levels]
    one, two = hands[:, 0], hands[:, 1]
    wilds = (one & wild != 0) + (two & wild != 0).astype(np.uint64)
    return one & ~wild, two & ~wild, wilds


def _suits_held(cards: U64) -> U64:
    """In how many suits each rank is held: 0…4, one nibble a rank (jokers must be masked)."""
    pairs = cards - ((cards >> _ONE) & _EVEN_BITS)
    return (pairs & _LOW_PAIRS) + ((pairs >> _TWO) & _LOW_PAIRS)


def _ace_low(cards: U64) -> U64:
    """The 52 suited kinds with the aces once more below the twos: 14 nibbles."""
    cards = cards & SUIT_CARDS
    return (cards << _RANK) | (cards >> _TWELVE_RANKS)


def straight_flushes(naturals: U64, wilds: U64) -> U64:
    """Straight flushes that can be made, `(n,)`: bit 4p + s for position p (0 = A low), suit s."""
    a = _ace_low(naturals)
    b, c, d, e = a >> 4, a >> 8, a >> 12, a >> 16
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
        swap = low >> shift
        swap ^= high
        swap &= pattern
        high ^= swap
        swap <<= shift
        low ^= swap


def _facts(hands: Bits, levels: NDArray[np.integer], flush_is_straight: bool) -> U64:
    """What hands `(n, 2)` have, `(4, n)`: plane p is bit p % 64 of word p // 64."""
    one, two, wilds = split_wilds(hands, levels)
    facts = np.empty((_NUM_PLANES // 64, len(hands)), dtype=np.uint64)
    facts[0] = one | ((two >> 52) << _TWO_JOKERS) | ((wilds + (wilds >> 1)) << _WILDS) | _ALWAYS
    suited = one & SUIT_CARDS
    suits = _suits_held(suited)
    counts = suits + _suits_held(two & SUIT_CARDS)
    reached = ((counts + _TO_EIGHT) >> 3) & NIBBLES
    np.bitwise_or.reduce(reached << _PLACE, axis=1, out=facts[1:3])
    if flush_is_straight:
        facts[3] = ~_u(0)
    else:
        alone = NIBBLES & suits & ~(suits >> _ONE)  # of 0…4 suits, exactly one
        single = _ace_low(suited & (alone * _ALL_SUITS))
        forced = single & (single >> 4)
        forced &= forced >> 8
        forced &= single >> 16
        forced |= (forced >> 1) | (forced >> 2) | (forced >> 3)
        facts[3] = ~forced
    return facts


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
def _all_needs() -> NDArray[np.intp]:
    """The planes that each row needs, `(6, 2304)`, filled up with true; no row is beyond 2243."""
    needs = np.full((6, _PADDED), _TRUE, dtype=np.intp)
    needs[0, NUM_ACTIONS:] = _FALSE
    for i, row in enumerate(table.ROWS):
        planes = _needs(row)
        needs[: len(planes), i] = planes
    return needs


@cache
def _needs_by_size() -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows grouped by how many planes they need: (rows, planes `(size, rows)`)."""
    needs = _all_needs()
    sizes = (needs != _TRUE).sum(axis=0)
    sizes[table.PASS] = 1  # which needs nothing
    groups = [np.flatnonzero(sizes == size) for size in range(1, 7)]
    return [(rows, needs[:size, rows]) for size, rows in enumerate(groups, 1)]


def hand_masks(hands: Bits, levels: NDArray[np.integer], *, flush_is_straight: bool = False) -> U64:
    """Rows that hands `(n, 2)` can make at levels `(n,)`, whatever the lead: `(n, 36)` packed.

    Bit r % 64 of word r // 64 is row r. The pass row is always set, card and resist rows never.
    """
    facts = _facts(hands, levels, flush_is_straight)
    return _masks_of_few(facts) if len(hands) <= FEW else _masks_of_many(facts)


def _masks_of_few(facts: U64) -> U64:
    """Row masks `(n, 36)` from facts `(4, n)`, hand by hand in a byte for each plane and row."""
    octets = np.ascontiguousarray(facts.T).view(np.uint8)
    planes = np.unpackbits(octets, axis=1, bitorder="little")
    rows = np.bitwise_and.reduce(planes.take(_all_needs(), axis=1), axis=1)
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint64)


def _masks_of_many(facts: U64) -> U64:
    """Row masks `(n, 36)` from facts `(4, n)`, 64 hands in a word."""
    words, n = facts.shape
    blocks = -(-n // 64)
    padded = np.zeros((words, 64 * blocks), dtype=np.uint64)
    padded[:, :n] = facts
    planes = np.ascontiguousarray(padded.reshape(words, blocks, 64).swapaxes(1, 2))
    _transpose(planes)
    planes = planes.reshape(_NUM_PLANES, blocks)
    rows = np.empty((_PADDED, blocks), dtype=np.uint64)
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


def unpack(packed: U64, out: NDArray[np.int8] | None = None) -> NDArray[np.int8]:
    """Masks `(n, 2244) int8` of 0 and 1, of packed masks `(n, 36)`.

    `out`, of that shape and type, is filled and returned if given; `GuandanError` if it does not
    fit.
    """
    octets = np.ascontiguousarray(packed).view(np.uint8)
    if out is None:
        return np.unpackbits(octets, axis=-1, count=NUM_ACTIONS, bitorder="little").view(np.int8)
    if out.shape != (len(octets), NUM_ACTIONS) or out.dtype != np.int8:
        raise GuandanError(
            f"out is {out.dtype} of shape {out.shape}; "
            f"int8 of shape ({len(octets)}, {NUM_ACTIONS}) is allowed"
        )
    # numpy unpacks into new memory only; a few hands of it stay in the cache.
    for start in range(0, len(octets), _UNPACKED):
        part = octets[start : start + _UNPACKED]
        bits = np.unpackbits(part, axis=-1, count=NUM_ACTIONS, bitorder="little")
        out[start : start + _UNPACKED] = bits.view(np.int8)
    return out


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
