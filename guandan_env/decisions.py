"""What an agent is asked: `Decisions`, many pending decisions at once, and the `Agent` protocol."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality, randomness
from guandan_env.cards import to_counts
from guandan_env.checks import check_indices
from guandan_env.errors import GuandanError, shown
from guandan_env.rules import RuleSet
from guandan_env.state import FIELDS, Phase, State

# What a decision shows of the state as it stands, under the same names.
_SHOWN = (
    "table", "deal", "seat", "phase", "level", "steps", "declarer", "lead", "lead_seat", "last",
    "order", "previous", "resisted", "payers", "to_first", "paid", "returned", "history",
    "history_seat", "length",
)  # fmt: skip
# name: (shape of one decision, dtype)
_FORMS: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {
    **{name: (FIELDS[name][0], np.dtype(FIELDS[name][1])) for name in _SHOWN},
    "index": ((), np.dtype(np.int64)),
    "root": ((), np.dtype(np.uint64)),
    "packed": ((legality.MASK_WORDS,), np.dtype(np.uint64)),
    "hand_bits": ((2,), np.dtype(np.uint64)),
    "played_bits": ((4, 2), np.dtype(np.uint64)),
    "counts": ((4,), np.dtype(np.uint8)),
}
_PAY, _RETURN = int(Phase.PAY), int(Phase.RETURN)  # arrays compare far slower with an IntEnum


@dataclass(frozen=True)
class Decisions:
    """n pending decisions as a struct of arrays: what the acting seats may know, and no more.

    Seats are absolute, -1 stands for none. Arrays are copies; rows of the action table are int16.
    """

    rules: RuleSet
    index: NDArray[np.int64]  # (n,) position of the table in its engine
    table: NDArray[np.int64]  # (n,) number of the table in random keys
    deal: NDArray[np.int64]  # (n,) number of the deal at the table
    seat: NDArray[np.int8]  # (n,) the seat that decides
    phase: NDArray[np.int8]  # (n,) state.Phase
    root: NDArray[np.uint64]  # (n,) what `key` is made from: the seed, scrambled
    packed: NDArray[np.uint64]  # (n, 36) legal rows
    hand_bits: NDArray[np.uint64]  # (n, 2)
    played_bits: NDArray[np.uint64]  # (n, 4, 2) cards that each seat has played
    counts: NDArray[np.uint8]  # (n, 4) cards that each seat holds
    level: NDArray[np.int8]  # (n,) rank of the level
    steps: NDArray[np.int16]  # (n, 2) levels of both sides in steps, see promotion.py
    declarer: NDArray[np.int8]  # (n,) side
    lead: NDArray[np.int16]  # (n,) row to beat, 0 when leading
    lead_seat: NDArray[np.int8]  # (n,)
    last: NDArray[np.int16]  # (n, 4) each seat's last row in this trick
    order: NDArray[np.int8]  # (n, 4) seats that are out, by finishing place
    previous: NDArray[np.int8]  # (n, 4) finishing order of the deal before
    resisted: NDArray[np.bool_]  # (n,)
    payers: NDArray[np.int8]  # (n, 2) seats that pay tribute
    to_first: NDArray[np.int8]  # (n,) index of the payer whose card went to the first player
    paid: NDArray[np.int8]  # (n, 2) kinds paid, by payer, once they are public
    returned: NDArray[np.int8]  # (n, 2) kinds returned by first and second, once public
    history: NDArray[np.int16]  # (n, 448) rows of this deal, -1 after the end and where hidden
    history_seat: NDArray[np.int8]  # (n, 448)
    length: NDArray[np.int16]  # (n,) entries of the history

    def __post_init__(self) -> None:
        """Raise `GuandanError` for rules that are none, and arrays of another shape or type."""
        if not isinstance(self.rules, RuleSet):
            raise GuandanError(f"rules are {shown(self.rules)}; a RuleSet is allowed")
        n = len(self.seat) if isinstance(self.seat, np.ndarray) and self.seat.ndim else 0
        for name, (tail, dtype) in _FORMS.items():
            given = getattr(self, name)
            array = isinstance(given, np.ndarray)
            if not array or given.dtype != dtype or given.shape != (n, *tail):
                form = f"{given.dtype} {given.shape}" if array else shown(given)
                raise GuandanError(
                    f"{name} of decisions is {form}; {dtype} {(n, *tail)} is allowed"
                )

    def __len__(self) -> int:
        return len(self.seat)

    def take(self, chosen: NDArray[np.integer]) -> Decisions:
        """Some of these decisions, by their positions `(m,)`; `GuandanError` for anything else."""
        chosen = check_indices(chosen, "the chosen decisions", len(self))
        arrays = {f.name: getattr(self, f.name)[chosen] for f in fields(self) if f.name != "rules"}
        return Decisions(rules=self.rules, **arrays)

    @cached_property
    def key(self) -> NDArray[np.uint64]:
        """Random keys `(n,)` of (seed, table, deal, seat, number of the decision)."""
        return randomness.key(
            self.table, self.deal, randomness.DECISION, self.seat, self.length, root=self.root
        )

    @cached_property
    def mask(self) -> NDArray[np.int8]:
        """Legal rows `(n, 2244)` of 0 and 1."""
        return legality.unpack(self.packed)

    @cached_property
    def hand(self) -> NDArray[np.uint8]:
        """The acting seats' hands as counts `(n, 54)`."""
        return to_counts(self.hand_bits)

    @cached_property
    def played(self) -> NDArray[np.uint8]:
        """Cards that each seat has played, counts `(n, 4, 54)`."""
        return to_counts(self.played_bits)


@runtime_checkable
class Agent(Protocol):
    """A player of any number of seats at any number of tables."""

    @property
    def name(self) -> str:
        """How tables and records call it."""
        ...

    def reset(self) -> None:
        """Forget everything: a new match begins."""
        ...

    def act(
        self, decisions: Decisions
    ) -> NDArray[np.integer] | tuple[NDArray[np.integer], NDArray[np.uint8]]:
        """A legal row for each decision, `(n,)`; or rows and cards, counts `(n, 54)`.

        All-zero rows of the cards leave the suits to the engine.
        """
        ...


def cards_left(s: State, tables: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Cards that each seat holds at some tables, `(n, 4)`."""
    held = np.bitwise_count(s.hands.take(tables, axis=0))
    return held[..., 0] + held[..., 1]


@lru_cache(maxsize=64)
def _root(seed: int) -> NDArray[np.uint64]:
    return randomness.key(seed)


def pending(
    s: State,
    rules: RuleSet,
    seed: int,
    packed: NDArray[np.uint64],
    tables: NDArray[np.integer],
) -> Decisions:
    """The decisions pending at some tables (indices, none of them over).

    `packed` `(n, 36)` are the legal rows at those tables. Cards that a seat chose in secret (the
    first of two payments or returns) are hidden until they are turned up.
    """
    # take() copies rows several times faster than indexing does.
    as_it_is = {name: getattr(s, name).take(tables, axis=0) for name in _SHOWN}
    phase, paid, returned = as_it_is["phase"], as_it_is["paid"], as_it_is["returned"]
    paying, returning = phase == _PAY, phase == _RETURN
    secret = (paying & (paid[:, 0] >= 0)) | (returning & (returned[:, 0] >= 0))
    hidden = secret.nonzero()[0]
    as_it_is["history"][hidden, as_it_is["length"][hidden] - 1] = -1
    paid[paying] = -1
    returned[returning] = -1
    return Decisions(
        rules=rules,
        index=np.array(tables, dtype=np.int64),
        root=np.repeat(_root(seed), len(tables)),
        packed=packed,
        hand_bits=s.hands[tables, as_it_is["seat"]],
        played_bits=s.played.take(tables, axis=0),
        counts=cards_left(s, tables),
        **as_it_is,
    )
