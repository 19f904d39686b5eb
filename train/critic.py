"""The critic: what a deal is worth to the side to act, from everything on the table."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from agents.networks import Trunk, observation_scale
from guandan_env import observation
from train import strengths
from train.rollout import Views


class Critic(nn.Module):
    """The value of a position for the side of the seat to act, from all four hands.

    It sees the seat's observation, what is hidden from it (`observation.encode_full`), what the
    hands are worth (`strengths`), and which of `opponents` holds the other side (one-hot, none for
    the learner itself). For training only.
    """

    def __init__(self, width: int, blocks: int, opponents: int) -> None:
        super().__init__()
        rest = np.ones(observation.FULL_SIZE + strengths.SIZE + opponents, dtype=np.float32)
        self.trunk = Trunk(np.concatenate([observation_scale(), rest]), width, blocks)
        self.value = nn.Linear(width, 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    def forward(self, seen: Tensor) -> Tensor:
        """Values `(n,) float32` of `critic_inputs`."""
        return self.value(self.trunk(seen)).float().squeeze(1)


def critic_inputs(views: Views, opponents: int) -> Tensor:
    """What `Critic` is given of n decisions, `(n, 902 + 432 + 40 + opponents) float16`."""
    who = np.arange(opponents) == views.opponent[:, None]
    parts = (views.inputs.observation, views.full, views.strengths, who)
    return torch.from_numpy(np.concatenate(parts, axis=1, dtype=np.float16))
