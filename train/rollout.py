"""Playing for experience: many tables at once, all seats, with the learner and its opponents.

Every step, each table makes one move. Forced moves (one legal row) are made without asking
anybody; the learner's other decisions of a step go through its network in one batch and are kept.
At some tables an opponent holds one side; what it does is part of the world there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agents.candidates import Inputs, inputs_of
from guandan_env import legality, observation, randomness
from guandan_env.decisions import Agent, Decisions
from guandan_env.engine import Engine
from guandan_env.rules import RuleSet
from guandan_env.state import State
from train.rewards import DealReward


class Actor(Protocol):
    """Decides for the learner."""

    def act(
        self, decisions: Decisions, inputs: Inputs, full: NDArray[np.int8], opponent: NDArray
    ) -> Acted:
        """The candidates chosen at n decisions, and what else is to be remembered of them."""
        ...

    def values(
        self, inputs: Inputs, full: NDArray[np.int8], opponent: NDArray
    ) -> NDArray[np.float32]:
        """What n positions are worth to the side to act, `(n,)`."""
        ...


@dataclass(frozen=True)
class Acted:
    """Of n decisions: the place `(n,)` of the chosen candidate among the decision's own, the
    logarithm of its probability, and the value of the position to the side to act."""

    chosen: NDArray[np.int64]
    log_probability: NDArray[np.float32]
    value: NDArray[np.float32]


@dataclass(frozen=True)
class Experience:
    """n decisions of the learner, as they were made: by step, inside a step by table.

    full: `(n, 432) int8`. opponent: `(n,)`, index of the other side's holder, -1 for the learner.
    chosen, log_probability, value: as in `Acted`. label: `(n,)`, what the teacher would have
    chosen, -1 without one. step, table, seat: `(n,)`. reward: `(steps, tables) float32`, to side
    0, of the deals that ended in each step; ended: the same shape. last: `(tables,)`, the value
    to side 0 of where the tables stand at the end.
    """

    inputs: Inputs
    full: NDArray[np.int8]
    opponent: NDArray[np.int64]
    acted: Acted
    label: NDArray[np.int64]
    step: NDArray[np.int64]
    table: NDArray[np.int64]
    seat: NDArray[np.int8]
    reward: NDArray[np.float32]
    ended: NDArray[np.bool_]
    last: NDArray[np.float32]
    moves: int = 0
    forced: int = 0

    def __len__(self) -> int:
        return len(self.step)

    def returns(self, trace: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Advantages of the acting sides and TD(λ) returns to them, both `(n,)`; λ is `trace`.

        A table is one sequence of the learner's decisions, whoever of the four seats makes them,
        its values seen from side 0; a deal that ends pays its reward to the last of them.
        """
        steps, tables = self.reward.shape
        sign = (1 - 2 * (self.seat % 2)).astype(np.float32)
        value = np.zeros((steps, tables), dtype=np.float32)
        decided = np.zeros((steps, tables), dtype=bool)
        value[self.step, self.table] = sign * self.acted.value
        decided[self.step, self.table] = True
        advantage = np.zeros((steps, tables), dtype=np.float32)
        following = self.last.copy()
        carried = np.zeros(tables, dtype=np.float32)
        for t in range(steps - 1, -1, -1):
            following = np.where(self.ended[t], self.reward[t], following)
            carried = np.where(self.ended[t], np.float32(0), carried)
            step = following - value[t] + np.float32(trace) * carried
            advantage[t] = step
            carried = np.where(decided[t], step, carried)
            following = np.where(decided[t], value[t], following)
        own = sign * advantage[self.step, self.table]
        return own, own + self.acted.value


@dataclass
class Opponent:
    """Who holds the other side at some tables, and how many."""

    name: str
    agent: Agent
    tables: int


@dataclass
class SelfPlay:
    """N tables of single deals, one after the other at each.

    The first tables are self-play; then come those of each opponent, where the learner's side
    changes with each deal. Attributes: `engine`; `holder` `(N,)`, index of the opponent or -1.
    """

    tables: int
    seed: int
    reward: DealReward
    rules: RuleSet = field(default_factory=lambda: RuleSet.preset("default"))
    opponents: Sequence[Opponent] = ()

    def __post_init__(self) -> None:
        self.engine = Engine(self.tables, self.rules, seed=self.seed, episode=self.reward.episode)
        self.reward.begins(self.engine, np.arange(self.tables))
        of = [np.full(opponent.tables, i) for i, opponent in enumerate(self.opponents)]
        rest = self.tables - sum(map(len, of))
        self.holder = np.concatenate([np.full(rest, -1), *of]).astype(np.int64)

    def collect(
        self, actor: Actor, steps: int, *, teacher: Agent | None = None, taught: float = 0.0
    ) -> Experience:
        """Play some steps at every table.

        With a teacher, what it would choose is noted of every decision of the learner, and in a
        part `taught` of the tables it is what is played.
        """
        engine, s = self.engine, self.engine.state
        every = np.arange(self.tables)
        reward = np.zeros((steps, self.tables), dtype=np.float32)
        ended = np.zeros((steps, self.tables), dtype=bool)
        parts: list[tuple] = []
        moves = forced = 0
        for step in range(steps):
            packed = engine.packed_masks()
            number = legality.count(packed)
            rows = legality.select(packed, np.zeros(self.tables, dtype=np.int64))
            open_ = number > 1
            moves, forced = moves + self.tables, forced + int((~open_).sum())
            owner = np.where(self._learns(), -1, self.holder)
            mine = np.flatnonzero(open_ & (owner < 0))
            if mine.size:
                decisions = engine.decisions(mine, packed_masks=packed)
                inputs = inputs_of(decisions)
                full = observation.encode_full(s, mine)
                opponent = self.holder[mine]
                acted = actor.act(decisions, inputs, full, opponent)
                rows[mine] = inputs.rows[inputs.start + acted.chosen]
                label = np.full(len(mine), -1)
                if teacher is not None:
                    taught_rows = np.asarray(teacher.act(decisions))
                    label = place_of(inputs, taught_rows)
                    lead = self._drawn(decisions) < taught
                    rows[mine[lead]] = taught_rows[lead]
                parts.append(
                    (inputs, full, opponent, acted, label, np.full(len(mine), step), mine,
                     s.seat[mine].copy())
                )  # fmt: skip
            for index, other in enumerate(self.opponents):
                theirs = np.flatnonzero(open_ & (owner == index))
                if theirs.size:
                    answer = other.agent.act(engine.decisions(theirs, packed_masks=packed))
                    assert not isinstance(answer, tuple)
                    rows[theirs] = answer
            result = engine.step(rows, packed_masks=packed, go_on=False)
            over = np.flatnonzero(result.deal_over)
            if over.size:
                reward[step, over] = self.reward.pays(engine, result, over)
                ended[step, over] = True
                last = result.over[over]
                engine.start(over[last])
                engine.next_deal(over[~last])
                self.reward.begins(engine, over)
        columns = list(zip(*parts, strict=True))
        acted = Acted(
            *(np.concatenate([getattr(a, f) for a in columns[3]])
              for f in ("chosen", "log_probability", "value"))
        )  # fmt: skip
        return Experience(
            Inputs.join(columns[0]),
            np.concatenate(columns[1]),
            np.concatenate(columns[2]),
            acted,
            *(np.concatenate(column) for column in columns[4:]),
            reward=reward,
            ended=ended,
            last=self._standing(actor, every),
            moves=moves,
            forced=forced,
        )

    def restore(self, state: State) -> None:
        """Go on from a state that these tables were in between two calls of `collect`."""
        self.engine.state = state
        self.reward.begins(self.engine, np.arange(self.tables))

    def _learns(self) -> NDArray[np.bool_]:
        """Whether the learner is to act at each table."""
        s = self.engine.state
        side = (s.table + s.deal) % 2
        return (self.holder < 0) | (s.seat % 2 == side)

    @staticmethod
    def _drawn(decisions: Decisions) -> NDArray[np.float64]:
        """A number 0 … 1 for each decision, the same all through a deal."""
        key = randomness.key(decisions.table, decisions.deal, root=decisions.root)
        return randomness.below(key, 1 << 20) / (1 << 20)

    def _standing(self, actor: Actor, tables: NDArray[np.intp]) -> NDArray[np.float32]:
        """The value to side 0 of where the tables stand."""
        decisions = self.engine.decisions(tables)
        full = observation.encode_full(self.engine.state, tables)
        value = actor.values(inputs_of(decisions), full, self.holder[tables])
        return np.where(decisions.seat % 2 == 0, value, -value).astype(np.float32)


def place_of(inputs: Inputs, rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """The place of rows `(n,)` among each decision's own candidates, `(n,)`."""
    at = np.flatnonzero(inputs.rows == rows[inputs.of])
    return at - inputs.start
