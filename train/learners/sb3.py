"""sb3-contrib: MaskablePPO on many tables at once, and its policies as agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import safetensors.torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv

from agents.registry import AgentError
from agents.seating import single_seat
from guandan_env import observation
from guandan_env.actions import ACTION_TABLE_VERSION, NUM_ACTIONS
from guandan_env.aside import written_aside
from guandan_env.decisions import Decisions
from guandan_env.errors import one_line
from guandan_env.single_seat import SingleSeatVectorEnv

_VERSIONS = {"observation": observation.OBSERVATION_VERSION, "actions": ACTION_TABLE_VERSION}


class SeatVecEnv(VecEnv):
    """One seat at each of `num_envs` tables as a `VecEnv` of stable-baselines3.

    Parameters: as those of `agents.single_seat`; observations are flat. The masks are what
    sb3-contrib asks for by `env_method("action_masks")`.
    """

    def __init__(self, num_envs: int, opponents: str = "greedy", **parameters: Any) -> None:
        tables = single_seat(opponents, num_envs=num_envs, observation="flat", **parameters)
        assert isinstance(tables, SingleSeatVectorEnv)
        self.tables = tables
        self._seed: int | None = None
        super().__init__(num_envs, tables.single_observation_space, tables.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """The seed of the next reset, one for all tables together."""
        self._seed = seed
        return [seed] * self.num_envs

    def reset(self) -> NDArray[np.int8]:
        """Observations `(N, SIZE)`."""
        seen, _ = self.tables.reset(seed=self._seed)
        self._seed = None
        assert isinstance(seen, np.ndarray)
        return seen

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """The actions of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards and ends `(N, …)`; the last observation of an end in its info."""
        seen, reward, ended, _, info = self.tables.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for at in np.flatnonzero(ended).tolist():
            infos[at] = {
                "terminal_observation": info["final_obs"][at],
                "TimeLimit.truncated": False,
            }
        return seen, reward.astype(np.float32), ended, infos

    def close(self) -> None:
        """Nothing is held."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the tables, for each of the indices."""
        value = getattr(self.tables, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: the tables are one object."""
        raise AttributeError(f"{attr_name} cannot be set: all tables are one object")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """What a method of all tables returns, by table; `action_masks` is one."""
        values = getattr(self.tables, method_name)(*method_args, **method_kwargs)
        return [values[i] for i in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None
    ) -> list[bool]:
        """There are no wrappers."""
        return [False for _ in self._get_indices(indices)]


class PolicyAgent:
    """A masked policy as an agent, playing its most likely action.

    Parameters: `policy`, of a `MaskablePPO` that learned on flat observations; `name`.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, name: str = "maskable-ppo") -> None:
        self.policy, self.name = policy, name
        policy.set_training_mode(False)

    def reset(self) -> None:
        """Nothing is remembered."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """The most likely row for each decision, `(n,)`."""
        seen = observation.encode(decisions)
        rows, _ = self.policy.predict(seen, action_masks=decisions.mask, deterministic=True)
        return np.asarray(rows, dtype=np.int64)


class Trained(PolicyAgent):
    """The agent of a file that `save` wrote: `train.learners.sb3:Trained?path=FILE`.

    Raises `AgentError` for a file that is none, or of other observations or actions.
    """

    def __init__(self, path: str) -> None:
        policy = _fresh_policy()
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                told = file.metadata() or {}
            weights = safetensors.torch.load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise AgentError(f"{path!r} holds no policy: {one_line(error)}") from error
        if told != _VERSIONS:
            raise AgentError(f"{path!r} was saved for {told}; this version plays {_VERSIONS}")
        try:
            policy.load_state_dict(weights)
        except RuntimeError as error:
            raise AgentError(f"{path!r} holds another network: {one_line(error)}") from error
        super().__init__(policy, f"maskable-ppo:{Path(path).stem}")


def save(policy: MaskableActorCriticPolicy, path: str | Path) -> None:
    """Write a policy's weights to a file, without pickle; for `MlpPolicy` of the usual size."""
    with written_aside(path) as file:
        weights = {name: value.contiguous() for name, value in policy.state_dict().items()}
        file.write(safetensors.torch.save(weights, metadata=_VERSIONS))


def _fresh_policy() -> MaskableActorCriticPolicy:
    seen = spaces.Box(0, observation.HIGHEST, (observation.SIZE,), np.int8)
    return MaskableActorCriticPolicy(seen, spaces.Discrete(NUM_ACTIONS), lambda progress: 0.0)
