"""What a seat can be certain of about the cards it does not see, and hands drawn to match.

Certain are: every card that is in no known place is in the hands of the other seats, who hold so
many cards each; cards that changed hands in tribute, until they are played; that a payer kept
nothing above the card it paid; who held the big jokers where tribute was resisted; and, of a seat
that could have gone out over an opponent's play and passed, that it could not (this last is sense,
not law: no sane player passes then). All else is equally likely.

The other seats are counted in turn order from the acting seat: 0 is the next, 1 the partner, 2 the
one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality, randomness, tribute
from guandan_env.actions import IS_PLAY, PASS, ROW_SIZE
from guandan_env.cards import BIG_JOKER, NUM_KINDS, Bits, to_bits, wild_kind
from guandan_env.decisions import Decisions
from guandan_env.rules import RuleSet

OTHERS = 3
_LARGEST_PLAY = 10
_ATTEMPTS = 8  # draws of one sample until no seat passed when it could have gone out
_ALL_OTHERS = 7
# Cards that fewer seats can hold are dealt first: then all ways to deal are equally likely, where
# the sets of seats are contained in each other, as those of tribute are.
_SETS = (1, 2, 4, 3, 5, 6, 7)


@dataclass(frozen=True)
class Unseen:
    """What n acting seats know of the other three hands.

    pool: `(n, 54) uint8`, cards not seen and in no known place. sizes: `(n, 3)`, cards held.
    known: `(n, 3, 54) uint8`, cards that a seat is known to hold, on top of the pool. allowed:
    `(n, 54) uint8`, bit i where other i may hold a card of the pool. level: `(n,)`. passed_over:
    `(n, 3)`, the row that a seat could not go out over, 0 for none. rules: of the deal.
    """

    rules: RuleSet
    pool: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    known: NDArray[np.uint8]
    allowed: NDArray[np.uint8]
    level: NDArray[np.int64]
    passed_over: NDArray[np.int64]

    def take(self, chosen: NDArray[np.integer]) -> Unseen:
        """Of some decisions only, by their positions `(m,)`; one may come more than once."""
        return Unseen(
            self.rules,
            self.pool[chosen],
            self.sizes[chosen],
            self.known[chosen],
            self.allowed[chosen],
            self.level[chosen],
            self.passed_over[chosen],
        )


def unseen(d: Decisions) -> Unseen:
    """What is certain in decisions of the phase of play."""
    n = len(d)
    at = np.arange(n)[:, None]
    others = (d.seat.astype(np.int64)[:, None] + (1, 2, 3)) % 4
    sizes = d.counts[at, others].astype(np.int64)
    left = 2 - d.hand - d.played.sum(axis=1, dtype=np.uint8)
    received, ceiling = _tribute(d)
    played = d.played[at, others].astype(np.int64)
    moved = received[at, others]
    known = np.minimum(np.maximum(moved - played, 0), left[:, None].astype(np.int64))
    pool = left - known.sum(axis=1)
    bits = np.array([1, 2, 4], dtype=np.uint8)
    may = ceiling[at, others] & (sizes > 0)[:, :, None]
    allowed = (may * bits[:, None]).sum(axis=1, dtype=np.uint8)
    # States made by hand may contradict themselves: there tribute tells nothing.
    allowed[~_can_be_dealt(pool, allowed, sizes - known.sum(axis=2))] = _ALL_OTHERS
    return Unseen(
        rules=d.rules,
        pool=pool.astype(np.uint8),
        sizes=sizes,
        known=known.astype(np.uint8),
        allowed=allowed,
        level=d.level.astype(np.int64),
        passed_over=_passed_over(d)[at, others] * (sizes <= _LARGEST_PLAY),
    )


def _can_be_dealt(
    pool: NDArray[np.integer], allowed: NDArray[np.uint8], room: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the cards of every set of seats fit into the hands of these (Hall, 1935): `(n,)`."""
    fits = np.ones(len(pool), dtype=bool)
    for seats in range(_ALL_OTHERS + 1):
        inside = (allowed & ~np.uint8(seats)) == 0
        space = (room * (seats >> np.arange(OTHERS) & 1)).sum(axis=1)
        fits &= (pool * inside).sum(axis=1) <= space
    return fits


def _tribute(d: Decisions) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What tribute tells of all four seats, `(n, 4, 54)` each.

    Cards that each seat was given, and kinds that it may hold besides (and was dealt).
    """
    n = len(d)
    given = np.zeros((n, 4, NUM_KINDS), dtype=np.int64)
    may = np.ones((n, 4, NUM_KINDS), dtype=bool)
    level = d.level.astype(np.int64)
    kinds = np.arange(NUM_KINDS)
    places = tribute.place_of(np.broadcast_to(kinds, (n, NUM_KINDS)), level[:, None])
    wild = kinds == wild_kind(0) + 4 * level[:, None]
    for payer in (0, 1):
        place = np.where(d.to_first == payer, 0, 1)  # of the receiver in the order before
        t = np.flatnonzero((d.payers[:, payer] >= 0) & (d.paid[:, payer] >= 0))
        pays, takes = d.payers[t, payer].astype(np.int64), d.previous[t, place[t]].astype(np.int64)
        paid = d.paid[t, payer].astype(np.int64)
        given[t, takes, paid] += 1
        may[t, pays] &= (places[t] <= places[t, paid][:, None]) | wild[t]
        if d.rules.resist == "must":  # with both it would have resisted
            may[t, pays, BIG_JOKER] = False
        back = t[d.returned[t, place[t]] >= 0]
        given[back, d.payers[back, payer], d.returned[back, place[back]]] += 1
    # The payers held both big jokers, so nobody else was dealt one.
    seats = np.arange(4)
    paying = (d.payers[:, :1] == seats) | (d.payers[:, 1:] == seats)
    may[:, :, BIG_JOKER] &= paying | ~d.resisted[:, None]
    return given, may


def _passed_over(d: Decisions) -> NDArray[np.int64]:
    """The opponent's play that each seat's last action let pass, `(n, 4)`; 0 for none."""
    n, width = d.history.shape
    rows = d.history.astype(np.int64)
    entry = np.arange(width)
    is_play = IS_PLAY[np.maximum(rows, 0)] & (rows > 0)
    upto = np.maximum.accumulate(np.where(is_play, entry, -1), axis=1)
    at, seats = np.arange(n)[:, None], np.arange(4)
    theirs = d.history_seat[:, :, None] == seats
    acted = theirs.any(axis=1)
    last = width - 1 - np.argmax(theirs[:, ::-1], axis=1)
    play = upto[at, last]
    over = np.where(play >= 0, rows[at, play], PASS)
    opponents = (d.history_seat[at, play] - seats) % 2 == 1
    passed = acted & (rows[at, last] == PASS) & (play >= 0) & opponents
    return np.where(passed, over, PASS)


def draw(u: Unseen, keys: NDArray[np.uint64]) -> Bits:
    """One set of hands for each of n decisions and random keys `(n,)`: `(n, 3, 2)` as bits."""
    hands = _deal(u, randomness.key(0, root=keys))
    again = _could_have_gone_out(u, hands)
    for attempt in range(1, _ATTEMPTS):
        if not again.size:
            break
        some = u.take(again)
        hands[again] = _deal(some, randomness.key(attempt, root=keys[again]))
        again = again[_could_have_gone_out(some, hands[again])]
    return hands


def _deal(u: Unseen, keys: NDArray[np.uint64]) -> Bits:
    """Deal the pools out to the seats that may hold the cards, every way equally likely."""
    n = len(keys)
    if not n:
        return np.zeros((0, OTHERS, 2), dtype=np.uint64)
    room = u.sizes - u.known.sum(axis=2, dtype=np.int64)
    most = int(room.sum(axis=1).max(initial=0))
    # The places in the hands; those of one seat lie together.
    place = np.arange(most)
    ends = np.cumsum(room, axis=1)
    owner = (place >= ends[:, :1]).astype(np.int64) + (place >= ends[:, 1:2])
    free = place < ends[:, 2:]
    dealt = u.known.astype(np.int64)
    sets = u.allowed * (u.pool > 0)
    for seats in _SETS:
        t = np.flatnonzero((sets == seats).any(axis=1))
        if t.size:
            fits = free[t] & (seats >> owner[t] & 1 == 1)
            # New numbers for each set: which places are left depends on those of the set before.
            number = randomness.numbers(randomness.key(seats, root=keys[t]), most) >> np.uint64(1)
            taken = _fill(u.pool[t] * (sets[t] == seats), fits, number, owner[t], dealt, t)
            free[t] &= ~taken
    return to_bits(dealt)


def _fill(
    cards: NDArray[np.uint8],
    fits: NDArray[np.bool_],
    number: NDArray[np.uint64],
    owner: NDArray[np.int64],
    dealt: NDArray[np.int64],
    t: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Deal cards `(m, 54)` to random places that fit; returns the places taken `(m, places)`."""
    m, places = fits.shape
    order = np.argsort(np.where(fits, number, ~np.uint64(0)), axis=1, kind="stable")
    count = cards.sum(axis=1, dtype=np.int64)
    kind = np.repeat(np.broadcast_to(np.arange(NUM_KINDS), (m, NUM_KINDS)), cards.ravel())
    row = np.repeat(np.arange(m), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    slot = order[row, nth]
    np.add.at(dealt, (t[row], owner[row, slot], kind), 1)
    taken = np.zeros((m, places), dtype=bool)
    taken[row, slot] = True
    return taken


@cache
def _rows_of_size() -> NDArray[np.uint64]:
    """Packed masks `(11, 36)` of the plays of so many cards."""
    sizes = np.arange(_LARGEST_PLAY + 1)[:, None]
    masks: NDArray[np.uint64] = legality.pack((ROW_SIZE == sizes) & IS_PLAY & (sizes > 0))
    return masks


def _could_have_gone_out(u: Unseen, hands: Bits) -> NDArray[np.intp]:
    """The decisions, by position, where some hand is one play that beats what its seat let pass."""
    at, seat = np.nonzero((u.passed_over > 0) & (u.sizes > 0))
    if not at.size:
        return at
    level, lead = u.level[at], u.passed_over[at, seat]
    index, beating = legality.beating_masks()
    masks = legality.hand_masks(
        hands[at, seat], level, flush_is_straight=u.rules.flush_straight_as_straight
    )
    out = masks & beating[index[level, lead]] & _rows_of_size()[u.sizes[at, seat]]
    return np.unique(at[out.any(axis=1)])
