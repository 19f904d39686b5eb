"""Games of a competition, played: many in one batch, in this process or another."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import AgentError
from agents.answers import Cause, PartialAnswerError, Wrong, reset
from agents.process_agent import close, make_under
from eval.competition.results import DRAW, NOBODY, GameResult
from eval.competition.terms import MatchTerms
from eval.faults import Fault
from eval.runner import Jobs, Outcome, Tables, play
from guandan_env.cards import NUM_KINDS
from guandan_env.conduct import Conduct
from guandan_env.decisions import Agent, Decisions
from guandan_env.engine import StepResult
from guandan_env.errors import one_line
from guandan_env.record import LONGEST_NAME

MOST_FAULTS = 20  # that are told of one game
Key = tuple[int, int, int, int]


@dataclass(frozen=True)
class Task:
    """A game to be played, or a deal of a duplicate round.

    key: numbers of stage, round, match and game. table: its number in random keys. side: where a
    sits, 0 or 1. agents: specs, two of a and two of b. names: of both entrants.
    """

    key: Key
    table: int
    side: int
    agents: tuple[str, str, str, str]
    names: tuple[str, str]
    deals_used: int = 0


@dataclass(frozen=True)
class Batch:
    """Games under the same terms. episode: "game", or "deal" for duplicate."""

    tasks: tuple[Task, ...]
    terms: MatchTerms
    seed: int
    episode: str
    context: dict[str, Any]


@dataclass(frozen=True)
class Done:
    """What came out of a task. records: its deals, packed (see `unpack`)."""

    key: Key
    result: GameResult
    records: bytes


def play_batch(batch: Batch) -> list[Done]:
    """Play all games of a batch at once. Faults of agents never raise; they are told."""
    tasks = batch.tasks
    specs = list(dict.fromkeys(spec for task in tasks for spec in task.agents))
    index = {spec: i for i, spec in enumerate(specs)}
    # Seats side and side + 2 are a's, the others b's.
    seats = [[(seat - task.side) % 2 * 2 + seat // 2 for seat in range(4)] for task in tasks]
    seating = [[index[t.agents[i]] for i in own] for t, own in zip(tasks, seats, strict=True)]
    used = np.array([task.deals_used for task in tasks], dtype=np.int64)
    jobs = Jobs(
        table=np.array([task.table for task in tasks], dtype=np.int64),
        seating=np.array(seating, dtype=np.int64),
        context=lambda job: {**batch.context, **_told(tasks[job])},
        deals_used=used if used.any() else None,
    )
    notes = _Notes(tasks, [[t.agents[i] for i in s] for t, s in zip(tasks, seats, strict=True)])
    with ExitStack() as stack:
        agents = [_made(spec, batch.terms.conduct, stack) for spec in specs]
        outcome = play(
            agents,
            jobs,
            rules=batch.terms.rules,
            seed=batch.seed,
            episode=batch.episode,
            level=batch.terms.rules.fixed_level if batch.episode == "deal" else None,
            conduct=batch.terms.conduct,
            observers=(notes,),
        )
    return [_done(batch, job, outcome, notes) for job in range(len(tasks))]


def unpack(records: bytes) -> list[dict[str, Any]]:
    """The records of a game's deals."""
    told: list[dict[str, Any]] = json.loads(zlib.decompress(records))
    return told


def _told(task: Task) -> dict[str, Any]:
    stage, number, match, game = task.key
    return {"stage": stage + 1, "round": number + 1, "match": match + 1, "game": game + 1,
            "a": task.names[0], "b": task.names[1]}  # fmt: skip


class _Notes:
    """Observer that keeps what an outcome does not: levels, deals won by side, records."""

    def __init__(self, tasks: Sequence[Task], specs: list[list[str]]) -> None:
        n = len(tasks)
        self.levels = np.zeros(n, dtype=np.int64)  # of side 0 less those of side 1
        self.won = np.zeros((n, 2), dtype=np.int64)
        self.ended = np.zeros(n, dtype=bool)
        self.records: list[list[dict[str, Any]]] = [[] for _ in range(n)]
        self.players = [
            [
                one_line(f"{t.names[(seat - t.side) % 2]} ({own[seat]})", LONGEST_NAME)
                for seat in range(4)
            ]
            for t, own in zip(tasks, specs, strict=True)
        ]

    def deals_over(self, tables: Tables, at: NDArray[np.intp], result: StepResult) -> None:
        job, state = tables.job[at], tables.engine.state
        steps = state.steps[at].astype(np.int64)
        gains = result.reward[at, 0].astype(np.int64)
        in_game = tables.engine.episode == "game"
        # A game that ended by sudden death is void but for its winner (5.17).
        level = np.where(state.sudden_death[at], 0, steps[:, 0] - steps[:, 1])
        self.levels[job] = level if in_game else gains
        self.won[job, result.order[at, 0] % 2] += 1
        self.ended[job] = result.over[at]
        for table, j in zip(at.tolist(), job.tolist(), strict=True):
            self.keep(j, tables.record(table))

    def deals_forfeited(self, tables: Tables, at: NDArray[np.intp]) -> None:
        for table, j in zip(at.tolist(), tables.job[at].tolist(), strict=True):
            self.keep(j, tables.record(table))

    def keep(self, job: int, record: dict[str, Any]) -> None:
        self.records[job].append({**record, "players": self.players[job]})


def _done(batch: Batch, job: int, outcome: Outcome, notes: _Notes) -> Done:
    task, terms = batch.tasks[job], batch.terms
    faults = [fault for _, fault in outcome.faults if fault.job == job]
    sides = [(fault.seat - task.side) % 2 for fault in faults]
    winner = int(outcome.winner[job])
    winner = DRAW if winner == DRAW else (winner - task.side) % 2
    levels = int(notes.levels[job]) * (1 if task.side == 0 else -1)
    won = notes.won[job].tolist()
    a, b = won[task.side], won[1 - task.side]
    forfeit, absent = NOBODY, False
    if not notes.ended[job]:
        forfeit = 1 - winner
        absent = any(
            side == forfeit and fault.wrong.cause is Cause.ABSENT
            for side, fault in zip(sides, faults, strict=True)
        )
        levels = terms.forfeit_levels
        if batch.episode == "deal":
            levels = max(terms.rules.promotion)
        levels *= 1 if winner == 0 else -1
        a, b = a + (winner == 0), b + (winner == 1)
    count = Counter(sides)
    result = GameResult(
        winner=winner,
        levels=levels,
        deals=int(outcome.deals[job]),
        won=(a, b),
        forfeit=forfeit,
        absent=absent,
        side=task.side,
        faults=tuple(
            _fault(side, fault)
            for side, fault in zip(sides[:MOST_FAULTS], faults[:MOST_FAULTS], strict=True)
        ),
        counts=(count[0], count[1]),
    )
    text = json.dumps(notes.records[job], ensure_ascii=False, separators=(",", ":"))
    return Done(task.key, result, zlib.compress(text.encode("utf-8", "replace")))


def _fault(side: int, fault: Fault) -> tuple[int, int, str, str]:
    return side, fault.seat, fault.wrong.cause.value, one_line(fault.wrong.text)


class _Absent:
    """Sits in for an agent that could not be made: it has not started, and forfeits (7.6)."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    def reset(self) -> None:
        """There is nothing to forget."""

    def act(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """No answer to any decision."""
        n = len(decisions)
        wrong = {i: Wrong(Cause.ABSENT, self._why) for i in range(n)}
        cards = np.zeros((n, NUM_KINDS), dtype=np.uint8)
        raise PartialAnswerError(np.zeros(n, dtype=np.int64), cards, wrong)


_playing: list[Agent] = []


def end_programs() -> None:
    """End the programs behind the agents that play now, as this process is about to end."""
    for agent in _playing:
        close(agent)


def _close(agent: Agent) -> None:
    _playing[:] = [other for other in _playing if other is not agent]
    close(agent)


def _made(spec: str, conduct: Conduct, stack: ExitStack) -> Agent:
    try:
        agent = make_under(spec, conduct)
        _playing.append(agent)
        stack.callback(_close, agent)
        reset(agent)
    except AgentError as error:
        return _Absent(spec, f"it did not start: {one_line(error)}")
    return agent
