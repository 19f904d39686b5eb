"""`guandan tournament` at the command line."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from eval.commands.tournament import examples, main
from eval.competition.store import FILE
from guandan_env import cli
from guandan_env.errors import GuandanError

ROOT = Path(__file__).parents[1]
DESCRIPTION = {
    "name": "A <b>bold</b> & name",
    "seed": 5,
    "match": {"rules": "default", "options": {"max_deals": 1}},
    "entrants": [
        {"name": "<script>alert(1)</script>", "agents": "random", "club": "{{ x }}"},
        {"name": "Greedy", "agents": ["greedy", "random"], "count": 4},
    ],
    "stages": [
        {"format": "groups", "groups": 2, "advance": 2},
        {"name": "Final", "format": "elimination", "match": {"best_of": 3}},
    ],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(DESCRIPTION), encoding="utf-8")
    return path


class Elements(HTMLParser):
    """The elements of a page that must be closed, and all links."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_competition_is_played_and_shown(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(file), "--out", str(out), "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    for title in ("groups, round 1: the draw", "groups, after round 3", "Final, final: results"):
        assert title in shown
    assert shown.index("round 1: the draw") < shown.index("round 1: results")
    assert "index.html shows all of it" in " ".join(shown.split())
    page = Elements()
    text = (out / "index.html").read_text(encoding="utf-8")
    page.feed(text)
    assert page.open == []
    assert "script" not in page.seen
    assert "b" in page.seen  # the marks on the scale of ratings, not the one in the name
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert page.links
    for link in page.links:
        assert not re.match(r"\w+:", link)
        assert (out / link).is_file()
    assert "refresh" not in text
    # What is known is shown again, and nothing played.
    assert main([str(file), "--out", str(out), "--workers", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [place["place"] for place in told["places"]][:2] == [1, 2]
    assert told["places"][0]["stage"] == "Final"
    assert len(told["rounds"]) == 4
    final = told["rounds"][-1]["matches"][0]
    assert final["winner"] == told["places"][0]["entrant"]
    with sqlite3.connect(out / FILE) as database:
        (count,) = database.execute("SELECT count(*) FROM standings").fetchone()
    assert count == 4


def test_examples(capsys):
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(examples()) >= 7
    assert main(["--example", "swiss"]) == 0
    assert capsys.readouterr().out == examples()["swiss"]
    with pytest.raises(GuandanError, match=r"'swis' is no example .did you mean 'swiss'"):
        main(["--example", "swis"])


def test_errors_are_one_line(file, capsys):
    for words in ([], ["nowhere.yaml"], [str(file), "--workers", "0"]):
        assert cli.main(["tournament", *words]) == 2
        error = capsys.readouterr().err
        assert error.startswith("guandan: error: ")
        assert error.count("\n") == 1


def play(file, out):
    command = [sys.executable, "-m", "guandan_env", "tournament", str(file), "--json"]
    return subprocess.Popen(
        [*command, "--out", str(out), "--workers", "2", "--no-replays"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def rows(out):
    if not (out / FILE).exists():
        return []
    with sqlite3.connect(f"file:{out / FILE}?mode=ro", uri=True) as database:
        if database.execute("PRAGMA user_version").fetchone() == (0,):
            return []
        return database.execute("SELECT * FROM games ORDER BY rowid").fetchall()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_goes_on_after_it_was_killed(file, tmp_path, end):
    """Killed as soon as the first games are over, and run again: as if it had not been."""
    out = tmp_path / "killed"
    with play(file, out) as process:
        while not (before := rows(out)) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(end)
        process.communicate()
    before = rows(out)
    with play(file, out) as process:
        told, error = process.communicate()
    assert (process.returncode, error) == (0, "")
    assert rows(out)[: len(before)] == before != []
    with play(file, tmp_path / "whole") as process:
        whole, _ = process.communicate()
    assert {**json.loads(told), "page": ""} == {**json.loads(whole), "page": ""}
