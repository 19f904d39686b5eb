"""A match of two agents, as long as wanted: in parts, on any number of processes, or until certain.

The result of a part depends on which pairs it holds and nothing else, and parts are counted in
order, so that neither processes nor batch sizes change any number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import make
from eval.duplicate import LEGS, Pairs, Terms, play_pairs
from eval.sequential import decided_after
from eval.statistics import Estimate, paired_mean, sign_flip_p
from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError

PART = 2500  # pairs played together in one process
LOOK = 250  # pairs between two looks at whether the match is decided
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Match:
    """Two agents by their specs, the terms, and how many pairs (at most, with `until`)."""

    a: str
    b: str
    pairs: int
    terms: Terms
    until: float | None = None  # stop when the difference is certain at this error rate
    workers: int = 1

    def play(
        self, progress: Progress | None = None, part_done: Callable[[Pairs], None] | None = None
    ) -> Pairs:
        """Play it; `progress` is told deals or games done and a's win rate so far.

        `part_done` is given the parts as they come, in order, and only what counts of them; it is
        the one who sees their records, which are not kept.
        Ctrl-C ends it early with what is known by then; `KeyboardInterrupt` if that is nothing.
        """
        if self.pairs < 2:
            raise GuandanError(f"{self.pairs} deals or games: 2 or more are allowed")
        if self.workers < 1:
            raise GuandanError(f"--workers is {self.workers}; 1 or more are allowed")
        parts: list[Pairs] = []
        with ExitStack() as stack:
            for part in self._parts(stack, progress):
                parts.append(part)
                ends = self._decided(parts)
                if ends is not None:
                    before = sum(len(p) for p in parts[:-1])
                    parts[-1] = part.head(ends - before)
                if part_done is not None:
                    part_done(parts[-1])
                parts[-1] = replace(parts[-1], records=())
                if ends is not None:
                    break
        if not sum(len(part) for part in parts):
            raise KeyboardInterrupt
        return Pairs.join([part for part in parts if len(part)])

    def _decided(self, parts: list[Pairs]) -> int | None:
        """After how many pairs the match is decided, if it is to end then."""
        if self.until is None:
            return None
        return decided_after(np.concatenate([p.won.mean(axis=1) for p in parts]), self.until)

    def _parts(self, stack: ExitStack, progress: Progress | None) -> Iterator[Pairs]:
        size = PART if self.until is None else LOOK
        if self.workers > 1:
            size = max(1, min(size, -(-self.pairs // (4 * self.workers))))
        starts = range(0, self.pairs, size)
        counts = [min(size, self.pairs - start) for start in starts]
        if self.workers == 1:
            yield from self._here(list(zip(starts, counts, strict=True)), progress)
        else:
            yield from self._elsewhere(stack, list(zip(starts, counts, strict=True)), progress)

    def _here(self, parts: list[tuple[int, int]], progress: Progress | None) -> Iterator[Pairs]:
        agents = make(self.a), make(self.b)
        tally = _Tally(progress)
        for start, count in parts:
            part = play_pairs(*agents, start, count, self.terms, tally.within)
            tally.add(part)
            yield part
            if len(part) < count:
                return

    def _elsewhere(
        self, stack: ExitStack, parts: list[tuple[int, int]], progress: Progress | None
    ) -> Iterator[Pairs]:
        make(self.a), make(self.b)  # what is wrong with a spec is said here, not in a worker
        pool = ProcessPoolExecutor(
            self.workers, get_context("spawn"), initializer=_ready, initargs=(self.a, self.b)
        )
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        tally = _Tally(progress)
        # No more ahead than keeps everybody busy, so that a decided match ends soon.
        waiting: list[Future[Pairs]] = []
        todo = iter(parts)
        try:
            while True:
                for start, count in todo:
                    waiting.append(pool.submit(_play_part, start, count, self.terms))
                    if len(waiting) > self.workers:
                        break
                if not waiting:
                    return
                part = waiting.pop(0).result()
                tally.add(part)
                yield part
        except KeyboardInterrupt:
            return


class _Tally:
    """Tells how far a match is, over the parts."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.done, self.won = progress, 0, 0.0

    def within(self, done: int, rate: float) -> None:
        if self.progress is not None:
            whole = self.done + done
            self.progress(whole, (self.won + done * rate) / whole)

    def add(self, part: Pairs) -> None:
        self.done += LEGS * len(part)
        self.won += float(part.won.sum())
        if self.progress is not None and self.done:
            self.progress(self.done, self.won / self.done)


_agents: tuple[Agent, Agent] | None = None  # of a worker process


def _ready(a: str, b: str) -> None:
    global _agents
    _agents = make(a), make(b)


def _play_part(start: int, count: int, terms: Terms) -> Pairs:
    assert _agents is not None
    return play_pairs(*_agents, start, count, terms)


# ---------------------------------------------------------------------- what came out


def _rate(estimate: Estimate) -> list[float]:
    return [max(0.0, estimate.low), min(1.0, estimate.high)]


def deal_figures(pairs: Pairs) -> dict[str, Any]:
    """What single deals say of a's side: rates, and 95% intervals over pairs."""
    wins = paired_mean(pairs.won.mean(axis=1))
    gain = paired_mean(pairs.gain.astype(np.float64).mean(axis=1))
    return {
        "deals": len(pairs),
        "deal_win_rate": wins.mean,
        "deal_win_rate_ci": _rate(wins),
        "level_gain": gain.mean,
        "level_gain_ci": [gain.low, gain.high],
        "double_down_rate": float(pairs.double_down.mean()),
        "first_place_by_seat": _first_places(pairs),
        "bombs_over_partner": float(pairs.bombs_over_partner[:, :, 0].mean()),
        "wilds_left": float(pairs.wilds_left[:, :, 0].mean()),
    }


def game_figures(pairs: Pairs) -> dict[str, Any]:
    """What whole games say of a's side."""
    wins = paired_mean(pairs.won.mean(axis=1))
    return {
        "games": len(pairs),
        "game_win_rate": wins.mean,
        "game_win_rate_ci": _rate(wins),
        "deals_per_game": float(pairs.deals.mean()),
        "drawn_games": float((pairs.won == 0.5).mean()),
    }


def p_value(pairs: Pairs, seed: int) -> float:
    """Two-sided, by flipping the signs of the pairs: of level gains, of games of wins."""
    values = pairs.gain.astype(np.float64) if pairs.deals.max() == 1 else pairs.won - 0.5
    return sign_flip_p(values.mean(axis=1), np.random.default_rng(seed))


def _first_places(pairs: Pairs) -> list[float]:
    """How often a came in first at each seat, of the deals in which it sat there."""
    return [float((pairs.first[:, seat % 2] == seat).mean()) for seat in range(4)]


def by_agent(match: Match, values: NDArray[Any]) -> dict[str, Any]:
    """A value of a and one of b under their specs; an agent against itself has one, the sum."""
    if match.a == match.b:
        return {match.a: values.sum().item()}
    return {match.a: values[0].item(), match.b: values[1].item()}


def figures(match: Match, deals: Pairs | None, games: Pairs | None) -> dict[str, Any]:
    """The result as `guandan match --json` prints it, of a's side; None where nothing was played.

    decisions_per_second is of the agents' own time, failures are counts.
    """
    played = [pairs for pairs in (deals, games) if pairs is not None]
    decisions = np.sum([pairs.decisions for pairs in played], axis=0)
    seconds = np.sum([pairs.seconds for pairs in played], axis=0)
    missing = dict.fromkeys(_DEAL_KEYS + _GAME_KEYS)
    per_second = (
        {match.a: float(decisions.sum() / seconds.sum())}
        if match.a == match.b
        else by_agent(match, decisions / np.maximum(seconds, 1e-9))
    )
    terms = match.terms
    return {
        "a": match.a,
        "b": match.b,
        **missing,
        **({} if deals is None else deal_figures(deals)),
        **({} if games is None else game_figures(games)),
        "failures": by_agent(match, np.sum([pairs.failures for pairs in played], axis=0)),
        "decisions_per_second": per_second,
        "p_value": p_value(played[0], terms.seed),
        "rules": terms.rules.name,
        "seed": terms.seed,
        "level": terms.level,
    }


_DEAL_KEYS = (
    "deals", "deal_win_rate", "deal_win_rate_ci", "level_gain", "level_gain_ci",
    "double_down_rate",
)  # fmt: skip
_GAME_KEYS = ("games", "game_win_rate", "game_win_rate_ci")


def of_games(match: Match, games: int) -> Match:
    """The same match in whole games."""
    return replace(match, pairs=games, terms=replace(match.terms, episode="game"))
