"""What is played and what comes out of it: games, matches, rounds. Plain data, no play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.competition.terms import MatchTerms

NOBODY = -1
DRAW = 2
MOST_EXTRA = 3  # games after a match that ended level and must have a winner


@dataclass(frozen=True)
class GameResult:
    """One game, or one deal of a duplicate round, of the entrants a (0) and b (1) of a match.

    winner: 0, 1 or 2 for a draw. levels: how many levels a is ahead of b at the end. deals: how
    many were played; won: of them, by a and by b. forfeit: 0 or 1 for the side that forfeited,
    else -1. absent: whether it did because its program did not start. side: where a sat, 0 or 1.
    faults: `(0 or 1, seat, cause, text)`, at most `MOST_FAULTS` of them; counts: faults of a and b.
    """

    winner: int
    levels: int
    deals: int
    won: tuple[int, int]
    forfeit: int = NOBODY
    absent: bool = False
    side: int = 0
    faults: tuple[tuple[int, int, str, str], ...] = ()
    counts: tuple[int, int] = (0, 0)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> GameResult:
        """From what JSON has."""
        faults = tuple(tuple(fault) for fault in told["faults"])
        pairs = {name: tuple(told[name]) for name in ("won", "counts")}
        return cls(**{**told, **pairs, "faults": faults})


@dataclass(frozen=True)
class Pairing:
    """Two entrants who meet, or one with a bye (b is None). label: what for, such as "final"."""

    a: int
    b: int | None = None
    label: str = ""


@dataclass(frozen=True)
class Round:
    """Matches that are played at the same time.

    decides: every match must have a winner. deals: 0, or the deals of a duplicate round, the same
    at all tables.
    """

    name: str
    pairings: tuple[Pairing, ...]
    terms: MatchTerms
    decides: bool = False
    deals: int = 0


@dataclass(frozen=True)
class MatchResult:
    """A match of a and b. winner: 0, 1, or 2 for a draw; by: how, where it was not by games.

    wins: games of each. levels: those of a less those of b, over all games. deals: of all games.
    games: what it is made of.
    """

    winner: int
    wins: tuple[int, int]
    levels: int
    deals: int
    games: tuple[GameResult, ...] = ()
    by: str = ""

    @property
    def forfeit(self) -> int:
        """0 or 1 for the side that forfeited the whole match, else -1."""
        return next((game.forfeit for game in self.games if game.absent), NOBODY)

    def score(self) -> str:
        """In a few signs, such as "2–1"."""
        mark = " forfeit" if self.forfeit >= 0 else " " + self.by if self.by else ""
        return f"{self.wins[0]}–{self.wins[1]}{mark}"


@dataclass(frozen=True)
class Played:
    """A round with its results, None for byes."""

    round: Round
    results: tuple[MatchResult | None, ...]

    def winners(self) -> list[int]:
        """Who goes on, in the order of the pairings: winners, and entrants with a bye."""
        return [
            pairing.a if result is None or result.winner == 0 or pairing.b is None else pairing.b
            for pairing, result in zip(self.round.pairings, self.results, strict=True)
        ]

    def losers(self) -> list[int]:
        """Who lost, in the order of the pairings."""
        return [
            pairing.b if result.winner == 0 else pairing.a
            for pairing, result in zip(self.round.pairings, self.results, strict=True)
            if result is not None and pairing.b is not None
        ]

    def matches(self) -> list[tuple[int, int, MatchResult]]:
        """The entrants a and b and the result of every match."""
        return [
            (pairing.a, pairing.b, result)
            for pairing, result in zip(self.round.pairings, self.results, strict=True)
            if result is not None and pairing.b is not None
        ]


def games_needed(terms: MatchTerms, games: Sequence[GameResult], decides: bool) -> int:
    """How many further games a match certainly needs now; 0 when it is over.

    Games of a match whose deals are limited together follow one another; others can be played at
    the same time.
    """
    if any(game.absent for game in games):
        return 0
    wins = _wins(games)
    target, left = terms.best_of // 2 + 1, terms.best_of - len(games)
    rules = terms.rules
    in_turn = rules.max_deals is not None and rules.limit_scope == "match"
    if in_turn and rules.at_limit != "sudden_death" and deals_of(games) >= (rules.max_deals or 0):
        return 0
    if max(wins) >= target:
        return 0
    if left > 0:
        return 1 if in_turn else min(left, target - max(wins))
    level = wins[0] == wins[1] and sum(game.levels for game in games) == 0
    return 1 if decides and level and len(games) < terms.best_of + MOST_EXTRA else 0


def match_result(games: Sequence[GameResult], decides: bool, lot: int) -> MatchResult:
    """What became of a match that is over; `lot` (0 or 1) wins where nothing else decides."""
    wins, levels, deals = _wins(games), sum(game.levels for game in games), deals_of(games)
    absent = next((game for game in games if game.absent), None)
    winner, by = (DRAW, "") if wins[0] == wins[1] else (int(wins[1] > wins[0]), "")
    if absent is not None:
        # The whole match counts as one forfeit, however many games it would have had (9.6).
        winner, levels = 1 - absent.forfeit, absent.levels
    elif winner == DRAW and decides:
        winner, by = (int(levels < 0), "by levels") if levels else (lot, "by lot")
    return MatchResult(winner, wins, levels, deals, tuple(games), by)


def deals_result(games: Sequence[GameResult]) -> MatchResult:
    """What became of a match of a duplicate round: it is its deals that count, one by one."""
    levels = sum(game.levels for game in games)
    winner = DRAW if levels == 0 else int(levels < 0)
    return MatchResult(winner, _wins(games), levels, len(games), tuple(games))


def deals_of(games: Sequence[GameResult]) -> int:
    """How many deals games have used up."""
    return sum(game.deals for game in games)


def _wins(games: Sequence[GameResult]) -> tuple[int, int]:
    return sum(game.winner == 0 for game in games), sum(game.winner == 1 for game in games)
