"""What seats are paid for: the same three manners in every environment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env.checks import check_choice
from guandan_env.engine import Engine, StepResult

REWARDS = ("levels", "sign", "game")
_SIDES = np.arange(4) % 2


def check_reward(reward: object) -> str:
    """`reward` itself if it is one of `REWARDS`, else `GuandanError`."""
    return check_choice(reward, "reward", REWARDS)


def rewards(engine: Engine, result: StepResult, reward: str) -> NDArray[np.float32]:
    """Rewards `(B, 4) float32` of a step, by seat.

    `levels`: the levels that a deal won, for its losers minus them; `sign`: 1 and -1 a deal;
    `game`: 1 and -1 when the episode ends, 0 for a draw and for all deals before.
    """
    if reward == "levels":
        return result.reward
    if reward == "sign":
        return np.sign(result.reward)
    winner = engine.state.winner[:, None]
    won = np.where(winner == _SIDES, 1, -1) * (winner < 2)
    return np.where(result.over[:, None], won, 0).astype(np.float32)
