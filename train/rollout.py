"""Playing for experience: many tables at once, all seats, with the learner and its opponents.

Every step, each table makes one move. Forced moves (one legal row) are made without asking
anybody; the learner's other decisions of a step go through its network in one batch and are kept.
At some tables an opponent holds one side; what it does is part of the world there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.answers import require
from agents.candidates import Inputs, inputs_of
from guandan_env import legality, observation, randomness
from guandan_env.decisions import Agent, Decisions
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet
from guandan_env.state import FIELDS, State
from train.rewards import DealReward
from train.strengths import hand_strengths

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Views:
    """n decisions as a learner may look at them; a player would see `inputs` only.

    full: `(n, 432) int8`, all hands (`observation.encode_full`). opponent: `(n,)`, index of who
    holds the other side, -1 for the learner itself. strengths: `(n, 40) float16`, what the four
    hands are worth (`strengths.hand_strengths`); `(n, 0)` for learners that do not ask for them.
    """

    inputs: Inputs
    full: NDArray[np.int8]
    opponent: Ints
    strengths: NDArray[np.float16]

    def __len__(self) -> int:
        return len(self.opponent)

    def take(self, chosen: Ints) -> Views:
        """Some of them, by position."""
        return Views(
            self.inputs.take(chosen),
            self.full[chosen],
            self.opponent[chosen],
            self.strengths[chosen],
        )


@dataclass(frozen=True)
class Acted:
    """What was done at n decisions, all `(n,)`.

    chosen: the place of the chosen candidate among the decision's own. log_probability: of that
    choice. value: what the position is worth to the side to act. Learners that have no use for one
    of the last two leave it 0.
    """

    chosen: Ints
    log_probability: Floats
    value: Floats

    def take(self, chosen: Ints) -> Acted:
        """Some of them, by position."""
        return Acted(self.chosen[chosen], self.log_probability[chosen], self.value[chosen])


class Actor(Protocol):
    """Decides for the learner."""

    def act(self, decisions: Decisions, views: Views) -> Acted:
        """Choose at n decisions."""
        ...

    def values(self, views: Views) -> Floats:
        """What n positions are worth to the side to act, `(n,)`."""
        ...


@dataclass(frozen=True)
class Experience:
    """n decisions of the learner, as they were made: by step, inside a step by table.

    label: `(n,)`, the place of what the teacher would have chosen, -1 without one. step, table,
    seat: `(n,)`. reward: `(steps, tables) float32`, what the deals that ended in a step pay side
    0; ended: whether one did. last: `(tables,)`, the value to side 0 of where the tables stand
    now, nan where that is not known. moves, forced: made at all tables, by all.
    """

    views: Views
    acted: Acted
    label: Ints
    step: Ints
    table: Ints
    seat: NDArray[np.int8]
    reward: Floats
    ended: NDArray[np.bool_]
    last: Floats
    moves: int
    forced: int

    def __len__(self) -> int:
        return len(self.step)

    @classmethod
    def join(cls, parts: Sequence[Experience], tables: Sequence[Ints]) -> Experience:
        """Parts that were played apart, each at some of the tables, as if played together.

        tables: the place in the whole of each part's tables.
        """
        table = np.concatenate([at[part.table] for part, at in zip(parts, tables, strict=True)])
        step = np.concatenate([part.step for part in parts])
        place = np.argsort(np.concatenate(tables))
        order = np.lexsort((table, step))
        return cls(
            joined([part.views for part in parts]).take(order),
            joined([part.acted for part in parts]).take(order),
            np.concatenate([part.label for part in parts])[order],
            step[order],
            table[order],
            np.concatenate([part.seat for part in parts])[order],
            np.concatenate([part.reward for part in parts], axis=1)[:, place],
            np.concatenate([part.ended for part in parts], axis=1)[:, place],
            np.concatenate([part.last for part in parts])[place],
            sum(part.moves for part in parts),
            sum(part.forced for part in parts),
        )

    def returns(self, trace: float) -> tuple[Floats, Floats]:
        """Advantages of the acting sides and TD(λ) returns to them, both `(n,)`; λ is `trace`.

        A table is one sequence of the learner's decisions, whoever of the four seats makes them,
        its values seen from side 0; a deal that ends pays its reward to the last of them.
        """
        steps, tables = self.reward.shape
        sign = np.where(self.seat % 2 == 0, np.float32(1), np.float32(-1))
        value = np.zeros((steps, tables), dtype=np.float32)
        decided = np.zeros((steps, tables), dtype=bool)
        value[self.step, self.table] = sign * self.acted.value
        decided[self.step, self.table] = True
        advantage = np.zeros((steps, tables), dtype=np.float32)
        following = self.last
        carried = np.zeros(tables, dtype=np.float32)
        for t in range(steps - 1, -1, -1):
            following = np.where(self.ended[t], self.reward[t], following)
            carried = np.where(self.ended[t], np.float32(0), carried)
            # Where it is not known what follows, the decision counts as worth what was thought.
            surprise = np.where(np.isnan(following), np.float32(0), following - value[t])
            advantage[t] = surprise + np.float32(trace) * carried
            carried = np.where(decided[t], advantage[t], carried)
            following = np.where(decided[t], value[t], following)
        own = sign * advantage[self.step, self.table]
        return own, own + self.acted.value


@dataclass(frozen=True)
class Opponent:
    """Who holds one side at how many tables."""

    name: str
    agent: Agent
    tables: int


class SelfPlay:
    """N tables, each playing deal after deal.

    The first tables are self-play; then come those of each opponent, where the learner's side
    changes with each deal. After `restore` it may be only some of them, which go on as they would
    among all. Attributes: `engine`; `holder` `(N,)`, index of the opponent or -1.
    """

    def __init__(
        self,
        tables: int,
        seed: int,
        reward: DealReward,
        rules: RuleSet | None = None,
        opponents: Sequence[Opponent] = (),
        *,
        strengths: bool = False,
    ) -> None:
        self.reward, self.opponents, self.strengths = reward, opponents, strengths
        self.engine = Engine(tables, rules, seed=seed, episode=reward.episode)
        held = np.repeat(np.arange(len(opponents)), [opponent.tables for opponent in opponents])
        self._holders = np.concatenate([np.full(tables - len(held), -1), held]).astype(np.int64)
        self.restore(self.engine.state)

    def restore(self, state: State) -> None:
        """Go on from a state that these tables, or some of them, were in between two `collect`."""
        self.engine.state = state
        self.holder = self._holders[state.table]
        self._every = np.arange(len(state))
        self.reward.begins(self.engine, self._every)

    def put(self, state: State) -> None:
        """Have some of all tables stand where they stand in a state."""
        whole = self.engine.state
        for name in FIELDS:
            getattr(whole, name)[state.table] = getattr(state, name)
        self.reward.begins(self.engine, state.table)

    def collect(
        self, actor: Actor, steps: int, *, teacher: Agent | None = None, taught: float = 0.0
    ) -> Experience:
        """Play some steps at every table.

        With a teacher, what it would choose is noted of every decision of the learner, and in a
        part `taught` of the deals it is what is played. Raises `GuandanError` where the learner had
        nothing to decide.
        """
        engine = self.engine
        reward = np.zeros((steps, len(self._every)), dtype=np.float32)
        ended = np.zeros(reward.shape, dtype=bool)
        kept: list[tuple[Any, ...]] = []
        forced = 0
        for step in range(steps):
            packed = engine.packed_masks()
            open_ = legality.count(packed) > 1
            forced += int((~open_).sum())
            rows = legality.select(packed, np.zeros(len(packed), dtype=np.int64))
            learns = self._learns()
            mine = np.flatnonzero(open_ & learns)
            if mine.size:
                decisions = engine.decisions(mine, packed_masks=packed)
                views = self._views(decisions)
                acted = actor.act(decisions, views)
                rows[mine] = views.inputs.rows[views.inputs.start + acted.chosen]
                label = np.full(len(mine), -1)
                if teacher is not None:
                    told, _ = require(teacher, decisions)
                    label = place_of(views.inputs, told)
                    led = _drawn(decisions) < taught
                    rows[mine[led]] = told[led]
                    acted = replace(acted, chosen=np.where(led, label, acted.chosen))
                kept.append((views, acted, label, np.full(len(mine), step), mine, decisions.seat))
            for index, opponent in enumerate(self.opponents):
                theirs = np.flatnonzero(open_ & ~learns & (self.holder == index))
                if theirs.size:
                    asked = engine.decisions(theirs, packed_masks=packed)
                    rows[theirs], _ = require(opponent.agent, asked)
            result = engine.step(rows, packed_masks=packed, go_on=False)
            over = np.flatnonzero(result.deal_over)
            if over.size:
                ended[step, over] = True
                reward[step, over] = self.reward.pays(engine, result, over)
                engine.start(over[result.over[over]])
                engine.next_deal(over[~result.over[over]])
                self.reward.begins(engine, over)
        if not kept:
            raise GuandanError(
                f"in {steps} steps at {len(self._every)} tables there was nothing to decide for "
                "the learner; more steps, or tables for each worker, are needed"
            )
        views, acted, *others = (joined(column) for column in zip(*kept, strict=True))
        label, step_of, table, seat = others
        return Experience(
            views, acted, label, step_of, table, seat, reward, ended,
            last=self._standing(actor), moves=reward.size, forced=forced,
        )  # fmt: skip

    def _learns(self) -> NDArray[np.bool_]:
        """Whether the learner is to act at each table."""
        s = self.engine.state
        return (self.holder < 0) | (s.seat % 2 == (s.table + s.deal) % 2)

    def _views(self, decisions: Decisions) -> Views:
        full = observation.encode_full(self.engine.state, decisions.index)
        strengths = (
            hand_strengths(decisions, self.engine.state)
            if self.strengths
            else np.zeros((len(decisions), 0), dtype=np.float16)
        )
        return Views(inputs_of(decisions), full, self.holder[decisions.index], strengths)

    def _standing(self, actor: Actor) -> Floats:
        """The value to side 0 of where the tables stand, nan where an opponent is to act."""
        tables = np.flatnonzero(self._learns())
        decisions = self.engine.decisions(tables)
        value = actor.values(self._views(decisions))
        last = np.full(len(self._every), np.nan, dtype=np.float32)
        last[tables] = np.where(decisions.seat % 2 == 0, value, -value)
        return last


def place_of(inputs: Inputs, rows: NDArray[np.integer]) -> Ints:
    """The place of rows `(n,)` among each decision's own candidates, `(n,)`."""
    return np.flatnonzero(inputs.rows == rows[inputs.of]) - inputs.start


def _drawn(decisions: Decisions) -> NDArray[np.float64]:
    """A number 0 … 1 for each decision, the same all through a deal."""
    key = randomness.key(decisions.table, decisions.deal, root=decisions.root)
    return randomness.below(key, 1 << 20) / (1 << 20)


def joined(parts: Sequence[Any]) -> Any:
    """Arrays, or dataclasses of arrays, one after the other."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    columns = {f.name: joined([getattr(part, f.name) for part in parts]) for f in fields(first)}
    return type(first)(**columns)
