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
from guandan_env.cards import BIG_JOKER, NUM_KINDS, to_counts, wild_kind
from guandan_env.decisions import Decisions
from guandan_env.errors import GuandanError
from guandan_env.state import Phase, State

OBSERVATION_VERSION = "observation-v1"
HISTORY_LENGTH = 12
NUM_PATTERNS = len(table.Pattern)
ROW_WIDTH = NUM_PATTERNS + 3
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
        ("left", (4,), "cards that each seat holds"),
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
    """`(2245, ROW_WIDTH)`: what is said of each row; the last stands for -1 (none)."""
    features = np.zeros((table.NUM_ACTIONS + 1, ROW_WIDTH), dtype=np.int8)
    rows = np.arange(table.NUM_ACTIONS)
    features[rows, table.ROW_PATTERN] = 1
    features[rows, NUM_PATTERNS] = table.ROW_KEY + 1
    features[rows, NUM_PATTERNS + 1] = table.ROW_SIZE
    features[rows, NUM_PATTERNS + 2] = table.ROW_WILDS
    return features


# Row -1 is the last, all 0.
_FEATURES = _row_features()
_HEIGHT = (np.maximum(table.STRENGTH, 0) % 100).astype(np.int8)
_ONE_OF_13 = np.eye(13, dtype=np.int8)
# Index -1 is the last, all 0.
_ONE_OF_4 = np.eye(5, 4, dtype=np.int8)
_ONE_OF_2 = np.eye(3, 2, dtype=np.int8)
# Row s * len(_FEATURES) + r: relative seat s (4 for none), then what is said of row r.
_EVENTS = np.concatenate(
    [np.repeat(_ONE_OF_4, len(_FEATURES), axis=0), np.tile(_FEATURES, (5, 1))], axis=1
)
_PHASE = np.eye(len(Phase), dtype=np.int8)
_SEATS = np.arange(4)
_PLACES = _SEATS[:, None]
_TURNED = (_SEATS[:, None] + _SEATS) % 4  # [seat]: absolute seats from its view
# [seat, absolute seat + 1]: relative seat, -1 for none.
_RELATIVE = np.concatenate([np.full((4, 1), -1), (_SEATS - _PLACES) % 4], axis=1)
_WILD = np.array([wild_kind(level) for level in range(13)])


def _features(rows: NDArray[np.integer]) -> Int8:
    """What is said of rows `(…)`, -1 for none: `(…, ROW_WIDTH)`."""
    # "wrap" turns -1 into the last row, and is several times faster than indexing.
    return _FEATURES.take(rows, axis=0, mode="wrap")


def encode(decisions: Decisions, out: Int8 | None = None) -> Int8:
    """Observations `(n, SIZE) int8` of n decisions, laid out as `BLOCKS` says.

    `out`, of that shape and type, is filled and returned if given; `GuandanError` if it does not
    fit. What other seats hold enters through counts and public events only.
    """
    d = decisions
    n = len(d)
    if out is None:
        out = np.empty((n, SIZE), dtype=np.int8)
    elif out.shape != (n, SIZE) or out.dtype != np.int8:
        raise GuandanError(
            f"out is {out.dtype} of shape {out.shape}; int8 of shape ({n}, {SIZE}) is allowed"
        )
    at = np.arange(n)
    across = at[:, None]
    seats = _TURNED[d.seat]
    relative = _RELATIVE[d.seat]
    hand = to_counts(d.hand_bits).view(np.int8)
    played = to_counts(d.played_bits[across, seats]).view(np.int8)
    side = d.seat & 1

    def put(name: str, values: NDArray[np.generic]) -> None:
        out[:, BLOCK[name].slice] = values.reshape(n, -1)

    put("hand", hand)
    put("wilds", hand[at, _WILD[d.level]])
    put("unseen", 2 - hand - (played[:, 0] + played[:, 1] + played[:, 2] + played[:, 3]))
    put("played", played)
    put("left", d.counts[across, seats])
    put("known", _known(d, hand, played, relative))
    leading = d.lead == table.PASS
    put("lead", _features(np.where(leading, -1, d.lead)))
    put("lead_height", _HEIGHT[d.level, d.lead])
    put("lead_seat", _ONE_OF_4[relative[at, d.lead_seat + 1]])
    put("last", _features(d.last[across, seats]))
    put("level", _ONE_OF_13[d.level])
    steps = d.steps[across, np.stack([side, 1 - side], axis=1)]
    put("levels", _ONE_OF_13[steps % 13])
    put("steps", np.minimum(steps, HIGHEST))
    put("declarer", _ONE_OF_2[np.where(d.declarer < 0, -1, d.declarer ^ side)])
    put("phase", _PHASE[d.phase])
    put("order", d.order[:, None, :] == seats[:, :, None])
    put("previous", d.previous[:, None, :] == seats[:, :, None])
    put("payers", (d.payers[:, None, :] == seats[:, :, None]).any(axis=2))
    put("resisted", d.resisted)
    recent = d.length[:, None].astype(np.int64) - 1 - np.arange(HISTORY_LENGTH)
    before = recent < 0
    recent[before] = 0
    rows = d.history[across, recent].astype(np.int64)
    who = relative[across, d.history_seat[across, recent] + 1]
    rows[before] = -1
    who[before] = -1
    put("history", _EVENTS.take(who % 5 * len(_FEATURES) + rows % len(_FEATURES), axis=0))
    return out


def _known(d: Decisions, hand: Int8, played: Int8, relative: NDArray[np.int64]) -> Int8:
    """Cards `(n, 3, 54)` that relative seats 1…3 are sure to hold still.

    A receiver may return the other copy of the kind it got, never the card itself (RULES 6), so
    what it got stays known until it plays one of that kind. Of two big jokers with which tribute
    was resisted, a single payer held both, and each of two payers knows what the other held.
    """
    known = np.zeros((len(d), 4, NUM_KINDS), dtype=np.int8)
    (at,) = np.nonzero(d.paid[:, 0] >= 0)
    if at.size:
        n = np.arange(len(at))[:, None]
        payers = d.payers[at]
        first = np.stack([d.to_first[at], 1 - d.to_first[at]], axis=1)  # payer of either receiver
        receivers = d.previous[at][n, first]  # of either payer: `first` is its own inverse
        payers_of = payers[n, first]
        before = (d.phase[at] == Phase.CHOOSE)[:, None]
        holders = np.concatenate([np.where(before, payers, receivers), payers_of], axis=1)
        kinds = np.concatenate([d.paid[at], d.returned[at]], axis=1)
        # Four different seats hold the four cards, so no cell is written twice.
        which, column = np.nonzero(kinds >= 0)
        kind, table_of = kinds[which, column], at[which]
        seat = relative[table_of, holders[which, column] + 1]
        known[table_of, seat, kind] = played[table_of, seat, kind] == 0
    (at,) = np.nonzero(d.resisted)
    if at.size:
        payers = d.payers[at]
        single = payers[:, 1] < 0
        mine = (payers == d.seat[at, None]).any(axis=1)
        own = hand[at, BIG_JOKER] + played[at, 0, BIG_JOKER]
        seat = np.where(single, relative[at, payers[:, 0] + 1], 2)
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
        (Phase.PAY, state.paid[tables, 0], state.payers[tables, 0]),
        (Phase.RETURN, state.returned[tables, 0], state.previous[tables, 0]),
    ):
        at = np.flatnonzero((phase == which) & (chosen >= 0))
        secret[at, (by[at] - seats[at, 0]) % 4, chosen[at]] = 1
    return np.concatenate([hands.reshape(n, -1).view(np.int8), secret.reshape(n, -1)], axis=1)
