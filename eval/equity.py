"""Equity: what a standing is worth, the probability of winning the game from there.

Levels are a means: between two equal sides it matters how likely the game is won. A game is taken
as a Markov chain over the standings between deals: own level, their level, who declares, the
failed tries at A of both sides, and the manner of the last deal (双下 or not), which decides about
tribute. How deals end between equal sides is measured, by an agent's play against itself; the
probabilities of winning follow from that and from the promotion rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.runner import Jobs, Tables, play
from guandan_env.aside import written_aside
from guandan_env.decisions import Agent
from guandan_env.engine import StepResult
from guandan_env.errors import GuandanError
from guandan_env.promotion import Standing, settle
from guandan_env.rules import RuleSet

FORMAT = "guandan-equity-v1"
MANNERS = ("first and second", "first and third", "first and last")
# What can come out of a deal, the declarers at seats 0 and 2: the first three won by them.
_ORDERS = np.array(
    [[0, 2, 3, 1], [0, 1, 2, 3], [0, 1, 3, 2], [1, 3, 0, 2], [1, 0, 3, 2], [1, 0, 2, 3]]
)
_STEPS = 13
_PRECISE = 1e-12
_MOST_ROUNDS = 100_000
EQUITY_TABLES = 1 << 33  # measured deals share no cards with matches
Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True)
class Equity:
    """The worth of standings under some rules between two sides that play alike.

    agent: who played. counts: `(3, 6) int64`, by the manner of the deal before (`MANNERS`): how
    often the declarers won in each manner, and how often the others did. table: `(3, 13, 13, t, t)
    float64`, probability that the declarers win the game: manner of the last deal, their level and
    the others', their failed tries at A and the others'.
    """

    rules: RuleSet
    agent: str
    seed: int
    counts: Int
    table: Float

    @classmethod
    def of_counts(cls, rules: RuleSet, agent: str, seed: int, counts: object) -> Equity:
        """Work the table out; `GuandanError` where rules or counts allow none."""
        check_rules(rules)
        numbers = np.asarray(counts)
        if numbers.shape != (3, 6) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise GuandanError("counts are not 3 rows of 6 whole numbers from 0")
        if (numbers.sum(axis=1) == 0).any():
            raise GuandanError("counts lack deals after one of the three manners; measure more")
        numbers = numbers.astype(np.int64)
        return cls(rules, agent, seed, numbers, _solve(rules, numbers))

    def worth(self, standing: Standing, manner: Int) -> Float:
        """Probability `(n,)` that side 0 wins, at standings between two deals.

        `manner` `(n,)` is that of the last deal, 0…2 (anything before a first deal). Before the
        first deal of all, nobody declaring, it is a half: sides and levels are equal then.
        """
        n = np.arange(len(standing.declarer))
        who = np.maximum(standing.declarer, 0)
        tries = np.minimum(standing.attempts, self.table.shape[-1] - 1)
        at = np.minimum(standing.steps, _STEPS - 1)
        own = self.table[
            np.clip(manner, 0, 2), at[n, who], at[n, 1 - who], tries[n, who], tries[n, 1 - who]
        ]
        value = np.where(who == 0, own, 1 - own)
        return np.where(standing.declarer < 0, 0.5, value)

    def gain(self, before: Standing, manner: Int, order: Int) -> Float:
        """What deals change `(n,)`, for side 0, from -1 to 1.

        `before` is the standing when they began, `manner` that of the deals before them, `order`
        `(n, 4)` their complete finishing orders.
        """
        after, winner = settle(self.rules, before, order)
        now = np.where(winner >= 0, winner == 0, self.worth(after, manner_of(order)))
        return now - self.worth(before, manner)

    def to_json(self) -> bytes:
        """As JSON: rules, agent, seed and counts; the table follows from them."""
        return msgspec.json.encode(
            {
                "format": FORMAT,
                "rules": self.rules.to_dict(),
                "agent": self.agent,
                "seed": self.seed,
                "counts": self.counts.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: bytes) -> Equity:
        """Of `to_json`'s form; `GuandanError` for anything else."""
        try:
            told: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise GuandanError(f"this is no JSON of an equity table: {error}") from error
        wanted = {"format", "rules", "agent", "seed", "counts"}
        if told.get("format") != FORMAT or set(told) != wanted:
            raise GuandanError(f"this is no equity table of the format {FORMAT}")
        if not isinstance(told["agent"], str) or type(told["seed"]) is not int:
            raise GuandanError("an equity table names its agent and the seed of its deals")
        try:
            counts = np.array(told["counts"])
        except ValueError as error:
            raise GuandanError("counts are not 3 rows of 6 whole numbers from 0") from error
        rules = RuleSet.from_dict(told["rules"])
        return cls.of_counts(rules, told["agent"], told["seed"], counts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, as a whole or not at all."""
        try:
            with written_aside(path) as file:
                file.write(self.to_json())
        except OSError as error:
            raise GuandanError(f"{path} cannot be written: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Equity:
        """Read what `save` wrote; `GuandanError`, naming the file, where it is not that."""
        try:
            return cls.from_json(Path(path).read_bytes())
        except OSError as error:
            raise GuandanError(f"{path} cannot be read: {error.strerror}") from error
        except GuandanError as error:
            raise GuandanError(f"{path}: {error}") from error


def check_rules(rules: RuleSet) -> None:
    """`GuandanError` for rules under which more than the levels decides about a game."""
    reasons = {
        "streaks": rules.streaks,
        "ace='wrap'": rules.ace == "wrap",
        "fixed_level": rules.fixed_level is not None,
        "max_deals": rules.max_deals is not None,
    }
    why = {
        "streaks": "runs of first and last places count beside the levels",
        "ace='wrap'": "levels do not end",
        "fixed_level": "points are counted, not levels",
        "max_deals": "the number of deals left counts beside the levels",
    }
    for name, holds in reasons.items():
        if holds:
            raise GuandanError(
                f"the rules {rules.name!r} have {name}: {why[name]}, and an equity table knows "
                "only levels, declarer and tries at A"
            )


def manner_of(order: Int) -> Int:
    """How deals with complete orders `(n, 4)` were won, `(n,)`: index in `MANNERS`."""
    partner = (order[:, 0] + 2) % 4
    return np.argmax(order[:, 1:] == partner[:, None], axis=1)


class _Count:
    """Observer that counts how deals end after each manner."""

    def __init__(self) -> None:
        self.counts = np.zeros((3, 6), dtype=np.int64)

    def deals_over(self, tables: Tables, at: NDArray[np.intp], result: StepResult) -> None:
        before = tables.engine.state.previous[at].astype(np.int64)
        later = before[:, 0] >= 0  # a game's first deal has nobody declaring
        before, order = before[later], result.order[at[later]].astype(np.int64)
        lost = (order[:, 0] - before[:, 0]) % 2
        np.add.at(self.counts, (manner_of(before), 3 * lost + manner_of(order)), 1)

    def deals_forfeited(self, tables: Tables, at: NDArray[np.intp]) -> None:
        raise AssertionError("an agent that fails stops the measurement")


def measure(
    agent: Agent,
    rules: RuleSet,
    games: int,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Equity:
    """Let an agent play whole games against itself, and work out what standings are worth.

    `progress` is told how many games are over. Raises `GuandanError` for rules that `check_rules`
    refuses, and if there were too few games to see each manner of winning once.
    """
    check_rules(rules)
    if games < 1:
        raise GuandanError(f"games is {games}; 1 or more are allowed")
    jobs = Jobs(
        table=EQUITY_TABLES + np.arange(games, dtype=np.int64),
        seating=np.zeros((games, 4), dtype=np.int64),
    )
    count = _Count()
    told = None if progress is None else lambda outcome: progress(int(outcome.done.sum()))
    agent.reset()
    play(
        (agent,),
        jobs,
        rules=rules,
        seed=seed,
        episode="game",
        observers=(count,),
        progress=told,
    )
    return Equity.of_counts(rules, agent.name, seed, count.counts)


def _solve(rules: RuleSet, counts: Int) -> Float:
    """The table `(3, 13, 13, t, t)` that is consistent with itself, one deal on."""
    likely = counts / counts.sum(axis=1, keepdims=True)
    tries = rules.ace_attempts or 1
    shape = (_STEPS, _STEPS, tries, tries)
    own, theirs, tried, they_tried = (grid.ravel() for grid in np.indices(shape))
    n = len(own)
    nothing = np.zeros((n, 2), dtype=np.int64)
    runs = np.zeros((n, 4), dtype=np.int64)
    before = Standing(
        steps=np.stack([own, theirs], axis=1),
        declarer=np.zeros(n, dtype=np.int64),
        attempts=np.stack([tried, they_tried], axis=1),
        debt=nothing,
        last_run=runs,
        first_run=runs,
        deals=np.zeros(n, dtype=np.int64),
    )
    # Per outcome: value now, if the game is over, else where the next value stands in the table.
    over, worth, places, flips = [], [], [], []
    for outcome, order in enumerate(_ORDERS):
        after, winner = settle(rules, before, np.tile(order, (n, 1)))
        side = outcome // 3
        at = np.minimum(after.steps, _STEPS - 1)
        index = (at[:, side], at[:, 1 - side], after.attempts[:, side], after.attempts[:, 1 - side])
        over.append(winner >= 0)
        worth.append((winner == 0).astype(np.float64))
        places.append(np.ravel_multi_index(index, shape))
        flips.append(side == 1)
    value = np.full((3, n), 0.5)
    for _ in range(_MOST_ROUNDS):
        ends = np.empty((6, n))
        for outcome in range(6):
            later = value[outcome % 3, places[outcome]]
            later = 1 - later if flips[outcome] else later
            ends[outcome] = np.where(over[outcome], worth[outcome], later)
        new = likely @ ends
        change = np.abs(new - value).max()
        value = new
        if change < _PRECISE:
            return value.reshape(3, *shape)
    raise GuandanError("with these counts games hardly ever end; there is no table")
