"""What a finished deal does to levels, attempts, streaks and debts."""

from __future__ import annotations

from collections.abc import Sequence

from .cards import RANKS
from .tribute import is_double_down

LEVEL_A = RANKS.index("A")
PASSED_A = LEVEL_A + 1


def promotion_of(order: Sequence[int], options: object) -> int:
    """Levels that the side of the first player gains by the table."""
    if is_double_down(order):
        return options.promotion[0]
    return options.promotion[1] if order[0] % 2 == order[2] % 2 else options.promotion[2]


def raised(step: int, gain: int, options: object) -> int:
    """Where a promotion from a step ends, stopping at levels that may not be jumped over."""
    must_stop = set(options.must_play)
    if options.ace != "wrap":
        must_stop.add("A")
        if step >= LEVEL_A:
            return step
    for _ in range(gain):
        step += 1
        if RANKS[step % 13] in must_stop:
            break
    return step


def passes_ace(order: Sequence[int], options: object) -> bool:
    """Whether the declarer at A, whose side is first, wins in the manner that ends the game."""
    if options.ace_pass == "double_down":
        return is_double_down(order)
    return order[0] % 2 != order[3] % 2


class Standing:
    """Levels and all counters of a game.

    ``steps``, ``attempts``, ``debt`` and ``score`` hold one number a side, ``last_run`` and
    ``first_run`` one a seat.  ``score`` is the sum of promotions under ``fixed_level``.
    """

    def __init__(self, options: object, steps: Sequence[int]) -> None:
        self.options = options
        self.steps = list(steps)
        self.attempts = [0, 0]
        self.debt = [0, 0]
        self.score = [0, 0]
        self.last_run = [0] * 4
        self.first_run = [0] * 4

    def count_runs(self, order: Sequence[int]) -> None:
        """Lengthen or end every player's run of first and of last places."""
        lasts = order[2:] if is_double_down(order) else order[3:]
        for seat in range(4):
            self.first_run[seat] = self.first_run[seat] + 1 if seat == order[0] else 0
            self.last_run[seat] = self.last_run[seat] + 1 if seat in lasts else 0

    def bonus(self, side: int) -> int:
        """Levels a side gains for runs of first places."""
        if not self.options.streaks:
            return 0
        return sum(max(0, self.first_run[seat] - 2) for seat in (side, side + 2))

    def loss(self, side: int) -> int:
        """Levels a side loses for runs of last places."""
        if not self.options.streaks:
            return 0
        return sum(max(0, self.last_run[seat] - 2) for seat in (side, side + 2))

    def is_at_ace(self, side: int) -> bool:
        """Whether the side's level is A."""
        return self.steps[side] % 13 == LEVEL_A

    def move(self, side: int, gain: int) -> int:
        """Move a side's level up or down; returns what of a gain exceeded A."""
        if gain < 0:
            self.debt[side] += max(0, -gain - self.steps[side])
            self.steps[side] = max(0, self.steps[side] + gain)
            return 0
        repaid = min(gain, self.debt[side])
        self.debt[side] -= repaid
        gain -= repaid
        before = self.steps[side]
        self.steps[side] = raised(before, gain, self.options)
        arrived = before < LEVEL_A and self.steps[side] == LEVEL_A
        return before + gain - LEVEL_A if arrived else 0

    def count_attempt(self, side: int, order: Sequence[int]) -> bool:
        """Count a deal declared at A and not passed; True if it was the last and the level fell."""
        won_with_last_partner = order[0] % 2 == side and order[3] % 2 == side
        if self.options.ace_attempt_counts == "any" or won_with_last_partner:
            self.attempts[side] += 1
        if self.attempts[side] != self.options.ace_attempts:
            return False
        self.steps[side] = RANKS.index(self.options.ace_reset)
        self.attempts[side] = 0
        return True

    def settle(self, order: Sequence[int], declarer: int | None) -> int | None:
        """Apply a finished deal; returns the side that has won the game by it, or None."""
        winner, loser = order[0] % 2, 1 - order[0] % 2
        self.count_runs(order)
        gain = promotion_of(order, self.options)
        if self.options.fixed_level is not None:
            self.score[winner] += gain
            return None

        changes = {winner: gain + self.bonus(winner), loser: 0}
        for side in (0, 1):
            if not self.is_at_ace(side):
                changes[side] -= self.loss(side)
        declared_at_ace = (
            self.options.ace == "pass" and declarer is not None and self.is_at_ace(declarer)
        )
        if declared_at_ace and declarer == winner and passes_ace(order, self.options):
            self.steps[winner] = PASSED_A
            self.attempts[winner] = 0
            self.move(loser, changes[loser])
            return winner

        reset = declared_at_ace and self.count_attempt(declarer, order)
        surplus = 0
        for side in (0, 1):
            # A side at A that was reset stays where it was sent: it was at A before the deal.
            if not (reset and side == declarer):
                surplus += self.move(side, changes[side])
        if self.options.surplus_demotes and self.options.ace != "wrap":
            self.steps[loser] = max(0, self.steps[loser] - surplus)
        for side in (0, 1):
            if not self.is_at_ace(side):
                self.attempts[side] = 0
        if self.options.ace == "reach" and self.steps[winner] >= LEVEL_A:
            return winner
        return None
