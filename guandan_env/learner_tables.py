"""N tables at which one seat learns and agents hold the other three, played in one batch.

The tables stand still where the learner is to decide; everything in between is played by the
agents, all tables together: in every round each agent is asked once, for all tables where it is
to act. The Gymnasium environments (single_seat.py) are two faces of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality, observation, randomness
from guandan_env.actions import NUM_ACTIONS, PASS
from guandan_env.cards import NUM_KINDS
from guandan_env.checks import as_whole, check_choice, items_of, whole_array
from guandan_env.conduct import Conduct
from guandan_env.decisions import Agent
from guandan_env.engine import Engine, StepResult
from guandan_env.errors import GuandanError, IllegalActionError, StateError, shown
from guandan_env.positions import Position, check_options, place, prepare
from guandan_env.rewards import check_reward, rewards
from guandan_env.rules import RuleSet

ANY_SEAT = "random"
ILLEGAL = ("end", "raise")


@dataclass(frozen=True)
class Outcome:
    """What came of the learner's actions and all that followed, up to its next decisions.

    reward: `(N,) float64`, of the learner's seat. ended: `(N,) bool`, the episode is over.
    illegal: `(N,) bool`, it ended by an action that was not legal. order: `(N, 4) int8`, finishing
    order of the last deal that ended, else -1.
    """

    reward: NDArray[np.float64]
    ended: NDArray[np.bool_]
    illegal: NDArray[np.bool_]
    order: NDArray[np.int8]

    @classmethod
    def nothing(cls, n: int) -> Outcome:
        """Of n tables at which nothing has happened yet."""
        return cls(
            np.zeros(n),
            np.zeros(n, dtype=bool),
            np.zeros(n, dtype=bool),
            np.full((n, 4), -1, dtype=np.int8),
        )


class LearnerTables:
    """N tables, each standing before a decision of the learner, or over.

    Parameters: `agents`, who plays the other seats: one agent, or three in the order of play after
    the learner (the next seat, the partner, the seat before); `seat`, the learner's: 0…3, or
    `"random"`, drawn for each episode from (seed, table, deal); `reveal_counts_at`, from how many
    cards on the observation has the counts of other hands (27, 10, 7 or 6: RULES 7.2); `illegal`,
    what an action does that is in the table but not legal: `"end"` ends the episode with `worst` as
    reward, `"raise"` raises `IllegalActionError` and changes nothing; `tables`, the numbers of the
    tables in random keys (default 0 … N-1). All others as for `Engine` and `rewards`.

    Attributes: `engine`; `seat` `(N,) int8`, where the learner sits; `packed` `(N, 36) uint64`,
    its legal rows; `worst`, minus the most that a deal can bring.
    """

    def __init__(
        self,
        num_tables: int,
        agents: Agent | Sequence[Agent],
        *,
        seat: int | str = 0,
        rules: RuleSet | str = "default",
        episode: str = "deal",
        level: str | None = None,
        previous: str | None = "half",
        reward: str = "levels",
        reveal_counts_at: int = 27,
        illegal: str = "end",
        tables: NDArray[np.integer] | None = None,
    ) -> None:
        three = _three(agents)
        self._agents = list({id(agent): agent for agent in three}.values())
        ids = [id(agent) for agent in self._agents]
        # [seats after the learner's]: index of the agent there, -1 for the learner.
        self._holder = np.array([-1, *(ids.index(id(agent)) for agent in three)])
        self._seat = _fixed(seat)
        self._illegal = check_choice(illegal, "illegal", ILLEGAL)
        self._reward = check_reward(reward)
        self._reveal = Conduct(reveal_counts_at=reveal_counts_at).reveal_counts_at
        self.engine = Engine(
            num_tables,
            rules,
            episode=episode,
            level=level,
            previous=previous,
            tables=tables,
        )
        self.num_tables = self.engine.num_tables
        self.worst = -float(max(self.engine.rules.promotion)) if reward == "levels" else -1.0
        self.seat = np.full(self.num_tables, -1, dtype=np.int8)
        self.packed = np.zeros((self.num_tables, legality.MASK_WORDS), dtype=np.uint64)
        self.seeded = False
        self._stands = False

    # ------------------------------------------------------------------ episodes

    def reset(self, seed: int, options: Mapping[str, object] | None = None) -> None:
        """Begin anew at every table with deal 0 of a seed; the agents forget everything.

        With `options`, those of `positions.position`, at that position. Raises their errors and
        changes nothing; `StateError` if the episode would be over before the learner decides.
        """
        given = self._prepared(options)
        self.engine.reset(seed)
        self.seeded = True
        for agent in self._agents:
            agent.reset()
        everywhere = np.arange(self.num_tables)
        if given is not None:
            self.engine.state.deal[:] = -1  # the position takes the place of deal 0
            self._place(everywhere, given)
        self._begin(everywhere)

    def start(
        self, tables: NDArray[np.integer], options: Mapping[str, object] | None = None
    ) -> None:
        """Begin the next episode at some tables (indices), as `reset` does; needs a seed before."""
        given = self._prepared(options)
        if given is None:
            self.engine.start(tables)
        else:
            self._place(tables, given)
        self._begin(tables)

    def _prepared(self, options: Mapping[str, object] | None) -> Position | None:
        if options is None:
            return None
        check_options(options)
        return prepare(self.engine, **options) if options else None

    def _place(self, tables: NDArray[np.integer], given: Position) -> None:
        for at in tables.tolist():
            place(self.engine, at, given)

    def _begin(self, tables: NDArray[np.integer]) -> None:
        """Seat the learner at tables whose episode has just begun, and play up to its decision."""
        s = self.engine.state
        if self._seat is None:
            key = randomness.key(self.engine.seed, s.table[tables], s.deal[tables], randomness.SEAT)
            self.seat[tables] = randomness.below(key, 4)
        else:
            self.seat[tables] = self._seat
        self._play_others(Outcome.nothing(self.num_tables))
        over = np.flatnonzero(s.over[tables])
        if over.size:
            self._stands = False
            at = int(tables[over[0]])
            raise StateError(
                f"from this position the episode is over before the learner's seat {self.seat[at]} "
                "decides; call reset() again"
            )

    # ------------------------------------------------------------------ playing

    def play(self, actions: object) -> Outcome:
        """Play rows `(N,)` for the learner, then the agents up to its next decisions.

        Raises `IllegalActionError` and changes nothing for what is no row of the action table,
        and for a row that is not legal with `illegal="raise"`; `StateError` before the first
        reset and at a table whose episode is over. What an agent raises comes through, and so
        does the error of an illegal action of an agent; only a reset helps then.
        """
        engine, s = self.engine, self.engine.state
        if not self._stands:
            raise StateError("no episode is running; call reset() first")
        if s.over.any():
            raise StateError("the episode is over; call reset() first")
        rows = whole_array(actions, "actions", (self.num_tables,), IllegalActionError)
        outside = np.flatnonzero((rows < 0) | (rows >= NUM_ACTIONS))
        if outside.size:
            at = int(outside[0])
            raise IllegalActionError(
                f"table {at}: action {rows[at]} is not in the action table; "
                f"whole numbers from 0 to {NUM_ACTIONS - 1} are allowed"
            )
        outcome = Outcome.nothing(self.num_tables)
        if self._illegal == "end":
            outcome.illegal[:] = ~legality.is_set(self.packed, rows)
        moving = np.flatnonzero(~outcome.illegal)
        result = engine.step(rows, packed_masks=self.packed, tables=moving)
        self._stands = False
        self._count(result, outcome)
        ended = np.flatnonzero(outcome.illegal)
        engine.stop(ended)
        outcome.ended[ended] = True
        outcome.reward[ended] = self.worst
        self._play_others(outcome)
        return outcome

    def _play_others(self, outcome: Outcome) -> None:
        """Let the agents play until every table waits for the learner or is over."""
        engine, s = self.engine, self.engine.state
        while True:
            self.packed = engine.packed_masks()
            asked = np.flatnonzero((s.seat >= 0) & (s.seat != self.seat))
            if not asked.size:
                break
            rows, cards = self._ask(asked)
            result = engine.step(rows, cards, packed_masks=self.packed, tables=asked)
            self._count(result, outcome)
        self._stands = True

    def _ask(self, asked: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.uint8] | None]:
        """The agents' rows `(N,)`, and their cards `(N, 54)` if any chose cards itself."""
        rows = np.full(self.num_tables, PASS, dtype=np.int64)
        cards = None
        holder = self._holder[(self.engine.state.seat[asked] - self.seat[asked]) % 4]
        for index, agent in enumerate(self._agents):
            mine = asked[holder == index]
            if not mine.size:
                continue
            answer = agent.act(self.engine.decisions(mine, packed_masks=self.packed))
            if isinstance(answer, tuple):
                answer, chosen = answer
                if cards is None:
                    cards = np.zeros((self.num_tables, NUM_KINDS), dtype=np.uint8)
                what = f"the cards of agent {agent.name!r}"
                cards[mine] = whole_array(chosen, what, (len(mine), NUM_KINDS), IllegalActionError)
            what = f"the actions of agent {agent.name!r}"
            rows[mine] = whole_array(answer, what, (len(mine),), IllegalActionError)
        return rows, cards

    def _count(self, result: StepResult, outcome: Outcome) -> None:
        ended = np.flatnonzero(result.deal_over)
        if ended.size:
            paid = rewards(self.engine, result, self._reward)
            outcome.reward[ended] += paid[ended, self.seat[ended]]
            outcome.order[ended] = result.order[ended]
            outcome.ended[ended] |= result.over[ended]

    # ------------------------------------------------------------------ looking

    def observe(self, tables: NDArray[np.integer]) -> NDArray[np.int8]:
        """What the learner sees at some tables (indices), `(n, SIZE) int8`, over or not."""
        decisions = self.engine.decisions(tables, packed_masks=self.packed)
        if self.engine.state.over[tables].any():
            decisions = observation.seen_by(decisions, self.engine.state, self.seat[tables])
        return observation.encode(decisions, reveal_counts_at=self._reveal)

    def mask(self, tables: NDArray[np.integer]) -> NDArray[np.int8]:
        """The learner's legal rows at some tables (indices), `(n, 2244) int8`; 0 when over."""
        return legality.unpack(self.packed[tables])


def _three(agents: object) -> list[Agent]:
    """The agents of the seat after the learner, its partner and the seat before."""
    three = [agents] * 3 if isinstance(agents, Agent) else items_of(agents, 3)
    if three is None or len(three) != 3:
        raise GuandanError(
            f"agents are {shown(agents)}; an agent, or three for the next seat, the partner and "
            "the seat before are allowed"
        )
    for agent in three:
        if not isinstance(agent, Agent):
            raise GuandanError(
                f"agents has {shown(agent)}, which is no agent: those have name, reset and act"
            )
    return [agent for agent in three if isinstance(agent, Agent)]


def _fixed(seat: object) -> int | None:
    """A seat 0…3, or None for one drawn each episode."""
    if isinstance(seat, str) and seat == ANY_SEAT:
        return None
    number = as_whole(seat)
    if number is None or not 0 <= number < 4:
        raise GuandanError(f"seat is {shown(seat)}; 0, 1, 2, 3 and {ANY_SEAT!r} are allowed")
    return number
