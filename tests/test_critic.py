"""The critic that sees all hands: one value for a position, whichever side it is asked of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from ppo_helpers import learner, played

from guandan_env import observation
from train.critic import Critic, SideCritic, critic_inputs, side_inputs
from train.rollout import Views


def turned(views: Views) -> Views:
    """The same tables with every seat's things at the seat before it: the next seat's view."""
    seen, full = views.inputs.observation.copy(), views.full.copy()
    for blocks, values in ((observation.BLOCKS, seen), (observation.FULL_BLOCKS, full)):
        for block in blocks:
            if block.shape[0] in (2, 4):
                part = values[:, block.slice].reshape(-1, *block.shape)
                values[:, block.slice] = np.roll(part, -1, axis=1).reshape(len(values), -1)
    strong = np.roll(views.strengths.reshape(-1, 4, 10), -1, axis=1).reshape(-1, 40)
    return Views(replace(views.inputs, observation=seen), full, views.opponent, strong)


def random_critic(opponents: int = 2) -> SideCritic:
    torch.manual_seed(5)
    critic = SideCritic(32, 1, opponents)
    for parameter in critic.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return critic


@torch.no_grad()
def test_the_value_is_the_difference_of_both_views(tmp_path):
    """So asked of the other side, with all else as it is, it would be the opposite."""
    views = played(learner(tmp_path, tables=16, opponents={"greedy": 0.5})).views
    critic = random_critic(1)
    own, other = critic.trunk.above(critic._stems(side_inputs(views, 1))).unbind(1)
    value = critic(side_inputs(views, 1))
    assert value.std() > 0.1
    assert torch.allclose(value, critic.value(own - other).squeeze(1), atol=1e-5)


@torch.no_grad()
def test_the_second_view_of_the_critic_is_that_of_the_next_seat(tmp_path):
    """The same but for who is to act and whose opponent is whose."""
    views = played(learner(tmp_path, tables=16, opponents={"greedy": 0.5})).views
    critic = random_critic(1)
    whole = critic.trunk.stem.weight.clone()
    critic.trunk.stem.weight[:, -2:] = 0
    own, other = critic._stems(side_inputs(views, 1)).unbind(1)
    assert torch.allclose(other, critic._stems(side_inputs(turned(views), 1))[:, 0], atol=1e-4)
    assert not torch.isclose(own, other, atol=0.1).all(dim=1).any()
    critic.trunk.stem.weight.copy_(whole)
    critic.trunk.stem.weight[:, :-2] = 0
    own, other = (
        stem - critic.trunk.stem.bias for stem in critic._stems(side_inputs(views, 1)).unbind(1)
    )
    held = torch.from_numpy(views.opponent == 0).float()[:, None]
    assert 0 < held.mean() < 1
    assert torch.allclose(own, whole[:, -2] + held * whole[:, -1], atol=1e-4)
    assert torch.allclose(other, -held * whole[:, -1], atol=1e-4)


@torch.no_grad()
def test_each_number_has_the_weight_of_its_place(tmp_path):
    """The stem is a product with the numbers of the seat's own view, put side by side."""
    views = played(learner(tmp_path, tables=16)).views
    critic = random_critic(0)
    parts = []
    seen, full = views.inputs.observation, views.full
    own_only = {"hand", "wilds", "unseen", "known", "history"}
    parts += [seen[:, b.slice] for b in observation.BLOCKS if b.name not in own_only]
    parts += [full[:, b.slice] for b in observation.FULL_BLOCKS if b.name == "hands"]
    parts += [views.strengths, np.ones((len(views), 1))]
    table = torch.from_numpy(np.concatenate(parts, axis=1).astype(np.float32))
    expected = (table * critic.trunk.scale) @ critic.trunk.stem.weight.T + critic.trunk.stem.bias
    found = critic._stems(side_inputs(views, 0))[:, 0]
    # The strengths are halves where the inputs have eight bits.
    assert torch.allclose(found, expected, atol=0.1, rtol=0.02)


def test_inputs_hold_what_they_say(tmp_path):
    views = played(learner(tmp_path, tables=16, opponents={"greedy": 0.5})).views
    seen = critic_inputs(views, 1).float().numpy()
    exact = np.concatenate([views.inputs.observation, views.full], axis=1)
    assert (seen[:, : exact.shape[1]] == exact).all()
    strong = seen[:, exact.shape[1] : -1]
    assert np.allclose(strong, views.strengths.astype(np.float32), rtol=2**-8)
    assert (seen[:, -1] == (views.opponent == 0)).all()
    assert seen.shape[1] == Critic(8, 0, 1).trunk.stem.in_features


@pytest.mark.parametrize("kind", [Critic, SideCritic])
def test_critics_keep_to_the_device_they_are_on(kind, tmp_path, meta_device):
    """As networks do: nothing on their way lies elsewhere."""
    views = played(learner(tmp_path, tables=16)).views
    inputs = critic_inputs if kind is Critic else side_inputs
    value = kind(8, 1, 0).to(meta_device)(inputs(views, 0).to(meta_device))
    assert value.shape == (len(views),)
    assert value.device.type == meta_device


def test_an_offset_of_the_critic_gives_no_side_an_advantage(tmp_path, monkeypatch):
    """Whatever is added to what it makes of every view, values and advantages stay."""
    ppo = learner(tmp_path, tables=16, steps=80)
    ppo.half = False
    torch.nn.init.normal_(ppo.critic.value.weight, std=0.2)
    views = played(ppo).views
    before = ppo.values(views)
    above = ppo.critic.trunk.above
    monkeypatch.setattr(ppo.critic.trunk, "above", lambda x: above(x) + 3.0)
    assert np.allclose(ppo.values(views), before, atol=1e-4)
    assert before.std() > 0.01


def test_a_critic_that_favours_the_side_to_act_does_favour_passing(tmp_path):
    """Why it matters: that error is worth twice its size wherever the other side acts next."""
    ppo = learner(tmp_path, tables=16)
    x = played(ppo, 120)
    right = x.returns(0.0)[0]
    acted = replace(x.acted, value=x.acted.value + np.float32(0.5))
    wrong = replace(x, acted=acted).returns(0.0)[0]
    order = np.lexsort((x.step, x.table))
    here, then = order[:-1], order[1:]
    ends = np.cumsum(x.ended, axis=0)  # deals over after each step
    begun = (ends - x.ended)[x.step[here], x.table[here]]
    same_deal = (x.table[here] == x.table[then]) & (ends[x.step[then] - 1, x.table[then]] == begun)
    here, then = here[same_deal], then[same_deal]
    partners = x.seat[here] % 2 == x.seat[then] % 2
    assert 0 < partners.mean() < 1
    assert np.allclose((wrong - right)[here], np.where(partners, 0.0, -1.0), atol=1e-5)
