"""`search:BASE`: any agent improved at decision time, by playing its choices out in samples."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from agents.answers import require
from agents.hidden_hands import draw, unseen
from agents.planner import Planner
from agents.registry import AgentError, make, parse
from agents.search_candidates import Tries, tries
from agents.search_rollouts import play_out, states, world_keys
from guandan_env import legality
from guandan_env.checks import as_whole
from guandan_env.decisions import Decisions
from guandan_env.errors import shown
from guandan_env.state import Phase

ROLLOUTS = 256
MOST_ROLLOUTS = 100_000
ALL_CARDS, FEW_CARDS = 108, 40
FIRST_ROUND = 8  # worlds; later rounds have as many as all before them
# What a paired difference of levels is taken to vary before much of it has been seen.
_PRIOR_VARIANCE, _PRIOR_WORLDS = 1.0, 4
_TOGETHER = 4096  # tables that are played at a time


class Search:
    """Plays the choices of a base agent out to the end of the deal, and takes the best.

    1. *Choices.* The base agent's play, and those that `planner` scores not more than `gap` below
       its best: `candidates` at most. Where that is one play, and in tribute, the base decides; so
       it does while all seats together hold more than `cards` cards.
    2. *Worlds.* Hands of the other seats are drawn that agree with all that is certain
       (`hidden_hands`); the same for all choices of a decision.
    3. *Rollouts.* Each choice is made in each world, and all four seats go on by the policy
       `rollout` until the deal is over. The value is the level gain of the own side.
    4. *Race.* Rounds of worlds; after each, choices that are `drop` standard errors of the paired
       difference behind the best are out. It ends with one choice left, or with the budget.
    5. *Choice.* The best mean, if it is more than `margin` standard errors above the base agent's
       choice; else that.

    All decisions of a batch are searched together. With `rollouts`, how many a decision may cost,
    the answer depends on the decision and its random key alone, if the base's and the policy's
    do. With `milliseconds`, the time that a searched decision may take (a mean over the batch; a
    first round is always played), it depends on the machine.
    """

    version = "search-v1"

    def __init__(
        self,
        base: str,
        *,
        rollouts: int | None = None,
        milliseconds: float | None = None,
        rollout: str | None = None,
        candidates: int = 6,
        gap: float = 8.0,
        cards: int | None = None,
        margin: float = 1.5,
        drop: float = 2.0,
    ) -> None:
        """`base`: the spec of the base agent. `rollout`: that of the policy; None for `greedy`
        where the base is `greedy`, else `planner`. `cards`: None for 108 where the base is
        `greedy`, else 40: what strong players have done so far says much about their hands, so
        that hands drawn early are too unlike the true ones. `AgentError` for values out of range.
        """
        if rollouts is not None and milliseconds is not None:
            raise AgentError("rollouts and milliseconds are both given; a search has one budget")
        if milliseconds is None:
            rollouts = _whole(ROLLOUTS if rollouts is None else rollouts, "rollouts", MOST_ROLLOUTS)
        self.rollouts = rollouts
        self.seconds = None if milliseconds is None else _number(milliseconds, "milliseconds") / 1e3
        self.candidates = _whole(candidates, "candidates", 1000)
        over_greedy = parse(base).kind == "greedy"
        if cards is None:
            cards = ALL_CARDS if over_greedy else FEW_CARDS
        self.cards = _whole(cards, "cards", ALL_CARDS)
        self.gap, self.margin = _number(gap, "gap"), _number(margin, "margin")
        self.drop = _number(drop, "drop")
        self.base = make(base)
        if rollout is None:
            rollout = "greedy" if over_greedy else "planner"
        self.policy = make(rollout)
        self.name = f"search:{self.base.name}"
        self._planner = Planner()

    def reset(self) -> None:
        """A new match begins, for the base agent and the policy too."""
        self.base.reset()
        self.policy.reset()

    def act(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """A legal row for each decision `(n,)`, and the cards that the base agent gave with it.

        `AgentError` where the base agent or the policy fails.
        """
        rows, cards = require(self.base, decisions)
        held = decisions.counts.sum(axis=1, dtype=np.int64)
        free = (decisions.phase == Phase.PLAY) & (legality.count(decisions.packed) > 1)
        at = np.flatnonzero(free & (held <= self.cards))
        d = decisions.take(at)
        found = tries(d, rows[at], self._planner, self.candidates, self.gap)
        some = np.flatnonzero(found.number > 1)
        if some.size:
            best = _Race(self, d.take(some), found.take(some)).run()
            at = at[some]
            changed = at[best != rows[at]]
            rows[at] = best
            cards[changed] = 0
        return rows, cards


class _Race:
    """Choices `(m,)` of n decisions, and what they have won in the worlds played so far."""

    def __init__(self, search: Search, d: Decisions, found: Tries) -> None:
        self.search, self.d, self.found = search, d, found
        self.unseen = unseen(d)
        self.alive = np.ones(len(found.of), dtype=bool)
        self.worlds = np.zeros(len(d), dtype=np.int64)  # played, by decision
        self.used = np.zeros(len(d), dtype=np.int64)  # rollouts, by decision
        self.gains = np.full((len(found.of), 0), np.nan)  # by world; nan where not played
        self.begun = perf_counter()

    def run(self) -> NDArray[np.int64]:
        """The rows `(n,)` to play."""
        while True:
            number = np.bincount(self.found.of[self.alive], minlength=len(self.d))
            more = np.maximum(self.worlds, FIRST_ROUND)
            more = np.where(number > 1, self._affordable(more, number), 0)
            if not more.any():
                return self._choice()
            self._play(more)
            self.used += more * number
            self._drop(more > 0)

    def _affordable(self, more: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of the worlds `(n,)` of the next round, those that the budget allows."""
        if self.search.rollouts is not None:
            return np.minimum(more, (self.search.rollouts - self.used) // np.maximum(number, 1))
        played = int(self.used.sum())
        if not played:
            return more
        assert self.search.seconds is not None
        spent = perf_counter() - self.begun
        left = (self.search.seconds * len(self.d) - spent) * played / spent
        wanted = int((more * number)[number > 1].sum())
        if wanted > left:
            more = (more * max(0.0, left / wanted)).astype(np.int64)
        return more

    def _play(self, more: NDArray[np.int64]) -> None:
        """Play the choices that are left of each decision in so many new worlds `(n,)`."""
        f = self.found
        of = np.repeat(np.arange(len(more)), more)
        start = np.cumsum(more) - more
        number = np.arange(len(of)) - start[of] + self.worlds[of]
        live = np.flatnonzero(self.alive & (more[f.of] > 0))
        times = more[f.of[live]]
        choice = np.repeat(live, times)
        world = np.arange(len(choice)) - np.repeat(np.cumsum(times) - times, times)
        world += start[f.of[choice]]
        won = np.zeros(len(choice))
        for begin in range(0, len(choice), _TOGETHER):
            some = slice(begin, begin + _TOGETHER)
            won[some] = self._value(choice[some], of, number, world[some])
        self.worlds += more
        wider = np.full((len(f.of), int(self.worlds.max())), np.nan)
        wider[:, : self.gains.shape[1]] = self.gains
        wider[choice, number[world]] = won
        self.gains = wider

    def _value(
        self,
        choice: NDArray[np.int64],
        of: NDArray[np.int64],
        number: NDArray[np.int64],
        world: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Levels won `(m,)` by choices `(m,)` in worlds `(m,)`; `of`, `number` say which these are.

        A world that comes up again is drawn again, and comes out the same.
        """
        drawn, place = np.unique(world, return_inverse=True)
        keys = world_keys(self.d, of[drawn], number[drawn])
        hands = draw(self.unseen.take(of[drawn]), keys)
        tables = states(self.d, self.found.of[choice], hands[place], keys[place])
        return play_out(tables, self.d.rules, self.found.rows[choice], self.search.policy)

    def _best(self) -> NDArray[np.int64]:
        """The choice `(n,)`, by its place, that has won most of those left; the first of equals."""
        f = self.found
        mean = np.nansum(self.gains, axis=1) / np.maximum(self.worlds[f.of], 1)
        mean[~self.alive] = -np.inf
        top = np.maximum.reduceat(mean, f.start)
        hit = np.flatnonzero(mean == top[f.of])
        best: NDArray[np.int64] = hit[np.searchsorted(f.of[hit], np.arange(len(f.start)))]
        return best

    def _against(self, rival: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean difference `(m,)` of each choice to its decision's `rival` `(n,)`, and its error."""
        more = self.gains - self.gains[rival[self.found.of]]
        worlds = np.maximum((~np.isnan(more)).sum(axis=1), 1)
        mean = np.nansum(more, axis=1) / worlds
        squares = np.nansum((more - mean[:, None]) ** 2, axis=1)
        variance = (squares + _PRIOR_VARIANCE * _PRIOR_WORLDS) / (worlds - 1 + _PRIOR_WORLDS)
        return mean, np.sqrt(variance / worlds)

    def _drop(self, played: NDArray[np.bool_]) -> None:
        mean, error = self._against(self._best())
        self.alive &= ~played[self.found.of] | (mean >= -self.search.drop * error)

    def _choice(self) -> NDArray[np.int64]:
        f, best = self.found, self._best()
        mean, error = self._against(f.start)
        better = mean[best] > self.search.margin * error[best]
        rows: NDArray[np.int64] = f.rows[np.where(better, best, f.start)]
        return rows


def _whole(value: object, what: str, most: int) -> int:
    number = as_whole(value)
    if number is None or not 1 <= number <= most:
        raise AgentError(f"{what} is {shown(value)}; a whole number from 1 to {most} is allowed")
    return number


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise AgentError(f"{what} is {shown(value)}; a number from 0 to a million is allowed")
    return float(value)
