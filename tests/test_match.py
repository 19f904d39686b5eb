"""Duplicate matches, their statistics, and the commands that play them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from agents import AgentError
from agents.greedy import Greedy
from agents.random_bot import Random
from eval.commands.demo import deal_in_words
from eval.duplicate import play_duplicate
from eval.statistics import paired_mean, sign_flip_p
from guandan_env.cli import main
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet
from guandan_env.scene_of import scene_of

KEYS = {
    "a", "b", "deals", "deal_win_rate", "deal_win_rate_ci", "level_gain", "level_gain_ci",
    "double_down_rate", "decisions_per_second", "p_value", "rules", "seed",
}  # fmt: skip


@pytest.mark.parametrize("kind", [Random, Greedy])
def test_an_agent_against_itself_is_exactly_zero(kind):
    played = play_duplicate(kind(), kind(), 60, seed=3)
    assert (played.gain.sum(axis=1) == 0).all()
    assert (played.won.sum(axis=1) == 1).all()


def test_batches_change_nothing():
    whole = play_duplicate(Greedy(), Random(), 40, seed=1)
    for num_tables in (1, 7, 16):
        deals = 5 if num_tables == 1 else 40
        parts = play_duplicate(Greedy(), Random(), deals, seed=1, num_tables=num_tables)
        np.testing.assert_array_equal(parts.gain, whole.gain[:deals])
        np.testing.assert_array_equal(parts.won, whole.won[:deals])
        np.testing.assert_array_equal(parts.double_down, whole.double_down[:deals])
    assert (play_duplicate(Greedy(), Random(), 40, seed=2).gain != whole.gain).any()


def test_greedy_beats_random():
    played = play_duplicate(Greedy(), Random(), 200)
    assert played.won.mean() > 0.9
    reverse = play_duplicate(Random(), Greedy(), 200)
    np.testing.assert_array_equal(reverse.gain[:, ::-1], -played.gain)


@pytest.mark.parametrize("preset", RuleSet.presets())
def test_every_preset_plays(preset):
    played = play_duplicate(Greedy(), Random(), 6, rules=RuleSet.preset(preset), level="A")
    assert played.won.any()


def test_faults_name_the_agent():
    class Cheat(Greedy):
        name = "cheat"
        answer: object = 0

        def act(self, decisions):
            if self.answer is None:
                raise RuntimeError("no idea")
            return self.answer if self.answer != 0 else np.full(len(decisions), 2242)

    cheat = Cheat()
    for answer, message in (
        (0, "'cheat' played the illegal action 2242 at deal"),
        (None, "'cheat' failed at deal .*RuntimeError: no idea"),
        ("x", "'cheat' answered with"),
    ):
        cheat.answer = answer
        with pytest.raises(AgentError, match=message):
            play_duplicate(Greedy(), cheat, 3)
    with pytest.raises(GuandanError, match="at least 1"):
        play_duplicate(Greedy(), Greedy(), 0)


def test_intervals_cover_the_mean_as_often_as_they_say():
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        e = paired_mean(generator.integers(0, 4, size=30).astype(float))
        covered += e.low <= 1.5 <= e.high
    assert 920 <= covered <= 975
    with pytest.raises(GuandanError, match="two deals"):
        paired_mean(np.array([1.0]))


def test_p_values_are_those_of_all_sign_flips():
    values = np.array([3.0, 1.0, 1.0, -0.5, 2.0, 0.0, 1.5])
    signs = 1 - 2 * ((np.arange(128)[:, None] >> np.arange(7)) & 1)
    exact = (np.abs(signs @ values) >= abs(values.sum()) - 1e-9).mean()
    assert sign_flip_p(values, np.random.default_rng(0)) == pytest.approx(exact, abs=0.01)
    assert sign_flip_p(np.zeros(9), np.random.default_rng(0)) == 1
    assert sign_flip_p(np.ones(40), np.random.default_rng(0), 999) == 0.001


def test_match_prints_json(capsys):
    assert main(["match", "greedy", "random", "--deals", "20", "--seed", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result.keys() >= KEYS
    assert result["deals"] == 20
    assert result["deal_win_rate"] > 0.5
    assert result["decisions_per_second"].keys() == {"greedy", "random"}


def test_match_prints_a_table(capsys):
    assert main(["match", "greedy", "greedy", "--deals", "5", "--level", "T"]) == 0
    out = capsys.readouterr().out
    assert "50.0%" in out
    assert "not significant" in out
    assert "level T" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gredy", "random"], "did you mean 'greedy'"),
        (["greedy", "random", "--deals", "1"], "2 or more"),
        (["greedy", "random", "--level", "1"], "no rank"),
        (["greedy", "random", "--rules", "univ"], "univ"),
    ],
)
def test_match_refuses_bad_input(words, message, capsys):
    assert main(["match", *words]) == 2
    assert message in capsys.readouterr().err


def test_demo_ends_with_a_deal_in_words(capsys):
    assert main(["demo", "--deals", "10"]) == 0
    out = capsys.readouterr().out
    assert "greedy against random" in out
    assert "Finished: 1st" in out


def test_deals_with_tribute_are_told():
    texts = ["\n".join(deal_in_words(0, deal)) for deal in range(8)]
    assert any("paid" in text and "which returned" in text for text in texts)


def test_scenes_of_whole_games_show_what_the_state_holds():
    engine = Engine(4, seed=2, episode="game")
    agent = Random()
    for _ in range(300):
        for table in range(4):
            scene = scene_of(engine.state, table, viewer=1)
            assert scene.seats[0].cards is None
            assert scene.seats[1].cards is not None
            shown = [view.action_cards for view in scene.seats if view.seat == scene.leader]
            assert all(shown)
        actions = np.zeros(4, dtype=int)
        pending = engine.decisions()
        actions[pending.index] = agent.act(pending)
        engine.step(actions)
