from __future__ import annotations

import numpy as np
import pytest

import guandan_env
from guandan_env import legality, observation
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError, IllegalActionError
from guandan_env.rules import RuleSet


def first_or_random(mask, rng):
    scores = rng.random(mask.shape) * mask
    return scores.argmax(axis=1)


def test_shapes_and_types():
    vec = guandan_env.make_vec(3, seed=1)
    step = vec.reset()
    shapes = {
        "seat": ((3,), np.int8), "observation": ((3, observation.SIZE), np.int8),
        "mask": ((3, 2244), np.int8), "reward": ((3, 4), np.float32), "done": ((3,), np.bool_),
        "deal_over": ((3,), np.bool_), "final_order": ((3, 4), np.int8),
        "final_winner": ((3,), np.int8), "final_steps": ((3, 2), np.int16),
    }  # fmt: skip
    for shown in (step, vec.step(step.mask.argmax(axis=1))):
        assert {n: (a.shape, a.dtype) for n, a in shown._asdict().items()} == shapes
    assert vec.metadata["autoreset_mode"].name == "SAME_STEP"


@pytest.mark.parametrize("episode", ["deal", "game"])
def test_episodes_follow_each_other_as_in_the_engine(episode):
    rules = RuleSet(max_deals=2)
    vec = guandan_env.make_vec(8, rules, episode=episode, seed=4, reuse=True)
    engine = Engine(8, rules, seed=4, episode=episode)
    rng = np.random.default_rng(0)
    step = vec.reset()
    buffer = step.observation
    ended = 0
    for _ in range(600):
        actions = first_or_random(step.mask, rng)
        step = vec.step(actions)
        result = engine.step(actions)
        over = np.flatnonzero(result.over)
        assert np.array_equal(step.reward, result.reward)
        assert np.array_equal(step.done, result.over)
        assert np.array_equal(step.final_winner[over], engine.state.winner[over])
        assert np.array_equal(step.final_steps[over], engine.state.steps[over])
        assert (step.final_winner[~result.over] == -1).all()
        engine.start(over)
        assert np.array_equal(step.mask, legality.unpack(engine.packed_masks()))
        assert step.observation is buffer
        assert np.array_equal(buffer, observation.encode(engine.decisions()))
        ended += over.size
    assert ended >= 4


def test_an_illegal_action_changes_nothing():
    vec = guandan_env.make_vec(2, observe=False, previous=None, episode="deal")
    step = vec.reset()
    assert step.observation is None
    before = vec.engine.state.to_bytes()
    with pytest.raises(IllegalActionError, match="table 0, seat"):
        vec.step(np.array([0, 0]))
    assert vec.engine.state.to_bytes() == before
    assert vec.step(step.mask.argmax(axis=1)).mask.any()


def test_bad_parameters():
    for parameters in ({"num_tables": 0}, {"num_tables": 1, "rules": "x"},
                       {"num_tables": 1, "reward": 1}):  # fmt: skip
        with pytest.raises(GuandanError):
            guandan_env.make_vec(**parameters)
