"""Duplicate play: two agents play every deal, or every game, twice with the sides exchanged.

Deal k is deal 0 of table k of the engine, so it follows from (seed, k); game k begins at table
`GAME_TABLES` + k. In leg 0 the agent a sits at seats 0 and 2, in leg 1 at seats 1 and 3.
Everything random at a decision follows from seed, deal, seat and number of the decision, so that
an agent against itself plays both legs alike and comes out at exactly zero, and no result depends
on the batch size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.answers import reset
from eval import audit
from eval.faults import Fault
from eval.runner import MAX_TABLES, Jobs, Outcome, Tables, play
from guandan_env.conduct import Conduct
from guandan_env.decisions import Agent
from guandan_env.engine import StepResult
from guandan_env.errors import GuandanError
from guandan_env.promotion import DRAW
from guandan_env.rules import RuleSet

GAME_TABLES = 1 << 32  # games and single deals share no cards
LEGS = 2


@dataclass(frozen=True)
class Terms:
    """What every pair of a match has in common."""

    rules: RuleSet = field(default_factory=lambda: RuleSet.preset("default"))
    seed: int = 0
    episode: str = "deal"
    level: str | None = None
    conduct: Conduct = field(default_factory=Conduct)
    num_tables: int = MAX_TABLES
    record: bool = False  # keep a record of every deal
    choices: bool = False  # records say what agents thought of their moves, where they can tell
    context: dict[str, Any] = field(default_factory=dict)  # what records say about the match


@dataclass(frozen=True)
class Pairs:
    """Results of n deals or games, each played twice, of a's side by deal and leg, `(n, 2)`.

    won: float64, 1 for a win, 0.5 for a draw. gain: float32, levels won less levels lost.
    double_down: bool, a's side came in first and second (of games: in the last deal). first:
    int8, the seat that came in first, -1 after a forfeit. level: int8 rank. deals: int32, deals
    played. bombs_over_partner, wilds_left: `(n, 2, 2)` by the sides a and b. failed: the same,
    failures of a and b. decisions, seconds: `(2,)`, of a and b. faults: what the failures were, in
    order of the pairs. records: by pair, leg 0 and then leg 1.
    """

    won: NDArray[np.float64]
    gain: NDArray[np.float32]
    double_down: NDArray[np.bool_]
    first: NDArray[np.int8]
    level: NDArray[np.int8]
    deals: NDArray[np.int32]
    bombs_over_partner: NDArray[np.int64]
    wilds_left: NDArray[np.int64]
    failed: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    faults: tuple[Fault, ...] = ()
    records: tuple[tuple[dict[str, Any], ...], ...] = ()

    def __len__(self) -> int:
        return len(self.won)

    @property
    def failures(self) -> NDArray[np.int64]:
        """How often a and b failed, `(2,)`."""
        return self.failed.sum(axis=(0, 1))

    def head(self, count: int) -> Pairs:
        """The first pairs only; decisions and seconds stay those of all."""
        cut = {f.name: getattr(self, f.name)[:count] for f in fields(self)}
        cut |= {name: getattr(self, name) for name in _BY_AGENT}
        cut["faults"] = self.faults[: int(self.failed[:count].sum())]
        return Pairs(**cut)

    @classmethod
    def join(cls, parts: list[Pairs]) -> Pairs:
        """One after the other."""
        whole: dict[str, Any] = {}
        for f in fields(cls):
            values = [getattr(part, f.name) for part in parts]
            if f.name in _BY_AGENT:
                whole[f.name] = np.sum(values, axis=0)
            elif isinstance(values[0], tuple):
                whole[f.name] = tuple(item for value in values for item in value)
            else:
                whole[f.name] = np.concatenate(values)
        return cls(**whole)


_BY_AGENT = ("decisions", "seconds")


class _Notes:
    """Observer that keeps what `Pairs` says about the play, and the records."""

    def __init__(self, jobs: int, record: bool) -> None:
        self.bombs = np.zeros((jobs, 4), dtype=np.int64)
        self.wilds = np.zeros((jobs, 4), dtype=np.int64)
        self.records: list[list[dict[str, Any]]] | None = (
            [[] for _ in range(jobs)] if record else None
        )

    def deals_over(self, tables: Tables, at: NDArray[np.intp], result: StepResult) -> None:
        job, state = tables.job[at], tables.engine.state
        self.bombs[job] += audit.bombs_over_partner(state, at)
        self.wilds[job] += audit.wilds_left(state, at)
        self._keep(tables, at)

    def deals_forfeited(self, tables: Tables, at: NDArray[np.intp]) -> None:
        self._keep(tables, at)

    def _keep(self, tables: Tables, at: NDArray[np.intp]) -> None:
        if self.records is not None:
            for table, job in zip(at.tolist(), tables.job[at].tolist(), strict=True):
                self.records[job].append(tables.record(table))


def play_pairs(
    a: Agent,
    b: Agent,
    first: int,
    count: int,
    terms: Terms,
    progress: Callable[[int, float], None] | None = None,
) -> Pairs:
    """Play pairs `first` … `first + count - 1` of a match.

    `progress` is told how many of the 2 * `count` deals or games are done, and a's win rate in
    them. Ctrl-C ends it early: the result is then that of the pairs before the first unfinished
    one. Raises `AgentFaultError` as `runner.play` does, `AgentError` for an agent whose `reset`
    fails.
    """
    if first < 0 or count < 1 or terms.num_tables < 1:
        raise GuandanError(
            f"first {first}, count {count}, num_tables {terms.num_tables}: the first pair is 0 or "
            "later, of the others at least 1 is allowed"
        )
    number = first + np.arange(count, dtype=np.int64)
    base = GAME_TABLES if terms.episode == "game" else 0
    leg = np.arange(LEGS * count) % LEGS
    jobs = Jobs(
        table=np.repeat(base + number, LEGS),
        seating=(np.arange(4) + leg[:, None]) % 2,
        context=lambda job: {**terms.context, terms.episode: first + job // 2, "leg": job % 2},
    )
    for agent in (a, b):
        reset(agent)
    notes = _Notes(len(jobs), terms.record)
    outcome = Outcome.empty(len(jobs), 2)

    def told(so_far: Outcome) -> None:
        nonlocal outcome
        outcome = so_far
        if progress is not None:
            done = so_far.done
            progress(int(done.sum()), float(_won(so_far.winner[done], leg[done]).mean()))

    fixed = terms.rules.fixed_level if terms.level is None else terms.level
    try:
        outcome = play(
            (a, b),
            jobs,
            rules=terms.rules,
            seed=terms.seed,
            episode=terms.episode,
            level=fixed if terms.episode == "deal" else None,
            conduct=terms.conduct,
            num_tables=terms.num_tables,
            observers=(notes,),
            choices=terms.record and terms.choices,
            progress=told,
        )
    except KeyboardInterrupt:
        whole = outcome.done.reshape(-1, LEGS).all(axis=1)
        return _pairs(outcome, notes, leg).head(int(np.argmin(np.append(whole, False))))
    return _pairs(outcome, notes, leg)


def _won(winner: NDArray[np.int8], leg: NDArray[np.int64]) -> NDArray[np.float64]:
    """1, 0.5 or 0 for a, whose side is the number of the leg."""
    return np.where(winner == DRAW, 0.5, winner == leg).astype(np.float64)


def _pairs(outcome: Outcome, notes: _Notes, leg: NDArray[np.int64]) -> Pairs:
    jobs = np.arange(len(leg))
    order = outcome.order.astype(np.int64)
    won = _won(outcome.winner, leg)
    double = (order[:, 1] >= 0) & ((order[:, 0] + order[:, 1]) % 2 == 0)
    by_side = [
        np.stack([seats[:, side::2].sum(axis=1) for side in (0, 1)], axis=1)
        for seats in (notes.bombs, notes.wilds)
    ]
    # A's side is that of the leg, b's the other one.
    bombs, wilds = (np.stack([x[jobs, leg], x[jobs, 1 - leg]], axis=1) for x in by_side)
    # In an order that does not depend on which tables were played at the same time.
    faults = sorted(outcome.faults, key=lambda owned: (owned[1].job, owned[1].deal, owned[1].move))
    failed = np.zeros((len(leg), 2), dtype=np.int64)
    for owner, fault in faults:
        failed[fault.job, owner] += 1
    return Pairs(
        won=won.reshape(-1, LEGS),
        gain=outcome.gain[jobs, leg].reshape(-1, LEGS),
        double_down=((won == 1) & double).reshape(-1, LEGS),
        first=outcome.order[:, 0].reshape(-1, LEGS),
        level=outcome.level.reshape(-1, LEGS)[:, 0],
        deals=outcome.deals.reshape(-1, LEGS),
        bombs_over_partner=bombs.reshape(-1, LEGS, 2),
        wilds_left=wilds.reshape(-1, LEGS, 2),
        decisions=outcome.decisions,
        seconds=outcome.seconds,
        failed=failed.reshape(-1, LEGS, 2),
        faults=tuple(fault for _, fault in faults),
        records=_by_pair(notes.records or []),
    )


def _by_pair(records: list[list[dict[str, Any]]]) -> tuple[tuple[dict[str, Any], ...], ...]:
    """Records by job put together by pair: all of leg 0, then all of leg 1."""
    legs = [records[leg::LEGS] for leg in range(LEGS)]
    return tuple(tuple(first + second) for first, second in zip(*legs, strict=True))


def play_duplicate(
    a: Agent,
    b: Agent,
    deals: int,
    *,
    rules: RuleSet | None = None,
    seed: int = 0,
    level: str | None = None,
    num_tables: int = MAX_TABLES,
    progress: Callable[[int], None] | None = None,
) -> Pairs:
    """Play deals 0 … `deals`-1 twice each, at most `num_tables` tables at a time.

    `level` is a character, or None for a random level each deal. `progress` is told how many of
    the 2 * `deals` deals are over. Raises `AgentError`, naming the agent and the deal, where an
    agent fails or answers with something illegal.
    """
    terms = Terms(
        rules=RuleSet.preset("default") if rules is None else rules,
        seed=seed,
        level=level,
        num_tables=num_tables,
    )
    told = None if progress is None else lambda done, rate: progress(done)
    return play_pairs(a, b, 0, deals, terms, told)
