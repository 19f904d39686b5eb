"""What an agent is asked: `Decisions`, many pending decisions at once, and the `Agent` protocol."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality, randomness
from guandan_env.cards import to_counts
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State


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
    key: NDArray[np.uint64]  # (n,) random key of (seed, table, deal, seat, number of the decision)
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

    def __len__(self) -> int:
        return len(self.seat)

    def take(self, chosen: NDArray[np.integer]) -> Decisions:
        """Some of these decisions, by their positions `(m,)`."""
        arrays = {f.name: getattr(self, f.name)[chosen] for f in fields(self) if f.name != "rules"}
        return Decisions(rules=self.rules, **arrays)

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
    held = np.bitwise_count(s.hands[tables])
    left: NDArray[np.uint8] = held.sum(axis=-1, dtype=np.uint8)
    return left


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
    phase, seat, length = s.phase[tables], s.seat[tables], s.length[tables]
    paid, returned = s.paid[tables].copy(), s.returned[tables].copy()
    history = s.history[tables]
    n = np.arange(len(tables))
    secret = (phase == Phase.PAY) & (paid[:, 0] >= 0)
    secret |= (phase == Phase.RETURN) & (returned[:, 0] >= 0)
    last = n[secret], length[secret] - 1
    history[last] = -1
    paid[phase == Phase.PAY] = -1
    returned[phase == Phase.RETURN] = -1
    key = randomness.key(seed, s.table[tables], s.deal[tables], randomness.DECISION, seat, length)
    return Decisions(
        rules=rules,
        index=np.asarray(tables, dtype=np.int64),
        table=s.table[tables],
        deal=s.deal[tables],
        seat=seat,
        phase=phase,
        key=key,
        packed=packed,
        hand_bits=s.hands[tables, seat],
        played_bits=s.played[tables],
        counts=cards_left(s, tables),
        level=s.level[tables],
        steps=s.steps[tables],
        declarer=s.declarer[tables],
        lead=s.lead[tables],
        lead_seat=s.lead_seat[tables],
        last=s.last[tables],
        order=s.order[tables],
        previous=s.previous[tables],
        resisted=s.resisted[tables],
        payers=s.payers[tables],
        to_first=s.to_first[tables],
        paid=paid,
        returned=returned,
        history=history,
        history_seat=s.history_seat[tables],
        length=length,
    )
