"""Tianshou, TorchRL, RLlib, AgileRL and a learner in one file on our environments."""

from __future__ import annotations

import numpy as np
from compat_examples import require, run_example


def test_tianshou_learns_for_four_agents():
    require("tianshou")
    names = run_example("Tianshou")
    losses = names["losses"]
    assert set(losses) == {f"player_{seat}/loss" for seat in range(4)}
    assert np.isfinite(list(losses.values())).all()
    collected, buffer = names["collected"], names["collector"].buffer
    assert collected.n_collected_steps == 400
    # Two win and two lose: no deal was ended by an illegal action, whose player alone would pay.
    assert collected.n_collected_episodes > 0
    assert (np.sort(collected.returns, axis=1) == [-1, -1, 1, 1]).all()
    filled = buffer[buffer.sample_indices(0)]  # all there are
    chosen = np.array(list(filled.obs.mask))[np.arange(len(filled)), filled.act]
    assert chosen.all()


def test_torchrl_rolls_out_with_masks():
    require("torchrl")
    names = run_example("TorchRL")
    played = names["played"]
    acting = played["agents", "mask"]
    assert (acting.sum(1) == 1).all()
    legal = played["agents", "action_mask"].gather(2, played["agents", "action"][..., None])
    assert legal[..., 0][acting].all()
    assert sorted(names["gain"].flatten().tolist()) == [-1, -1, 1, 1]
    assert played["next", "done"][-1].all()
    assert names["layers"][0].weight.grad.abs().sum() > 0


def test_rllib_trains_with_its_masking_module():
    require("ray")
    names = run_example("RLlib")
    result = names["result"]
    assert np.isfinite(result["learners"]["everybody"]["policy_loss"])
    assert result["env_runners"]["num_episodes"] > 0
    # Rewards of the four cancel out, as they do where no action was illegal.
    assert result["env_runners"]["episode_return_mean"] == 0


def test_rllibs_environment_says_what_ours_says():
    require("ray")
    from train.learners.rllib import OBSERVATION_SPACE, GuandanEnv

    table = GuandanEnv({"reward": "levels", "level": "7"})
    shown, _ = table.reset(seed=4)
    total = dict.fromkeys(table.possible_agents, 0.0)
    over, steps = False, 0
    while not over:
        (agent,) = shown
        assert OBSERVATION_SPACE.contains(shown[agent])
        action = int(shown[agent]["action_mask"].argmax())
        shown, rewards, ends, _, _ = table.step({agent: action})
        over = ends["__all__"]
        steps += 1
        for who, reward in rewards.items():
            total[who] += reward
    assert set(shown) == set(table.possible_agents)
    assert total["player_0"] == total["player_2"] == -total["player_1"] == -total["player_3"] != 0


def test_agilerl_learns_at_many_tables():
    require("agilerl")
    names = run_example("AgileRL")
    assert np.isfinite(names["loss"])
    batch = names["buffer"].sample(64)
    assert batch["obs"].shape == (64, names["guandan_env"].observation.SIZE)
    assert len(names["buffer"]) == 8 * 40


def test_a_learner_in_one_file():
    require("torch")
    names = run_example("One file")
    assert len(names["returns"]) > 0
    assert set(names["returns"]) <= {-1.0, 1.0}
    assert np.isfinite(names["loss"].item())


def test_the_example_of_sb3_runs(tmp_path, monkeypatch):
    require("sb3_contrib")
    monkeypatch.chdir(tmp_path)
    names = run_example("sb3-contrib", **{"100_000": "512"})
    assert (tmp_path / "mine.safetensors").exists()
    assert not names["pairs"].failures.any()
