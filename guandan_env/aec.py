"""Guandan (掼蛋) as a PettingZoo AEC environment: a façade over a batch of one table.

| | |
|---|---|
| agents | `player_0` … `player_3`; partners sit opposite: 0 and 2 against 1 and 3 |
| action space | `Discrete(2244)`, the rows of actions.py; suits are chosen by the engine |
| observation | `{"observation": (SIZE,) int8, "action_mask": (2244,) int8}`, see observation.py |
| `state()` | `(STATE_SIZE,) int8`: seat 0's observation, then all four hands |
| reward | when a deal ends: the levels it won, minus them for the losers; else 0 |

The mask, all 0 for seats that are not to act, is in `infos[agent]["action_mask"]` too. Tribute and
return (进贡, 还牌) are decisions like any other; a seat may decide several times in a row. A player
that is out is skipped, not terminated: all four end together, after a deal or after a whole game.

`reset(seed)` begins anew with deal 0 of that seed. `reset()` goes on with the next episode of the
same seed (at the first call a fresh one). `options` may name `hands`, `level`, `leader`, `scores`,
`previous` and `trick`: the position to begin with, see `positions.position`.

Version history: v0, the first.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv  # type: ignore[import-untyped]
from pettingzoo.utils import wrappers  # type: ignore[import-untyped]
from pettingzoo.utils.wrappers.base import BaseWrapper  # type: ignore[import-untyped]

from guandan_env import legality, observation
from guandan_env.actions import NUM_ACTIONS
from guandan_env.checks import as_whole, check_choice, check_seed
from guandan_env.conduct import Conduct
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.errors import IllegalActionError, StateError, shown
from guandan_env.positions import check_options, place, prepare
from guandan_env.rewards import check_reward, rewards
from guandan_env.rules import RuleSet

AGENTS = ("player_0", "player_1", "player_2", "player_3")
RENDER_MODES = ("human", "ansi", "rgb_array")
API_TEST_OPTION = "options"  # PettingZoo's api_test passes {"options": 1} and expects no error
STATE_SIZE = observation.SIZE + observation.FULL_SIZE
Observation = dict[str, NDArray[np.int8]]
_TABLE = np.array([0])
_NO_MASK: NDArray[np.int8] = np.zeros(NUM_ACTIONS, dtype=np.int8)


def env(**parameters: Any) -> AECEnv[str, Observation, int]:
    """The environment in PettingZoo's usual wrappers; parameters as for `raw_env`.

    An action that is not legal ends the episode (PettingZoo's custom): its player gets minus the
    highest promotion, the worst a deal can bring, all others 0. One that is no row of the table
    raises `IllegalActionError` and changes nothing.
    """
    raw = raw_env(**parameters)
    worst = float(max(raw.rules.promotion)) if raw.reward == "levels" else 1.0
    terminating = wrappers.TerminateIllegalWrapper(raw, illegal_reward=-worst)
    return wrappers.OrderEnforcingWrapper(CheckActionWrapper(terminating))


class CheckActionWrapper(BaseWrapper[str, Observation, int]):  # type: ignore[misc]
    """Refuses what is no row of the action table, with an `IllegalActionError`."""

    def step(self, action: int | None) -> None:
        """Step with a row 0…2243, or None for an agent that has ended."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            _no_action(action, agent)
        else:
            action = _row(action, agent)
        super().step(action)


def _no_action(action: object, agent: str) -> None:
    """Raise `IllegalActionError` unless the action is None, the only one once all is over."""
    if action is not None:
        raise IllegalActionError(
            f"{agent}: action is {shown(action)}, but the episode is over; None is allowed"
        )


def _row(action: object, agent: str) -> int:
    """The action as an int if it is a row of the table, else `IllegalActionError`."""
    row = as_whole(action)
    if row is None or not 0 <= row < NUM_ACTIONS:
        raise IllegalActionError(
            f"{agent}: action {shown(action)} is not in the action table; "
            f"whole numbers from 0 to {NUM_ACTIONS - 1} are allowed"
        )
    return row


class raw_env(AECEnv[str, Observation, int]):  # type: ignore[misc]
    """The environment without wrappers.

    Parameters: `rules`, a RuleSet or the name of a preset; `episode`, `"deal"` or `"game"`; for
    deals `level` (None: a random one each) and `previous` (`"random"`, None or `"half"`: whether a
    finishing order, and so tribute, precedes a deal); `reward`, `"levels"`, `"sign"` (±1 a deal) or
    `"game"` (±1 at the end); `reveal_counts_at`, from how many cards on the observation has the
    counts of other hands (27, 10, 7 or 6: RULES 7.2); `render_mode`, None, `"ansi"`, `"rgb_array"`,
    or `"human"`, which prints the table after every reset and step.

    A row that is not legal raises `IllegalActionError` and changes nothing.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "guandan_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: RuleSet | str = "default",
        episode: str = "deal",
        level: str | None = None,
        previous: str | None = "half",
        reward: str = "levels",
        reveal_counts_at: int = 27,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if render_mode is not None:
            check_choice(render_mode, "render_mode", RENDER_MODES)
        self.rules = RuleSet.of(rules)
        self.reward = check_reward(reward)
        self._reveal = Conduct(reveal_counts_at=reveal_counts_at).reveal_counts_at
        self.render_mode = render_mode
        self.engine = Engine(1, self.rules, episode=episode, level=level, previous=previous)
        self._seeded = False
        self.possible_agents = list(AGENTS)
        self.agent_selection = AGENTS[0]
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict(
                {
                    "observation": gymnasium.spaces.Box(
                        0, observation.HIGHEST, (observation.SIZE,), np.int8
                    ),
                    "action_mask": gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
                }
            )
            for agent in AGENTS
        }
        self.action_spaces = {agent: gymnasium.spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}
        self.state_space = gymnasium.spaces.Box(0, observation.HIGHEST, (STATE_SIZE,), np.int8)

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """The space of observations, the same object at every call."""
        return self.observation_spaces[check_choice(agent, "agent", AGENTS)]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """The space of actions, the same object at every call."""
        return self.action_spaces[check_choice(agent, "agent", AGENTS)]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode, at the position in `options` if there is one.

        Raises `StateError` or `CardError` for options that make no position, `GuandanError` for a
        seed that is no whole number; the episode that was running goes on then.
        """
        if seed is not None:
            seed = check_seed(seed)
        if isinstance(options, Mapping):
            options = {k: v for k, v in options.items() if k != API_TEST_OPTION}
        options = {} if options is None else options
        check_options(options)
        start = prepare(self.engine, **options)
        if seed is not None or not self._seeded:
            self.engine.reset(secrets.randbits(63) if seed is None else seed)
            self._seeded = True
            if options:
                # The position takes the place of deal 0.
                self.engine.state.deal[0] = -1
        elif not options:
            self.engine.start(_TABLE)
        if options:
            place(self.engine, 0, start)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection = None
        self._show()

    def step(self, action: int | None) -> None:
        """Play a row of the action table for the agent that is selected; None once all is over.

        Raises `IllegalActionError` for anything else, `StateError` before the first reset and when
        all agents are gone; nothing changes then.
        """
        if not self.agents:
            raise StateError("no episode is running; call reset() first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            _no_action(action, agent)
            self._was_dead_step(action)
            return
        row = _row(action, agent)
        result = self.engine.step(np.array([row]), packed_masks=self._packed)
        self._cumulative_rewards[agent] = 0.0
        paid = rewards(self.engine, result, self.reward)[0].tolist()
        self.rewards = dict(zip(AGENTS, paid, strict=True))
        if result.over[0]:
            self.terminations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()
        self._show()

    def _show(self) -> None:
        """Select the agent to act and publish its mask; the first agent once all have ended."""
        self._packed = self.engine.packed_masks()
        self._moment: Decisions | None = None
        seat = int(self.engine.state.seat[0])
        self.agent_selection = AGENTS[max(seat, 0)]
        self.infos = {agent: {"action_mask": _NO_MASK.copy()} for agent in AGENTS}
        self.infos[self.agent_selection] = {"action_mask": legality.unpack(self._packed)[0]}
        if self.render_mode == "human":
            self.render()

    def _view(self, seat: int) -> NDArray[np.int8]:
        """The observation `(SIZE,)` of a seat."""
        if not self._seeded:
            raise StateError("no episode has begun; call reset() first")
        if self._moment is None:
            self._moment = self.engine.decisions(_TABLE, packed_masks=self._packed)
        decisions = self._moment
        if seat != decisions.seat[0]:
            decisions = observation.seen_by(decisions, self.engine.state, np.array([seat]))
        view: NDArray[np.int8] = observation.encode(decisions, reveal_counts_at=self._reveal)[0]
        return view

    def observe(self, agent: str) -> Observation:
        """What an agent sees; its mask is all 0 unless it is to act.

        `GuandanError` for an unknown agent, `StateError` before the first reset.
        """
        seat = AGENTS.index(check_choice(agent, "agent", AGENTS))
        view = self._view(seat)
        acting = agent == self.agent_selection and agent in self.infos
        mask = self.infos[agent]["action_mask"] if acting else _NO_MASK
        return {"observation": view, "action_mask": mask.copy()}

    def state(self) -> NDArray[np.int8]:
        """The whole table `(STATE_SIZE,) int8`, for central critics.

        Seat 0's observation (`observation.BLOCKS`), then what is hidden (`FULL_BLOCKS`), the
        seats there counted from seat 0 as well. `StateError` before the first reset.
        """
        hidden = observation.encode_full(self.engine.state, _TABLE, np.array([0]))
        return np.concatenate([self._view(0), hidden[0]])

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table with all four hands: text (`ansi`) or `(720, 960, 3) uint8` (`rgb_array`).

        With `human` the text is printed and None returned. `StateError` before the first reset.
        """
        if not self._seeded:
            raise StateError("no episode has begun; call reset() first")
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; there is no picture")
            return None
        from guandan_env.render_image import render_image
        from guandan_env.render_text import render_text
        from guandan_env.scene_of import scene_of

        scene = scene_of(self.engine.state, 0)
        if self.render_mode == "rgb_array":
            return render_image(scene)
        text = render_text(scene)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Nothing is held open."""
