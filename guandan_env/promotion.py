"""What a deal's result does to the levels, and when a game is over (RULES 5).

Levels are counted in steps: 0 is level 2, 12 is level A, 13 a passed A; with `ace="wrap"` the
count goes on (13 is the second round's 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    double = (order[:, 1] >= 0) & _is_double(order)
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
    won = np.full(len(order), -1, dtype=np.int64)
    change = np.zeros_like(standing.steps)
    change[n, winner] = promotion
    new = replace(standing, declarer=winner, deals=standing.deals + 1)
    if rules.fixed_level is not None:
        new.steps = standing.steps + change
        return new, won
    # First the test at A, then who falls back from it; neither side moves by this deal's gain.
    declarer = np.maximum(standing.declarer, 0)
    at_ace = (standing.declarer >= 0) & (standing.steps[n, declarer] == ACE)
    partner_last = (order[:, 0] + order[:, 3]) % 2 == 0
    manner = _is_double(order) if rules.ace_pass == "double_down" else ~partner_last
    passed = at_ace & (declarer == winner) & manner & (rules.ace == "pass")
    attempts = standing.attempts.copy()
    back = np.zeros_like(attempts, dtype=bool)
    if rules.ace == "pass" and rules.ace_attempts is not None:
        failed = at_ace & ~passed
        if rules.ace_attempt_counts == "partner_last":
            failed &= (winner == declarer) & partner_last
        attempts[n[failed], declarer[failed]] += 1
        back = attempts >= rules.ace_attempts
    change[n[passed], winner[passed]] = 0
    debt = standing.debt.copy()
    if rules.streaks:
        change += _streak_changes(standing, new, order)
        still = back.copy()
        still[n[passed], winner[passed]] = True
        change[still] = 0
        repaid = np.minimum(np.maximum(change, 0), debt)
        debt -= repaid
        change -= repaid
    steps = _cap(rules, standing.steps, standing.steps + change)
    debt += np.maximum(0, -steps)
    steps = np.maximum(steps, 0)
    steps = np.where(back, RANKS.index(rules.ace_reset), steps)
    if rules.surplus_demotes:
        own = standing.steps[n, winner]
        arrived = (own < ACE) & (steps[n, winner] == ACE)
        surplus = np.where(arrived, own + change[n, winner] - ACE, 0)
        steps[n, 1 - winner] = np.maximum(0, steps[n, 1 - winner] - surplus)
    if rules.ace == "reach":
        won = np.where(steps[n, winner] >= ACE, winner, won)
    won = np.where(passed, winner, won)
    steps[n[passed], winner[passed]] = PASSED_ACE
    new.steps, new.debt = steps, debt
    new.attempts = np.where(back | (steps != ACE), 0, attempts)
    return new, won


def _is_double(order: Int) -> NDArray[np.bool_]:
    """Whether the first two are partners (双下)."""
    double: NDArray[np.bool_] = (order[:, 0] + order[:, 1]) % 2 == 0
    return double


def _streak_changes(before: Standing, after: Standing, order: Int) -> Int:
    """Levels `(n, 2)` gained and lost by runs of first and last places; counts them in `after`."""
    seats = np.arange(4)
    is_first = seats == order[:, :1]
    is_last = (seats == order[:, 3:]) | (_is_double(order)[:, None] & (seats == order[:, 2:3]))
    after.first_run = np.where(is_first, before.first_run + 1, 0)
    after.last_run = np.where(is_last, before.last_run + 1, 0)
    bonus = np.maximum(0, after.first_run - 2)
    loss = np.maximum(0, after.last_run - 2)
    lost = np.where(before.steps == ACE, 0, loss[:, :2] + loss[:, 2:])
    return bonus[:, :2] + bonus[:, 2:] - lost


def limit_winner(rules: RuleSet, standing: Standing) -> Int:
    """Who wins a game that has reached its deal limit, under `at_limit="higher"`.

    `(n,)`: a side, `DRAW`, or -1 where the game goes on into overtime, until levels differ.
    """
    ahead = np.where(standing.steps[:, 0] > standing.steps[:, 1], 0, 1)
    level = standing.steps[:, 0] == standing.steps[:, 1]
    winner = standing.declarer
    tie = {
        "last_first": winner,
        "non_declarer": 1 - winner,
        "draw": np.full_like(winner, DRAW),
        "overtime": np.full_like(winner, -1),
    }[rules.at_limit_tie]
    return np.where(level, tie, ahead)
