"""`guandan eval`, `guandan leaderboard` and reports, at reduced size."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from eval.duplicate import Terms, play_pairs
from eval.plots import groups, running, scale
from eval.report import Part, Picture, Report, ReportError, deal_pictures, facts_of
from eval.starts import starts
from eval.statistics import Estimate
from eval.store import Store
from eval.tables import Table
from guandan_env.cli import main
from guandan_env.record_file import read_records

NASTY = "<b>$x_2$</b> & 张三"
VOID = {"meta", "br", "link"}


class Page(HTMLParser):
    """Reads a page: its links, its text, and that what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_startendtag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def page_of(folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    outside = [link for link in page.links if not link.startswith("#")]
    assert all((folder / link).is_file() for link in outside)
    assert not re.search(r"<script|@import|url\((?!#)", text)
    return text, outside


# The commands


def test_eval_prints_the_row_and_keeps_it(capsys, here):
    out = run(capsys, "eval", "greedy", "--deals", "6", "--report", "r")
    assert "greedy (greedy-v1) on suite-v1" in out
    assert "2 of 2 matches" in out
    results = Store("guandan-results.sqlite").results()
    assert [(r.a.spec, r.b.spec, r.deals) for r in results] == [
        ("greedy", "random", 6),
        ("greedy", "planner", 6),
    ]
    text, links = page_of(here / "r")
    assert "guandan eval greedy --deals 6 --report r" in text
    assert text.count("<svg") == 8
    assert "against-1-deal-" in links[0]
    assert len(list(read_records(here / "r" / "against-1-deals.jsonl"))) >= 2


def test_eval_as_json_and_with_processes(capsys):
    words = ("eval", "random", "--deals", "8", "--json", "--store")
    alone = json.loads(run(capsys, *words, "a.sqlite"))
    both = json.loads(run(capsys, *words, "b.sqlite", "--workers", "2"))
    assert [row["b"] for row in alone["opponents"]] == ["greedy", "planner"]
    assert alone["suite"] == "suite-v1"
    assert len(alone["suite_sha256"]) == 64
    for one, other in zip(alone["opponents"], both["opponents"], strict=True):
        assert one["deals"] == 8
        different = {key for key in one if one[key] != other[key]}
        assert different <= {"decisions_per_second"}
    first, second = (Store(name).results() for name in ("a.sqlite", "b.sqlite"))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.gain, other.gain)


def test_eval_plays_the_deals_of_the_suite(capsys):
    run(capsys, "eval", "greedy", "--deals", "5")
    from agents import make

    played = play_pairs(make("greedy"), make("random"), 0, 5, Terms(seed=7_312_026))
    stored = Store("guandan-results.sqlite").results()[0]
    np.testing.assert_array_equal(stored.won, played.won)
    np.testing.assert_array_equal(stored.gain, played.gain)


def test_leaderboard_plays_what_is_missing_and_no_more(capsys, here):
    run(capsys, "eval", "random", "--deals", "20")
    assert len(Store("guandan-results.sqlite").results()) == 2
    words = ("leaderboard", "planner", "random", "--deals", "12", "--json")
    first = json.loads(run(capsys, *words))
    assert len(Store("guandan-results.sqlite").results()) == 3
    assert json.loads(run(capsys, *words)) == first
    assert len(Store("guandan-results.sqlite").results()) == 3
    assert [r["agent"] for r in first["ratings"]] == ["planner", "greedy", "random"]
    assert first["ratings"][1]["rating"] == 0
    assert {m["deals"] for m in first["matches"]} == {12}
    out = run(capsys, "leaderboard", "--report", "board")
    assert "Ratings, greedy = 0" in out
    text, _ = page_of(here / "board")
    assert text.count("<svg") == 1 + 3 * 4
    markdown = run(capsys, "leaderboard", "--markdown")
    assert re.search(r"^\| planner \| 1 \| .* \| planner-v1 \|$", markdown, re.M)


def test_match_writes_a_report(capsys, here):
    words = ("match", "greedy", "random", "--deals", "8", "--games", "2", "--report", "new/folder")
    assert "Report: " in run(capsys, *words)
    text, links = page_of(here / "new" / "folder")
    assert links
    assert "2 games, each played from both sides" in text
    assert "bombs over the partner&#39;s play" in text
    run(capsys, "match", "greedy", "greedy", "--games", "2", "--report", "even")
    assert page_of(here / "even")[1] == []


def test_suites_are_listed(capsys):
    assert "suite-v1: 5,000 deals, rules default" in run(capsys, "eval", "--suites")
    assert json.loads(run(capsys, "eval", "--suites", "--json"))[0]["count"] == 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval"], "needs an agent"),
        (["eval", "gredy"], "did you mean 'greedy'"),
        (["eval", "greedy", "--suite", "suite-1"], "did you mean 'suite-v1'"),
        (["eval", "greedy", "--deals", "1"], "2 to 5000"),
        (["eval", "greedy", "--deals", "5001"], "2 to 5000"),
        (["eval", "greedy", "--workers", "0"], "1 or more"),
        (["eval", "greedy", "--report", "full"], "is not empty"),
        (["eval", "greedy", "--report", "full/file"], "--report 'full/file'"),
        (["eval", "greedy", "--deals", "2", "--store", "full/file"], "not a database"),
        (["leaderboard"], "there is no results store"),
        (["leaderboard", "--resamples", "3"], "100 or more"),
        (["leaderboard", "--seed", "-1"], "seed is -1"),
        (["match", "greedy", "random", "--report", "full"], "is not empty"),
    ],
)
def test_bad_input_is_one_line(words, message, capsys, here):
    (here / "full").mkdir()
    (here / "full" / "file").write_text("mine, " * 100, encoding="utf-8")
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert (here / "full" / "file").read_text(encoding="utf-8") == "mine, " * 100


def test_a_store_without_results_says_what_to_do(capsys):
    Store("guandan-results.sqlite", create=True)
    assert main(["leaderboard"]) == 2
    assert "name agents to play" in capsys.readouterr().err


def test_ctrl_c_keeps_whole_matches_only(capsys, monkeypatch):
    from agents.planner import Planner

    def interrupt(self, decisions):
        raise KeyboardInterrupt

    monkeypatch.setattr(Planner, "act", interrupt)
    out = run(capsys, "eval", "greedy", "--deals", "6")
    assert "1 of 2 matches" in out
    assert len(Store("guandan-results.sqlite").results()) == 1


def test_an_agent_that_fails_stops_it_and_is_named(capsys, here):
    (here / "bad_bot.py").write_text(
        "class Bad:\n    name = 'bad'\n    def reset(self): pass\n"
        "    def act(self, d): raise RuntimeError('lost')\n",
        encoding="utf-8",
    )
    assert main(["eval", "bad_bot:Bad", "--deals", "2"]) == 2
    assert "lost" in capsys.readouterr().err
    assert Store("guandan-results.sqlite").results() == []
    out = run(capsys, "eval", "bad_bot:Bad", "--deals", "2", "--illegal-play", "forfeit", "--json")
    assert json.loads(out)["opponents"][0]["failures"]["bad_bot:Bad"] > 0


# Pages and pictures


def test_names_are_text_and_never_markup(here):
    deals = 30
    won = np.random.default_rng(0).integers(0, 2, size=(deals, 2)).astype(float)
    pictures = deal_pictures(NASTY, won, 2 * won - 1, starts(Terms(), deals))
    pictures.append(Picture(NASTY, scale([NASTY, "b"], [10.0, 0.0], [(0.0, 20.0), (0.0, 0.0)])))
    table = Table(NASTY, ("", NASTY), [(NASTY, "1")], NASTY)
    path = Report(here / "r").write(
        NASTY, [Part(NASTY, [table], pictures)], ["guandan", NASTY], facts_of(agent=NASTY)
    )
    text, _ = page_of(path.parent)
    assert "<b>" not in text
    assert NASTY in "".join(Page(text).words)
    assert "\\|" in Table("", ("a|b",), []).markdown()


def test_a_report_needs_an_empty_folder(here):
    Report(here / "r")
    (here / "r" / "x").touch()
    with pytest.raises(ReportError, match="not empty"):
        Report(here / "r")


def test_pictures_are_the_same_each_time_and_survive_few_deals():
    for n in (2, 3, 500):
        values = np.linspace(0, 1, n)
        svg = running(values, 0.5, "deals won")
        assert svg == running(values, 0.5, "deals won")
        assert svg.startswith("<svg")
    assert groups(["a", "b"], [None, Estimate(0.5, 0.4, 0.7)], "x") != groups(
        ["a", "b"], [None, None], "x"
    )


def test_groups_by_strength_hold_each_leg_once():
    from eval.report import _EDGES, _GROUPS, _mean_where

    assert len(_GROUPS) == len(_EDGES) + 1
    won = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
    group = np.array([[0, 2], [1, 1], [2, 0]])
    np.testing.assert_array_equal(_mean_where(won, group == 0), [1, 0])
    np.testing.assert_array_equal(_mean_where(won, group == 1), [0.75])
    for balance, name in ((-8, "≤ -8"), (-7, "-7 … -5"), (0, "-1 … 1"), (8, "≥ 8"), (7, "5 … 7")):
        assert _GROUPS[np.searchsorted(_EDGES, balance, side="right")] == name
