"""Proximal policy optimisation by self-play."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents import make
from agents.candidates import Inputs
from agents.choosing import drawn
from agents.networks import CandidateNetwork, NetworkConfig, Tensors, log_softmax
from guandan_env.decisions import Decisions
from train.critic import Critic, critic_inputs
from train.rewards import deal_reward
from train.rollout import Acted, Experience, Opponent, SelfPlay


@dataclass(frozen=True)
class PPOConfig:
    seed: int = 0
    tables: int = 512
    steps: int = 64
    reward: str = "gain"
    trace: float = 0.95
    clip: float = 0.2
    epochs: int = 2
    minibatch: int = 4096
    lr: float = 3e-4
    critic_lr: float = 6e-4
    entropy: float = 0.01
    target_kl: float = 0.03
    threads: int = 2
    network: NetworkConfig = field(default_factory=NetworkConfig)
    critic_width: int = 256
    critic_blocks: int = 2
    opponents: tuple = ()


class Brain:
    def __init__(self, c: PPOConfig, opponents: int) -> None:
        torch.manual_seed(c.seed)
        self.opponents = opponents
        self.policy = CandidateNetwork(c.network)
        self.critic = Critic(c.critic_width, c.critic_blocks, opponents)
        self.optimizer = torch.optim.AdamW(
            [
                {"params": self.policy.parameters(), "lr": c.lr},
                {"params": self.critic.parameters(), "lr": c.critic_lr},
            ],
            eps=1e-5, weight_decay=0.0, fused=True,
        )

    @torch.inference_mode()
    def act(self, decisions: Decisions, inputs: Inputs, full, opponent) -> Acted:
        with torch.autocast("cpu", torch.bfloat16):
            x = Tensors.of_inputs(inputs)
            scores = self.policy(x)
            value = self.critic(critic_inputs(inputs.observation, full, opponent, self.opponents))
        chosen = drawn(scores.numpy(), inputs, decisions.key)
        log_p = log_softmax(scores, x.of, len(inputs)).numpy()
        return Acted(chosen, log_p[inputs.start + chosen], value.numpy())

    @torch.inference_mode()
    def values(self, inputs: Inputs, full, opponent):
        with torch.autocast("cpu", torch.bfloat16):
            return self.critic(
                critic_inputs(inputs.observation, full, opponent, self.opponents)
            ).numpy()


def minibatches(n: int, size: int, rng: np.random.Generator):
    order = rng.permutation(n)
    parts = max(1, round(n / size))
    return np.array_split(order, parts)


def update(c: PPOConfig, brain: Brain, x: Experience, rng, bc: bool, entropy: float) -> dict:
    advantage, returns = x.returns(c.trace)
    scale = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    seen = critic_inputs(x.inputs.observation, x.full, x.opponent, brain.opponents)
    sums: dict[str, list[float]] = {}
    stop = False
    for epoch in range(c.epochs):
        for chosen in minibatches(len(x), c.minibatch, rng):
            inputs = x.inputs.take(chosen)
            t = Tensors.of_inputs(inputs)
            with torch.autocast("cpu", torch.bfloat16):
                scores = brain.policy(t)
                value = brain.critic(seen[torch.from_numpy(chosen)])
            log_p = log_softmax(scores, t.of, len(t))
            p = log_p.exp()
            ent = -(p * log_p).sum() / len(t)
            place = x.label[chosen] if bc else x.acted.chosen[chosen]
            picked = log_p[torch.from_numpy(inputs.start + place)]
            target = torch.from_numpy(returns[chosen])
            value_loss = (value - target).square().mean()
            out = {"entropy": ent.item(), "value_loss": value_loss.item(),
                   "explained": 1 - value_loss.item() / (returns.var() + 1e-8)}
            if bc:
                policy_loss = -picked.mean()
                top = torch.full((len(t),), -torch.inf).scatter_reduce(0, t.of, log_p.detach(), "amax")
                out["agree"] = (picked == top).float().mean().item()
                loss = policy_loss
            else:
                a = torch.from_numpy(scale[chosen])
                diff = picked - torch.from_numpy(x.acted.log_probability[chosen])
                ratio = diff.exp()
                policy_loss = -torch.minimum(
                    ratio * a, ratio.clamp(1 - c.clip, 1 + c.clip) * a
                ).mean()
                kl = (ratio - 1 - diff).mean().item()
                out["kl"] = kl
                out["clipped"] = ((ratio - 1).abs() > c.clip).float().mean().item()
                loss = policy_loss - entropy * ent
                stop = kl > 1.5 * c.target_kl
            out["policy_loss"] = policy_loss.item()
            loss = loss + 0.5 * value_loss
            if not torch.isfinite(loss):
                raise FloatingPointError("loss is not finite")
            brain.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(brain.policy.parameters(), 0.5)
            torch.nn.utils.clip_grad_norm_(brain.critic.parameters(), 1.0)
            brain.optimizer.step()
            for k, v in out.items():
                sums.setdefault(k, []).append(v)
            if stop:
                break
        if stop:
            break
    return {k: float(np.mean(v)) for k, v in sums.items()} | {"updates": len(sums["entropy"])}
