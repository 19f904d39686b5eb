"""Competitions played: resumed, in processes, with programs that fail, and all configurations."""

from __future__ import annotations

import itertools
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import yaml

from eval.competition.description import from_dict
from eval.competition.page import Page, faults
from eval.competition.play import unpack
from eval.competition.results import NOBODY
from eval.competition.running import Listener, Running, table_number
from eval.competition.store import FILE, StoreError
from eval.competition.strength import strengths
from guandan_env.errors import GuandanError
from guandan_env.presets import PRESETS
from guandan_env.record_file import read_records
from guandan_env.record_replay import replay

CONFIGS = sorted((Path(__file__).parents[1] / "configs" / "competitions").glob("*.yaml"))
QUICK = {"rules": "default", "options": {"max_deals": 2}}


def given(*stages, match=QUICK, entrants=None, **more):
    return {
        "name": "Test",
        "seed": 5,
        "match": match,
        "entrants": entrants or [{"name": "Random", "agents": "random", "count": 4},
                                 {"name": "Greedy", "agents": "greedy", "count": 2}],
        "stages": list(stages) or [{"format": "elimination", "match": {"best_of": 3}}],
        **more,
    }  # fmt: skip


def run(description, folder, workers=1, listeners=(), replays=False):
    return Running(from_dict(description), folder, workers, listeners, replays).run()


def outcome(now):
    """All that a competition comes to."""
    return [
        (stage, number, round.pairings, sorted(results.items()))
        for stage, number, round, results in now.all_rounds()
    ], [(line.entrant, line.place) for line in now.course.ranking(now.history)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A competition played without a stop."""
    return outcome(run(given(), tmp_path_factory.mktemp("whole")))


class StopsAfter(Listener):
    """Stops a competition after so many events, as Ctrl-C does."""

    def __init__(self, events):
        self.left = events

    def drawn(self, now, known):
        self.event()

    def played(self, now, games, left):
        self.event()

    def round_over(self, now, lines):
        self.event()

    def event(self):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_it_goes_on_wherever_it_was_stopped(whole, tmp_path):
    rows = []
    for events in range(20):
        try:
            now = run(given(), tmp_path, listeners=[StopsAfter(events)])
        except KeyboardInterrupt:
            with sqlite3.connect(tmp_path / FILE) as database:
                rows.append(database.execute("SELECT * FROM games ORDER BY rowid").fetchall())
            continue
        break
    assert outcome(now) == whole
    assert len(rows) > 5
    for before, after in itertools.pairwise(rows):
        assert after[: len(before)] == before  # nothing lost, nothing changed
    # Once more: all is known, nothing is played.
    again = run(given(), tmp_path, listeners=[Counts()])
    assert outcome(again) == whole


class Counts(Listener):
    def played(self, now, games, left):
        raise AssertionError("a game was played again")


def test_processes_change_nothing(whole, tmp_path):
    assert outcome(run(given(), tmp_path, workers=2, replays=True)) == whole


def test_a_drawn_round_stays_as_it_was_drawn(tmp_path):
    """The stored draw counts, also if another version would draw otherwise."""
    with pytest.raises(KeyboardInterrupt):
        run(given(), tmp_path, listeners=[StopsAfter(0)])
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("DROP TRIGGER rounds_UPDATE")
        pairings = [[0, 1, ""], [2, 3, ""], [4, None, ""], [5, None, ""]]
        told = json.dumps({"name": "x", "pairings": pairings})
        database.execute("UPDATE rounds SET told = ?", (told,))
    now = run(given(), tmp_path)
    first = now.history[0][0].round.pairings
    assert [[p.a, p.b, p.label] for p in first] == pairings


def test_results_are_append_only_and_belong_to_one_competition(tmp_path):
    run(given(), tmp_path)
    with sqlite3.connect(tmp_path / FILE) as database:
        for statement in ("DELETE FROM games", "UPDATE games SET result = ''"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(statement)
    with pytest.raises(StoreError, match="holds another competition"):
        run(given(seed=6), tmp_path)
    run(given(name="Called otherwise"), tmp_path)


def test_a_file_of_another_kind_is_left_alone(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database, but long enough to be looked at" * 50)
    with pytest.raises(StoreError, match="not a database"):
        run(given(), tmp_path)
    (tmp_path / FILE).unlink()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("CREATE TABLE x (y)")
    with pytest.raises(StoreError, match="another program's data"):
        run(given(), tmp_path)
    (tmp_path / FILE).rename(tmp_path / "index.html")
    with pytest.raises(StoreError, match="holds something else than a competition"):
        run(given(), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="exists"):
        run(given(), tmp_path / "file")


def test_one_process_at_a_time(tmp_path):
    class Second(Listener):
        def drawn(self, now, known):
            with pytest.raises(StoreError, match="another process plays this competition now"):
                run(given(), tmp_path)

    run(given(), tmp_path, listeners=[Second()])


def test_workers_are_at_least_one(tmp_path):
    with pytest.raises(GuandanError, match="--workers is 0"):
        run(given(), tmp_path, workers=0)


def test_deals_are_those_of_no_other_game_and_can_be_verified(tmp_path):
    now = run(given(), tmp_path, replays=True)
    tables = set()
    for path in sorted((tmp_path / "deals").glob("*.jsonl")):
        records = list(read_records(path))
        assert path.with_suffix(".html").exists()
        for record in records:
            *_, last = replay(record)
            assert last is not None
            assert record["players"][0].startswith(("Random", "Greedy"))
        own = {record["table"] for record in records}
        assert not own & tables
        tables |= own
    assert len(tables) == sum(r.deals > 0 and len(r.games) for *_, rs in now.all_rounds()
                              for r in rs.values())  # fmt: skip


def test_numbers_of_tables():
    largest = table_number(15, 2**16 - 1, 2**20 - 1, 2**16 - 1)
    assert largest < 2**63
    assert table_number(0, 0, 0, 0) > 2**33  # none of a match or a suite


def test_sides_change_from_game_to_game(tmp_path):
    now = run(given(), tmp_path)
    for *_, results in now.all_rounds():
        for result in results.values():
            sides = [game.side for game in result.games]
            assert all(a != b for a, b in itertools.pairwise(sides))


@pytest.mark.rule("5.17")
def test_sudden_death_over_the_games_of_a_match(tmp_path):
    """Two deals a match, then each game still needed is one deal that its first finisher wins."""
    match = {"rules": "university", "options": {"max_deals": 2}, "best_of": 3}
    now = run(given(match=match), tmp_path)
    matches = [result for *_, results in now.all_rounds() for result in results.values()]
    assert matches
    for result in matches:
        assert max(result.wins) == 2
        assert [game.deals for game in result.games] == [3, *[1] * (len(result.games) - 1)]
        assert result.levels == 0  # the unfinished game is void
    records = [r for past in _records(tmp_path) for r in past]
    assert {r["start"]["level"] for r in records if r["start"]["sudden_death"]} == {"A"}


def _records(folder):
    with sqlite3.connect(folder / FILE) as database:
        return [unpack(row[0]) for row in database.execute("SELECT records FROM games")]


@pytest.mark.rule("9.11")
def test_duplicate_deals_the_same_cards_at_all_tables(tmp_path):
    run(given({"format": "duplicate", "deals": 3, "rounds": 2}), tmp_path)
    records = _records(tmp_path)
    assert len(records) == 2 * 3 * 3
    hands: dict[tuple[int, int], set[str]] = {}
    for (record,) in records:
        key = record["context"]["round"], record["context"]["game"]
        start = json.dumps(record["start"], sort_keys=True)
        hands.setdefault(key, set()).add(start)
    assert len(hands) == 6
    assert all(len(starts) == 1 for starts in hands.values())
    assert len(set.union(*hands.values())) == 6


def reduced(path):
    """A configuration with random agents, and games of two deals where they may be short."""
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    for entrant in told["entrants"]:
        entrant["agents"] = "random"
    matches = [told.setdefault("match", {})]
    for stage in told["stages"]:
        matches += [stage["match"]] if "match" in stage else []
        stage["deals"] = 2
        stage = stage if stage["format"] == "duplicate" else stage.pop("deals")
    for match in matches:
        match.setdefault("options", {})["max_deals"] = 2
    return told


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_every_configuration_runs(path, tmp_path):
    description = reduced(path)
    assert description["match"]["rules"] == path.stem
    assert description["source"] == PRESETS[path.stem].source
    now = run(description, tmp_path, listeners=[Page(tmp_path, {})])
    assert now.over
    count = len(now.competition.entrants)
    ranking = now.course.ranking(now.history)
    assert sorted(line.entrant for line in ranking) == list(range(count))
    if path.stem == "pharma":
        shapes = [
            (sum(p.b is not None for p in past.round.pairings), len(past.round.pairings))
            for own in now.history
            for past in own
        ]
        assert shapes == [(22, 22), (11, 11), (5, 6), (3, 3), (4, 4), (2, 2), (2, 2)]
        assert [line.place for line in ranking[:5]] == [1, 2, 3, 4, 5]
    if path.stem == "university":
        halves = _halves(now)
        for half in halves:
            clubs = [now.competition.entrants[e].club for e in half]
            assert len(clubs) == len(set(clubs))


def _halves(now):
    """Who could reach each semi-final, by the first draw."""
    first = now.history[0][0].round.pairings
    middle = len(first) // 2
    return [
        [e for p in half for e in (p.a, p.b) if e is not None]
        for half in (first[:middle], first[middle:])
    ]


BOTS = """
import os, time
import numpy as np
from guandan_env import legality


class Plays:
    name = "plays"

    def reset(self):
        pass

    def act(self, decisions):
        return legality.select(decisions.packed, np.zeros(len(decisions), dtype=np.int64))


class Cheats(Plays):
    def act(self, decisions):
        return np.full(len(decisions), 2243)


class Crashes(Plays):
    def act(self, decisions):
        os._exit(3)


class Hangs(Plays):
    def act(self, decisions):
        if (decisions.length == 0).any():
            time.sleep(60)
        return super().act(decisions)


class Floods(Plays):
    def act(self, decisions):
        while True:
            os.write(2, b"x" * 65536)


class Absent(Plays):
    def __init__(self):
        raise RuntimeError("I will not play")
"""


@pytest.fixture
def strangers(tmp_path, monkeypatch):
    (tmp_path / "competition_bots.py").write_text(BOTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = ("Cheats", "Crashes", "Hangs", "Floods", "Absent", "Plays")
    return [{"name": name, "agents": f"competition_bots:{name}"} for name in names]


@pytest.mark.rule("7.6")
@pytest.mark.parametrize("workers", [1, 2])
def test_programs_that_fail_lose_and_stop_nobody(strangers, tmp_path, workers):
    match = {
        "rules": "default",
        "options": {"max_deals": 1},
        "conduct": {"illegal_play": "forfeit", "move_time": 1, "start_time": 60},
    }
    description = given(
        {"format": "round_robin"},
        match=match,
        entrants=[
            *strangers,
            {"name": "Ends", "agents": "exec:true"},
            {"name": "Greedy", "agents": "greedy"},
        ],
    )
    page = Page(tmp_path / "out", {})
    now = run(description, tmp_path / "out", workers, [page], replays=workers == 2)
    page.write(now)
    names = [entrant.name for entrant in now.competition.entrants]
    causes = {(entrant, cause) for entrant, _, cause, _, _ in faults(now)}
    assert causes == {
        ("Cheats", "illegal"), ("Crashes", "crash"), ("Floods", "crash"), ("Hangs", "late"),
        ("Absent", "absent"), ("Ends", "crash"),
    }  # fmt: skip
    for _, _, round, results in now.all_rounds():
        for match, result in results.items():
            pairing = round.pairings[match]
            both = [names[pairing.a], names[pairing.b]]
            good = [side for side in (0, 1) if both[side] in ("Greedy", "Plays", "Hangs")]
            if len(good) == 1:
                (game,) = result.games
                assert result.winner == good[0]
                assert game.forfeit == 1 - good[0]
                assert abs(result.levels) == 6
                assert game.absent == ("Absent" in both)
            elif len(good) == 2:
                assert result.games[0].forfeit == NOBODY
    assert "I will not play" in page.path.read_text(encoding="utf-8")


def test_ratings_of_a_competition(tmp_path):
    now = run(given({"format": "round_robin", "meetings": 2}), tmp_path)
    found = strengths(6, now.history, np.random.default_rng(0))
    assert {s.entrant for s in found[:2]} == {4, 5}  # the greedy ones
    for s in found:
        assert s.low < s.points < s.high
        assert 0 <= s.won <= s.deals
    assert sum(s.won for s in found) * 2 == sum(s.deals for s in found)
    assert strengths(6, [], np.random.default_rng(0)) == []
