"""What happens when an agent fails: faults, and the moves that Conduct puts in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import AgentError
from agents.answers import Cause, Wrong
from guandan_env.actions import (
    FIRST_CARD,
    LEVEL_KEY,
    LONE_WILD,
    NUM_ACTIONS,
    PASS,
    RESIST,
    ROW_KEY,
    ROW_PATTERN,
    Pattern,
)
from guandan_env.cards import KIND_RANK, NUM_RANKS, wild_kind
from guandan_env.conduct import Conduct
from guandan_env.decisions import Decisions
from guandan_env.promotion import ACE
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State

KEPT_RECORDS = 100


@dataclass(frozen=True)
class Fault:
    """One failure of an agent: which, where, and why.

    job: number of the deal or game in what is played; table, deal: its numbers in random keys.
    move: how many moves the deal had before. record: the deal up to there, see record.py; empty
    after the first `KEPT_RECORDS` faults of what is played, which are enough to learn from.
    """

    agent: str
    job: int
    table: int
    deal: int
    seat: int
    move: int
    wrong: Wrong
    record: Mapping[str, Any]

    def __str__(self) -> str:
        return (
            f"agent {self.agent!r} failed at deal {self.table}"
            + (f".{self.deal}" if self.deal else "")
            + f", seat {self.seat}, move {self.move}: {self.wrong.text}"
        )


class AgentFaultError(AgentError):
    """An agent failed and the conduct is to stop; `fault` tells all about it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault

    def __reduce__(self) -> tuple[type[AgentFaultError], tuple[Fault]]:
        # Workers report faults to the main process, exceptions travel by their arguments.
        return AgentFaultError, (self.fault,)


def _costs(level: int) -> NDArray[np.int64]:
    """How unwelcome each row `(2244,)` is where the lowest card is wanted, in level order."""
    rows = np.arange(NUM_ACTIONS)
    is_card = (rows >= FIRST_CARD) & (rows < RESIST)
    rank = np.where(ROW_KEY == LEVEL_KEY, level, ROW_KEY).astype(np.int64)
    rank[is_card] = KIND_RANK
    height = np.where(rank >= NUM_RANKS, rank + 1, np.where(rank == level, NUM_RANKS, rank))
    wild = (rows == LONE_WILD) | (rows == FIRST_CARD + wild_kind(level))
    single = ROW_PATTERN == Pattern.SINGLE
    return np.where(is_card | single, 2 * height + wild, NUM_ACTIONS)


_COST: NDArray[np.int64] = np.stack([_costs(level) for level in range(NUM_RANKS)])


def in_place_of(decisions: Decisions) -> NDArray[np.int64]:
    """The row `(n,)` that is played for a seat that does not answer in time (RULES 7.3).

    A lead becomes the lowest single, anything else a pass; in tribute the lowest eligible card,
    and no resistance.
    """
    cost = np.where(decisions.mask != 0, _COST[decisions.level], 2 * NUM_ACTIONS)
    waits = (decisions.phase == Phase.PLAY) & (decisions.lead != PASS)
    return np.where(waits | (decisions.phase == Phase.RESIST), PASS, np.argmin(cost, axis=1))


def penalty(conduct: Conduct, cause: Cause) -> int:
    """Levels that a fault costs; a grave one is that a program crashed (RULES 7.7)."""
    return conduct.grave_penalty_levels if cause is Cause.CRASH else conduct.penalty_levels


def take_levels(
    state: State, rules: RuleSet, at: NDArray[np.integer], levels: NDArray[np.integer]
) -> None:
    """Take levels `(n, 2)`, by side, at tables (indices) between two deals of a game (RULES 7.7).

    Nobody falls below 2; with `ace="wrap"`, below the 2 of the round of levels that is played.
    Where the level is fixed there is none to take.
    """
    if rules.fixed_level is not None:
        return
    steps = state.steps[at].astype(np.int64)
    lowest = steps // NUM_RANKS * NUM_RANKS if rules.ace == "wrap" else 0
    after = np.maximum(steps - levels, lowest)
    state.steps[at] = after
    state.attempts[at] = np.where(after == ACE, state.attempts[at], 0)
