"""What the four hands of a table are worth: the critic's shortcut to what a deal comes to.

From cards alone a critic needs very many deals to find out which hands are good. What the best
partition of a hand into plays says (`hand_plan`) lets it explain half as much again of the results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.candidates import PLANNER, group_counts
from agents.card_count import count_cards
from guandan_env import observation
from guandan_env.decisions import Decisions
from guandan_env.state import State

SIZE = 40
_HAND = SIZE // 4
_SEATS = np.arange(4)
# Hands that are worked on together: their tables then fit the processor's cache.
_TOGETHER = 512


def hand_strengths(decisions: Decisions, state: State) -> NDArray[np.float16]:
    """Of each decision the four hands, from the acting seat on, `(n, 40) float16`.

    Ten numbers a hand: value in fours, turns in eighths, and groups as the candidates' features
    count them. `state` is the state the decisions were taken from, unchanged since.
    """
    n = len(decisions)
    out = np.empty((4 * n, _HAND), dtype=np.float16)
    seats = ((decisions.seat[:, None] + _SEATS) % 4).reshape(-1)
    of = np.repeat(np.arange(n), 4)
    for begin in range(0, 4 * n, _TOGETHER):
        some = slice(begin, begin + _TOGETHER)
        seen = observation.seen_by(decisions.take(of[some]), state, seats[some])
        out[some] = _strengths(seen)
    return out.reshape(n, SIZE)


def _strengths(d: Decisions) -> NDArray[np.float64]:
    """Ten numbers of each hand, `(n, 10)`."""
    n = len(d)
    at = np.arange(n)
    count = count_cards(d, PLANNER.weights)
    level = d.level.astype(np.int64)
    plans = PLANNER.plans(count.counts, count.suits, level, count.control)
    outlook = PLANNER.evaluate(plans, at, np.zeros((n, 2), dtype=np.uint64))
    groups = group_counts(outlook.groups, count, at)
    return np.stack([outlook.value / 4, outlook.turns / 8, *groups], axis=1)
