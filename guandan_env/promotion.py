"""What a deal's result does to the levels, and when a game is over (RULES 5).

Levels are counted in steps: 0 is level 2, 12 is level A, 13 a passed A; with `ace="wrap"` the
count goes on (13 is the second round's 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guandan_env.cards import NUM_RANKS, RANKS
from guandan_env.rules import RuleSet

ACE = 12
PASSED_ACE = 13
DRAW = 2
Int = NDArray[np.int64]


@dataclass
class Standing:
    """The standing of n games. Arrays by side are `(n, 2)`, by seat `(n, 4)`."""

    steps: Int
    declarer: Int  # (n,) side, -1 before the first deal is over
    attempts: Int  # failed deals at A, by side
    debt: Int  # demotions that could not be taken, by side
    last_run: Int  # deals in a row as last, by seat
    first_run: Int  # deals in a row as first, by seat
    deals: Int  # (n,) deals played


def complete_order(order: Int) -> Int:
    """Finishing orders `(n, 4)` with the places that were not played out (-1) filled in.

    After a double-down third is the seat before the first, last the seat after it; with three
    out, the fourth is last. Orders with a single finisher stay as they are (sudden death).
    """
    order = order.copy()
    double = (order[:, 1] >= 0) & ((order[:, 0] + order[:, 1]) % 2 == 0)
    order[:, 2] = np.where(double, (order[:, 0] + 3) % 4, order[:, 2])
    order[:, 3] = np.where(double, (order[:, 0] + 1) % 4, order[:, 3])
    three = (order[:, 2] >= 0) & ~double
    order[:, 3] = np.where(three, 6 - order[:, :3].sum(axis=1), order[:, 3])
    return order


def gains(rules: RuleSet, order: Int) -> tuple[Int, Int]:
    """The winning side and the promotion that it has won, `(n,)` each, of complete orders."""
    first = order[:, 0]
    partner = (first + 2) % 4
    place = np.where(order[:, 1] == partner, 0, np.where(order[:, 2] == partner, 1, 2))
    return first % 2, np.array(rules.promotion)[place]


def _cap(rules: RuleSet, steps: Int, target: Int) -> Int:
    """Where a promotion from `steps` to `target` stops: at the first level that must be played."""
    must = {RANKS.index(level) for level in rules.must_play}
    if rules.ace != "wrap":
        must.add(ACE)
    capped = target.copy()
    for rank in sorted(must):
        ahead = steps + (rank - steps - 1) % NUM_RANKS + 1  # the first such level above
        if rules.ace != "wrap":
            ahead = np.where(steps >= rank, PASSED_ACE + 100 if rank < ACE else ACE, rank)
        capped = np.minimum(capped, np.where(target > steps, ahead, capped))
    return capped


def settle(rules: RuleSet, standing: Standing, order: Int) -> tuple[Standing, Int]:
    """The standing after a deal with the complete finishing orders `(n, 4)`.

    Returns the new standing and the winner by passing or reaching A, `(n,)`: a side or -1. The
    deal limit is judged by `at_limit`, not here.
    """
    n = np.arange(len(order))
    winner, promotion = gains(rules, order)
    steps, attempts, debt = standing.steps.copy(), standing.attempts.copy(), standing.debt.copy()
    last_run, first_run = standing.last_run.copy(), standing.first_run.copy()
    own = steps[n, winner]
    double = (order[:, 0] + order[:, 1]) % 2 == 0
    partner_last = (order[:, 0] + order[:, 3]) % 2 == 0
    won = np.full(len(order), -1, dtype=np.int64)
    declarer = standing.declarer
    if rules.fixed_level is not None:
        steps[n, winner] += promotion
    else:
        passed = np.zeros(len(order), dtype=bool)
        if rules.ace == "pass":
            manner = double if rules.ace_pass == "double_down" else ~partner_last
            passed = (declarer == winner) & (own == ACE) & manner
        change = np.zeros_like(steps)
        change[n, winner] = promotion
        if rules.streaks:
            is_first = np.arange(4) == order[:, :1]
            is_last = np.arange(4) == order[:, 3:]
            is_last |= double[:, None] & (np.arange(4) == order[:, 2:3])
            first_run = np.where(is_first, first_run + 1, 0)
            last_run = np.where(is_last, last_run + 1, 0)
            bonus = np.maximum(0, first_run - 2)
            loss = np.maximum(0, last_run - 2)
            change += bonus[:, :2] + bonus[:, 2:]
            change -= np.where(steps == ACE, 0, loss[:, :2] + loss[:, 2:])
            repaid = np.minimum(np.maximum(change, 0), debt)
            debt -= repaid
            change -= repaid
        target = _cap(rules, steps, steps + change)
        debt += np.maximum(0, -target)
        target = np.maximum(target, 0)
        if rules.surplus_demotes:
            surplus = np.where(own < ACE, np.maximum(0, own + promotion - ACE), 0)
            surplus = np.where(target[n, winner] == ACE, surplus, 0)
            target[n, 1 - winner] = np.maximum(0, target[n, 1 - winner] - surplus)
        steps = target
        if rules.ace == "pass":
            won = np.where(passed, winner, won)
            steps[n[passed], winner[passed]] = PASSED_ACE
        elif rules.ace == "reach":
            won = np.where(steps[n, winner] >= ACE, winner, won)
        if rules.ace_attempts is not None and rules.ace == "pass":
            side = np.maximum(declarer, 0)
            failed = (declarer >= 0) & (standing.steps[n, side] == ACE) & ~passed
            if rules.ace_attempt_counts == "partner_last":
                failed &= (winner == declarer) & partner_last
            attempts[n[failed], side[failed]] += 1
            back = attempts >= rules.ace_attempts
            steps = np.where(back, RANKS.index(rules.ace_reset), steps)
            attempts = np.where(back | (steps != ACE), 0, attempts)
    new = Standing(steps, winner, attempts, debt, last_run, first_run, standing.deals + 1)
    return new, won


def limit_winner(rules: RuleSet, before: Standing, after: Standing) -> Int:
    """Who wins a game that has reached its deal limit, under `at_limit="higher"`.

    `(n,)`: a side, `DRAW`, or -1 where the game goes on into overtime.
    """
    ahead = np.where(after.steps[:, 0] > after.steps[:, 1], 0, 1)
    level = after.steps[:, 0] == after.steps[:, 1]
    winner = after.declarer
    tie = {
        "last_first": winner,
        "non_declarer": 1 - winner,
        "draw": np.full_like(winner, DRAW),
        "overtime": np.full_like(winner, -1),
    }[rules.at_limit_tie]
    result = np.where(level, tie, ahead)
    if rules.at_limit_tie == "overtime" and rules.max_deals is not None:
        # In overtime the first side that is promoted wins.
        overtime = before.deals >= rules.max_deals
        promoted = after.steps > before.steps
        first_promoted = np.where(promoted[:, 0], 0, np.where(promoted[:, 1], 1, -1))
        result = np.where(overtime, first_promoted, result)
    return result
