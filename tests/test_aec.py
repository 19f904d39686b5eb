from __future__ import annotations

import warnings

import numpy as np
import pytest
from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test

import guandan_env
from guandan_env.actions import NUM_ACTIONS, ROW_PATTERN, Pattern
from guandan_env.cards import card_names, to_counts
from guandan_env.errors import CardError, GuandanError, IllegalActionError, StateError
from guandan_env.rules import RuleSet
from guandan_env.state import Phase

# PettingZoo whitelists dict observations for its own environments only.
UPSTREAM = ("Observation is not a NumPy array", "Observation space for each agent probably should")
FULL = [[], [], [], []]
for number, name in enumerate(card_names(np.full(54, 2))):
    FULL[number % 4].append(name)


def play(env, rng, most=10**6):
    """Play at random to the end; the rewards of each agent, summed."""
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for count, agent in enumerate(env.agent_iter()):
        assert count < most
        observation, reward, terminated, truncated, info = env.last()
        totals[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        mask = observation["action_mask"]
        assert mask.dtype == np.int8
        assert np.array_equal(mask, info["action_mask"])
        env.step(int(rng.choice(np.flatnonzero(mask))))
    return totals


@pytest.mark.parametrize("episode", ["deal", "game"])
@pytest.mark.parametrize("make", [guandan_env.env, guandan_env.raw_env])
def test_api(make, episode):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(episode=episode), num_cycles=1000)
    ours = [str(w.message) for w in caught if not any(text in str(w.message) for text in UPSTREAM)]
    assert ours == []


def test_seeds():
    seed_test(guandan_env.env, num_cycles=200)


@pytest.mark.slow  # it runs for five seconds each, whatever it is given
@pytest.mark.parametrize("make", [guandan_env.env, guandan_env.raw_env])
def test_performance_benchmark(make, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        performance_benchmark(make())
    assert "turns per second" in capsys.readouterr().out


def test_rendering():
    pytest.importorskip("PIL")
    render_test(guandan_env.env)
    env = guandan_env.env(render_mode="ansi")
    env.reset(seed=1)
    assert isinstance(env.render(), str)


@pytest.mark.parametrize("preset", RuleSet.presets())
def test_game_is_zero_sum_under_every_preset(preset):
    env = guandan_env.raw_env(rules=preset, episode="game", reward="game")
    env.reset(seed=5)
    totals = play(env, np.random.default_rng(5))
    assert sum(totals.values()) == 0
    assert totals["player_0"] == totals["player_2"]
    assert not env.agents


def test_rewards_are_the_levels_won():
    env = guandan_env.env()
    env.reset(seed=3)
    totals = play(env, np.random.default_rng(3))
    assert abs(totals["player_0"]) in env.unwrapped.rules.promotion
    assert totals["player_0"] == totals["player_2"] == -totals["player_1"] == -totals["player_3"]
    signs = guandan_env.env(reward="sign")
    signs.reset(seed=3)
    same = play(signs, np.random.default_rng(3))
    assert same == {agent: np.sign(total) for agent, total in totals.items()}


def test_seats_not_to_act_have_empty_masks():
    env = guandan_env.raw_env()
    env.reset(seed=1)
    for agent in env.agents:
        acts = agent == env.agent_selection
        assert env.observe(agent)["action_mask"].any() == acts
        assert env.infos[agent]["action_mask"].any() == acts
        assert env.observation_space(agent).contains(env.observe(agent))
    assert env.state_space.contains(env.state())


def test_illegal_action_in_the_raw_environment_changes_nothing():
    env = guandan_env.raw_env(previous=None)
    env.reset(seed=1)
    before = env.state()
    for action in (0, NUM_ACTIONS, -1, "5", 1.0, None, True, np.array([1]), NUM_ACTIONS - 1):
        with pytest.raises(IllegalActionError, match=r"player_|seat"):
            env.step(action)
    assert np.array_equal(before, env.state())


def test_illegal_action_then_reset_then_a_full_game():
    env = guandan_env.env(episode="game", previous=None)
    env.reset(seed=1)
    with pytest.raises(IllegalActionError):
        env.step(NUM_ACTIONS)
    culprit = env.agent_selection
    env.step(0)
    assert all(env.terminations.values())
    assert env.rewards[culprit] == -3
    assert sum(map(abs, env.rewards.values())) == 3
    for _ in env.agent_iter():
        env.last()
        env.step(None)
    fresh = guandan_env.env(episode="game", previous=None)
    env.reset(seed=2)
    fresh.reset(seed=2)
    a = play(env, np.random.default_rng(0))
    assert a == play(fresh, np.random.default_rng(0))
    assert not env.agents


def test_resets_go_on_with_other_deals_and_seeds_repeat():
    env = guandan_env.raw_env()
    env.reset(seed=9)
    first = env.state()
    env.reset()
    assert not np.array_equal(first, env.state())
    env.reset(seed=9)
    assert np.array_equal(first, env.state())


def test_options_set_the_position():
    env = guandan_env.raw_env()
    hands = ["S5 H5", ["SA"], "SK,HK", ["HR"]]
    env.reset(seed=1, options={"hands": hands, "level": "5", "leader": "player_2"})
    state = env.engine.state
    assert card_names(to_counts(state.hands[0, 0])) == ["S5", "H5"]
    assert env.agent_selection == "player_2"
    assert state.level[0] == 3
    assert state.phase[0] == Phase.PLAY
    view = env.observe("player_2")["observation"]
    assert sum(view[55:109]) == 4  # nothing else is unseen
    play(env, np.random.default_rng(0))
    env.reset(seed=1, options={"scores": ("3", "K"), "previous": [1, 3], "hands": FULL})
    assert state.level is not env.engine.state.level
    state = env.engine.state
    assert state.level[0] == 11
    assert state.declarer[0] == 1
    assert state.previous[0].tolist() == [1, 3, 0, 2]
    assert state.payers[0].tolist() == [2, 0]
    play(env, np.random.default_rng(0))
    env.reset(seed=1, options={"previous": None})
    assert env.engine.state.phase[0] == Phase.PLAY
    env.reset(seed=1, options={"previous": "random"})
    assert env.engine.state.previous[0, 0] >= 0
    row = int(np.flatnonzero(ROW_PATTERN == Pattern.SINGLE)[4])
    env.reset(seed=1, options={"hands": hands, "trick": (3, row), "level": "2"})
    assert env.agent_selection == "player_0"
    assert env.observe("player_0")["action_mask"].sum() == 1  # 5 does not beat 6: pass only
    play(env, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"hand": FULL}, "did you mean 'hands'"),
        ({"hands": FULL[:3]}, "four hands"),
        ({"hands": 5}, "four hands"),
        ({"hands": {"player_0": "S2"}}, "allowed for"),
        ({"hands": ["S2 S2 S2", "S3", "S4", "S5"]}, "two decks"),
        ({"hands": ["S2 S2", "S2", "S4", "S5"]}, "two decks"),
        ({"hands": ["", "S2", "S4", "S5"]}, "0 cards"),
        ({"hands": [FULL[0] + ["S2"], "S3", "S4", "S5"]}, "28 cards"),
        ({"hands": ["X2", "S2", "S4", "S5"]}, "no card"),
        ({"level": "1"}, "no rank"),
        ({"leader": 4}, "0 to 3"),
        ({"leader": True}, "0 to 3"),
        ({"scores": "2A"}, "two levels"),
        ({"scores": [2, 3]}, "no rank"),
        ({"scores": ("2", "A"), "level": "5"}, "one of these"),
        ({"previous": "rnadom"}, "finishing order"),
        ({"previous": [0, 1, 1, 2]}, "all four seats"),
        ({"previous": [0, 1]}, "all four seats"),
        ({"previous": []}, "all four seats"),
        ({"previous": [0, 2, 1, 3]}, r"\[0, 2, 3, 1\]"),
        ({"previous": [0, 1, 2, 3], "leader": 1}, "leader cannot"),
        ({"previous": [0, 1, 2, 3], "scores": ("2", "3"), "level": "3"}, "winners"),
        ({"previous": "random", "hands": ["S2", "S3", "S4", "S5"]}, "27 cards"),
        ({"trick": (0, 0)}, "a play is allowed"),
        ({"trick": 7}, "row of the action table"),
        ({"trick": (0, 5), "leader": 1}, "follows from the trick"),
        ({"trick": (0, 5), "hands": FULL, "level": "2"}, "played 0 only"),
        ({"trick": (0, 5), "hands": ["S2"] * 2 + ["S6 H6 D6 C6"] * 2, "level": "2"}, "no hand"),
        ({"trick": (0, 5)}, "needs hands"),
    ],
)
def test_bad_options_say_what_is_allowed_and_change_nothing(options, text):
    env = guandan_env.raw_env()
    env.reset(seed=1)
    before = env.state()
    with pytest.raises((StateError, CardError), match=text):
        env.reset(options=options)
    with pytest.raises((StateError, CardError), match=text):
        env.reset(seed=2, options=options)
    assert np.array_equal(before, env.state())


def test_bad_parameters():
    for parameters in ({"render_mode": "humna"}, {"reward": "gain"}, {"episode": "match"},
                       {"rules": "x"}, {"level": "1"}, {"previous": 1}):  # fmt: skip
        with pytest.raises(GuandanError, match=r"allowed|no rank|preset"):
            guandan_env.env(**parameters)
