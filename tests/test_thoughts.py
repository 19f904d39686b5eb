"""What agents say of their moves goes into records, and changes nothing that is played."""

import json

import numpy as np
import pytest

from agents import make
from agents.thoughts import SHOWN, Rated, Thinker, choices_of
from eval.duplicate import Terms, play_pairs
from guandan_env.cli import main
from guandan_env.engine import Engine
from guandan_env.notation import parse_row
from guandan_env.record_file import read_records, write_records
from guandan_env.record_replay import replay, verify_file


def decisions(steps):
    """A few tables in the middle of a deal."""
    engine = Engine(9, seed=3, previous="random")
    for _ in range(steps):
        engine.step(make("greedy").act(engine.decisions()))
    return engine.decisions()


@pytest.mark.parametrize(
    ("name", "steps"),
    [("planner", 8), ("planner", 30), ("ppo:pretrained", 0), ("ppo:pretrained", 30)],
)
def test_the_best_choice_is_what_is_played(name, steps):
    agent, asked = make(name), decisions(steps)
    assert isinstance(agent, Thinker)
    told = choices_of(agent, asked)
    assert len(told) == len(asked)
    assert any(told)
    for choices, row, mask in zip(told, agent.act(asked), asked.mask, strict=True):
        rows = [parse_row(choice["claim"]) for choice in choices]
        values = [choice["value"] for choice in choices]
        assert all(mask[r] for r in rows)
        assert values == sorted(values, reverse=True)
        assert len(rows) in (0, min(SHOWN, mask.sum()))
        assert not rows or rows[0] == row


def test_agents_need_not_say_anything():
    assert choices_of(make("greedy"), decisions(0)) == [[]] * 9


def test_values_of_equal_moves_are_told_by_row():
    class Same:
        name = "same"

        def reset(self): ...

        def act(self, d): ...

        def rated(self, d):
            return Rated(np.array([1, 0, 0]), np.array([2, 3, 1]), np.array([0.5, 0.25, 0.25]))

    told = choices_of(Same(), decisions(0))
    assert [[c["value"] for c in choices] for choices in told[:3]] == [[0.25, 0.25], [0.5], []]
    assert [parse_row(c["claim"]) for c in told[0]] == [1, 3]


def test_records_hold_the_choices_of_each_move(tmp_path):
    planner, greedy = make("planner"), make("greedy")
    with_choices, without = (
        play_pairs(planner, greedy, 0, 3, Terms(record=True, choices=choices, num_tables=4))
        for choices in (True, False)
    )
    path = tmp_path / "deals.jsonl"
    write_records(path, [record for pair in with_choices.records for record in pair])
    assert verify_file(path).fault is None
    seen = 0
    for told in read_records(path):
        for engine, move in zip(replay(told), told["moves"], strict=False):
            choices = move.get("choices")
            planned = told["players"][move["seat"]] == "planner"
            assert planned or choices is None
            if choices and move["move"] in ("play", "pass"):
                assert choices[0]["claim"] == move["claim"]
                mask = engine.decisions().mask[0]
                assert all(mask[parse_row(choice["claim"])] for choice in choices)
                seen += 1
    assert seen > 50
    plain = [record for pair in without.records for record in pair]
    for told, other in zip(read_records(path), plain, strict=True):
        stripped = [{k: v for k, v in move.items() if k != "choices"} for move in told["moves"]]
        assert stripped == other["moves"]


def test_the_page_of_a_match_shows_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["match", "planner", "greedy", "--deals", "2", "--choices"]
    assert main(words) == 2
    assert "--record FILE" in capsys.readouterr().err
    assert main([*words, "--record", "deals.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deals"] == 2
    assert main(["replay", "deals.jsonl", "--html", "deals.html"]) == 0
    first = next(read_records("deals.jsonl"))
    told = next(move for move in first["moves"] if "choices" in move)
    page = (tmp_path / "deals.html").read_text(encoding="utf-8")
    assert (
        json.dumps([[c["claim"], c["value"]] for c in told["choices"]], separators=(",", ":"))
        in page
    )
