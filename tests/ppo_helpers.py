"""What the tests of PPO and of its critic share: a small learner, and what it plays."""

from __future__ import annotations

from pathlib import Path

import torch

from train.config import from_mapping
from train.ppo import PPO, PPOConfig
from train.rollout import Experience

TINY = {
    "tables": 8, "steps": 24, "minibatch": 64, "minibatch_end": 64, "width": 16, "blocks": 1,
    "candidate_width": 8, "row_width": 4, "critic_width": 16, "critic_blocks": 0, "threads": 1,
    "moves": 10**6, "lr": 3e-3, "entropy": 0.0, "entropy_end": 0.0, "target_kl": 10.0,
}  # fmt: skip


def learner(folder: Path, **changes: object) -> PPO:
    torch.set_num_threads(1)
    return PPO(from_mapping(PPOConfig, {**TINY, **changes}, "test"), folder)


def played(ppo: PPO, steps: int = 60) -> Experience:
    return ppo.play.collect(ppo, steps)
