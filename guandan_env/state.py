"""The state of B tables as a struct of arrays: what there is, copied, chosen and saved.

`FIELDS` is the one list of what a table's state consists of. -1 stands for none.
"""

from __future__ import annotations

import io
import json
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.checks import check_indices
from guandan_env.errors import StateError, one_line, shown
from guandan_env.legality import MASK_WORDS

STATE_VERSION = "state-v1"
MAX_HISTORY = 448  # 107 plays, three passes after each, and seven tribute decisions at most
MAX_PLAYS = 108
MOST_TABLES = 2**20  # 4.4 GiB


class Phase(IntEnum):
    """What the seat to act decides."""

    RESIST = 0
    PAY = 1
    CHOOSE = 2
    RETURN = 3
    PLAY = 4
    OVER = 5


# name: (shape of one table, dtype, value of a fresh table)
FIELDS: dict[str, tuple[tuple[int, ...], type, int]] = {
    "table": ((), np.int64, 0),  # the table's number in random keys
    "deal": ((), np.int64, -1),  # number of the deal at this table, from 0
    "phase": ((), np.int8, Phase.OVER),
    "seat": ((), np.int8, -1),  # to act
    "level": ((), np.int8, 0),  # rank of this deal's level
    "steps": ((2,), np.int16, 0),  # levels of both sides, 0 = level 2 (promotion.py)
    "declarer": ((), np.int8, -1),  # side
    "hands": ((4, 2), np.uint64, 0),  # bits, by seat
    "played": ((4, 2), np.uint64, 0),  # bits, by seat
    "hand_masks": ((4, MASK_WORDS), np.uint64, 0),  # rows that each hand can make
    "active": ((), np.uint8, 15),  # bit s: seat s has cards
    "lead": ((), np.int16, 0),  # row to beat, 0 when leading
    "lead_seat": ((), np.int8, -1),
    "passes": ((), np.int8, 0),  # since the last play
    "last": ((4,), np.int16, -1),  # each seat's last row in this trick
    "order": ((4,), np.int8, -1),  # seats by finishing place
    "finished": ((), np.int8, 0),
    "previous": ((4,), np.int8, -1),  # finishing order of the deal before
    "payers": ((2,), np.int8, -1),  # next(first) or the last; previous(first)
    "paid": ((2,), np.int8, -1),  # kinds, by payer
    "to_first": ((), np.int8, 0),  # index of the payer whose card goes to the first player
    "returned": ((2,), np.int8, -1),  # kinds, by receiver: first, second
    "resisted": ((), np.bool_, 0),
    "leader": ((), np.int8, -1),  # of the deal's first trick
    "attempts": ((2,), np.int16, 0),
    "debt": ((2,), np.int16, 0),
    "last_run": ((4,), np.int16, 0),
    "first_run": ((4,), np.int16, 0),
    "deals": ((), np.int32, 0),  # played in this game (or match: those before count)
    "sudden_death": ((), np.bool_, 0),
    "over": ((), np.bool_, 1),  # the episode is over
    "winner": ((), np.int8, -1),  # of the game: side, 2 for a draw
    "history": ((MAX_HISTORY,), np.int16, -1),  # rows of this deal
    "history_seat": ((MAX_HISTORY,), np.int8, -1),
    "length": ((), np.int16, 0),  # decisions made in this deal
    "play_cards": ((MAX_PLAYS, 2), np.uint64, 0),  # bits of the cards of each play
    "plays": ((), np.int16, 0),
}


class State:
    """Arrays `(B, …)` by the names of `FIELDS`, as attributes."""

    table: NDArray[np.int64]
    deal: NDArray[np.int64]
    phase: NDArray[np.int8]
    seat: NDArray[np.int8]
    level: NDArray[np.int8]
    steps: NDArray[np.int16]
    declarer: NDArray[np.int8]
    hands: NDArray[np.uint64]
    played: NDArray[np.uint64]
    hand_masks: NDArray[np.uint64]
    active: NDArray[np.uint8]
    lead: NDArray[np.int16]
    lead_seat: NDArray[np.int8]
    passes: NDArray[np.int8]
    last: NDArray[np.int16]
    order: NDArray[np.int8]
    finished: NDArray[np.int8]
    previous: NDArray[np.int8]
    payers: NDArray[np.int8]
    paid: NDArray[np.int8]
    to_first: NDArray[np.int8]
    returned: NDArray[np.int8]
    resisted: NDArray[np.bool_]
    leader: NDArray[np.int8]
    attempts: NDArray[np.int16]
    debt: NDArray[np.int16]
    last_run: NDArray[np.int16]
    first_run: NDArray[np.int16]
    deals: NDArray[np.int32]
    sudden_death: NDArray[np.bool_]
    over: NDArray[np.bool_]
    winner: NDArray[np.int8]
    history: NDArray[np.int16]
    history_seat: NDArray[np.int8]
    length: NDArray[np.int16]
    play_cards: NDArray[np.uint64]
    plays: NDArray[np.int16]

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name in FIELDS:
            setattr(self, name, arrays[name])

    @classmethod
    def fresh(cls, num_tables: int) -> State:
        """Tables with no deal yet, all over."""
        return cls(
            {
                name: np.full((num_tables, *shape), value, dtype=dtype)
                for name, (shape, dtype, value) in FIELDS.items()
            }
        )

    def __len__(self) -> int:
        return len(self.table)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(getattr(self, name).nbytes for name in FIELDS)

    def clear(self, tables: NDArray[np.integer], names: tuple[str, ...]) -> None:
        """Give some fields of some tables their fresh values."""
        for name in names:
            getattr(self, name)[tables] = FIELDS[name][2]

    def take(self, tables: NDArray[np.integer] | slice) -> State:
        """A copy of some tables, in the given order; a table may come more than once.

        `GuandanError` for what is neither a slice nor indices `(n,)`.
        """
        if not isinstance(tables, slice):
            tables = check_indices(tables, "tables", len(self))
        return State({name: getattr(self, name)[tables].copy() for name in FIELDS})

    def copy(self) -> State:
        """A copy that shares nothing with this state."""
        return self.take(slice(None))

    def to_bytes(self) -> bytes:
        """The state as an `.npz` file, with its version; nothing in it is pickled."""
        out = io.BytesIO()
        meta = json.dumps({"state": STATE_VERSION, "actions": ACTION_TABLE_VERSION})
        arrays = {name: getattr(self, name) for name in FIELDS}
        np.savez_compressed(out, meta=np.frombuffer(meta.encode(), np.uint8), **arrays)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> State:
        """A state saved by `to_bytes`.

        `StateError` for anything else, for another version, and for a state that no game leads to
        (see `state_check`).
        """
        from guandan_env.state_check import check_state  # which is about this class

        expected = {"state": STATE_VERSION, "actions": ACTION_TABLE_VERSION}
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                meta = json.loads(file["meta"].tobytes())
                # What another version wrote may lack fields, or have others.
                arrays = {name: file[name] for name in FIELDS} if meta == expected else {}
        except Exception as error:  # any damage that numpy, zip or JSON can find
            raise StateError(f"this is no saved state: {one_line(error)}") from error
        if meta != expected:
            raise StateError(f"the state was saved as {shown(meta)}; this version reads {expected}")
        size = (arrays["table"].size,)
        if not 1 <= size[0] <= MOST_TABLES:
            raise StateError(f"a saved state has {size[0]} tables; 1 to {MOST_TABLES} are allowed")
        for name, (shape, dtype, _) in FIELDS.items():
            if arrays[name].shape != (*size, *shape) or arrays[name].dtype != dtype:
                raise StateError(
                    f"{name} of a saved state is {arrays[name].dtype} {arrays[name].shape}, "
                    f"not {np.dtype(dtype)} {(*size, *shape)}"
                )
        state = cls(arrays)
        check_state(state)
        return state
