"""How `planner` answers in tribute (进贡, 还牌): by what its hand is worth without the card."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.card_count import count_cards, hand_columns
from agents.hand_plan import HandPlanner
from guandan_env.actions import FIRST_CARD, RESIST, level_order
from guandan_env.cards import KIND_RANK, NUM_KINDS, NUM_RANKS
from guandan_env.decisions import Decisions
from guandan_env.state import Phase

_PLACE = np.stack([level_order(level) for level in range(NUM_RANKS)])


def tribute_rows(d: Decisions, planner: HandPlanner, help_partner: float) -> NDArray[np.int64]:
    """Rows `(n,)` for decisions that are no plays.

    Resists whenever it may. Pays, returns and picks the card that leaves the hand the highest
    value; of a return each place in level order adds `help_partner` if the card goes to the
    partner, and takes as much off if it goes to an opponent. Among equals the lowest row.
    """
    at, rows = np.nonzero(d.mask)
    level = d.level.astype(np.int64)
    kinds = np.clip(rows - FIRST_CARD, 0, NUM_KINDS - 1)
    hands = d.hand[at]
    sign = np.where(d.phase[at] == Phase.CHOOSE, 1, -1)
    sign[(rows < FIRST_CARD) | (rows == RESIST)] = 0
    hands[np.arange(len(at)), kinds] += sign.astype(np.uint8)  # -1 wraps to what it should
    count = count_cards(d, planner.weights)
    counts, suits = hand_columns(hands, level[at])
    plans = planner.plans(counts, suits, level[at], count.control[at])
    every = np.arange(len(at))
    worth = planner.evaluate(plans, every, np.zeros((len(at), 2), dtype=np.uint64)).value
    first = d.previous[:, 0] == d.seat
    payer = d.payers[np.arange(len(d)), np.where(first, d.to_first, 1 - d.to_first)]
    to_partner = (payer % 2 == d.seat % 2)[at]
    given = _PLACE[level[at], KIND_RANK[kinds]] * np.where(to_partner, help_partner, -help_partner)
    worth += np.where(d.phase[at] == Phase.RETURN, given, 0.0)
    worth[rows == RESIST] = np.inf
    start = np.searchsorted(at, np.arange(len(d)))
    best = np.maximum.reduceat(worth, start)
    hit = np.flatnonzero(worth == best[at])
    chosen: NDArray[np.int64] = rows[hit[np.searchsorted(at[hit], np.arange(len(d)))]]
    return chosen
