"""Results of one competition in a SQLite file that only grows: draws, games, standings.

A round stands in it before it is played, a game as soon as it is over, with its deals; a process
that is killed leaves whole rows only. One process at a time may write.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.competition.description import Competition
from eval.competition.play import Done
from eval.competition.results import GameResult, Pairing, Round
from guandan_env import __version__
from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.errors import GuandanError, shown

FILE = "results.sqlite"
LOCK = ".lock"
SCHEMA = 1
_APPLICATION = 0x47444E43  # "GDNC", tells our files from other databases
_TABLES = {
    "about": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
    "rounds": "stage INTEGER, number INTEGER, told TEXT NOT NULL, PRIMARY KEY (stage, number)",
    "games": "stage INTEGER, number INTEGER, match INTEGER, game INTEGER, result TEXT NOT NULL, "
    "records BLOB NOT NULL, PRIMARY KEY (stage, number, match, game)",
    "standings": "stage INTEGER, number INTEGER, told TEXT NOT NULL, PRIMARY KEY (stage, number)",
}


class StoreError(GuandanError):
    """Results that cannot be read or written, or belong to another competition."""


class Store:
    """The results of a competition in a folder; begun if there are none, gone on with otherwise.

    Raises `StoreError` for a file of something else, one of another description, and while
    another process writes to it. Close it.
    """

    def __init__(self, folder: Path, competition: Competition) -> None:
        self.path = folder / FILE
        self._lock: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            strange = {path.name for path in folder.iterdir()} - {LOCK}
            if strange and not self.path.exists():
                raise StoreError(
                    f"{shown(str(folder))} holds something else than a competition; a folder that "
                    "is new or empty, or the results of this competition, are allowed"
                )
            if self.path.exists() and not self.path.stat().st_size:
                raise StoreError(f"{shown(str(self.path))} is damaged: it is empty")
            self._lock = _lock(folder / LOCK)
        except OSError as error:
            raise StoreError(f"{str(folder)!r}: {error.strerror or error}") from error
        if self._lock is None:
            raise StoreError(f"{str(folder)!r}: another process plays this competition now")
        try:
            with self._errors():
                self._database = sqlite3.connect(self.path, isolation_level=None, timeout=60)
                self._check(competition)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others write."""
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def round(self, stage: int, number: int, computed: Round) -> Round:
        """A round as it was drawn: the stored draw if there is one, else this one, now stored."""
        with self._errors():
            row = self._database.execute(
                "SELECT told FROM rounds WHERE stage = ? AND number = ?", (stage, number)
            ).fetchone()
            if row is None:
                pairings = [[p.a, p.b, p.label] for p in computed.pairings]
                told = json.dumps({"name": computed.name, "pairings": pairings})
                self._add("rounds", (stage, number, told))
                return computed
            drawn = tuple(Pairing(*pairing) for pairing in json.loads(row[0])["pairings"])
            return replace(computed, pairings=drawn)

    def games(self, stage: int, number: int) -> dict[tuple[int, int], GameResult]:
        """The games of a round that are over, by numbers of match and game."""
        with self._errors():
            rows = self._database.execute(
                "SELECT match, game, result FROM games WHERE stage = ? AND number = ? "
                "ORDER BY match, game",
                (stage, number),
            ).fetchall()
            return {(m, g): GameResult.from_dict(json.loads(text)) for m, g, text in rows}

    def records(self, stage: int, number: int, match: int) -> list[bytes]:
        """The packed deals of every game of a match, see `play.unpack`."""
        with self._errors():
            rows = self._database.execute(
                "SELECT records FROM games WHERE stage = ? AND number = ? AND match = ? "
                "ORDER BY game",
                (stage, number, match),
            ).fetchall()
            return [row[0] for row in rows]

    def add_games(self, games: Sequence[Done]) -> None:
        """Append games, all or none."""
        with self._errors():
            self._database.execute("BEGIN IMMEDIATE")
            for done in games:
                result = json.dumps(done.result.to_dict(), ensure_ascii=False)
                self._add("games", (*done.key, result, done.records))
            self._database.execute("COMMIT")

    def add_standings(self, stage: int, number: int, told: Any) -> None:
        """Append the standings after a round, unless they are there."""
        with self._errors():
            known = self._database.execute(
                "SELECT 1 FROM standings WHERE stage = ? AND number = ?", (stage, number)
            ).fetchone()
            if known is None:
                self._add("standings", (stage, number, json.dumps(told, ensure_ascii=False)))

    # ------------------------------------------------------------------ the file

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"{shown(str(self.path))}: {error}") from error

    def _add(self, table: str, row: tuple[object, ...]) -> None:
        marks = ", ".join("?" * len(row))
        self._database.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def _check(self, competition: Competition) -> None:
        database = self._database
        if database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            self._begin(competition)
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (schema,) = database.execute("PRAGMA user_version").fetchone()
        name = shown(str(self.path))
        if application != _APPLICATION:
            raise StoreError(f"{name} holds no competition but another program's data")
        if schema != SCHEMA:
            raise StoreError(f"{name} has schema {schema}; this version reads and writes {SCHEMA}")
        row = database.execute("SELECT value FROM about WHERE key = 'sha256'").fetchone()
        if row != (competition.sha256,):
            raise StoreError(
                f"{name} holds another competition: its entrants, stages, terms or seed differ "
                "from those of the description; take another --out for this one"
            )

    def _begin(self, competition: Competition) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        for table, columns in _TABLES.items():
            self._database.execute(f"CREATE TABLE {table} ({columns})")
            for event in ("UPDATE", "DELETE"):
                self._database.execute(
                    f"CREATE TRIGGER {table}_{event} BEFORE {event} ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'results are append-only'); END"
                )
        about = {
            "sha256": competition.sha256,
            "name": competition.name,
            "guandan": __version__,
            "actions": ACTION_TABLE_VERSION,
        }
        for row in about.items():
            self._add("about", row)
        self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._database.execute(f"PRAGMA user_version = {SCHEMA}")
        self._database.execute("COMMIT")


def _lock(path: Path) -> int | None:
    """A file that is open and locked till it is closed; None where another process has it."""
    import fcntl  # POSIX has it, as running programs needs too

    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
