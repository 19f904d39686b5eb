"""Deep Monte Carlo: values are taught what deals came to for the side that acted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from value_helpers import fates, learner, numbered, stirred

from agents.networks import Tensors
from train.dmc import DMC
from train.rollout import joined
from train.value_learner import Taught


def made(folder, **changes: object) -> DMC:
    found = stirred(learner("dmc", folder, **changes))
    assert isinstance(found, DMC)
    return found


def test_values_are_taught_the_outcome_of_the_deal_to_the_side_that_acted(tmp_path, monkeypatch):
    dmc = made(tmp_path, epochs=1, minibatch=1 << 20, temperature=1.0)
    parts = numbered([dmc.play.collect(dmc, steps) for steps in (100, 40, 120)])
    views = joined([x.views for x in parts])
    chosen = joined([x.acted.chosen for x in parts])
    expected = fates(parts)
    steps: list[tuple[float, int]] = []

    def step(optimizer: object, loss: torch.Tensor, batch: dict[str, torch.Tensor]) -> None:
        steps.append((loss.item(), len(batch["outcome"])))

    monkeypatch.setattr(dmc, "step", step)
    for x in parts:
        dmc.learn(x)
    squares = {}
    for number, fate in expected.items():
        one = views.take(np.array([number]))
        with torch.inference_mode():
            score = dmc.policy(Tensors.of_inputs(one.inputs))[chosen[number]].item()
            worth = dmc.critic(dmc.seen(one)).item()
        squares[number] = (worth + score - fate.outcome) ** 2
    assert sum(n for _, n in steps) == len(expected) > 200
    assert sum(loss * n for loss, n in steps) == pytest.approx(sum(squares.values()), rel=1e-4)


def test_every_epoch_sees_each_decision_once(tmp_path, monkeypatch):
    dmc = made(tmp_path, epochs=3, minibatch=70)
    x = dmc.play.collect(dmc, 150)
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(
        dmc, "step", lambda optimizer, loss, batch: seen.append(batch["observation"])
    )
    dmc.learn(x)
    each = len(seen) // 3
    epochs = [torch.cat(seen[i * each : (i + 1) * each]) for i in range(3)]
    assert len(epochs[0]) == len(fates([x]))
    assert all(50 < len(part) < 100 for part in seen)
    assert not torch.equal(epochs[0], epochs[1])
    rows = [sorted(map(bytes, epoch.numpy())) for epoch in epochs]
    assert rows[0] == rows[1] == rows[2]


def test_who_imitates_learns_values_by_the_critic_alone(tmp_path, monkeypatch):
    dmc = made(tmp_path)
    played = dmc.pending.add(dmc.play.collect(dmc, 120))
    monkeypatch.setattr(dmc, "step", lambda optimizer, loss, batch: loss.backward())
    dmc._learn(played, Taught(torch.zeros(()), {}))
    assert all(p.grad is None for p in dmc.policy.parameters())
    assert all(p.grad is not None for p in dmc.critic.parameters())
    dmc._learn(played, None)
    assert all(p.grad is not None for p in dmc.policy.parameters())


def test_without_a_finished_deal_nothing_is_learned(tmp_path):
    dmc = made(tmp_path, steps=5)
    before = {name: t.clone() for name, t in dmc.policy.state_dict().items()}
    assert "losses/value" not in dmc.update()
    assert all(torch.equal(before[name], t) for name, t in dmc.policy.state_dict().items())
