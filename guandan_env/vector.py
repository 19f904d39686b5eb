"""Many tables at once for learners: the batch engine with observations, rewards and resets."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from guandan_env import legality, observation
from guandan_env.actions import NUM_ACTIONS
from guandan_env.checks import check_flag
from guandan_env.conduct import Conduct
from guandan_env.engine import Engine
from guandan_env.errors import StateError
from guandan_env.rewards import check_reward, rewards
from guandan_env.rules import RuleSet


class VecStep(NamedTuple):
    """What B tables show after a reset or a step.

    Where `done` is set, `reward` and the `final_*` arrays belong to the episode that ended, all
    else to the first decision of the next one. An episode never ends without a result, so no
    final observation is needed to bootstrap from.

    The arrays are the caller's to keep and to change, but `observation` and `mask` with
    `reuse=True`, which the next step writes over.
    """

    seat: NDArray[np.int8]  # (B,) the seat that decides
    observation: NDArray[np.int8] | None  # (B, observation.SIZE); None with observe=False
    mask: NDArray[np.int8]  # (B, 2244) legal rows, 0 and 1
    reward: NDArray[np.float32]  # (B, 4) by seat, of the step
    done: NDArray[np.bool_]  # (B,) the episode ended in this step
    deal_over: NDArray[np.bool_]  # (B,) a deal ended in this step
    final_order: NDArray[np.int8]  # (B, 4) finishing order of the deal that ended, else -1
    final_winner: NDArray[np.int8]  # (B,) side 0 or 1, 2 for a draw, of an ended episode, else -1
    final_steps: NDArray[np.int16]  # (B, 2) levels of the sides when it ended, in steps, else -1


class GuandanVectorEnv:
    """B tables that begin their next episode in the same step that ends one.

    Parameters as for `Engine`, and: `observe=False` leaves observations out; `reward` is
    `"levels"`, `"sign"` or `"game"` (rewards.py); `reveal_counts_at`, from how many cards on the
    observation has the counts of other hands (27, 10, 7 or 6: RULES 7.2); with `reuse=True` every
    step writes its observations and masks into the same two arrays, which the caller must have used
    up by then.

    Attributes: `engine` (its state may be read, copied, and set between steps), `num_tables`.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_tables: int,
        rules: RuleSet | str,
        *,
        episode: str = "deal",
        seed: int = 0,
        level: str | None = None,
        previous: str | None = "half",
        observe: bool = True,
        reward: str = "levels",
        reveal_counts_at: int = 27,
        reuse: bool = False,
    ) -> None:
        self._reward = check_reward(reward)
        self._reveal = Conduct(reveal_counts_at=reveal_counts_at).reveal_counts_at
        self._observe, reuse = check_flag(observe, "observe"), check_flag(reuse, "reuse")
        self.engine = Engine(
            num_tables, rules, seed=seed, episode=episode, level=level, previous=previous
        )
        self.num_tables = self.engine.num_tables
        b = self.num_tables
        self._seen = np.empty((b, observation.SIZE), dtype=np.int8) if reuse and observe else None
        self._mask = np.empty((b, NUM_ACTIONS), dtype=np.int8) if reuse else None
        self._tables = np.arange(self.num_tables)
        # Legal rows, and the state that they are of: the engine may be given another.
        self._packed = self.engine.packed_masks()
        self._state = self.engine.state

    def reset(self, seed: int | None = None) -> VecStep:
        """Begin anew everywhere with deal 0, under another seed if one is given.

        `GuandanError` for a seed that is none; nothing changes then.
        """
        self._check_size()
        self.engine.reset(seed)
        b = self.num_tables
        never = np.zeros(b, dtype=bool)
        return self._shown(
            np.zeros((b, 4), dtype=np.float32),
            never,
            never.copy(),
            np.full((b, 4), -1, dtype=np.int8),
            np.full(b, -1, dtype=np.int8),
            np.full((b, 2), -1, dtype=np.int16),
        )

    def step(self, actions: NDArray[np.integer], cards: NDArray[np.uint8] | None = None) -> VecStep:
        """Play rows `(B,)`, with cards `(B, 54)` of the players' choice if given.

        Raises `IllegalActionError` and changes nothing if a table's row is not legal, or actions
        or cards are of the wrong shape or type; `StateError` at a table where no seat is to act.
        """
        engine = self.engine
        self._check_size()
        if engine.state is not self._state:
            self._packed, self._state = engine.packed_masks(), engine.state
        if engine.state.seat.min() < 0:
            at = int(np.argmin(engine.state.seat))
            raise StateError(f"no seat is to act at table {at}; call reset() first")
        result = engine.step(actions, cards, packed_masks=self._packed)
        over, b = result.over, self.num_tables
        reward = rewards(engine, result, self._reward)
        winner = np.full(b, -1, dtype=np.int8)
        steps = np.full((b, 2), -1, dtype=np.int16)
        ended = np.flatnonzero(over)
        if ended.size:
            winner[ended] = engine.state.winner[ended]
            steps[ended] = engine.state.steps[ended]
            engine.start(ended)
        return self._shown(reward, over, result.deal_over, result.order, winner, steps)

    def _check_size(self) -> None:
        if self.engine.num_tables != self.num_tables:
            raise StateError(
                f"the engine's state has {self.engine.num_tables} tables; "
                f"{self.num_tables} are allowed"
            )

    def _shown(
        self,
        reward: NDArray[np.float32],
        done: NDArray[np.bool_],
        deal_over: NDArray[np.bool_],
        order: NDArray[np.int8],
        winner: NDArray[np.int8],
        steps: NDArray[np.int16],
    ) -> VecStep:
        engine = self.engine
        packed = self._packed = engine.packed_masks()
        self._state = engine.state
        seen = None
        if self._observe:
            decisions = engine.decisions(self._tables, packed_masks=packed)
            seen = observation.encode(decisions, self._seen, reveal_counts_at=self._reveal)
        return VecStep(
            seat=engine.state.seat.copy(),
            observation=seen,
            mask=legality.unpack(packed, self._mask),
            reward=reward,
            done=done,
            deal_over=deal_over,
            final_order=order,
            final_winner=winner,
            final_steps=steps,
        )


def make_vec(
    num_tables: int,
    rules: RuleSet | str = "default",
    *,
    episode: str = "deal",
    seed: int = 0,
    level: str | None = None,
    previous: str | None = "half",
    observe: bool = True,
    reward: str = "levels",
    reveal_counts_at: int = 27,
    reuse: bool = False,
) -> GuandanVectorEnv:
    """A `GuandanVectorEnv`; `rules` is a RuleSet or the name of a preset. Call `reset()` first.

    `GuandanError` or a subclass of it for a parameter that is not allowed.
    """
    return GuandanVectorEnv(
        num_tables,
        rules,
        episode=episode,
        seed=seed,
        level=level,
        previous=previous,
        observe=observe,
        reward=reward,
        reveal_counts_at=reveal_counts_at,
        reuse=reuse,
    )
