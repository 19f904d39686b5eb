"""How good a hand is: its best partition into plays, for many hands at once.

A hand is a sum over the plays it is cut into. A play costs one turn and gives back its *control*
(0 … 1, more for bombs): what it is worth in taking the lead. So the value of a hand is minus the
turns that somebody else has to give it, and the best partition is the one of the highest value.

A partition is some sequences (straights, tubes, plates, straight flushes; none, one or two) and,
of what is left, groups of one rank each, of which triples take pairs with them as full houses and
wilds complete what they complete best. Sequences are enumerated; the rest comes from tables: one
per decision for the cards of a rank, because control depends on the cards that are still out, and
one for full houses and wilds, indexed by how many triples, low pairs, other pairs and wilds there
are. All hands of all decisions go through together.

Cards are counted in 16 columns of one byte: ranks 2 … A without wilds, wilds, small, big jokers.
Eight of them are a word, and one operation compares or subtracts eight columns at once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from agents.planner_weights import PlanWeights
from guandan_env import actions as table
from guandan_env.actions import Pattern, level_order
from guandan_env.cards import NUM_RANKS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

COLUMNS = 16
WILD = 13
# Column of ranks 0…12, small and big joker.
RANK_COLUMN = np.array([*range(13), 14, 15])
SINGLES = 7  # sequences of a hand that are looked at, the best ones
PAIRS = 5  # pairs of sequences likewise
PLANS = 1 + SINGLES + PAIRS

# A packed value: hand value in 1/128 above, then turns, wilds, triples, high pairs, low pairs.
_UNIT = 128
_LOW, _HIGH, _TRIPLE, _WILDS, _TURN, _VALUE = 0, 4, 8, 12, 14, 19
_INDEX = (1 << _TURN) - 1
_WORST = -(1 << 30)
_TOP = np.uint64(0x8080808080808080)
_LANES = np.uint64(0x00FF00FF00FF00FF)
# Cells of a decision's table: 9 x 9 for each two columns.
_CELLS = 81
_PAIRS_OF_COLUMNS = 8


def _use() -> NDArray[np.uint8]:
    use = np.zeros((table.NUM_ACTIONS, COLUMNS), dtype=np.uint8)
    use[:, RANK_COLUMN] = table.ROW_NATURALS
    use[:, WILD] = table.ROW_WILDS
    use[~table.IS_PLAY] = 0
    return use


# (2244, 2): what each row takes out of a hand.
ROW_WORDS: Words = _use().view(np.uint64)

# The 75 sequences: straights 0-9, tubes 10-21, plates 22-34, straight flushes 35 + 4p + suit.
TUBE, PLATE, FLUSH, SEQUENCES = 10, 22, 35, 75


def packed_value(value: Floats | float, turns: int = 1) -> NDArray[np.int32]:
    """A value in turns, packed with a number of turns."""
    units = np.rint(np.asarray(value) * _UNIT).astype(np.int32)
    return (units << _VALUE) + np.int32(turns << _TURN)


def to_words(counts: NDArray[np.uint8]) -> Words:
    """Counts `(…, 16)` as words `(…, 2)`."""
    return np.ascontiguousarray(counts).view(np.uint64)


@dataclass(frozen=True)
class Plans:
    """What is known of the hands of n decisions.

    hand: `(n, 2)` words. left: `(n, PLANS, 2)`, what each set of sequences leaves of the hand, 128
    more in every column; 127 where there is no set. value: `(n, PLANS)`, their packed value. table:
    `(n, 648)`, packed values of the cards in each two columns.
    """

    hand: Words
    left: Words
    value: NDArray[np.int32]
    table: NDArray[np.int32]


@dataclass(frozen=True)
class Outlook:
    """The best partitions of m hands: value and turns `(m,)`, words `(m, 2)` beside sequences."""

    value: Floats
    turns: Ints
    groups: Words


class HandPlanner:
    """Partitions of hands under some weights."""

    def __init__(self, weights: PlanWeights) -> None:
        self.weights = weights
        self.bonus = _bonus_table(weights)
        control = sequence_control(weights)
        self.sequence_value = packed_value(control - 1)
        # (2244,): control of the rows that make a sequence or a bomb, else 0.
        made = row_sequence()
        self.row_control = np.where(made >= 0, control[made], 0.0)
        self.row_control[table.IS_BOMB] = 1 + weights.bomb

    def plans(
        self, counts: NDArray[np.uint8], suits: NDArray[np.bool_], level: Ints, control: Floats
    ) -> Plans:
        """Sets of sequences worth looking at.

        counts: `(n, 16)`. suits: `(n, 13, 4)`, natural cards held. level: `(n,)`. control:
        `(n, 3, 15)` of one, two and three cards of each rank.
        """
        n = len(counts)
        cells = self._rank_table(level, control)
        hand = to_words(counts)
        words = np.zeros((n, PLANS, 2), dtype=np.uint64)
        value = np.full((n, PLANS), _WORST, dtype=np.int32)
        value[:, 0] = 0
        at, which, cards = _sequences(counts, suits)
        gained = self.sequence_value[which]
        total = gained + self._rest(cells, at, hand[at] - cards)
        kept, place, items = _best(at, total, SINGLES)
        words[kept, 1 + place], value[kept, 1 + place] = cards[items], gained[items]
        a, b = _couples()
        first, second = words[:, 1 + a], words[:, 1 + b]
        real = (value[:, 1 + a] != _WORST) & (value[:, 1 + b] != _WORST)
        real &= holds(hand[:, None] - first, second)
        at, couple = np.nonzero(real)
        cards = first[at, couple] + second[at, couple]
        gained = value[at, 1 + a[couple]] + value[at, 1 + b[couple]]
        total = gained + self._rest(cells, at, hand[at] - cards)
        kept, place, items = _best(at, total, PAIRS)
        place += 1 + SINGLES
        words[kept, place], value[kept, place] = cards[items], gained[items]
        left = (hand[:, None] - words) | _TOP
        left[value == _WORST] = ~_TOP
        return Plans(hand, left, value, cells)

    def evaluate(self, plans: Plans, at: Ints, cards: Words) -> Outlook:
        """Hands `at` `(m,)` of the plans without `cards` `(m, 2)`."""
        # A column keeps the 128 that `left` has more only if it holds as many cards as are taken.
        left = plans.left.take(at, axis=0)
        left -= cards[:, None]
        fits = np.flatnonzero((left[..., 0] & left[..., 1] & _TOP) == _TOP)
        item = fits // PLANS
        of = at[item]
        groups = left.reshape(-1, 2).take(fits, axis=0) ^ _TOP
        value = plans.value.reshape(-1).take(fits + (of - item) * PLANS)
        total = value + self._rest(plans.table, of, groups)
        # The plan without sequences always fits, so every hand has items.
        starts = np.searchsorted(item, np.arange(len(at)))
        best = np.maximum.reduceat(total, starts) if len(at) else total
        hit = np.flatnonzero(total == best[item])
        hit = hit[np.searchsorted(item[hit], np.arange(len(at)))]
        worth = (best >> _VALUE) / _UNIT
        turns = ((best >> _TURN) & 31).astype(np.int64)
        # Wilds alone: the table took them for completing something.
        rest = plans.hand[at] - cards
        alone = (turns == 0) & ((rest[:, 0] | rest[:, 1]) != 0)
        worth[alone] = self.weights.lone_wild - 1
        turns[alone] = 1
        return Outlook(worth, turns, groups[hit])

    def _rest(self, cells: NDArray[np.int32], at: Ints, words: Words) -> NDArray[np.int32]:
        """Packed values `(m,)` of hands `(m, 2)` cut into groups, full houses and bombs."""
        lanes = (words & _LANES) + ((words >> np.uint64(8)) & _LANES) * np.uint64(9)
        index = lanes.view(np.uint16)
        flat = cells.reshape(-1)
        base = at * (_CELLS * _PAIRS_OF_COLUMNS)
        total = flat.take(base + index[:, 0])
        for pair in range(1, _PAIRS_OF_COLUMNS):
            total += flat.take(base + (_CELLS * pair) + index[:, pair])
        total += self.bonus.take(total & _INDEX)
        return total

    def _rank_table(self, level: Ints, control: Floats) -> NDArray[np.int32]:
        """`(n, 648)`: packed values of the cards of each two columns, index low + 9 * high."""
        w = self.weights
        one, two, three = (packed_value(control[:, i] - 1) for i in range(3))
        low = control[:, 1] < w.low_pair
        two = two + np.where(low, 1 << _LOW, 1 << _HIGH).astype(np.int32)
        three = three[:, :13] + np.int32(1 << _TRIPLE)
        bomb = _bombs(w)[level]
        n = len(level)
        by_count = np.zeros((n, COLUMNS, 9), dtype=np.int32)
        held = by_count[:, :13]
        single, pair = one[:, :13], two[:, :13]
        held[:, :, 1] = single
        held[:, :, 2] = np.maximum(pair, 2 * single)
        held[:, :, 3] = np.maximum(three, pair + single)
        held[:, :, 4] = _most(bomb[..., 0], three + single, 2 * pair)
        held[:, :, 5] = _most(bomb[..., 1], bomb[..., 0] + single, three + pair)
        held[:, :, 6] = _most(bomb[..., 2], bomb[..., 0] + pair, bomb[..., 1] + single, 2 * three)
        held[:, :, 7] = _most(
            bomb[..., 3], bomb[..., 0] + three, bomb[..., 1] + pair, bomb[..., 2] + single
        )
        held[:, :, 8] = _most(bomb[..., 4], 2 * bomb[..., 0], bomb[..., 1] + three)
        by_count[:, WILD] = np.arange(9, dtype=np.int32) % 4 << _WILDS
        cells = np.empty((n, _PAIRS_OF_COLUMNS, 9, 9), dtype=np.int32)
        np.add(by_count[:, 0::2, None, :], by_count[:, 1::2, :, None], out=cells)
        jokers = np.zeros((n, 2, 3), dtype=np.int32)
        jokers[:, :, 1] = one[:, 13:]
        jokers[:, :, 2] = np.maximum(packed_value(control[:, 1, 13:] - 1), 2 * one[:, 13:])
        cells[:, 7, :3, :3] = jokers[:, 0, None, :] + jokers[:, 1, :, None]
        cells[:, 7, 2, 2] = packed_value(w.bomb + 5 * w.bomb_tier)
        return cells.reshape(n, -1)


def _most(*values: NDArray[np.int32]) -> NDArray[np.int32]:
    """The greatest of each, `reduce` without putting them side by side first."""
    return functools.reduce(np.maximum, values)


def holds(hands: Words, cards: Words) -> NDArray[np.bool_]:
    """Whether hands `(…, 2)` hold cards `(…, 2)`: in every column at least as many."""
    kept = ((hands | _TOP) - (cards & ~_TOP)) & ~cards & _TOP
    return (kept[..., 0] & kept[..., 1]) == _TOP


def of_size(words: Words, size: int) -> Words:
    """Columns `(…, 2)` of hands `(…, 2)` with exactly `size` (1 to 3) cards: bit 0 of the byte."""
    ones = np.uint64(0x0101010101010101)
    low, second = words & ones, (words >> np.uint64(1)) & ones
    more = ((words >> np.uint64(2)) | (words >> np.uint64(3))) & ones
    found = (low if size & 1 else low ^ ones) & (second if size & 2 else second ^ ones)
    return found & ~more


def bombs_of(words: Words) -> Words:
    """Columns `(…, 2)` with four cards or more: bit 0 of the byte."""
    ones = np.uint64(0x0101010101010101)
    return ((words >> np.uint64(2)) | (words >> np.uint64(3))) & ones


def sequence_control(w: PlanWeights) -> Floats:
    """Control `(75,)` of the sequences."""
    control = np.empty(SEQUENCES)
    control[:TUBE] = w.straight + w.straight_rise * np.arange(10) / 9
    control[TUBE:PLATE] = w.tube + w.tube_rise * np.arange(12) / 11
    control[PLATE:FLUSH] = w.plate + w.plate_rise * np.arange(13) / 12
    flush = w.bomb + 1 + w.bomb_tier * (1.5 + np.arange(10) / 20)
    control[FLUSH:] = np.repeat(flush, 4)
    return control


def _bombs(w: PlanWeights) -> NDArray[np.int32]:
    """`(13, 13, 5)`: packed values of 4 to 8 cards of a rank, at a level."""
    place = np.stack([level_order(level)[:13] for level in range(NUM_RANKS)])
    tier = np.array([0.0, 1, 2, 3, 4])
    return packed_value(w.bomb + w.bomb_tier * (tier + place[..., None] / 24))


def _bonus_table(w: PlanWeights) -> NDArray[np.int32]:
    """What full houses and wilds add, by low pairs, high pairs, triples and wilds (packed).

    One wild makes a bomb of a triple, a triple of a pair, or else completes a single; two may
    make a bomb of a pair.
    """
    shape = (4, 16, 16, 16)  # wilds, triples, high pairs, low pairs
    triples, high, low = np.meshgrid(*[np.arange(16)] * 3, indexing="ij")
    kl = np.minimum(triples, low)
    kh = np.minimum(triples - kl, high) if w.absorb_high > 0 else np.zeros_like(kl)
    bonus = np.zeros(shape, dtype=np.int32)
    bonus[0] = kl * packed_value(w.absorb_low, -1) + kh * packed_value(w.absorb_high, -1)
    for wilds in (1, 2):
        less, best = bonus[wilds - 1], bonus[wilds]
        best[:] = less  # completes a single
        made = less[:-1] + packed_value(w.bomb - w.triple_value, 0)
        best[1:] = np.maximum(best[1:], made)
        best[:-1, :, 1:] = np.maximum(best[:-1, :, 1:], less[1:, :, :-1])
        best[:-1, 1:, :] = np.maximum(best[:-1, 1:, :], less[1:, :-1, :])
        if wilds == 2:
            gain = packed_value(w.bomb - w.pair_value, 0)
            best[:, :, 1:] = np.maximum(best[:, :, 1:], bonus[0][:, :, :-1] + gain)
    bonus[3] = bonus[2]
    return bonus.reshape(-1)


@cache
def _couples() -> tuple[Ints, Ints]:
    a, b = np.triu_indices(SINGLES)
    return a.astype(np.int64), b.astype(np.int64)


def _sequences(counts: NDArray[np.uint8], suits: NDArray[np.bool_]) -> tuple[Ints, Ints, Words]:
    """Sequences of hands, ragged: hand, sequence, cards `(f, 2)`, each with as few wilds as can be.

    Straights, tubes and plates take one wild at most.
    """
    n = len(counts)
    ranks = np.concatenate([counts[:, 12:13], counts[:, :13]], axis=1)  # A low first
    lacks = np.empty((n, SEQUENCES), dtype=np.uint8)
    spans = ((0, 5, 1, 10), (TUBE, 3, 2, 12), (PLATE, 2, 3, 13))
    for start, length, copies, positions in spans:
        have = np.minimum(ranks, copies)
        missing = np.full((n, positions), length * copies, dtype=np.uint8)
        for i in range(length):
            missing -= have[:, i : i + positions]
        lacks[:, start : start + positions] = missing
    held = np.concatenate([suits[:, 12:13], suits], axis=1).astype(np.uint8)
    missing = np.full((n, 10, 4), 5, dtype=np.uint8)
    for i in range(5):
        missing -= held[:, i : i + 10]
    lacks[:, FLUSH:] = missing.reshape(n, 40)
    wilds = counts[:, WILD, None]
    able = np.empty((n, SEQUENCES), dtype=bool)
    np.less_equal(lacks[:, :FLUSH], np.minimum(wilds, 1), out=able[:, :FLUSH])
    np.less_equal(lacks[:, FLUSH:], wilds, out=able[:, FLUSH:])
    at, which = np.nonzero(able)
    need = _needs()[which]
    np.minimum(need, counts[at], out=need)
    flush = np.flatnonzero(which >= FLUSH)
    if flush.size:
        suit = (which[flush] - FLUSH) % 4
        need[flush, :13] = np.minimum(need[flush, :13], suits[at[flush], :, suit])
    need[:, WILD] = lacks[at, which]
    return at, which, to_words(need)


@cache
def _needs() -> NDArray[np.uint8]:
    """`(75, 16)`: the cards that each sequence shows."""
    need = np.zeros((SEQUENCES, COLUMNS), dtype=np.uint8)
    spans = ((0, 5, 1, 10, 1), (TUBE, 3, 2, 12, 1), (PLATE, 2, 3, 13, 1), (FLUSH, 5, 1, 10, 4))
    for start, length, copies, positions, times in spans:
        for position in range(positions):
            for i in range(length):
                rows = slice(start + position * times, start + (position + 1) * times)
                need[rows, (position + i - 1) % NUM_RANKS] = copies
    return need


def _best(at: Ints, total: NDArray[np.int32], number: int) -> tuple[Ints, Ints, Ints]:
    """The best `number` items of each hand: hands, places 0 … number-1, items, `(k,)` each.

    `at` `(m,)` is each item's hand, ascending; among equals the first item.
    """
    # One number to sort by: the hand in its upper half, and the lower the better the value.
    items = np.argsort((at << 32) - total, kind="stable")
    hand = at[items]
    place = np.arange(len(at)) - np.searchsorted(hand, hand)
    kept = place < number
    return hand[kept], place[kept], items[kept]


def row_sequence() -> Ints:
    """`(2244,)`: the sequence that each row of the action table makes, -1 for the others."""
    position = (table.ROW_KEY.astype(np.int64) + 1) % NUM_RANKS
    suit = table.ROW_SUIT.astype(np.int64)
    return np.select(
        [
            table.ROW_PATTERN == Pattern.STRAIGHT,
            table.ROW_PATTERN == Pattern.TUBE,
            table.ROW_PATTERN == Pattern.PLATE,
            table.ROW_PATTERN == Pattern.STRAIGHT_FLUSH,
        ],
        [position, TUBE + position, PLATE + position, FLUSH + 4 * position + suit],
        -1,
    )
