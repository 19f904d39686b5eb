"""`search:BASE`: any agent improved at decision time, by playing its choices out in samples."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from agents.answers import require
from agents.hidden_hands import draw, unseen
from agents.planner import Planner
from agents.registry import AgentError, make
from agents.search_candidates import Tries, tries
from agents.search_rollouts import play_out, states, world_keys
from guandan_env import legality
from guandan_env.decisions import Decisions
from guandan_env.errors import shown
from guandan_env.state import Phase

ROLLOUTS = 192
_FIRST_ROUND = 8  # worlds; every round after the second has as many as all before
_DROP = 1.5  # standard errors behind the best
_PRIOR = 1.0  # of the variance of a difference, in levels squared, as from so many worlds:
_PRIOR_WORLDS = 4


class Search:
    """docstring"""

    version = "search-v1"

    def __init__(
        self,
        base: str,
        *,
        rollouts: int | None = None,
        milliseconds: float | None = None,
        rollout: str = "greedy",
        candidates: int = 6,
        gap: float = 3.0,
        margin: float = 1.0,
        drop: float = _DROP,
    ) -> None:
        self.base, self.policy = make(base), make(rollout)
        self.name = f"search:{self.base.name}"
        self.rollouts = ROLLOUTS if rollouts is None else rollouts
        self.milliseconds = milliseconds
        self.candidates, self.gap, self.margin, self.drop = candidates, gap, margin, drop
        self._planner = Planner()
        self.stats = np.zeros(4)

    def reset(self) -> None:
        self.base.reset()
        self.policy.reset()

    def act(self, decisions: Decisions):
        rows, cards = require(self.base, decisions)
        open_ = (decisions.phase == Phase.PLAY) & (legality.count(decisions.packed) > 1)
        at = np.flatnonzero(open_)
        self.stats[0] += len(decisions); self.stats[1] += len(at)
        if at.size:
            d = decisions.take(at)
            found = tries(d, rows[at], self._planner, self.candidates, self.gap)
            some = np.flatnonzero(found.number > 1)
            self.stats[2] += len(some)
            if some.size:
                best = _Race(self, d, found).run()
                changed = at[best != rows[at]]
                self.stats[3] += len(changed)
                rows[at] = best
                cards[changed] = 0
        return rows, cards


class _Race:
    def __init__(self, search: Search, d: Decisions, found: Tries) -> None:
        self.search, self.d, self.found = search, d, found
        self.unseen = unseen(d)
        self.alive = (found.number > 1)[found.of]
        self.worlds = np.zeros(len(d), dtype=np.int64)
        self.used = np.zeros(len(d), dtype=np.int64)
        self.gains = np.full((len(found.of), 0), np.nan)

    def run(self) -> NDArray[np.int64]:
        f = self.found
        size = _FIRST_ROUND
        while True:
            number = np.bincount(f.of[self.alive], minlength=len(self.d))
            running = number > 1
            w = np.where(running, np.minimum(size, (self.search.rollouts - self.used) // np.maximum(number, 1)), 0)
            if not (w > 0).any():
                break
            self._round(w, number)
            self._drop(w > 0)
            if self.worlds.max() > _FIRST_ROUND:
                size = int(self.worlds.max())
        return self._choice()

    def _round(self, w, number) -> None:
        f = self.found
        live = np.flatnonzero(self.alive & (w[f.of] > 0))
        # worlds (decision, number)
        wd = np.repeat(np.arange(len(w)), w)
        wn = np.arange(len(wd)) - np.repeat(np.cumsum(w) - w, w) + self.worlds[wd]
        keys = world_keys(self.d, wd, wn)
        hands = draw(self.unseen.take(wd), keys)
        # tables
        first_world = np.cumsum(w) - w
        per = w[f.of[live]]
        cand = np.repeat(live, per)
        nth = np.arange(len(cand)) - np.repeat(np.cumsum(per) - per, per)
        world = first_world[f.of[cand]] + nth
        gain = play_out(
            states(self.d, f.of[cand], hands[world], keys[world]), self.d.rules, f.rows[cand], self.search.policy
        )
        need = int((self.worlds + w).max())
        if need > self.gains.shape[1]:
            more = np.full((len(f.of), need - self.gains.shape[1]), np.nan)
            self.gains = np.concatenate([self.gains, more], axis=1)
        self.gains[cand, self.worlds[f.of[cand]] + nth] = gain
        self.worlds += w
        self.used += w * number

    def _against(self, rival):
        """mean difference and its error of every candidate against `rival` (m,) on worlds of both"""
        diff = self.gains - self.gains[rival]
        n = np.maximum((~np.isnan(diff)).sum(axis=1), 1)
        mean = np.nansum(diff, axis=1) / n
        square = np.nansum((diff - mean[:, None]) ** 2, axis=1)
        var = (square + _PRIOR * _PRIOR_WORLDS) / (n - 1 + _PRIOR_WORLDS)
        return mean, np.sqrt(var / n)

    def _leader(self):
        f = self.found
        n = np.maximum(self.worlds[f.of], 1)
        mean = np.where(self.alive, np.nansum(self.gains, axis=1) / n, -np.inf)
        best = np.maximum.reduceat(mean, f.start)
        hit = np.flatnonzero(mean == best[f.of])
        return hit[np.searchsorted(f.of[hit], np.arange(len(self.d)))]

    def _drop(self, running) -> None:
        f = self.found
        lead = self._leader()
        mean, error = self._against(lead[f.of])
        self.alive &= ~running[f.of] | (mean >= -self.search.drop * error) | (np.arange(len(f.of)) == lead[f.of])

    def _choice(self):
        f = self.found
        alone = f.number == 1
        lead = self._leader() if len(f.of) else None
        lead = np.where(alone, f.start, lead)
        mean, error = self._against(f.start[f.of])
        better = mean[lead] > self.search.margin * error[lead]
        return f.rows[np.where(better, lead, f.start)]
