"""What a deal is worth to its winners: the one place where the aim of learning is set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guandan_env.checks import check_choice
from guandan_env.engine import Engine, StepResult

DealReward = Callable[[Engine, StepResult], NDArray[np.float32]]
"""From a step to what it pays side 0, `(B,)`; what it says of tables where no deal ended is not
looked at."""


def gain(engine: Engine, result: StepResult) -> NDArray[np.float32]:
    """The levels won, or lost."""
    return result.reward[:, 0]


def win(engine: Engine, result: StepResult) -> NDArray[np.float32]:
    """1 for a deal won, -1 for a deal lost."""
    return np.sign(result.reward[:, 0])


REWARDS: dict[str, DealReward] = {"gain": gain, "win": win}


def deal_reward(name: str) -> DealReward:
    """The reward of a name; `GuandanError` if there is none."""
    return REWARDS[check_choice(name, "reward", tuple(REWARDS))]
