"""sb3-contrib's MaskablePPO on our tables, and what it learned in a match."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from agents import AgentError, make
from eval.duplicate import play_duplicate
from train.learners.sb3 import PolicyAgent, SeatVecEnv, Trained, save


@pytest.fixture(scope="module")
def model():
    """A little training: two updates at eight tables."""
    model = MaskablePPO(
        "MlpPolicy", SeatVecEnv(8), n_steps=16, batch_size=64, n_epochs=1, seed=1, device="cpu"
    )
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(256)
    after = model.policy.state_dict()
    assert any((after[name] != value).any() for name, value in before.items())
    return model


def test_masks_reach_the_learner():
    tables = SeatVecEnv(4, seat="random", episode="deal")
    tables.seed(3)
    seen = tables.reset()
    assert seen.shape == (4, *tables.observation_space.shape)
    assert is_masking_supported(tables)
    ended = 0
    for _ in range(200):
        masks = get_action_masks(tables)
        assert masks.any(axis=1).all()
        seen, reward, done, infos = tables.step(masks.argmax(axis=1))
        for at in np.flatnonzero(done):
            assert infos[at]["terminal_observation"].shape == seen[at].shape
            assert reward[at] != 0
        ended += done.sum()
    assert ended > 4


def test_a_seed_gives_the_same_deals():
    first, second = SeatVecEnv(3), SeatVecEnv(3)
    for tables in (first, second):
        tables.seed(5)
    assert (first.reset() == second.reset()).all()


def test_what_it_learned_plays_a_match(model, tmp_path):
    agent = PolicyAgent(model.policy)
    pairs = play_duplicate(agent, make("random"), 10)
    assert not pairs.failures.any()
    path = tmp_path / "mine.safetensors"
    save(model.policy, path)
    read = make(f"train.learners.sb3:Trained?path={path}")
    again = play_duplicate(read, make("random"), 10)
    assert (again.gain == pairs.gain).all()


def test_a_file_that_holds_no_policy(tmp_path):
    path = tmp_path / "nothing"
    path.write_bytes(b"nothing at all")
    with pytest.raises(AgentError, match="holds no policy"):
        Trained(str(path))
