"""What the play of a deal shows beyond its result: bombs on the partner, wilds kept to the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env.actions import IS_BOMB, IS_PLAY
from guandan_env.cards import wild_kind
from guandan_env.state import State


def bombs_over_partner(state: State, at: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many bombs each seat played over its partner's play, `(n, 4)`, in the deals at tables."""
    rows, seats = state.history[at].astype(np.int64), state.history_seat[at].astype(np.int64)
    n, moves = rows.shape
    is_play = (rows >= 0) & IS_PLAY[rows]
    place = np.arange(moves)
    # The place of the play before each move, -1 if there is none.
    last = np.maximum.accumulate(np.where(is_play, place, -1), axis=1)
    before = np.concatenate((np.full((n, 1), -1), last[:, :-1]), axis=1)
    by = np.take_along_axis(seats, np.maximum(before, 0), axis=1)
    # In the same trick nobody but the opponent in between can have decided since.
    gap = place - before
    passed = np.concatenate((np.full((n, 1), -1), seats[:, :-1]), axis=1)
    direct = (gap == 1) | ((gap == 2) & (passed == (by + 1) % 4))
    over = is_play & IS_BOMB[rows] & (before >= 0) & (by == (seats + 2) % 4) & direct
    return np.stack([(over & (seats == seat)).sum(axis=1) for seat in range(4)], axis=1)


def wilds_left(state: State, at: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many wild cards each seat still held, `(n, 4)`, in the deals at tables."""
    kind = np.array([wild_kind(level) for level in range(13)], dtype=np.uint64)
    shift = kind[state.level[at]][:, None, None]
    held = (state.hands[at] >> shift) & np.uint64(1)
    return held.sum(axis=-1).astype(np.int64)
