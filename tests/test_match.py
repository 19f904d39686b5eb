"""Duplicate matches, their statistics, and the commands that play them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from agents.greedy import Greedy
from agents.random_bot import Random
from eval.audit import bombs_over_partner, wilds_left
from eval.duplicate import Terms, play_duplicate, play_pairs
from eval.runner import Jobs, play
from eval.sequential import capital, decided_after
from eval.statistics import paired_mean, sign_flip_p
from guandan_env.actions import IS_BOMB, IS_PLAY, PASS
from guandan_env.cards import to_counts
from guandan_env.cli import main
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.record_file import read_records
from guandan_env.rules import RuleSet
from guandan_env.scene_of import scene_of
from train.commands.demo import deal_in_words

KEYS = {
    "a", "b", "deals", "deal_win_rate", "deal_win_rate_ci", "level_gain", "level_gain_ci",
    "double_down_rate", "games", "game_win_rate", "game_win_rate_ci", "failures",
    "decisions_per_second", "p_value", "rules", "seed",
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
        (["greedy", "random", "--deals", "0"], "nothing to play"),
        (["greedy", "random", "--games", "-2"], "2 or more"),
        (["greedy", "random", "--seed", "-1"], "from 0 to"),
        (["greedy", "random", "--seed", str(2**63)], "from 0 to"),
        (["greedy", "random", "--games", "2", "--level", "5"], "single deals"),
        (["greedy", "random", "--move-time", "0"], "seconds above 0"),
        (["greedy", "random", "--move-time", "nan"], "seconds above 0"),
        (["greedy", "random", "--rules", "no_such.yaml"], "'no_such.yaml': No such file"),
        (["greedy", "random", "--workers", "0"], "1 or more"),
        (["greedy", "random", "--level", "1"], "no rank"),
        (["greedy", "random", "--rules", "universty"], "did you mean 'university'"),
    ],
)
def test_match_refuses_bad_input(words, message, capsys):
    assert main(["match", *words]) == 2
    assert message in capsys.readouterr().err


def test_demo_without_training_ends_with_a_deal_in_words(capsys):
    assert main(["demo", "--deals", "10", "--minutes", "0"]) == 0
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


def result_of(capsys, *words):
    assert main(["match", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def without_speed(result):
    return {key: value for key, value in result.items() if key != "decisions_per_second"}


def test_processes_change_nothing(capsys):
    words = ("greedy", "random", "--deals", "50", "--games", "4", "--seed", "3")
    alone = result_of(capsys, *words)
    assert without_speed(result_of(capsys, *words, "--workers", "2")) == without_speed(alone)
    assert alone["games"] == 4
    assert alone["game_win_rate"] == 1
    assert alone["deals_per_game"] > 4


@pytest.mark.parametrize("agent", ["random", "greedy", "planner"])
def test_games_against_itself_are_exactly_even(agent, capsys):
    result = result_of(capsys, agent, agent, "--games", "6", "--deals", "8")
    assert result["game_win_rate"] == result["deal_win_rate"] == 0.5
    assert result["level_gain"] == 0
    assert result["p_value"] == 1


def test_until_significant_plays_no_more_than_it_must(capsys):
    words = ("greedy", "random", "--until-significant")
    result = result_of(capsys, *words, "--deals", "2000")
    assert result["deals"] < 50
    assert result_of(capsys, *words, "--deals", "600")["deals"] == result["deals"]
    even = result_of(capsys, "greedy", "greedy", "--until-significant", "--deals", "300")
    assert even["deals"] == 300


def test_looking_often_deceives_no_more_often_than_stated():
    generator = np.random.default_rng(1)
    wrong = sum(
        decided_after(generator.choice([0, 0.5, 1], p=[0.25, 0.5, 0.25], size=1000)) is not None
        for _ in range(1000)
    )
    assert wrong <= 65  # 50 expected at most; this many more happen in one of fifty
    found = [decided_after((generator.random((3000, 2)) < 0.55).mean(axis=1)) for _ in range(40)]
    assert sum(n is not None for n in found) >= 36
    assert decided_after(np.zeros(0)) is None


def test_a_bet_looks_at_nothing_but_the_past():
    values = np.random.default_rng(2).choice([0.0, 0.5, 1.0], size=50)
    whole = capital(values)
    for n in (1, 7, 49):
        np.testing.assert_allclose(capital(values[:n]), whole[:n])


def test_ctrl_c_leaves_what_is_known():
    class Impatient(Greedy):
        def act(self, decisions):
            if decisions.table.max() > 9:
                raise KeyboardInterrupt
            return super().act(decisions)

    whole = play_duplicate(Greedy(), Random(), 10, seed=5)
    part = play_pairs(Impatient(), Random(), 0, 40, Terms(seed=5, num_tables=4))
    assert 0 < len(part) <= 10
    np.testing.assert_array_equal(part.gain, whole.gain[: len(part)])


def test_records_are_in_order_and_whole(tmp_path, capsys):
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    words = ("greedy", "random", "--deals", "6", "--games", "2", "--record")
    result_of(capsys, *words, str(files[0]))
    result_of(capsys, *words, str(files[1]), "--workers", "2")
    assert files[0].read_bytes() == files[1].read_bytes()
    records = list(read_records(files[0]))
    assert [r["context"]["deal"] for r in records[:12]] == [k // 2 for k in range(12)]
    assert all(record["result"] is not None for record in records)
    assert main(["match", "greedy", "random", "--record", str(files[0])]) == 2
    assert "exists" in capsys.readouterr().err


def test_bombs_over_the_partner_and_wilds_left_are_counted():
    class Slow:
        """Counts again, by walking through the moves of each deal."""

        bombs = wilds = 0

        def deals_over(self, tables, at, result):
            state = tables.engine.state
            for t in at.tolist():
                holder, passed = -1, set()
                for i in range(int(state.length[t])):
                    row, seat = int(state.history[t, i]), int(state.history_seat[t, i])
                    if not (IS_PLAY[row] or row == PASS):
                        continue
                    if row == PASS:
                        passed.add(seat)
                        continue
                    follows = holder >= 0 and seat not in passed and seat != holder
                    self.bombs += follows and IS_BOMB[row] and (seat - holder) % 4 == 2
                    holder, passed = seat, set()
                wild = 4 * int(state.level[t]) + 1
                self.wilds += int(to_counts(state.hands[t])[:, wild].sum())

        def deals_forfeited(self, tables, at):
            raise AssertionError

    for kind in (Random, Greedy):
        slow = Slow()
        jobs = Jobs(table=np.arange(300), seating=np.zeros((300, 4), dtype=int))
        fast = _Fast()
        play([kind()], jobs, rules=RuleSet.preset("default"), observers=(slow, fast))
        assert (fast.bombs, fast.wilds) == (slow.bombs, slow.wilds)
    assert slow.wilds > 0
    state = Engine(3, seed=1, level="5").state
    expected = to_counts(state.hands)[:, :, 4 * 3 + 1]
    np.testing.assert_array_equal(wilds_left(state, np.arange(3)), expected)
    assert expected.sum() == 6


class _Fast:
    bombs = wilds = 0

    def deals_over(self, tables, at, result):
        self.bombs += int(bombs_over_partner(tables.engine.state, at).sum())
        self.wilds += int(wilds_left(tables.engine.state, at).sum())

    def deals_forfeited(self, tables, at):
        raise AssertionError
