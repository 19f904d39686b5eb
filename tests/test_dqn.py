"""DQN: its targets against a slow account of play, the dueling mean, and the slow copy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from value_helpers import fates, learner, numbered, stirred

from agents.networks import Tensors
from train.dqn import DQN
from train.replay import Played
from train.rollout import Experience, Views, joined
from train.value_learner import Taught


def made(folder, **changes: object) -> DQN:
    """A learner whose slow copy is another network than the one that learns."""
    found = stirred(learner("dqn", folder, **changes))
    assert isinstance(found, DQN)
    return found


def played(dqn: DQN, *steps: int) -> list[Experience]:
    """Play, all of it in the replay once its deals are over; decisions are numbered."""
    parts = numbered([dqn.play.collect(dqn, n) for n in steps])
    for x in parts:
        dqn.replay.add(dqn.pending.add(x))
    return parts


def alone(dqn: DQN, views: Views, number: int) -> tuple[list[float], list[float], float, float]:
    """Of one decision by itself: A and slow A of each candidate, V and slow V."""
    one = views.take(np.array([number]))
    x = Tensors.of_inputs(one.inputs)
    with torch.inference_mode():
        return (
            dqn.policy(x).tolist(),
            dqn.target["policy"](x).tolist(),
            dqn.critic(dqn.seen(one)).item(),
            dqn.target["critic"](dqn.seen(one)).item(),
        )


@pytest.mark.parametrize("n_steps", [1, 3, 200])
def test_targets_are_those_of_a_slow_reference(tmp_path, n_steps):
    dqn = made(tmp_path, n_steps=n_steps, temperature=1.0)
    parts = played(dqn, 100, 60, 100)
    views = joined([x.views for x in parts])
    expected = fates(parts)
    now, later, which = dqn.replay.sample(np.random.default_rng(0), 400, n_steps)
    aims = dqn.targets(now, later, which).tolist()
    bootstrapped = single = 0
    for number, aim in zip(now.views.opponent.tolist(), aims, strict=True):
        fate = expected[number]
        if len(fate.later) < n_steps:
            assert aim == fate.outcome
            continue
        own, slow, _, worth = alone(dqn, views, fate.later[n_steps - 1])
        base = worth - sum(slow) / len(slow)
        assert aim == pytest.approx(base + slow[own.index(max(own))], abs=1e-4)
        bootstrapped += 1
        single += abs(base + max(slow) - aim) > 1e-3  # where choosing by the slow copy differs
    assert (bootstrapped == 0) == (n_steps == 200)
    assert n_steps == 200 or single > bootstrapped / 4


def test_the_mean_of_a_decisions_values_is_its_worth(tmp_path):
    dqn = made(tmp_path)
    views = played(dqn, 30)[0].views.take(np.arange(40))
    number = views.inputs.number
    scores, worth = torch.randn(len(views.inputs.rows)), torch.randn(40)
    q = dqn.q(views, scores, worth)
    at = np.cumsum(number) - number
    for i in range(40):
        mine = slice(at[i], at[i] + number[i])
        assert torch.allclose(q[mine], worth[i] + scores[mine] - scores[mine].mean(), atol=1e-5)


def sampled(dqn: DQN) -> tuple[Played, Tensor]:
    now, later, which = dqn.replay.sample(np.random.default_rng(0), 100, dqn.config.n_steps)
    return now, dqn.targets(now, later, which)


def test_the_loss_is_the_square_of_what_the_chosen_action_is_off(tmp_path, monkeypatch):
    dqn = made(tmp_path, temperature=1.0)
    views = joined([x.views for x in played(dqn, 120, 80)])
    now, aims = sampled(dqn)
    losses: list[float] = []
    monkeypatch.setattr(dqn, "step", lambda optimizer, loss, batch: losses.append(loss.item()))
    told = dqn._learn(now, aims, None)
    squares = []
    for i, number in enumerate(now.views.opponent.tolist()):
        own, _, worth, _ = alone(dqn, views, number)
        value = worth + own[now.chosen[i]] - sum(own) / len(own)
        squares.append((value - aims[i].item()) ** 2)
    assert losses == [pytest.approx(np.mean(squares), rel=1e-4)]
    assert told["losses/value"] == losses[0]


def test_who_imitates_learns_values_by_the_critic_alone(tmp_path, monkeypatch):
    dqn = made(tmp_path)
    played(dqn, 120, 80)
    now, aims = sampled(dqn)
    monkeypatch.setattr(dqn, "step", lambda optimizer, loss, batch: loss.backward())
    dqn._learn(now, aims, Taught(torch.zeros(()), {}))
    assert all(p.grad is None for p in dqn.policy.parameters())
    assert all(p.grad is not None for p in dqn.critic.parameters())
    dqn._learn(now, aims, None)
    assert all(p.grad is not None for p in dqn.policy.parameters())


def test_the_slow_copy_follows(tmp_path):
    dqn = made(tmp_path, target_rate=0.25)
    before = [p.clone() for p in dqn.target.parameters()]
    dqn._follow()
    networks = [*dqn.policy.parameters(), *dqn.critic.parameters()]
    for old, slow, new in zip(before, dqn.target.parameters(), networks, strict=True):
        assert torch.allclose(slow, 0.75 * old + 0.25 * new, atol=1e-6)
    assert not any(p.requires_grad for p in dqn.target.parameters())


def test_learning_begins_when_the_replay_has_a_minibatch_and_goes_by_reuse(tmp_path, monkeypatch):
    dqn = made(tmp_path, minibatch=100, reuse=2.0)
    steps: list[int] = []
    monkeypatch.setattr(dqn, "step", lambda optimizer, loss, batch: steps.append(len(batch["q"])))
    begun = False
    for _ in range(8):
        before, decisions = len(steps), dqn.decisions
        told = dqn.update()
        begun = begun or told["charts/replay"] >= 100
        due = round(2.0 * (dqn.decisions - decisions) / 100) if begun else 0
        assert len(steps) - before == due
    assert steps
    full = made(tmp_path, minibatch=100, buffer=50)
    while not len(full.replay):
        full.update()
    assert len(full.replay) == 50
    assert "losses/value" in full.update()
