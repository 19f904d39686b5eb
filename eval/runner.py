"""Agents at tables: any number of deals or games played in one batch, conducted by RULES 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.answers import Cause, Wrong, ask
from agents.thoughts import choices_of
from eval.faults import KEPT_RECORDS, AgentFaultError, Fault, in_place_of, penalty, take_levels
from guandan_env.actions import PASS
from guandan_env.cards import NUM_KINDS
from guandan_env.conduct import Conduct
from guandan_env.decisions import Agent
from guandan_env.engine import Engine, StepResult
from guandan_env.record import DealStarts, deal_record
from guandan_env.rules import RuleSet
from guandan_env.state import Phase

MAX_TABLES = 2048
_GIVES_LEAD = -2  # instead of a row: this lead is given away, the next seat is asked
_FORFEITS = -3  # instead of a row: the table's episode is lost for the seat's side


@dataclass(frozen=True)
class Jobs:
    """n deals or games to play.

    table: `(n,) int64`, number of the table in random keys. seating: `(n, 4)`, index of the agent
    at each seat. context: what the records of a job say about it, by its index. deals_used: `(n,)`,
    of games, the deals that earlier games of their match have used up (see `Engine.start`).
    """

    table: NDArray[np.int64]
    seating: NDArray[np.int64]
    context: Callable[[int], dict[str, Any]] = field(default=lambda job: {})
    deals_used: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.table)


class Observer(Protocol):
    """Is shown every deal that has ended, as it stands, before the next one begins."""

    def deals_over(self, tables: Tables, at: NDArray[np.intp], result: StepResult) -> None:
        """The deals at some tables (indices) are over; `tables.job[at]` are their jobs."""
        ...

    def deals_forfeited(self, tables: Tables, at: NDArray[np.intp]) -> None:
        """The deals at some tables (indices) are broken off, and their jobs lost by a fault."""
        ...


@dataclass
class Outcome:
    """What became of n jobs. Arrays `(n, …)`; of a job that is not done nothing is said.

    order: `(n, 4) int8`, finishing order of the last deal (-1 where it was forfeited). gain:
    `(n, 2) float32`, levels won minus levels lost by each side over all deals. winner: `(n,)
    int8`, the side that won the deal or game, 2 for a draw. deals: `(n,) int32`. level: `(n,)
    int8`, rank of the last deal's level. faults: by agent's index. decisions, seconds: by agent.
    """

    order: NDArray[np.int8]
    gain: NDArray[np.float32]
    winner: NDArray[np.int8]
    deals: NDArray[np.int32]
    level: NDArray[np.int8]
    done: NDArray[np.bool_]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    faults: list[tuple[int, Fault]] = field(default_factory=list)

    @classmethod
    def empty(cls, jobs: int, agents: int) -> Outcome:
        """Nothing done yet."""
        return cls(
            order=np.full((jobs, 4), -1, dtype=np.int8),
            gain=np.zeros((jobs, 2), dtype=np.float32),
            winner=np.full(jobs, -1, dtype=np.int8),
            deals=np.zeros(jobs, dtype=np.int32),
            level=np.zeros(jobs, dtype=np.int8),
            done=np.zeros(jobs, dtype=bool),
            decisions=np.zeros(agents, dtype=np.int64),
            seconds=np.zeros(agents),
        )


def play(
    agents: Sequence[Agent],
    jobs: Jobs,
    *,
    rules: RuleSet,
    seed: int = 0,
    episode: str = "deal",
    level: str | None = None,
    previous: str | None = "half",
    conduct: Conduct | None = None,
    num_tables: int = MAX_TABLES,
    observers: Sequence[Observer] = (),
    choices: bool = False,
    progress: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Play all jobs, at most `num_tables` at a time; `progress` is shown the outcome so far.

    Nothing that comes out depends on `num_tables`, except in agents whose answer to a decision
    depends on what else they are asked at the same time. With `choices`, records hold what agents
    that can tell (`thoughts.Thinker`) thought of their moves; the time for that is not counted as
    theirs. Raises `AgentFaultError` at the first
    fault where the conduct is `illegal_play="error"` (the default).
    """
    # Agents that are programs, an instance a seat, say how many tables they can sit at.
    at_once = min([num_tables, len(jobs), *(getattr(a, "most_tables", len(jobs)) for a in agents)])
    tables = Tables(
        agents,
        jobs,
        Engine(
            at_once,
            rules,
            seed=seed,
            episode=episode,
            level=level,
            previous=previous,
            tables=jobs.table[:at_once],
        ),
        Conduct() if conduct is None else conduct,
        observers,
        choices,
    )
    while tables.advance():
        if progress is not None and tables.news:
            progress(tables.outcome)
    return tables.outcome


class Tables:
    """The tables of one `play`, each with the job that is played there."""

    def __init__(
        self,
        agents: Sequence[Agent],
        jobs: Jobs,
        engine: Engine,
        conduct: Conduct,
        observers: Sequence[Observer],
        choices: bool = False,
    ) -> None:
        self.agents, self.jobs, self.engine = agents, jobs, engine
        self.conduct, self.observers = conduct, observers
        self.outcome = Outcome.empty(len(jobs), len(agents))
        b = engine.num_tables
        self.job = np.arange(b)
        self.begun = b
        self.news = False  # whether a job ended in the last round
        self.starts = DealStarts(b)
        if jobs.deals_used is not None:
            self._start(np.arange(b))
        self.starts.note(engine.state, np.arange(b))
        self._barred = np.zeros((b, 4), dtype=bool)  # may not play again in this trick
        self._given = np.zeros(b, dtype=np.int64)  # leads given away in a row
        self._charged = np.zeros((b, 2), dtype=np.int64)  # levels that this deal's faults cost
        self._choices: list[dict[int, Any]] | None = [{} for _ in range(b)] if choices else None
        self._lost: dict[int, dict[str, Any]] = {}  # the faults that tables have just been lost by

    def advance(self) -> bool:
        """One move at every table; whether there is anything left to do."""
        state, b = self.engine.state, self.engine.num_tables
        rows = np.zeros(b, dtype=np.int64)
        cards = np.zeros((b, NUM_KINDS), dtype=np.uint8)
        asked = np.flatnonzero(state.seat >= 0)
        if not asked.size:
            return False
        packed = self.engine.packed_masks()
        forfeits: list[NDArray[np.intp]] = []
        while asked.size:
            self._ask(asked, packed, rows, cards)
            gives, lost = asked[rows[asked] == _GIVES_LEAD], asked[rows[asked] == _FORFEITS]
            if gives.size:
                self.starts.note_yield(state, gives)
                self.engine.yield_lead(gives)
                packed[gives] = self.engine.packed_masks()[gives]
            forfeits.append(lost)
            asked = gives
        self._forfeit(np.concatenate(forfeits), rows)
        over = self._step(rows, cards, packed)
        over = np.union1d(over, np.concatenate(forfeits))
        self.news = bool(over.size)
        if over.size:
            self._refill(over)
        return True

    def names(self, at: int) -> list[str]:
        """What the four players at a table are called."""
        return [self.agents[i].name for i in self.jobs.seating[self.job[at]]]

    def record(self, at: int, fault: dict[str, Any] | None = None) -> dict[str, Any]:
        """The deal at a table, as it stands, as a record."""
        return deal_record(
            self.engine,
            at,
            self.starts,
            players=self.names(at),
            context=self.jobs.context(int(self.job[at])),
            fault=self._lost.get(at) if fault is None else fault,
            choices=None if self._choices is None else self._choices[at],
        )

    # ------------------------------------------------------------------ asking

    def _ask(
        self,
        asked: NDArray[np.intp],
        packed: NDArray[np.uint64],
        rows: NDArray[np.int64],
        cards: NDArray[np.uint8],
    ) -> None:
        """Fill in what the agents play at some tables, or what stands for it after a fault."""
        state = self.engine.state
        seat = state.seat[asked].astype(np.int64)
        barred = self._barred[asked, seat]
        rows[asked[barred]] = PASS
        who = self.jobs.seating[self.job[asked], seat]
        for index, agent in enumerate(self.agents):
            mine = asked[(who == index) & ~barred]
            if not mine.size:
                continue
            decisions = self.engine.decisions(mine, packed_masks=packed)
            answer = ask(agent, decisions)
            rows[mine], cards[mine] = answer.rows, answer.cards
            self.outcome.decisions[index] += len(mine)
            self.outcome.seconds[index] += answer.seconds
            if self._choices is not None:
                thoughts = choices_of(agent, decisions)
                for at, move, told in zip(mine, state.length[mine], thoughts, strict=True):
                    if told:
                        self._choices[at][int(move)] = told
            for i, wrong in sorted(answer.wrong.items()):
                at = int(mine[i])
                rows[at], cards[at] = self._after_fault(index, at, wrong, packed)

    def _after_fault(
        self, index: int, at: int, wrong: Wrong, packed: NDArray[np.uint64]
    ) -> tuple[int, NDArray[np.uint8]]:
        """What is played at a table instead of a faulty answer (RULES 7.3 to 7.6)."""
        told = self._count(index, at, wrong)
        no_cards = np.zeros(NUM_KINDS, dtype=np.uint8)
        forfeits = self.conduct.illegal_play == "forfeit" and wrong.cause is not Cause.LATE
        if forfeits or wrong.cause is Cause.ABSENT:
            self._lost[at] = told
            return _FORFEITS, no_cards
        state = self.engine.state
        decisions = self.engine.decisions(np.array([at]), packed_masks=packed)
        if state.phase[at] != Phase.PLAY and wrong.cause is not Cause.LATE:
            again = ask(self.agents[index], decisions)
            if not again.wrong:
                return int(again.rows[0]), again.cards[0]
            self._count(index, at, again.wrong[0])
        elif state.phase[at] == Phase.PLAY and wrong.cause is not Cause.LATE:
            if state.lead[at] != PASS:
                self._barred[at, state.seat[at]] = True
            elif self._given[at] < 3:
                # After a round of wrong leads somebody must begin: the fourth plays a single.
                self._given[at] += 1
                return _GIVES_LEAD, no_cards
        return int(in_place_of(decisions)[0]), no_cards

    def _count(self, index: int, at: int, wrong: Wrong) -> dict[str, Any]:
        """Note a fault and what it costs; returns what records say of it."""
        state = self.engine.state
        agent, seat = self.agents[index].name, int(state.seat[at])
        told = {"agent": agent, "seat": seat, "cause": wrong.cause.value, "text": wrong.text}
        kept = len(self.outcome.faults) < KEPT_RECORDS
        fault = Fault(
            agent=agent,
            job=int(self.job[at]),
            table=int(state.table[at]),
            deal=int(state.deal[at]),
            seat=seat,
            move=int(state.length[at]),
            wrong=wrong,
            record=self.record(at, fault=told) if kept else {},
        )
        if self.conduct.illegal_play == "error":
            raise AgentFaultError(fault)
        self.outcome.faults.append((index, fault))
        self._charged[at, seat % 2] += penalty(self.conduct, wrong.cause)
        return told

    # ------------------------------------------------------------------ moving

    def _forfeit(self, at: NDArray[np.intp], rows: NDArray[np.int64]) -> None:
        """End the episodes that are lost by a fault: the other side wins as highly as it can."""
        if not at.size:
            return
        state, job = self.engine.state, self.job[at]
        winner = 1 - state.seat[at] % 2
        most = max(self.engine.rules.promotion)
        self.outcome.winner[job] = winner
        self.outcome.gain[job, winner] += most
        self.outcome.gain[job, 1 - winner] -= most
        self.outcome.deals[job] += 1
        self.outcome.level[job] = state.level[at]
        for observer in self.observers:
            observer.deals_forfeited(self, at)
        self._lost.clear()
        self.engine.stop(at)
        rows[at] = PASS

    def _step(
        self, rows: NDArray[np.int64], cards: NDArray[np.uint8], packed: NDArray[np.uint64]
    ) -> NDArray[np.intp]:
        """Play the moves; returns the tables whose job is done."""
        engine, state = self.engine, self.engine.state
        chosen = cards if cards.any() else None
        result = engine.step(rows, chosen, packed_masks=packed, go_on=False)
        self._barred[state.lead == PASS] = False
        self._given[state.lead != PASS] = 0
        ended = np.flatnonzero(result.deal_over)
        if not ended.size:
            return ended
        job, out = self.job[ended], self.outcome
        out.order[job], out.level[job] = result.order[ended], state.level[ended]
        out.gain[job] += result.reward[ended, :2]
        out.deals[job] += 1
        out.winner[job] = state.winner[ended]
        for observer in self.observers:
            observer.deals_over(self, ended, result)
        over = result.over[ended]
        going_on = ended[~over]
        if going_on.size:
            if self._charged[going_on].any():
                take_levels(state, engine.rules, going_on, self._charged[going_on])
            engine.next_deal(going_on)
            self._deal_begins(going_on)
        return ended[over]

    def _deal_begins(self, at: NDArray[np.intp]) -> None:
        self._barred[at] = False
        self._given[at] = 0
        self._charged[at] = 0
        if self._choices is not None:
            for table in at.tolist():
                self._choices[table] = {}
        self.starts.note(self.engine.state, at)

    def _refill(self, over: NDArray[np.intp]) -> None:
        """Begin the next jobs at the tables whose job is done."""
        self.outcome.done[self.job[over]] = True
        again = over[: len(self.jobs) - self.begun]
        if not again.size:
            return
        self.job[again] = np.arange(self.begun, self.begun + len(again))
        self.begun += len(again)
        self.engine.state.table[again] = self.jobs.table[self.job[again]]
        self._start(again)
        self._deal_begins(again)

    def _start(self, at: NDArray[np.intp]) -> None:
        """Begin the jobs of some tables with their first deal."""
        used = self.jobs.deals_used
        self.engine.state.deal[at] = -1
        self.engine.start(at, deals_used=0 if used is None else used[self.job[at]])
