"""Duplicate deals: two agents play every deal twice, the second time with the sides exchanged.

Deal k of a match is deal 0 of table k of the engine, so it follows from (seed, k). In leg 0 the
agent a sits at seats 0 and 2, in leg 1 at seats 1 and 3. Everything random at a decision follows
from seed, deal, seat and number of the decision, so that an agent against itself plays both legs
alike and comes out at exactly zero, and no result depends on the batch size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from agents import AgentError
from guandan_env import legality
from guandan_env.actions import NUM_ACTIONS
from guandan_env.cards import NUM_KINDS
from guandan_env.decisions import Agent, Decisions
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet

MAX_TABLES = 2048
_LEGS = 2


@dataclass(frozen=True)
class Duplicate:
    """Results of n deals, each played twice, all of a's side. Arrays `(n, 2)` by deal and leg.

    won: bool, a's side won the deal. gain: float32, levels that a's side won (negative: lost).
    double_down: bool, a's side came in first and second. decisions, seconds: `(2,)`, how many
    decisions a and b made, and the time they took for them.
    """

    won: NDArray[np.bool_]
    gain: NDArray[np.float32]
    double_down: NDArray[np.bool_]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]


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
) -> Duplicate:
    """Play deals 0 … `deals`-1 in both legs, at most `num_tables` tables at a time.

    `level` is a character, or None for a random level each deal. `progress` is told how many of
    the 2 * `deals` deals are over. Raises `AgentError`, naming the agent and the deal, where an
    agent fails or answers with something illegal.
    """
    if deals < 1 or num_tables < 1:
        raise GuandanError(f"deals {deals} and num_tables {num_tables}: at least 1 is allowed")
    rules = RuleSet.preset("default") if rules is None else rules
    agents = (a, b)
    for agent in agents:
        agent.reset()
    jobs = _LEGS * deals  # job j is leg j % 2 of deal j // 2
    job = np.arange(min(num_tables, jobs))  # the job that is played at each table
    engine = Engine(
        len(job),
        rules,
        seed=seed,
        level=rules.fixed_level if level is None else level,
        tables=job // _LEGS,
    )
    order = np.empty((jobs, 4), dtype=np.int8)
    reward = np.empty((jobs, 4), dtype=np.float32)
    decisions, seconds = np.zeros(2, dtype=np.int64), np.zeros(2)
    done, begun = 0, len(job)
    while done < jobs:
        packed = engine.packed_masks()
        actions = np.zeros(len(job), dtype=np.int64)
        cards = np.zeros((len(job), NUM_KINDS), dtype=np.uint8)
        live = ~engine.state.over
        who = (engine.state.seat + job) % 2  # 0 where a decides, 1 where b does
        for side, agent in enumerate(agents):
            asked = np.flatnonzero(live & (who == side))
            if not asked.size:
                continue
            pending = engine.decisions(asked, packed_masks=packed)
            start = perf_counter()
            actions[asked], cards[asked] = ask(agent, pending)
            seconds[side] += perf_counter() - start
            decisions[side] += len(asked)
        chosen = cards if cards.any() else None
        result = engine.step(actions, chosen, packed_masks=packed)
        over = np.flatnonzero(result.over)
        if not over.size:
            continue
        order[job[over]], reward[job[over]] = result.order[over], result.reward[over]
        done += len(over)
        again = over[: jobs - begun]
        if again.size:
            job[again] = np.arange(begun, begun + len(again))
            begun += len(again)
            engine.state.table[again] = job[again] // _LEGS
            engine.state.deal[again] = -1
            engine.start(again)
        if progress is not None:
            progress(done)
    side_of_a = np.arange(jobs) % _LEGS
    won = order[:, 0] % 2 == side_of_a
    double = (order[:, 0] + order[:, 1]) % 2 == 0
    gain = reward[np.arange(jobs), side_of_a]
    return Duplicate(
        won.reshape(-1, _LEGS),
        gain.reshape(-1, _LEGS),
        (won & double).reshape(-1, _LEGS),
        decisions,
        seconds,
    )


def ask(agent: Agent, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """An agent's checked answer: rows `(n,)`, and cards `(n, 54)`, all zero if it gave none."""
    n = len(decisions)
    try:
        answer = agent.act(decisions)
    except Exception as error:
        raise AgentError(
            f"agent {agent.name!r} failed at deal {decisions.table[0]}, seat {decisions.seat[0]} "
            f"(the first of {n} decisions): {type(error).__name__}: {error}"
        ) from error
    rows, cards = answer if isinstance(answer, tuple) else (answer, np.zeros((n, NUM_KINDS), "u1"))
    rows, cards = np.asarray(rows), np.asarray(cards)
    if rows.shape != (n,) or rows.dtype.kind not in "iu" or cards.shape != (n, NUM_KINDS):
        raise AgentError(
            f"agent {agent.name!r} answered with {rows.dtype} of shape {rows.shape} and cards of "
            f"shape {cards.shape}; whole numbers ({n},) and counts ({n}, {NUM_KINDS}) are allowed"
        )
    inside = (rows >= 0) & (rows < NUM_ACTIONS)
    legal = inside & legality.is_set(decisions.packed, np.where(inside, rows, 0).astype(np.int64))
    if not legal.all():
        at = int(np.argmin(legal))
        raise AgentError(
            f"agent {agent.name!r} played the illegal action {rows[at]} at deal "
            f"{decisions.table[at]}, seat {decisions.seat[at]}, decision {decisions.length[at]}"
        )
    return rows.astype(np.int64), cards
