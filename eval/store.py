"""Results of matches on suites, kept in one SQLite file that only ever grows.

Each row is one match: who played (see `identity`), on which deals, what came out of each of them,
and the versions of all that had a part in it. Triggers refuse to change or delete a row, and each
row carries a hash of itself. Any number of processes may write at once; a process that is killed
leaves whole rows only.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from agents import make
from eval.duplicate import LEGS, Pairs
from eval.identity import Identity
from eval.suites import Suite
from guandan_env import __version__
from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.errors import GuandanError, one_line, shown
from guandan_env.observation import OBSERVATION_VERSION

STORE = "guandan-results.sqlite"  # where results go if nothing else is said
STANDARD = ("random", "greedy", "planner")  # the opponents of `guandan eval`
SCHEMA = 1
_APPLICATION = 0x47444E53  # "GDNS", tells our files from other databases
_PATIENCE = 60.0  # seconds that a writer waits for others
_MOST_DEALS = 10_000_000

_CREATE = """
CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    played TEXT NOT NULL,     -- when, UTC, ISO 8601
    a TEXT NOT NULL,          -- JSON: spec, version, files (SHA-256)
    b TEXT NOT NULL,
    suite TEXT NOT NULL,
    suite_sha256 TEXT NOT NULL,
    illegal_play TEXT NOT NULL,
    deals INTEGER NOT NULL,   -- the first so many of the suite, each played from both sides
    won BLOB NOT NULL,        -- int8 (deals, 2): twice the deals that a won, in leg 0 and 1
    gain BLOB NOT NULL,       -- int8 (deals, 2): levels that a won less those it lost
    figures TEXT NOT NULL,    -- JSON: what else is known, see Result
    versions TEXT NOT NULL,   -- JSON
    sha256 TEXT NOT NULL      -- of all the columns above, see Result
);
CREATE TRIGGER no_update BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'results are append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON results
BEGIN SELECT RAISE(ABORT, 'results are append-only'); END;
CREATE TRIGGER no_replace BEFORE INSERT ON results
WHEN EXISTS (SELECT 1 FROM results WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'results are append-only'); END;
"""


class StoreError(GuandanError):
    """A results store that is missing, damaged, or another program's file."""


@dataclass(frozen=True)
class Result:
    """A match of a and b on the first n deals of a suite, of a's side.

    won: `(n, 2) float64`, 1, 0.5 or 0 by deal and leg (a sits at seats 0 and 2 in leg 0, at 1 and
    3 in leg 1). gain: `(n, 2) float64`, levels. figures: `bombs_over_partner` and `wilds_left` (a
    deal), `failures`, `decisions` and `seconds`, each a list of a's and b's.
    """

    played: str
    a: Identity
    b: Identity
    suite: str
    suite_sha256: str
    illegal_play: str
    won: NDArray[np.float64]
    gain: NDArray[np.float64]
    figures: dict[str, list[float]]
    versions: dict[str, Any]

    @property
    def deals(self) -> int:
        """How many deals, each played twice."""
        return len(self.won)

    def head(self, deals: int) -> Result:
        """The same match on fewer deals; the figures stay those of all."""
        cut = {"won": self.won[:deals], "gain": self.gain[:deals]}
        return Result(**{f.name: cut.get(f.name, getattr(self, f.name)) for f in fields(self)})

    @classmethod
    def of(cls, a: Identity, b: Identity, suite: Suite, pairs: Pairs, illegal_play: str) -> Result:
        """What came out of a match of deals, as it is stored."""
        return cls(
            played=datetime.now(UTC).isoformat(timespec="seconds"),
            a=a,
            b=b,
            suite=suite.name,
            suite_sha256=suite.sha256,
            illegal_play=illegal_play,
            won=pairs.won.astype(np.float64),
            gain=pairs.gain.astype(np.float64),
            figures={
                "bombs_over_partner": pairs.bombs_over_partner.mean(axis=(0, 1)).tolist(),
                "wilds_left": pairs.wilds_left.mean(axis=(0, 1)).tolist(),
                "failures": pairs.failures.tolist(),
                "decisions": pairs.decisions.tolist(),
                "seconds": pairs.seconds.tolist(),
            },
            versions=versions(),
        )


@cache
def versions() -> dict[str, Any]:
    """Versions of all that has a part in a result, beside the agents that play."""
    return {
        "guandan": __version__,
        "actions": ACTION_TABLE_VERSION,
        "observation": OBSERVATION_VERSION,
        "yardsticks": {name: getattr(make(name), "version", "") for name in STANDARD},
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


class Store:
    """The results in a file; with `create`, one that does not exist is begun.

    Raises `StoreError` for a file that is none, is damaged or was written by a newer version; it
    is left as it is.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise StoreError(f"there is no results store {self._name}")
        with self._connected(create=create) as database:
            if create and self._is_new(database):
                self._begin(database)
            self._check(database)

    def add(self, result: Result) -> None:
        """Append a result."""
        row = _row(result)
        marks = ", ".join("?" * len(row))
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                f"INSERT INTO results ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
            )
            database.execute("COMMIT")

    def results(self) -> list[Result]:
        """All results, in the order in which they were added."""
        columns = ", ".join(_COLUMNS)
        with self._connected() as database:
            rows = database.execute(f"SELECT id, {columns} FROM results ORDER BY id").fetchall()
        return [self._read(row[0], dict(zip(_COLUMNS, row[1:], strict=True))) for row in rows]

    # ------------------------------------------------------------------ the file

    @property
    def _name(self) -> str:
        return shown(str(self.path))

    @contextmanager
    def _connected(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        mode = "rwc" if create else "rw"
        try:
            uri = f"{self.path.absolute().as_uri()}?mode={mode}"
            database = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            try:
                yield database
            finally:
                database.close()  # and undo what was not committed
        except sqlite3.Error as error:
            raise StoreError(f"{self._name}: {error}") from error

    @staticmethod
    def _is_new(database: sqlite3.Connection) -> bool:
        return database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)

    def _begin(self, database: sqlite3.Connection) -> None:
        database.execute("BEGIN IMMEDIATE")
        if self._is_new(database):  # or another process was quicker
            for statement in _statements(_CREATE):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {SCHEMA}")
        database.execute("COMMIT")

    def _check(self, database: sqlite3.Connection) -> None:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (schema,) = database.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise StoreError(f"{self._name} is no results store but another program's database")
        if schema != SCHEMA:
            raise StoreError(
                f"{self._name} has schema {schema}; this version reads and writes {SCHEMA}"
            )
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise StoreError(f"{self._name} is damaged: {one_line(state)}")

    def _read(self, number: int, row: dict[str, Any]) -> Result:
        def damaged(why: str) -> NoReturn:
            raise StoreError(f"{self._name}: result {number} is damaged: {why}")

        if row["sha256"] != _hash(row):
            damaged("it does not have the hash that it was written with")
        try:
            return _result(row)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            damaged(one_line(error))


_COLUMNS = (
    "played", "a", "b", "suite", "suite_sha256", "illegal_play", "deals", "won", "gain", "figures",
    "versions", "sha256",
)  # fmt: skip


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: `executescript` would commit between them."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _row(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {
        "played": result.played,
        "a": _json(vars(result.a)),
        "b": _json(vars(result.b)),
        "suite": result.suite,
        "suite_sha256": result.suite_sha256,
        "illegal_play": result.illegal_play,
        "deals": result.deals,
        "won": _bytes(2 * result.won),
        "gain": _bytes(result.gain),
        "figures": _json(result.figures),
        "versions": _json(result.versions),
    }
    return {**row, "sha256": _hash(row)}


def _hash(row: dict[str, Any]) -> str:
    """Of the columns but the last: each as its length in bytes, a colon and the bytes."""
    hashed = hashlib.sha256()
    for name in _COLUMNS[:-1]:
        value = row[name]
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
        hashed.update(b"%d:%s" % (len(data), data))
    return hashed.hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _bytes(values: NDArray[np.float64]) -> bytes:
    small = values.astype(np.int8)
    if not np.array_equal(small, values):
        raise StoreError("a deal has a result that is no whole number of levels from -128 to 127")
    return small.tobytes()


def _result(row: dict[str, Any]) -> Result:
    """A row as a Result; ValueError, TypeError or KeyError where it is none."""
    deals = row["deals"]
    if not isinstance(deals, int) or not 2 <= deals <= _MOST_DEALS:
        raise ValueError(f"deals is {shown(deals)}")
    texts = [row[name] for name in ("played", "suite", "suite_sha256", "illegal_play")]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a text is none")
    won = np.frombuffer(row["won"], dtype=np.int8).reshape(deals, LEGS) / 2
    gain = np.frombuffer(row["gain"], dtype=np.int8).reshape(deals, LEGS).astype(np.float64)
    if not np.isin(won, (0, 0.5, 1)).all():
        raise ValueError("won holds something else than 0, 1 and 2")
    figures = {name: _numbers(value) for name, value in json.loads(row["figures"]).items()}
    for name in ("bombs_over_partner", "wilds_left", "failures", "decisions", "seconds"):
        if len(figures[name]) != 2:
            raise ValueError(f"{name} is not of two agents")
    told = json.loads(row["versions"])
    if not isinstance(told, dict):
        raise ValueError("versions are no object")
    return Result(
        played=texts[0],
        a=_identity(row["a"]),
        b=_identity(row["b"]),
        suite=texts[1],
        suite_sha256=texts[2],
        illegal_play=texts[3],
        won=won,
        gain=gain,
        figures=figures,
        versions=told,
    )


def _identity(text: str) -> Identity:
    told = json.loads(text)
    spec, version, files = (told[name] for name in ("spec", "version", "files"))
    if not all(isinstance(part, str) for part in (spec, version, files)):
        raise ValueError("an agent's spec, version or files is no text")
    return Identity(spec, version, files)


def _numbers(value: Any) -> list[float]:
    if not isinstance(value, list) or not all(type(n) in (int, float) for n in value):
        raise ValueError("a figure is no list of numbers")
    return value
