"""RLlib: the game as a `MultiAgentEnv`, with observations as its masking module wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from guandan_env import env, observation
from guandan_env.actions import NUM_ACTIONS

OBSERVATION_SPACE = spaces.Dict(
    {
        "observations": spaces.Box(0, observation.HIGHEST, (observation.SIZE,), np.float32),
        "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.float32),
    }
)
ACTION_SPACE = spaces.Discrete(NUM_ACTIONS)


class GuandanEnv(MultiAgentEnv):
    """Four agents `player_0` … `player_3`; the one that is to act is shown an observation.

    Parameters: `config`, what `guandan_env.env` takes. An observation has `observations`
    `(SIZE,)` and `action_mask` `(2244,)`, both float32: what `ActionMaskingTorchRLModule` masks
    by; an action that is not legal ends the episode. Rewards go to all four as soon as they are
    earned; at the end all four are shown where they stand.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.table = env(**dict(config or {}))
        self.agents = self.possible_agents = list(self.table.possible_agents)
        self.observation_spaces = dict.fromkeys(self.possible_agents, OBSERVATION_SPACE)
        self.action_spaces = dict.fromkeys(self.possible_agents, ACTION_SPACE)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode; the observation of the agent that is to act."""
        self.table.reset(seed=seed, options=options)
        return self._shown([self.table.agent_selection]), {}

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play the action of the agent that is to act."""
        self.table.step(int(action_dict[self.table.agent_selection]))
        over = all(self.table.terminations.values())
        shown = self.possible_agents if over else [self.table.agent_selection]
        rewards = {agent: float(self.table.rewards[agent]) for agent in self.possible_agents}
        ends = {"__all__": over} | dict.fromkeys(shown, over)
        return self._shown(shown), rewards, ends, {"__all__": False}, {}

    def _shown(self, agents: list[str]) -> dict[str, Any]:
        seen = {agent: self.table.observe(agent) for agent in agents}
        return {
            agent: {
                "observations": one["observation"].astype(np.float32),
                "action_mask": one["action_mask"].astype(np.float32),
            }
            for agent, one in seen.items()
        }
