"""What a seat sees, as numbers: `encode` for players, `encode_full` for critics.

Everything is seen from one seat: of an axis over seats, 0 is the seat itself, 1 the next one, 2 its
partner, 3 the one before. `BLOCKS` is the layout. All values are small counts or flags, so the type
is int8: exact, and a quarter of the memory of float32 in buffers and on the way to a device.
Nothing is scaled; a block's unit says what 1 means. Any change of the layout changes
`OBSERVATION_VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from guandan_env import actions as table
from guandan_env.cards import BIG_JOKER, HAND_SIZE, NUM_KINDS, to_counts, wild_kind
from guandan_env.decisions import Decisions
from guandan_env.errors import GuandanError
from guandan_env.state import Phase, State

OBSERVATION_VERSION = "observation-v1"
HISTORY_LENGTH = 12
NUM_PATTERNS = len(table.Pattern)
ROW_WIDTH = NUM_PATTERNS + 3
NOT_SHOWN = HAND_SIZE + 1  # instead of the number of cards in a hand
HIGHEST = 127

Int8 = NDArray[np.int8]


class Block(NamedTuple):
    """A part of an observation: `slice` of the last axis, read as `shape`, counted in `unit`."""

    name: str
    slice: slice
    shape: tuple[int, ...]
    unit: str


def _layout(parts: Iterable[tuple[str, tuple[int, ...], str]]) -> tuple[Block, ...]:
    blocks = []
    start = 0
    for name, shape, unit in parts:
        blocks.append(Block(name, slice(start, start + prod(shape)), shape, unit))
        start += prod(shape)
    return tuple(blocks)


_ROW = "pattern one-hot (PASS…RESIST), key + 1, cards, wilds"
BLOCKS: tuple[Block, ...] = _layout(
    (
        ("hand", (NUM_KINDS,), "cards of each kind in the own hand"),
        ("wilds", (1,), "wilds in the own hand"),
        ("unseen", (NUM_KINDS,), "cards of each kind in the other three hands together"),
        ("played", (4, NUM_KINDS), "cards of each kind that each seat has played"),
        ("left", (4,), "cards that each seat holds; 28 for a count that is not shown"),
        ("known", (3, NUM_KINDS), "cards surely held by seats 1, 2, 3, known from tribute"),
        ("lead", (ROW_WIDTH,), f"row to beat, all 0 when leading: {_ROW}"),
        ("lead_height", (1,), "place of the row to beat among its like, from 0"),
        ("lead_seat", (4,), "1 for the seat that holds the trick"),
        ("last", (4, ROW_WIDTH), f"each seat's last row in this trick, 0 for none: {_ROW}"),
        ("level", (13,), "rank of the level of this deal, one-hot"),
        ("levels", (2, 13), "rank of the own and of the opponents' level, one-hot"),
        ("steps", (2,), "own and opponents' level in steps above 2, at most 127"),
        ("declarer", (2,), "1 for own or opponents: whose level is played"),
        ("phase", (len(Phase),), "phase (resist, pay, choose, return, play, over), one-hot"),
        ("order", (4, 4), "for each seat its finishing place, one-hot; 0 while it plays"),
        ("previous", (4, 4), "for each seat its place in the deal before, one-hot; 0 if none"),
        ("payers", (4,), "1 for each seat that owes tribute in this deal"),
        ("resisted", (1,), "1 if tribute was resisted"),
        (
            "history",
            (HISTORY_LENGTH, 4 + ROW_WIDTH),
            f"the last decisions, the newest first: seat one-hot, {_ROW}; "
            "of a card chosen in secret the seat only",
        ),
    )
)
BLOCK: dict[str, Block] = {block.name: block for block in BLOCKS}
SIZE = BLOCKS[-1].slice.stop

FULL_BLOCKS: tuple[Block, ...] = _layout(
    (
        ("hands", (4, NUM_KINDS), "cards of each kind in each seat's hand"),
        ("secret", (4, NUM_KINDS), "the card each seat has chosen to pay or return, still secret"),
    )
)
FULL_SIZE = FULL_BLOCKS[-1].slice.stop


def _row_features() -> Int8:
    """`(2245, ROW_WIDTH)`: what is said of row r, at r + 1; the first stands for none."""
    features = np.zeros((table.NUM_ACTIONS + 1, ROW_WIDTH), dtype=np.int8)
    rows = np.arange(table.NUM_ACTIONS)
    features[rows + 1, table.ROW_PATTERN] = 1
    features[1:, NUM_PATTERNS] = table.ROW_KEY + 1
    features[1:, NUM_PATTERNS + 1] = table.ROW_SIZE
    features[1:, NUM_PATTERNS + 2] = table.ROW_WILDS
    return features


# All gathers are take(): at one decision as at thousands it is several times faster than indexing.
_FEATURES = _row_features()
_ROWS = len(_FEATURES)
_LEADS = _FEATURES[1:].copy()  # row r at r; row 0 says that there is nothing to beat
_LEADS[table.PASS] = 0
_HEIGHT = (np.maximum(table.STRENGTH, 0) % 100).astype(np.int8)
_ONE_OF_13 = np.eye(13, dtype=np.int8)
# [side + 1, side of the seat]: nobody's, own or the opponents' level is played.
_DECLARED = np.array([[[0, 0], [0, 0]], [[1, 0], [0, 1]], [[0, 1], [1, 0]]], dtype=np.int8)
# Row (s + 1) * _ROWS + r + 1: relative seat s, then what is said of row r; -1 stands for none.
_EVENTS = np.concatenate(
    [np.repeat(np.eye(5, 4, -1, dtype=np.int8), _ROWS, axis=0), np.tile(_FEATURES, (5, 1))], axis=1
)
_PHASE = np.eye(len(Phase), dtype=np.int8)
_CHOOSE, _PAY, _RETURN = int(Phase.CHOOSE), int(Phase.PAY), int(Phase.RETURN)
_SEATS = np.arange(4)
_TURNED = (_SEATS[:, None] + _SEATS) % 4  # [seat]: absolute seats from its view
_WILD = np.array([wild_kind(level) for level in range(13)])
_BOTH_WAYS = np.array([[0, 1], [1, 0]])


def encode(
    decisions: Decisions, out: Int8 | None = None, *, reveal_counts_at: int = HAND_SIZE
) -> Int8:
    """Observations `(n, SIZE) int8` of n decisions, laid out as `BLOCKS` says.

    `out`, of that shape and type, is filled and returned if given; `GuandanError` if it does not
    fit. What other seats hold enters through counts and public events only; counts of others above
    `reveal_counts_at` are not shown (RULES 7.2).
    """
    d = decisions
    n = len(d)
    if out is None:
        out = np.empty((n, SIZE), dtype=np.int8)
    elif out.shape != (n, SIZE) or out.dtype != np.int8:
        raise GuandanError(
            f"out is {out.dtype} of shape {out.shape}; int8 of shape ({n}, {SIZE}) is allowed"
        )
    if not n:
        return out
    at = np.arange(n)[:, None]
    seats = _TURNED.take(d.seat, axis=0)
    by_seat = 4 * at + seats  # places in arrays (n, 4) laid flat
    hand = to_counts(d.hand_bits).view(np.int8)
    played = to_counts(d.played_bits.reshape(-1, 2).take(by_seat, axis=0)).view(np.int8)

    def put(name: str, values: NDArray[np.generic]) -> None:
        out[:, BLOCK[name].slice] = values.reshape(n, -1)

    put("hand", hand)
    put("wilds", hand.take(NUM_KINDS * at[:, 0] + _WILD.take(d.level)))
    put("unseen", 2 - hand - (played[:, 0] + played[:, 1] + played[:, 2] + played[:, 3]))
    put("played", played)
    left = d.counts.take(by_seat).view(np.int8)
    if reveal_counts_at < HAND_SIZE:
        others = left[:, 1:]
        others[others > reveal_counts_at] = NOT_SHOWN
    put("left", left)
    put("known", _known(d, hand, played))
    put("lead", _LEADS.take(d.lead, axis=0))
    put("lead_height", _HEIGHT[d.level, d.lead])
    put("lead_seat", d.lead_seat[:, None] == seats)
    put("last", _FEATURES.take(d.last.take(by_seat) + 1, axis=0))
    put("level", _ONE_OF_13.take(d.level, axis=0))
    sides = seats[:, :2] & 1
    steps = d.steps.take(2 * at + sides)
    put("levels", _ONE_OF_13.take(steps % 13, axis=0))
    put("steps", np.minimum(steps, HIGHEST))
    put("declarer", _DECLARED[d.declarer + 1, sides[:, 0]])
    put("phase", _PHASE.take(d.phase, axis=0))
    put("order", d.order[:, None, :] == seats[:, :, None])
    put("previous", d.previous[:, None, :] == seats[:, :, None])
    put("payers", (d.payers[:, None, :] == seats[:, :, None]).any(axis=2))
    put("resisted", d.resisted)
    recent = d.length[:, None] - 1 - np.arange(HISTORY_LENGTH)
    # Where a deal has no decision so long ago, "clip" reads one that is left out below.
    places = d.history.shape[1] * at + recent
    who = (d.history_seat.take(places, mode="clip") - d.seat[:, None]) % 4
    events = (who + 1) * np.int64(_ROWS) + d.history.take(places, mode="clip") + 1
    events[recent < 0] = 0
    put("history", _EVENTS.take(events, axis=0))
    return out


def _known(d: Decisions, hand: Int8, played: Int8) -> Int8:
    """Cards `(n, 3, 54)` that relative seats 1…3 are sure to hold still.

    A receiver may return the other copy of the kind it got, never the card itself (RULES 6), so
    what it got stays known until it plays one of that kind. Of two big jokers with which tribute
    was resisted, a single payer held both, and each of two payers knows what the other held.
    """
    known = np.zeros((len(d), 4, NUM_KINDS), dtype=np.int8)
    (at,) = np.nonzero(d.paid[:, 0] >= 0)
    if at.size:
        n = np.arange(len(at))[:, None]
        payers = d.payers.take(at, axis=0)
        first = _BOTH_WAYS.take(d.to_first[at], axis=0)  # payer of either receiver
        receivers = d.previous[at[:, None], first]  # of either payer: `first` is its own inverse
        payers_of = payers[n, first]
        before = (d.phase[at] == _CHOOSE)[:, None]
        holders = np.concatenate([np.where(before, payers, receivers), payers_of], axis=1)
        kinds = np.concatenate([d.paid.take(at, axis=0), d.returned.take(at, axis=0)], axis=1)
        # Four different seats hold the four cards, so no cell is written twice.
        which, column = np.nonzero(kinds >= 0)
        kind, table_of = kinds[which, column], at[which]
        seat = (holders[which, column] - d.seat[table_of]) % 4
        known[table_of, seat, kind] = played[table_of, seat, kind] == 0
    (at,) = np.nonzero(d.resisted)
    if at.size:
        payers = d.payers.take(at, axis=0)
        single = payers[:, 1] < 0
        mine = (payers == d.seat[at, None]).any(axis=1)
        own = hand[at, BIG_JOKER] + played[at, 0, BIG_JOKER]
        seat = np.where(single, (payers[:, 0] - d.seat[at]) % 4, 2)
        had = np.where(single, 2, np.where(mine, 2 - own, 0)).astype(np.int8)
        known[at, seat, BIG_JOKER] = np.maximum(had - played[at, seat, BIG_JOKER], 0)
    return known[:, 1:]


def seen_by(decisions: Decisions, state: State, seats: NDArray[np.integer]) -> Decisions:
    """The same moments from other seats' views: seats `(n,)` with their hands and no legal row.

    `state` is the state the decisions were taken from, unchanged since.
    """
    return replace(
        decisions,
        seat=np.asarray(seats, dtype=np.int8),
        hand_bits=state.hands[decisions.index, seats],
        packed=np.zeros_like(decisions.packed),
    )


def encode_full(
    state: State, tables: NDArray[np.integer], views: NDArray[np.integer] | None = None
) -> Int8:
    """What the players do not see at some tables, `(n, FULL_SIZE) int8`, as `FULL_BLOCKS` says.

    From the view of seats `views` `(n,)`; by default of the seat to act, or of seat 0 where the
    episode is over. For critics: with
    `encode` of the same decisions beside it, it is the whole state of the deal.
    """
    tables = np.asarray(tables)
    n = len(tables)
    seats = _TURNED[np.maximum(state.seat[tables], 0) if views is None else views]
    hands = to_counts(state.hands[tables[:, None], seats])
    secret = np.zeros((n, 4, NUM_KINDS), dtype=np.int8)
    phase = state.phase[tables]
    for which, chosen, by in (
        (_PAY, state.paid[tables, 0], state.payers[tables, 0]),
        (_RETURN, state.returned[tables, 0], state.previous[tables, 0]),
    ):
        at = np.flatnonzero((phase == which) & (chosen >= 0))
        secret[at, (by[at] - seats[at, 0]) % 4, chosen[at]] = 1
    size = 4 * NUM_KINDS
    return np.concatenate([hands.reshape(n, size).view(np.int8), secret.reshape(n, size)], axis=1)
