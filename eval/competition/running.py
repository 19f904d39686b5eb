"""A competition run from its first draw to its last place, or on from where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents import parse
from agents.registry import KINDS
from eval.competition.course import Course, Next
from eval.competition.description import Competition
from eval.competition.draw import Lot
from eval.competition.play import Batch, Done, Task, play_batch
from eval.competition.replays import replay_name, write_replay
from eval.competition.results import (
    GameResult,
    MatchResult,
    Played,
    Round,
    deals_of,
    deals_result,
    games_needed,
    match_result,
)
from eval.competition.scoring import Line
from eval.competition.store import Store
from eval.competition.workers import Workers

MOST_TOGETHER = 64  # matches in one batch: more would gain little, and lose more when killed
_ALONE = ("exec", "njupt", "search")  # kinds that gain nothing by a batch
_SIDE, _UNDECIDED = 1 << 22, 1 << 23  # purposes of lots
Games = dict[int, list[GameResult]]


@dataclass
class Now:
    """How a competition stands: the rounds that are over, and the one that is played.

    results: those of the matches of the present round that are over, by their numbers. over:
    whether everything has been played.
    """

    competition: Competition
    course: Course
    history: list[list[Played]] = field(default_factory=list)
    present: Next | None = None
    results: dict[int, MatchResult] = field(default_factory=dict)
    over: bool = False

    def all_rounds(self) -> list[tuple[int, int, Round, dict[int, MatchResult]]]:
        """Stage, number, round and results by match, of all rounds and the present one."""
        rounds = [
            (stage, number, past.round, {i: r for i, r in enumerate(past.results) if r is not None})
            for stage, own in enumerate(self.history)
            for number, past in enumerate(own)
        ]
        if self.present is not None:
            here = self.present
            rounds.append((here.stage, here.number, here.round, self.results))
        return rounds


class Listener:
    """Is told what happens; this one does nothing about it."""

    def drawn(self, now: Now, known: bool) -> None:
        """A round is about to be played; `known` if it has been drawn earlier."""

    def played(self, now: Now, games: Sequence[Done], left: int) -> None:
        """Games are over; matches that are not yet: `left`."""

    def round_over(self, now: Now, lines: Sequence[Line]) -> None:
        """A round is over, with the standings of its stage."""


class Running:
    """A competition and all that it takes to play it. Use `run` once.

    listeners: are told in this order. replays: whether pages of all deals are written.
    """

    def __init__(
        self,
        competition: Competition,
        folder: Path,
        workers: int,
        listeners: Sequence[Listener] = (),
        replays: bool = True,
    ) -> None:
        self.competition, self.folder = competition, folder
        self.listeners, self._replays = listeners, replays
        self.now = Now(competition, Course(competition))
        self._lot = Lot.from_seed(competition.seed)
        self._workers = Workers(workers)
        self._store = Store(folder, competition)

    def run(self) -> Now:
        """Play what is left to play; returns how it ended."""
        now = self.now
        try:
            with self._workers:
                while (present := now.course.next(now.history)) is not None:
                    self._round(present)
                now.over = True
                while self._workers.next() is not None:  # the last replays
                    pass
        finally:
            self._store.close()
        return now

    def _round(self, drawn: Next) -> None:
        now, stage, number = self.now, drawn.stage, drawn.number
        known = bool(self._store.games(stage, number))
        drawn = Next(stage, number, self._store.round(stage, number, drawn.round))
        now.present, now.results = drawn, {}
        games = self._known_games(drawn)
        for listener in self.listeners:
            listener.drawn(now, known)
        todo = self._settle(drawn, games, range(len(drawn.round.pairings)))
        for group in self._groups(drawn.round, todo):
            self._submit(drawn, group, games)
        while len(now.results) < len(games):
            label, done = self._next()
            if not isinstance(label, tuple):
                continue  # a replay has been written
            self._store.add_games(done)
            for one in done:
                games[one.key[2]].append(one.result)
            todo = self._settle(drawn, games, label)
            if todo:
                self._submit(drawn, todo, games)
            for listener in self.listeners:
                listener.played(now, done, len(games) - len(now.results))
        results = tuple(now.results.get(i) for i in range(len(drawn.round.pairings)))
        if stage == len(now.history):
            now.history.append([])
        now.history[stage].append(Played(drawn.round, results))
        now.present, now.results = None, {}
        lines = now.course.standings(stage, now.history)
        self._store.add_standings(stage, number, self._told(lines))
        for listener in self.listeners:
            listener.round_over(now, lines)

    def _next(self) -> tuple[object, Any]:
        found = self._workers.next()
        assert found is not None  # matches that are not over have games at work
        return found

    def _known_games(self, drawn: Next) -> Games:
        """The games that were over when the competition was left, by match; byes have none."""
        pairings = drawn.round.pairings
        games: Games = {i: [] for i, pairing in enumerate(pairings) if pairing.b is not None}
        for (match, _), result in sorted(self._store.games(drawn.stage, drawn.number).items()):
            games[match].append(result)
        return games

    def _settle(self, drawn: Next, games: Games, matches: Sequence[int]) -> list[int]:
        """Note the results of matches that are over; returns those that go on."""
        going_on = []
        for match in matches:
            if match not in games:
                continue
            if _needed(drawn.round, games[match]):
                going_on.append(match)
                continue
            lot = self._lot.of(drawn.stage, _UNDECIDED, drawn.number, match).below(2)
            if drawn.round.deals:
                self.now.results[match] = deals_result(games[match])
            else:
                result = match_result(games[match], drawn.round.decides, lot)
                self.now.results[match] = result
            name = replay_name(drawn.stage, drawn.number, match)
            if self._replays and not (self.folder / f"{name}.html").exists():
                records = self._store.records(drawn.stage, drawn.number, match)
                self._workers.submit(None, write_replay, self.folder, name, records)
        return going_on

    def _groups(self, round: Round, matches: Sequence[int]) -> list[list[int]]:
        """Matches that are played together: those of strangers' programs each alone."""
        alone = [match for match in matches if self._plays_alone(round, match)]
        others = [match for match in matches if match not in alone]
        parts = max(self._workers.count, -(-len(others) // MOST_TOGETHER))
        size = max(1, -(-len(others) // parts))
        together = [others[i : i + size] for i in range(0, len(others), size)]
        return together + [[match] for match in alone]

    def _plays_alone(self, round: Round, match: int) -> bool:
        kinds = [parse(spec).kind for spec in self._agents(round, match)]
        return any(kind in _ALONE or kind not in KINDS for kind in kinds)

    def _agents(self, round: Round, match: int) -> tuple[str, str, str, str]:
        pairing = round.pairings[match]
        entrants = self.competition.entrants
        assert pairing.b is not None
        return entrants[pairing.a].agents + entrants[pairing.b].agents

    def _submit(self, drawn: Next, matches: Sequence[int], games: Games) -> None:
        """Have the games played that these matches need next."""
        round = drawn.round
        tasks = tuple(
            self._task(drawn, match, game, deals_of(games[match]))
            for match in matches
            for game in range(len(games[match]), len(games[match]) + _needed(round, games[match]))
        )
        batch = Batch(
            tasks,
            round.terms,
            self.competition.seed,
            "deal" if round.deals else "game",
            {"competition": self.competition.name},
        )
        self._workers.submit(tuple(matches), play_batch, batch)

    def _task(self, drawn: Next, match: int, game: int, deals: int) -> Task:
        stage, number, round = drawn.stage, drawn.number, drawn.round
        pairing, entrants = round.pairings[match], self.competition.entrants
        assert pairing.b is not None
        rules = round.terms.rules
        in_turn = rules.max_deals is not None and rules.limit_scope == "match"
        first = 0 if round.deals else self._lot.of(stage, _SIDE, number, match).below(2)
        return Task(
            key=(stage, number, match, game),
            table=table_number(stage, number, 0 if round.deals else match, game),
            side=first if round.deals else (first + game) % 2,
            agents=self._agents(round, match),
            names=(entrants[pairing.a].name, entrants[pairing.b].name),
            deals_used=deals if in_turn and not round.deals else 0,
        )

    def _told(self, lines: Sequence[Line]) -> list[dict[str, Any]]:
        return [line_told(self.competition, line) for line in lines]


def line_told(competition: Competition, line: Line) -> dict[str, Any]:
    """A line of standings as plain data."""
    name = competition.entrants[line.entrant].name
    words = {key: word for key in ("group", "stage") if (word := getattr(line, key))}
    return {"place": line.place, "entrant": name, **words, **line.figures}


def table_number(stage: int, number: int, match: int, game: int) -> int:
    """The number that the deals of a game hang on: no two games of a competition share it."""
    return (stage + 1) << 52 | number << 36 | match << 16 | game


def _needed(round: Round, games: Sequence[GameResult]) -> int:
    """How many further games a match needs now."""
    if round.deals:
        return round.deals - len(games)
    return games_needed(round.terms, games, round.decides)
