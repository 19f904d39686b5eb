"""A match of two agents, as long as wanted: in parts, on any number of processes, or until certain.

See parts.py for why neither processes nor batch sizes change any number.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.duplicate import Pairs, Terms
from eval.parts import MOST, Cuts, Progress, Tally, played_elsewhere, played_here
from eval.sequential import decided_after
from eval.statistics import Estimate, paired_mean, paired_rate, sign_flip_p
from guandan_env import __version__
from guandan_env.errors import GuandanError

SHOWN_FAULTS = 20
LOOK = 250  # most pairs between two looks at whether the match is decided


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
        with suppress(KeyboardInterrupt), closing(self._parts(progress)) as played:
            for part in played:
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
        if sum(len(part) for part in parts) < 2:  # nothing can be said of a single one
            raise KeyboardInterrupt
        return Pairs.join([part for part in parts if len(part)])

    def is_whole(self, pairs: Pairs) -> bool:
        """Whether a result is all that was to be played, and not what Ctrl-C left of it."""
        return len(pairs) >= self.pairs or self._decided([pairs]) is not None

    def _decided(self, parts: list[Pairs]) -> int | None:
        """After how many pairs the match is decided, if it is to end then."""
        if self.until is None:
            return None
        return decided_after(np.concatenate([p.won.mean(axis=1) for p in parts]), self.until)

    def _parts(self, progress: Progress | None) -> Generator[Pairs]:
        most = MOST if self.until is None else LOOK
        tally = Tally(progress)
        if self.workers == 1:
            return played_here(self.a, self.b, self.terms, Cuts(self.pairs, most), tally)
        most = max(1, min(most, -(-self.pairs // (4 * self.workers))))
        cuts = Cuts(self.pairs, most)
        return played_elsewhere(self.a, self.b, self.terms, self.workers, cuts, tally)


# ---------------------------------------------------------------------- what came out


def _interval(estimate: Estimate) -> list[float]:
    return [estimate.low, estimate.high]


def deal_figures(pairs: Pairs) -> dict[str, Any]:
    """What single deals say of a's side: rates, and 95% intervals over pairs."""
    wins = paired_rate(pairs.won.mean(axis=1))
    gain = paired_mean(pairs.gain.astype(np.float64).mean(axis=1))
    double_down = paired_rate(pairs.double_down.mean(axis=1))
    first = _first_places(pairs)
    return {
        "deals": len(pairs),
        "deal_win_rate": wins.mean,
        "deal_win_rate_ci": _interval(wins),
        "level_gain": gain.mean,
        "level_gain_ci": _interval(gain),
        "double_down_rate": double_down.mean,
        "double_down_rate_ci": _interval(double_down),
        "first_place_by_seat": [share.mean for share in first],
        "first_place_by_seat_ci": [_interval(share) for share in first],
        "bombs_over_partner": float(pairs.bombs_over_partner[:, :, 0].mean()),
        "wilds_left": float(pairs.wilds_left[:, :, 0].mean()),
    }


def game_figures(pairs: Pairs) -> dict[str, Any]:
    """What whole games say of a's side."""
    wins = paired_rate(pairs.won.mean(axis=1))
    deals = paired_mean(pairs.deals.mean(axis=1))
    return {
        "games": len(pairs),
        "game_win_rate": wins.mean,
        "game_win_rate_ci": _interval(wins),
        "deals_per_game": deals.mean,
        "deals_per_game_ci": _interval(deals),
        "drawn_games": float((pairs.won == 0.5).mean()),
    }


def p_value(pairs: Pairs, seed: int) -> float:
    """Two-sided, by flipping the signs of the pairs: of level gains, of games of wins."""
    values = pairs.gain.astype(np.float64) if pairs.deals.max() == 1 else pairs.won - 0.5
    return sign_flip_p(values.mean(axis=1), np.random.default_rng(seed))


def _first_places(pairs: Pairs) -> list[Estimate]:
    """How often a came in first at each seat, of the deals in which it sat there."""
    at = [pairs.first[:, seat % 2] == seat for seat in range(4)]
    return [paired_rate(first.astype(np.float64)) for first in at]


def by_agent(match: Match, values: NDArray[Any]) -> dict[str, Any]:
    """A value of a and one of b under their specs; an agent against itself has one, the sum."""
    if match.a == match.b:
        return {match.a: values.sum().item()}
    return {match.a: values[0].item(), match.b: values[1].item()}


def figures(match: Match, deals: Pairs | None, games: Pairs | None) -> dict[str, Any]:
    """The result as `guandan match --json` prints it, of a's side; None where nothing was played.

    decisions_per_second is of the agents' own time, failures are counts, faults the first of
    them. Where a match ended as soon as it was decided, `until_significant` says whether it was,
    and the p-values are none of a test.
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
        "game_p_value": None if games is None else p_value(games, terms.seed),
        "until_significant": None if match.until is None else _sequential(match.until, played[0]),
        "faults": [
            {
                "agent": fault.agent,
                "table": fault.table,
                "deal": fault.deal,
                "seat": fault.seat,
                "move": fault.move,
                "cause": fault.wrong.cause.value,
                "text": fault.wrong.text,
            }
            for fault in [fault for pairs in played for fault in pairs.faults][:SHOWN_FAULTS]
        ],
        "version": __version__,
        "rules": terms.rules.name,
        "rule_set": terms.rules.to_dict(),
        "conduct": terms.conduct.to_dict(),
        "seed": terms.seed,
        "level": terms.level,
    }


def _sequential(error_rate: float, pairs: Pairs) -> dict[str, Any]:
    """What the test that may stop a match says of it."""
    decided = decided_after(pairs.won.mean(axis=1), error_rate) is not None
    return {"error_rate": error_rate, "decided": decided}


_DEAL_KEYS = (
    "deals", "deal_win_rate", "deal_win_rate_ci", "level_gain", "level_gain_ci",
    "double_down_rate", "double_down_rate_ci",
)  # fmt: skip
_GAME_KEYS = ("games", "game_win_rate", "game_win_rate_ci")


def of_games(match: Match, games: int) -> Match:
    """The same match in whole games."""
    return replace(match, pairs=games, terms=replace(match.terms, episode="game"))
