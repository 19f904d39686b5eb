"""Whether a state is one of the game: what is asked of a saved state before anything uses it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality
from guandan_env.actions import FIRST_CARD, IS_PLAY, NUM_ACTIONS
from guandan_env.cards import ALL_KINDS, HAND_SIZE, NUM_KINDS, to_counts
from guandan_env.errors import StateError
from guandan_env.state import FIELDS, MAX_HISTORY, MAX_PLAYS, Phase, State

Bool = NDArray[np.bool_]
Facts = Iterator[tuple[Bool, str]]

_SEAT = (-1, 3)
_KIND = (-1, NUM_KINDS - 1)
# Lowest and highest value; what is not here may be anything its type holds from 0 on.
_RANGES: dict[str, tuple[int, int]] = {
    "deal": (-1, 2**62),
    "phase": (0, len(Phase) - 1),
    "seat": _SEAT,
    "level": (0, 12),
    "declarer": (-1, 1),
    "active": (0, 15),
    "lead": (0, FIRST_CARD - 1),
    "lead_seat": _SEAT,
    "passes": (0, 3),
    "last": (-1, FIRST_CARD - 1),
    "order": _SEAT,
    "finished": (0, 4),
    "previous": _SEAT,
    "payers": _SEAT,
    "paid": _KIND,
    "to_first": (0, 1),
    "returned": _KIND,
    "resisted": (0, 1),
    "leader": _SEAT,
    "sudden_death": (0, 1),
    "over": (0, 1),
    "winner": (-1, 2),
    "history": (-1, NUM_ACTIONS - 1),
    "history_seat": _SEAT,
    "length": (0, MAX_HISTORY),
    "plays": (0, MAX_PLAYS),
}
_BITS = ("hands", "played", "play_cards")
_SEATS = np.arange(4)


def check_state(state: State) -> None:
    """Raise `StateError`, naming a table and what is wrong with it, unless all can be played on.

    The rules are not known here: levels, scores and the winner are checked as numbers only.
    """
    # Each group of facts may be asked only where the ones before hold.
    for group in (_values, _cards, _seats, _trick, _tribute, _history, _masks):
        for holds, fact in group(state):
            if not holds.all():
                at = int(np.argmin(holds))
                raise StateError(f"the state of table {at} cannot be: not so that {fact}")


def _rows(holds: NDArray[np.bool_]) -> Bool:
    """Whether all is true at each table."""
    true: Bool = np.logical_and.reduce(holds.reshape(len(holds), -1), axis=1)
    return true


def _values(s: State) -> Facts:
    for name in FIELDS:
        values = getattr(s, name)
        if name in _BITS:
            once, twice = values[..., 0], values[..., 1]
            sets = (once & ~ALL_KINDS == 0) & (twice & ~once == 0)
            yield _rows(sets), f"{name} are sets of the 54 kinds, twice within once"
        elif name != "hand_masks":
            numbers = values.view(np.uint8) if values.dtype == np.bool_ else values
            low, high = _RANGES.get(name, (0, np.iinfo(numbers.dtype).max))
            yield _rows((numbers >= low) & (numbers <= high)), f"{name} is from {low} to {high}"


def _cards(s: State) -> Facts:
    hands, played = to_counts(s.hands), to_counts(s.played)
    dealt = s.deal >= 0
    total = hands.sum(axis=1, dtype=np.int64) + played.sum(axis=1, dtype=np.int64)
    yield _rows(total == 2 * dealt[:, None]), "hands and played cards are two decks, once dealt"
    yield dealt | (s.phase == Phase.OVER), "a deal that goes on has been dealt"
    made = to_counts(s.play_cards)
    yield (
        _rows(made.sum(axis=1, dtype=np.int64) <= played.sum(axis=1, dtype=np.int64)),
        "the cards of the plays have been played",
    )
    yield _rows(made.any(axis=2) == (np.arange(MAX_PLAYS) < s.plays[:, None])), "plays have cards"
    holding = ((hands.any(axis=2)) << _SEATS).sum(axis=1)
    yield ~dealt | (holding == s.active), "active are the seats with cards"


def _seats(s: State) -> Facts:
    over = s.phase == Phase.OVER
    yield (s.seat < 0) == over, "a seat is to act until the deal is over"
    yield ~s.over | over, "the episode ends with a deal"
    yield over | (s.leader >= 0), "somebody leads"
    yield _orders(s.previous, whole=True), "previous is an order of the four seats, or none"
    yield _orders(s.order, whole=False), "order names no seat twice"
    place = _SEATS < s.finished[:, None]
    yield _rows(~place | (s.order >= 0)), "as many seats as have finished are in the order"
    yield over | _rows(place == (s.order >= 0)), "nobody is in the order who has not finished"
    out = np.where(place, 1 << np.maximum(s.order, 0), 0).sum(axis=1)
    yield (s.deal < 0) | (out == 15 - s.active), "the seats without cards have finished"
    between = over & ~s.over
    settled = _rows(s.order >= 0) & (s.declarer >= 0)
    yield ~between | settled, "between two deals the order is complete, and a side declares"


def _orders(orders: NDArray[np.int8], *, whole: bool) -> Bool:
    """Whether orders `(n, 4)` name seats once, and with `whole` all or none."""
    named = (orders[:, :, None] == _SEATS).sum(axis=1)
    number = (orders >= 0).sum(axis=1)
    fits: Bool = _rows(named <= 1)
    return fits & ((number == 0) | (number == 4)) if whole else fits


def _trick(s: State) -> Facts:
    play = s.phase == Phase.PLAY
    number = np.bitwise_count(s.active)
    both = (s.active & 5 > 0) & (s.active & 10 > 0)
    seat = np.maximum(s.seat, 0)
    yield ~play | (both & (~s.sudden_death | (s.active == 15))), "both sides have cards in play"
    yield ~play | (s.active >> seat.astype(np.uint8) & 1 == 1), "the seat to act has cards"
    leading = s.lead == 0
    yield leading == (s.lead_seat < 0), "a lead has a seat"
    yield ~leading | ((s.passes == 0) & _rows(s.last == -1)), "a trick begins with its lead"
    holder = s.active >> np.maximum(s.lead_seat, 0).astype(np.uint8) & 1
    yield (
        ~play | leading | ((s.passes < number - holder) & (s.seat != s.lead_seat)),
        "a trick is over when all others have passed",
    )


def _tribute(s: State) -> Facts:
    phase, previous, payers = s.phase, s.previous, s.payers
    tribute = phase < Phase.PLAY
    yield ~tribute | ((previous[:, 0] >= 0) & (s.length < 8)), "tribute follows an order"
    yield ~tribute | ((s.active == 15) & (s.plays == 0) & (s.lead == 0)), "tribute comes first"
    first = previous[:, 0]
    double = (first - previous[:, 1]) % 4 == 2
    due = np.stack([np.where(double, (first + 1) % 4, previous[:, 3]), (first + 3) % 4], axis=1)
    due[~double, 1] = -1
    yield ~tribute | _rows(payers == due), "payers follow from the order"
    receivers = np.where(double[:, None], previous[:, :2], np.stack([first, payers[:, 1]], axis=1))
    giving = phase == Phase.RETURN
    change = (receivers[:, :, None] == _SEATS).sum(axis=1) - (payers[:, :, None] == _SEATS).sum(
        axis=1
    )
    owned = np.bitwise_count(s.hands).sum(axis=2) + np.bitwise_count(s.played).sum(axis=2)
    expected = HAND_SIZE + np.where(giving[:, None], change, 0)
    yield (s.deal < 0) | _rows(owned == expected), "every seat has had 27 cards"
    acts = [(payers == s.seat[:, None]).any(axis=1), (receivers == s.seat[:, None]).any(axis=1)]
    paid, returned = s.paid, s.returned
    yield _rows((paid < 0) | (payers >= 0)), "payers have paid"
    yield (phase != Phase.PLAY) | _rows((paid >= 0) == (returned >= 0)), "what is paid is returned"
    nobody = _rows(paid < 0)
    yield (phase != Phase.RESIST) | (acts[0] & nobody), "a payer resists before anyone pays"
    second = s.seat == payers[:, 1]
    yield (
        (phase != Phase.PAY)
        | (
            acts[0]
            & (second == _held(s, payers[:, 0], paid[:, 0]))
            & (paid[:, 1] < 0)
            & (second | nobody)
        ),
        "payers pay in turn, of their cards",
    )
    both = _held(s, payers[:, 0], paid[:, 0]) & _held(s, payers[:, 1], paid[:, 1])
    yield (phase != Phase.CHOOSE) | (double & both & (s.seat == first)), "the first seat chooses"
    moved = _rows((paid >= 0) == (payers >= 0)) & (double | (s.to_first == 0))
    second = double & (s.seat == previous[:, 1])
    yield ~giving | (acts[1] & moved), "cards are returned when all have paid"
    yield (
        ~giving | ((returned[:, 1] < 0) & (second == _held(s, first, returned[:, 0]))),
        "receivers return in turn, of their cards",
    )


def _held(s: State, seats: NDArray[np.int8], kinds: NDArray[np.int8]) -> Bool:
    """Whether a card is named, and the seat named has it in its hand."""
    hand = s.hands[np.arange(len(s)), np.maximum(seats, 0), 0]
    bit = hand >> np.maximum(kinds, 0).astype(np.uint64) & np.uint64(1)
    held: Bool = (seats >= 0) & (kinds >= 0) & (bit == 1)
    return held


def _history(s: State) -> Facts:
    at = np.arange(len(s))
    past = np.arange(MAX_HISTORY) < s.length[:, None]
    yield _rows((s.history >= 0) == past), "the history is as long as it is said to be"
    yield _rows((s.history_seat >= 0) == past), "the history tells of every decision whose it was"
    is_play = past & IS_PLAY[s.history]
    yield is_play.sum(axis=1) == s.plays, "the history has as many plays as there were"
    yield s.length <= 4 * s.plays + 7, "at most three passes follow a play"
    newest = MAX_HISTORY - 1 - np.argmax(is_play[:, ::-1], axis=1)
    top = (s.history[at, newest] == s.lead) & (s.history_seat[at, newest] == s.lead_seat)
    yield (s.lead == 0) | ((s.plays > 0) & top), "the lead is the last play"
    by_seat = is_play[:, :, None] & (s.history_seat[:, :, None] == _SEATS)
    yield _rows((s.last <= 0) | by_seat.any(axis=1)), "a seat's last play is in the history"


def _masks(s: State) -> Facts:
    """The rows that hands can make follow from the cards; which straights are, from the rules."""
    hands, levels = s.hands.reshape(-1, 2), np.repeat(s.level, 4)
    same = [
        _rows(
            legality.hand_masks(hands, levels, flush_is_straight=option).reshape(s.hand_masks.shape)
            == s.hand_masks
        )
        for option in (False, True)
    ]
    yield (s.phase != Phase.PLAY) | same[0] | same[1], "hand_masks are the rows of the hands"
