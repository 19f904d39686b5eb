"""Seats for learners: Gymnasium environments whose other three seats agents hold, by spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from agents.registry import Spec, make
from guandan_env.decisions import Agent

if TYPE_CHECKING:
    from guandan_env.single_seat import SingleSeatEnv, SingleSeatVectorEnv

Player = str | Spec | Agent


@overload
def single_seat(
    opponents: Player = ...,
    partner: Player | None = ...,
    *,
    num_envs: None = ...,
    **parameters: Any,
) -> SingleSeatEnv: ...


@overload
def single_seat(
    opponents: Player = ..., partner: Player | None = ..., *, num_envs: int, **parameters: Any
) -> SingleSeatVectorEnv: ...


def single_seat(
    opponents: Player = "greedy",
    partner: Player | None = None,
    *,
    num_envs: int | None = None,
    **parameters: Any,
) -> SingleSeatEnv | SingleSeatVectorEnv:
    """A Gymnasium environment for one seat: `gymnasium.make("Guandan-v0", ...)` calls this.

    Parameters: `opponents` and `partner`, each a spec such as `"greedy"` or an Agent; without a
    partner of its own the learner has one of the opponents' kind. `num_envs`: None for one table
    (`SingleSeatEnv`), else so many (`SingleSeatVectorEnv`). All others are those of the two
    environments, but `agents`. `AgentError` for a spec that names no agent.
    """
    # Imported here: most users of agents do without Gymnasium.
    from guandan_env.single_seat import SingleSeatEnv, SingleSeatVectorEnv

    side = mate = _player(opponents)
    if partner is not None and partner != opponents:
        mate = _player(partner)  # else one agent holds all three seats and is asked once a round
    agents = (side, mate, side)
    if num_envs is None:
        return SingleSeatEnv(agents, **parameters)
    return SingleSeatVectorEnv(num_envs, agents, **parameters)


def _player(player: Player) -> Agent:
    return player if isinstance(player, Agent) else make(player)
