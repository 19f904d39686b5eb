"""Guandan (掼蛋) for learners that know nothing of seats: Gymnasium's `Env` and `VectorEnv`.

The learner holds one seat, given agents hold the other three. Both environments are faces of
`LearnerTables`, so table i of a `SingleSeatVectorEnv` and a `SingleSeatEnv` with `table=i` under
the same seed go through the same deals, and with the same actions through the same episodes.

| | one table | N tables |
|---|---|---|
| action | a row of the action table | `(N,)` whole numbers |
| observation, `"dict"` | `{"observation": (SIZE,), "action_mask": (2244,)}` int8 | `(N, …)` each |
| observation, `"flat"` | `(SIZE,) int8` | `(N, SIZE) int8` |
| reward | float | `(N,) float64` |
| `action_masks()` | `(2244,) bool` | `(N, 2244) bool` |

A reward is the sum of what the seat was paid up to its next decision or the end of the episode.
`truncated` is always False. What `info` holds is said at `INFO`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from guandan_env import observation as observations
from guandan_env.actions import NUM_ACTIONS
from guandan_env.checks import as_whole, check_choice, check_seed
from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError, IllegalActionError, StateError, shown
from guandan_env.learner_tables import LearnerTables, Outcome
from guandan_env.rules import RuleSet
from guandan_env.state import State

FORMS = ("dict", "flat")
RENDER_MODES = ("human", "ansi", "rgb_array")
INFO = {
    "action_mask": "(2244,) int8, the learner's legal rows; all 0 when the episode is over",
    "seat": "int, where the learner sits, 0 to 3",
    # Only where an episode has ended:
    "order": "(4,) int8, finishing order of the last deal that was played to its end, or -1",
    "winner": "int, the side that won, 0 or 1; 2 for a draw, -1 after an illegal action",
    "steps": "(2,) int16, levels of the sides in steps, 0 for level 2",
    "illegal_action": "bool, whether the learner's action was not legal and ended the episode",
}
"""What `info` holds, for one table; in the vector environment arrays with `N` before."""

_TABLE = np.array([0])
Seen = NDArray[np.int8] | dict[str, NDArray[np.int8]]
Info = dict[str, Any]


class SingleSeatEnv(gymnasium.Env[Seen, np.int64]):
    """One seat at one table, for Gymnasium.

    Parameters: `agents`, who plays the other seats: one agent, or three in the order of play after
    the learner (the next seat, the partner, the seat before); `seat`, the learner's: 0…3, or
    `"random"`, drawn for each episode from (seed, table, deal); `rules`, a RuleSet or the name of a
    preset; `episode`, `"deal"` or `"game"`; for deals `level` (None: a random one each) and
    `previous` (`"half"`, `"random"` or None: whether tribute precedes); `reward`, `"levels"`,
    `"sign"` or `"game"` (rewards.py); `reveal_counts_at`, from how many cards on the counts of
    other hands are shown (27, 10, 7 or 6: RULES 7.2); `observation`, `"dict"` or `"flat"`;
    `illegal`, what a row does that is not legal: `"end"` ends the episode with minus the highest
    promotion as reward, as PettingZoo's custom is, `"raise"` raises `IllegalActionError` and
    changes nothing; `table`, the number of the table in random keys; `render_mode`, None, `"ansi"`,
    `"rgb_array"`, or `"human"`, which prints the table after every reset and step.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
    }

    def __init__(
        self,
        agents: Agent | Sequence[Agent],
        *,
        seat: int | str = 0,
        rules: RuleSet | str = "default",
        episode: str = "deal",
        level: str | None = None,
        previous: str | None = "half",
        reward: str = "levels",
        reveal_counts_at: int = 27,
        observation: str = "dict",
        illegal: str = "end",
        table: int = 0,
        render_mode: str | None = None,
    ) -> None:
        self._form = check_choice(observation, "observation", FORMS)
        self.render_mode = _check_render_mode(render_mode)
        self.tables = LearnerTables(
            1,
            agents,
            seat=seat,
            rules=rules,
            episode=episode,
            level=level,
            previous=previous,
            reward=reward,
            reveal_counts_at=reveal_counts_at,
            illegal=illegal,
            tables=np.array([check_seed(table)]),
        )
        self.observation_space = _observation_space(self._form)
        self.action_space = spaces.Discrete(NUM_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, Info]:
        """Begin with deal 0 of a seed; without one, with the next episode of the same seed.

        `options` may hold those of `positions.position`: the position to begin with. Raises
        `StateError` or `CardError` for options that make no position, and changes nothing.
        """
        super().reset(seed=None if seed is None else check_seed(seed))
        _begin(self.tables, _TABLE, _chosen_seed(self, seed), options)
        return self._show()

    def step(self, action: np.integer | int) -> tuple[Seen, float, bool, bool, Info]:
        """Play a row of the action table; see `LearnerTables.play` for the errors."""
        row = as_whole(action)
        if row is None:
            raise IllegalActionError(f"action is {shown(action)}; a whole number is allowed")
        outcome = self.tables.play(np.array([row]))
        seen, info = self._show()
        ended = bool(outcome.ended[0])
        if ended:
            info.update(_endings(self.tables, outcome, 0))
        return seen, float(outcome.reward[0]), ended, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal rows `(2244,) bool`, as sb3-contrib asks for them."""
        legal: NDArray[np.bool_] = self.tables.mask(_TABLE)[0].view(np.bool_)
        return legal

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table with all four hands: text (`ansi`) or `(720, 960, 3) uint8` (`rgb_array`).

        With `human` the text is printed and None returned.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; there is no picture")
            return None
        return _draw(self.tables.engine.state, 0, self.render_mode)

    def _show(self) -> tuple[Seen, Info]:
        if self.render_mode == "human":
            self.render()
        mask = self.tables.mask(_TABLE)[0]
        seen = self.tables.observe(_TABLE)[0]
        info = {"action_mask": mask.copy(), "seat": int(self.tables.seat[0])}
        return (seen if self._form == "flat" else _as_dict(seen, mask)), info


class SingleSeatVectorEnv(VectorEnv[Seen, NDArray[np.integer], NDArray[Any]]):
    """One seat at each of N tables, which begin their next episode in the step that ends one.

    Parameters: `num_envs`, and those of `SingleSeatEnv` but `table`: the tables are numbered
    0 … N-1. All have the same seed, so a table goes through the same episodes in any N.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        agents: Agent | Sequence[Agent],
        *,
        seat: int | str = 0,
        rules: RuleSet | str = "default",
        episode: str = "deal",
        level: str | None = None,
        previous: str | None = "half",
        reward: str = "levels",
        reveal_counts_at: int = 27,
        observation: str = "dict",
        illegal: str = "end",
        render_mode: str | None = None,
    ) -> None:
        self._form = check_choice(observation, "observation", FORMS)
        self.render_mode = _check_render_mode(render_mode)
        self.tables = LearnerTables(
            num_envs,
            agents,
            seat=seat,
            rules=rules,
            episode=episode,
            level=level,
            previous=previous,
            reward=reward,
            reveal_counts_at=reveal_counts_at,
            illegal=illegal,
        )
        self.num_envs = self.tables.num_tables
        self._all = np.arange(self.num_envs)
        self.single_observation_space = _observation_space(self._form)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, Info]:
        """Begin at every table as `SingleSeatEnv.reset` does.

        `options` may hold a position for every table, and Gymnasium's `reset_mask` `(N,) bool`:
        the tables to reset, the others stay as they are; it goes with no seed.
        """
        chosen, position = _reset_mask(options, self.num_envs)
        if chosen is not None and seed is not None:
            raise GuandanError("reset_mask is given with a seed; a seed is for all tables together")
        super().reset(seed=None if seed is None else check_seed(seed))
        at = self._all if chosen is None or not self.tables.seeded else chosen
        _begin(self.tables, at, _chosen_seed(self, seed), position)
        seen, info = self._show()
        return seen, _with_presence(info, np.isin(self._all, at))

    def step(
        self, actions: NDArray[np.integer]
    ) -> tuple[Seen, NDArray[Any], NDArray[Any], NDArray[Any], Info]:
        """Play rows `(N,)`; where an episode ends, the next one begins.

        Returns observation, reward `(N,) float64`, terminated and truncated `(N,) bool`, info. Of
        the episodes that ended, `info["final_obs"]` `(N,) object` holds the last observations
        (None elsewhere) and `info["final_info"]` the infos; everything else shows the next ones.
        """
        outcome = self.tables.play(actions)
        ended = np.flatnonzero(outcome.ended)
        final = self._final(ended, outcome) if ended.size else {}
        if ended.size:
            self.tables.start(ended)
        seen, info = self._show()
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        info = final | _with_presence(info, np.ones(self.num_envs, dtype=np.bool_))
        return seen, outcome.reward, outcome.ended, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal rows `(N, 2244) bool`."""
        return self.tables.mask(self._all).view(np.bool_)

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each table, as of `SingleSeatEnv.render`."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; there is no picture")
            return None
        state = self.tables.engine.state
        return tuple(_draw(state, at, self.render_mode) for at in range(self.num_envs))

    def _show(self) -> tuple[Seen, Info]:
        if self.render_mode == "human":
            self.render()
        mask = self.tables.mask(self._all)
        seen = self.tables.observe(self._all)
        info = {"action_mask": mask.copy(), "seat": self.tables.seat.astype(np.int64)}
        return (seen if self._form == "flat" else _as_dict(seen, mask)), info

    def _final(self, ended: NDArray[np.intp], outcome: Outcome) -> Info:
        """`final_obs` and `final_info` of the episodes that ended, as Gymnasium arranges them."""
        seen, mask = self.tables.observe(ended), self.tables.mask(ended)
        last = np.full(self.num_envs, None, dtype=object)
        info: Info = {}
        for i, at in enumerate(ended.tolist()):
            last[at] = seen[i] if self._form == "flat" else _as_dict(seen[i], mask[i])
            one = {"action_mask": mask[i].copy(), "seat": int(self.tables.seat[at])}
            info = self._add_info(info, one | _endings(self.tables, outcome, at), at)
        return _with_presence({"final_obs": last, "final_info": info}, outcome.ended)


# ------------------------------------------------------------------ what both share


def _observation_space(form: str) -> spaces.Space[Any]:
    seen = spaces.Box(0, observations.HIGHEST, (observations.SIZE,), np.int8)
    if form == "flat":
        return seen
    return spaces.Dict(
        {"observation": seen, "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)}
    )


def _as_dict(seen: NDArray[np.int8], mask: NDArray[np.int8]) -> dict[str, NDArray[np.int8]]:
    return {"observation": seen, "action_mask": mask}


def _chosen_seed(env: SingleSeatEnv | SingleSeatVectorEnv, seed: int | None) -> int | None:
    """The seed to begin anew with, drawn at the first reset if none is given; else None."""
    if seed is None and not env.tables.seeded:
        return int(env.np_random.integers(2**63 - 1))
    return seed


def _begin(
    tables: LearnerTables,
    at: NDArray[np.integer],
    seed: int | None,
    options: Mapping[str, object] | None,
) -> None:
    if seed is None:
        tables.start(at, options)
    else:
        tables.reset(seed, options)


def _endings(tables: LearnerTables, outcome: Outcome, at: int) -> Info:
    """What `info` says of the episode that has ended at a table."""
    state = tables.engine.state
    return {
        "order": outcome.order[at].copy(),
        "winner": int(state.winner[at]),
        "steps": state.steps[at].copy(),
        "illegal_action": bool(outcome.illegal[at]),
    }


def _with_presence(info: Info, there: NDArray[np.bool_]) -> Info:
    """Gymnasium's vector infos: beside each key one with `_` before it, where it is present."""
    return info | {f"_{key}": there.copy() for key in info}


def _reset_mask(
    options: Mapping[str, Any] | None, n: int
) -> tuple[NDArray[np.intp] | None, dict[str, Any]]:
    """The tables that `reset_mask` names, None without it, and all other options."""
    if options is not None and not isinstance(options, Mapping):
        raise StateError(f"options are {shown(options)}; a mapping from names to values is allowed")
    rest = dict(options or {})
    if "reset_mask" not in rest:
        return None, rest
    mask = rest.pop("reset_mask")
    if not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (n,)):
        raise StateError(f"reset_mask is {shown(mask)}; an array of bool ({n},) is allowed")
    if not mask.any():
        raise StateError("reset_mask names no table; at least one is allowed")
    return np.flatnonzero(mask), rest


def _check_render_mode(mode: str | None) -> str | None:
    return None if mode is None else check_choice(mode, "render_mode", RENDER_MODES)


def _draw(state: State, at: int, mode: str) -> str | NDArray[np.uint8] | None:
    # Imported here: training does without pictures.
    from guandan_env.render_image import render_image
    from guandan_env.render_text import render_text
    from guandan_env.scene_of import scene_of

    scene = scene_of(state, at)
    if mode == "rgb_array":
        return render_image(scene)
    text = render_text(scene)
    if mode == "ansi":
        return text
    print(text)
    return None
