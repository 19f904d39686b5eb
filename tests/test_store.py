"""The results store: what it keeps, and that it keeps it whatever happens."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_ratings import result

import eval.store
from agents import AgentError
from eval.duplicate import Terms
from eval.identity import hash_files, identify
from eval.starts import digest, points, starts
from eval.store import Store, StoreError, versions
from eval.suites import SUITES, Suite, SuiteError, find_suite
from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.cards import to_counts
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.observation import OBSERVATION_VERSION

WON = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
ROOT = Path(eval.store.__file__).parents[1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


def test_results_come_back_as_they_were(path):
    kept = [result("a", "b", WON), result("张三 's\n", "b", WON[:2], suite="other")]
    store = Store(path, create=True)
    for one in kept:
        store.add(one)
    found = Store(path).results()
    for one, other in zip(kept, found, strict=True):
        np.testing.assert_array_equal(one.won, other.won)
        np.testing.assert_array_equal(one.gain, other.gain)
        same = [name for name in vars(one) if name not in ("won", "gain")]
        assert {n: getattr(one, n) for n in same} == {n: getattr(other, n) for n in same}
    assert found[0].head(2).deals == 2


def test_nothing_is_changed_or_deleted(path):
    store = Store(path, create=True)
    store.add(result("a", "b", WON))
    database = sqlite3.connect(path)
    columns = [row[1] for row in database.execute("PRAGMA table_info(results)")]
    for statement in (
        *(f"UPDATE results SET {column} = 1" for column in columns),
        "DELETE FROM results",
        "INSERT OR REPLACE INTO results SELECT * FROM results",
        "REPLACE INTO results SELECT * FROM results",
        "INSERT INTO results SELECT * FROM results WHERE true "
        "ON CONFLICT(id) DO UPDATE SET deals = 7",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute(statement)
    database.close()
    assert [r.deals for r in store.results()] == [3]


def test_gains_that_a_byte_cannot_hold_are_refused(path):
    store = Store(path, create=True)
    odd = result("a", "b", WON)
    odd.gain[0, 0] = 200
    with pytest.raises(StoreError, match="-128 to 127"):
        store.add(odd)
    assert store.results() == []


def _add(path, name, count):
    store = Store(path, create=True)
    for _ in range(count):
        store.add(result(name, "b", WON))


def test_many_may_write_at_once(path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_add, args=(path, f"w{i}", 15)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    specs = [r.a.spec for r in Store(path).results()]
    assert sorted(specs) == sorted(f"w{i}" for i in range(3) for _ in range(15))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_writer_killed_in_the_middle_leaves_whole_results(path):
    Store(path, create=True).add(result("a", "b", WON))
    # The row is in the file's pages, and the commit is never reached.
    code = (
        "import sqlite3, sys, os, signal\n"
        "d = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "d.execute('PRAGMA cache_size = 1'); d.execute('BEGIN IMMEDIATE')\n"
        "names = [row[1] for row in d.execute('PRAGMA table_info(results)')][1:]\n"
        "names = ', '.join(names)\n"
        "for _ in range(200):\n"
        "    d.execute(f'INSERT INTO results ({names}) SELECT {names} FROM results LIMIT 1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert os.path.exists(f"{path}-journal")
    store = Store(path)
    assert len(store.results()) == 1
    store.add(result("c", "b", WON))
    assert [r.a.spec for r in store.results()] == ["a", "c"]


def test_files_that_are_no_store_are_left_as_they_are(path):
    with pytest.raises(StoreError, match="there is no results store"):
        Store(path)
    assert not path.exists()
    path.write_bytes(b"deals,won\n1,2\n" * 100)
    foreign = path.with_name("foreign.sqlite")
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE results (id INTEGER)")
    database.close()
    for file, message in ((path, "not a database"), (foreign, "another program's")):
        before = file.read_bytes()
        for create in (False, True):
            with pytest.raises(StoreError, match=message):
                Store(file, create=create)
        assert file.read_bytes() == before
    with pytest.raises(StoreError, match="unable to open"):
        Store(path.parent / "no" / "folder.sqlite", create=True)
    with pytest.raises(StoreError):
        Store(path.parent, create=True)


def test_a_newer_schema_is_refused(path):
    Store(path, create=True)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(StoreError, match="schema 2; this version reads and writes 1"):
        Store(path, create=True)


def test_damage_is_found(path):
    store = Store(path, create=True)
    for _ in range(40):
        store.add(result("a", "b", np.tile(WON, (200, 1))))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError):
        Store(path).results()
    # A changed byte within a result: pages are sound, the hash is not.
    at = whole.index(bytes(np.tile(2 * WON, (100, 1)).astype(np.int8)))
    path.write_bytes(whole[:at] + b"\x01" + whole[at + 1 :])
    with pytest.raises(StoreError, match=r"result \d+ is damaged: it does not have the hash"):
        Store(path).results()
    path.write_bytes(whole)
    assert len(Store(path).results()) == 40


def test_rows_that_mean_nothing_are_refused(path):
    store = Store(path, create=True)
    good = eval.store._row(result("a", "b", WON))
    for change in (
        {"deals": 4},
        {"deals": -1},
        {"deals": "many"},
        {"won": b"\x07" * 6},
        {"won": "text"},
        {"a": "[]"},
        {"a": "{}"},
        {"b": '{"spec": 1, "version": "", "files": ""}'},
        {"figures": "{}"},
        {"figures": '{"failures": [1]}'},
        {"versions": "[" * 100_000},
    ):
        row = {**good, **change}
        with pytest.raises(StoreError, match="result 1 is damaged"):
            store._read(1, {**row, "sha256": eval.store._hash(row)})


def test_versions_are_those_of_the_code():
    found = versions()
    assert found["actions"] == ACTION_TABLE_VERSION
    assert found["observation"] == OBSERVATION_VERSION
    assert found["yardsticks"]["greedy"] == "greedy-v1"


# Who played


def test_identity_of_the_agents_of_this_package():
    assert str(identify("greedy")) == "greedy (greedy-v1)"
    with pytest.raises(AgentError, match="did you mean 'greedy'"):
        identify("gredy")


def test_identity_of_a_bot_follows_its_file(tmp_path, monkeypatch):
    source = (
        "from agents.greedy import Greedy\nclass Bot(Greedy):\n    version = 'mine'\n"
        "    def __init__(self, weights=''):\n        super().__init__()\n"
        "        self.files = ['more.txt']\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "identity_bot", raising=False)
    for name, text in (("identity_bot.py", source), ("more.txt", "1"), ("w.bin", "x\r\n")):
        Path(name).write_text(text, encoding="utf-8", newline="")
    first = identify("identity_bot:Bot")
    assert (first.spec, first.version) == ("identity_bot:Bot", "mine")
    assert identify("identity_bot:Bot") == first
    Path("identity_bot.py").write_bytes(source.replace("\n", "\r\n").encode())
    assert identify("identity_bot:Bot") == first
    with_weights = identify("identity_bot:Bot?weights=w.bin")
    Path("w.bin").write_bytes(b"x\n")
    assert identify("identity_bot:Bot?weights=w.bin").files != with_weights.files
    Path("more.txt").write_bytes(b"2")
    assert identify("identity_bot:Bot").files != first.files


def test_hashes_of_folders_depend_on_names_and_contents_alone(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder / "in" / "__pycache__").mkdir(parents=True)
        (tmp_path / folder / "in" / "w.bin").write_bytes(b"w")
    (tmp_path / "two" / "in" / "__pycache__" / "x.pyc").write_bytes(b"c")
    one, two = (hash_files([tmp_path / folder]) for folder in ("one", "two"))
    assert one == two
    (tmp_path / "two" / "in" / "w.bin").rename(tmp_path / "two" / "in" / "v.bin")
    assert hash_files([tmp_path / "two"]) != one
    assert hash_files([]) == ""


# Suites


def test_suites_are_the_deals_that_they_were():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in SUITES:
        find_suite(name)
        assert f"`{name}`" in text


def test_the_digest_is_over_hands_levels_and_what_came_before():
    terms = Terms(seed=9, level="5")
    state = Engine(7, seed=9, level="5").state
    text = b""
    for k in range(7):
        begins = [int(state.level[k]), int(state.seat[k]), *state.previous[k].tolist()]
        text += bytes(n % 256 for n in begins) + to_counts(state.hands[k]).tobytes()
    assert len(text) == 7 * 222
    assert digest(terms, 7) == hashlib.sha256(text).hexdigest()
    assert digest(Terms(seed=9, level="6"), 7) != digest(terms, 7) != digest(terms, 6)


def test_other_deals_are_refused():
    suite = SUITES["suite-v1"]
    other = Suite(**{**vars(suite), "seed": 1})
    with pytest.raises(SuiteError, match="deals otherwise"):
        other.verify()
    with pytest.raises(SuiteError, match="did you mean 'suite-v1'"):
        find_suite("suite-v2")
    assert issubclass(SuiteError, GuandanError)


def test_points_of_starting_hands():
    begun = starts(Terms(seed=3), 5000)
    state = Engine(5000, seed=3).state
    np.testing.assert_array_equal(begun.points, points(state))
    np.testing.assert_array_equal(begun.level, state.level)
    for k in range(0, 5000, 500):
        level = int(state.level[k])
        for seat in range(4):
            counts = to_counts(state.hands[k, seat]).astype(int)
            ranks = counts[:52].reshape(13, 4).sum(1)
            expected = 2 * counts[53] + counts[52] + ranks[level] + counts[4 * level + 1]
            expected += 2 * sum(ranks[r] >= 4 for r in range(13) if r != level)
            assert begun.points[k, seat] == expected
    assert begun.balance[0] == begun.points[0] @ [1, -1, 1, -1]
