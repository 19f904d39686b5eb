"""Deals played to their end from decisions, with hidden hands filled in: many tables as a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.answers import require
from guandan_env import legality, randomness
from guandan_env.actions import IS_PLAY, PASS
from guandan_env.cards import Bits
from guandan_env.decisions import Agent, Decisions
from guandan_env.engine import Engine
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State

_SHOWN = (
    "deal", "seat", "level", "steps", "declarer", "lead", "lead_seat", "last", "order", "previous",
    "payers", "paid", "to_first", "returned", "resisted", "history", "history_seat", "length",
)  # fmt: skip


def states(d: Decisions, at: NDArray[np.integer], hands: Bits, keys: NDArray[np.uint64]) -> State:
    """Tables `(m,)` that stand as decisions `at` `(m,)` of the phase of play do.

    `hands` `(m, 3, 2)`: what the other seats hold, in turn order from the acting seat. `keys`
    `(m,)`: what is random from here on follows from them. Row masks are not computed, and which
    cards earlier plays were made of is not said: no decision shows it.
    """
    m = len(at)
    s = State.fresh(m)
    for name in _SHOWN:
        setattr(s, name, getattr(d, name)[at])
    s.table[:] = (keys >> np.uint64(1)).astype(np.int64)
    s.phase[:] = Phase.PLAY
    s.over[:] = False
    seat, each = s.seat.astype(np.int64), np.arange(m)
    s.hands[each, seat] = d.hand_bits[at]
    s.hands[each[:, None], (seat[:, None] + (1, 2, 3)) % 4] = hands
    s.played[:] = d.played_bits[at]
    holds = (d.counts[at] > 0).astype(np.uint8)
    s.active[:] = (holds << np.arange(4, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    s.finished[:] = (s.order >= 0).sum(axis=1)
    is_play = IS_PLAY[np.maximum(s.history, 0)] & (s.history > 0)
    s.plays[:] = is_play.sum(axis=1)
    since = np.argmax(is_play[:, ::-1], axis=1) - (is_play.shape[1] - s.length)
    s.passes[:] = np.where(s.lead == PASS, 0, since)
    return s


def play_out(
    state: State, rules: RuleSet, rows: NDArray[np.int64], policy: Agent
) -> NDArray[np.float64]:
    """Levels won, `(m,)`, by the side of the seat to act, which plays `rows` `(m,)` first.

    All seats then play by `policy` until the deal is over. The state is used up. `AgentError`
    where the policy fails.
    """
    if not len(state):
        return np.zeros(0)
    engine = Engine(1, rules, previous=None)
    side = state.seat % 2
    table = np.arange(len(state))  # which table of the result each one is
    gain = np.zeros(len(state))
    _set(engine, state)
    engine.refresh_masks(table)
    actions = rows
    result = engine.step(actions)
    while True:
        ended = np.flatnonzero(result.deal_over)
        gain[table[ended]] = result.reward[ended, side[table[ended]]]
        live = np.flatnonzero(engine.state.seat >= 0)
        if not live.size:
            return gain
        if 2 * len(live) < engine.num_tables:
            _set(engine, engine.state.take(live))
            table, live = table[live], np.arange(len(live))
        packed = engine.packed_masks()
        number = legality.count(packed[live])
        actions = np.zeros(engine.num_tables, dtype=np.int64)
        forced, free = live[number == 1], live[number > 1]
        actions[forced] = legality.select(packed[forced], np.zeros(len(forced), dtype=np.int64))
        cards = None
        if free.size:
            chosen, given = require(policy, engine.decisions(free, packed_masks=packed))
            actions[free] = chosen
            if given.any():
                cards = np.zeros((engine.num_tables, given.shape[1]), dtype=np.uint8)
                cards[free] = given
        result = engine.step(actions, cards, packed_masks=packed)


def _set(engine: Engine, state: State) -> None:
    engine.state, engine.num_tables = state, len(state)


def world_keys(
    d: Decisions, at: NDArray[np.integer], number: NDArray[np.integer]
) -> NDArray[np.uint64]:
    """Random keys `(m,)` of samples by their numbers `(m,)`, for decisions `at` `(m,)`."""
    return randomness.key(number, root=d.key[at])
