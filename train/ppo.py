"""Proximal policy optimisation by self-play (Schulman et al., 2017).

All four seats play the same policy, or an opponent holds one side. The critic sees all hands and
says what the deal is worth to the side to act; along the moves of a table its values, seen from
one side, give advantages by TD(λ), which are then turned to the side that acted. With `bc` the
policy first learns to choose as a registered agent does, while the critic already learns its part.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.choosing import drawn
from agents.networks import Tensors, log_softmax
from guandan_env.decisions import Decisions
from train.config import TrainConfig, number, setting, whole
from train.critic import SideCritic, side_inputs
from train.learner import Learner
from train.rollout import Acted, Experience, Floats, Views


@dataclass(frozen=True)
class PPOConfig(TrainConfig):
    """Settings of PPO. What has a partner `…_end` moves there in a straight line over the run."""

    trace: float = setting(0.95, number(0, 1), "λ of TD(λ)")
    clip: float = setting(0.2, number(0.01, 1), "of the ratio of probabilities")
    epochs: int = setting(2, whole(1, 100), "times that an update goes over its batch")
    minibatch: int = setting(4096, whole(1, 1 << 20), "decisions")
    minibatch_end: int = setting(8192, whole(1, 1 << 20), "the same at the end of the run")
    lr: float = setting(2e-4, number(0, 1), "learning rate of the policy")
    lr_end: float = setting(2e-5, number(0, 1), "the same at the end of the run")
    critic_lr: float = setting(6e-4, number(0, 1), "learning rate of the critic")
    critic_lr_end: float = setting(1e-4, number(0, 1), "the same at the end of the run")
    bc_lr: float = setting(1e-3, number(0, 1), "learning rate of the policy while it imitates")
    bc_lr_end: float = setting(1e-4, number(0, 1), "the same at the end of imitation")
    # Draws of a policy that has imitated are wilder than the teacher, unless flattened on purpose.
    sharpen: float = setting(
        1.0, number(0.1, 10), "scores are multiplied by it when imitation ends; below 1 it flattens"
    )
    average: float = setting(
        0.9, number(0, 0.9999), "what plays is a moving average, of which an update keeps so much"
    )
    entropy: float = setting(0.01, number(0, 10), "what an entropy of 1 nat is worth")
    entropy_end: float = setting(0.003, number(0, 10), "the same at the end of the run")
    target_kl: float = setting(
        0.02, number(1e-5, 10), "an update ends when the policy has moved 1.5 times so far"
    )
    bc_minibatch: int = setting(4096, whole(1, 1 << 20), "decisions, while it imitates")
    critic_width: int = setting(256, whole(8, 4096), "of the critic's trunk")
    critic_blocks: int = setting(2, whole(0, 32), "its residual blocks")


class PPO(Learner):
    """PPO over the candidates of each decision."""

    kind: ClassVar[str] = "ppo"
    STRENGTHS: ClassVar[bool] = True
    config: PPOConfig

    def __init__(self, config: PPOConfig, folder: Path) -> None:
        super().__init__(config, folder)
        self.critic = SideCritic(
            config.critic_width, config.critic_blocks, len(config.opponents)
        ).to(self.device)
        self.player = copy.deepcopy(self.policy)

    def modules(self) -> dict[str, nn.Module]:
        """The policy as it learns, and the critic."""
        return {"learning": self.policy, "critic": self.critic}

    # ------------------------------------------------------------------ playing

    def players(self) -> dict[str, nn.Module]:
        """The policy, and the critic, whose values are noted while playing."""
        return {"policy": self.policy, "critic": self.critic}

    @torch.inference_mode()
    def act(self, decisions: Decisions, views: Views) -> Acted:
        """Draw from the policy; see `rollout.Actor`."""
        inputs = views.inputs
        with self.autocast():
            x = Tensors.of_inputs(inputs, self.device)
            scores = self.policy(x)
        log_p = log_softmax(scores, x.of, len(x)).cpu().numpy()
        chosen = drawn(log_p, inputs, decisions.key)
        return Acted(chosen, log_p[inputs.start + chosen], self.values(views))

    @torch.inference_mode()
    def values(self, views: Views) -> Floats:
        """The critic's values; see `rollout.Actor`."""
        with self.autocast():
            return self.critic(self._seen(views)).cpu().numpy()

    def _seen(self, views: Views) -> Tensor:
        return side_inputs(views, len(self.config.opponents)).to(self.device)

    # ------------------------------------------------------------------ learning

    def learn_from(self, experience: Experience) -> dict[str, float]:
        """Learn from a batch and count it, and have the average follow."""
        imitated = self.imitates
        figures = super().learn_from(experience)
        if imitated and not self.imitates:
            self._set_out()
        self._follow(0.0 if imitated else self.config.average)
        return figures

    def rates(self) -> tuple[float, float]:
        """The learning rates of policy and critic in this update."""
        rate = self._imitation_rate() if self.imitates else self.scheduled("lr")
        return rate, self.scheduled("critic_lr")

    def learn(self, experience: Experience) -> dict[str, float]:
        """Some epochs over what was played."""
        imitates = self.imitates
        advantage, returns = experience.returns(self.config.trace)
        spread = float(returns.var()) + 1e-8
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        aims = experience.label if imitates else experience.acted.chosen
        told: dict[str, list[float]] = {}
        entropy_worth = self.scheduled("entropy")
        for chosen in self._minibatches(len(experience)):
            views = experience.views.take(chosen)
            x = Tensors.of_inputs(views.inputs, self.device)
            with self.autocast():
                scores = self.policy(x)
                value = self.critic(self._seen(views))
            log_p = log_softmax(scores, x.of, len(x))
            entropy = -(log_p.exp() * log_p).sum() / len(x)
            aim = log_p[self._tensor(views.inputs.start + aims[chosen])]
            value_loss = (value - self._tensor(returns[chosen])).square().mean()
            notes = {
                "losses/entropy": entropy,
                "losses/value": value_loss,
                "losses/explained_variance": 1 - value_loss / spread,
            }
            if imitates:
                policy_loss = -aim.mean()
                loss = policy_loss
                notes["losses/likelihood"] = aim.exp().mean()
            else:
                policy_loss, more = self._clipped(
                    aim,
                    self._tensor(experience.acted.log_probability[chosen]),
                    self._tensor(advantage[chosen]),
                )
                notes |= more
                loss = policy_loss - entropy_worth * entropy
            loss = loss + 0.5 * value_loss
            batch = {
                "observation": x.observation, "rows": x.rows, "features": x.features, "of": x.of,
                "scores": scores, "value": value,
            }  # fmt: skip
            self.step(self.optimizer, loss, batch)
            for name, note in (notes | {"losses/policy": policy_loss}).items():
                told.setdefault(name, []).append(note.item())
            if not imitates and told["losses/kl"][-1] > 1.5 * self.config.target_kl:
                break
        return {name: float(np.mean(values)) for name, values in told.items()} | {
            "losses/minibatches": float(len(told["losses/policy"]))
        }

    def _imitation_rate(self) -> float:
        """From `bc_lr` to `bc_lr_end` along a cosine, by the moves of imitation."""
        config = self.config
        left = (1 + np.cos(np.pi * self.moves / config.bc_moves)) / 2
        return config.bc_lr_end + (config.bc_lr - config.bc_lr_end) * float(left)

    @torch.no_grad()
    def _set_out(self) -> None:
        """Imitation is over: sharpen the policy, and forget what the optimiser knew of its loss."""
        for parameter in self.policy.score.parameters():
            parameter.mul_(self.config.sharpen)
        for parameter in self.policy.parameters():
            self.optimizer.state.pop(parameter, None)

    @torch.no_grad()
    def _follow(self, kept: float) -> None:
        """Move what plays towards the policy, all the way but for `kept`."""
        for mine, now in zip(self.player.parameters(), self.policy.parameters(), strict=True):
            mine.lerp_(now, 1 - kept)

    def _clipped(
        self, log_p: Tensor, before: Tensor, advantage: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The clipped objective, and how far the policy has moved (estimator k3 of Schulman)."""
        change = log_p - before
        ratio = change.exp()
        clip = self.config.clip
        kept = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        return -kept.mean(), {
            "losses/kl": (ratio - 1 - change).mean(),
            "losses/clipped": ((ratio - 1).abs() > clip).float().mean(),
        }

    def _minibatches(self, n: int) -> Iterator[NDArray[np.int64]]:
        """Positions of experience, in new order each epoch."""
        rng = self.rng()
        config = self.config
        size = config.bc_minibatch if self.imitates else self.scheduled("minibatch")
        parts = max(1, round(n / size))
        for _ in range(config.epochs):
            yield from np.array_split(rng.permutation(n), parts)

    def _tensor(self, values: NDArray) -> Tensor:
        return torch.from_numpy(values).to(self.device)
