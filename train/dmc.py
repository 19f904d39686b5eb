"""Deep Monte Carlo by self-play, as DouZero (Zha et al., 2021) and DanZero (Lu et al., 2022) do.

The value of a chosen action is taught to be what its deal came to in the end: no bootstrapping,
so nothing but played-out deals is believed. Acting scores all candidates of a decision, ragged
over the batch; learning needs the chosen one alone. Unlike in those works, the part of the outcome
that all hands together foretell is learned by another stream (`value_learner`), and with `bc` the
scores are first taught to rank a registered agent's choice first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from agents.networks import Tensors
from train.config import setting, whole
from train.replay import Played
from train.rollout import Experience
from train.value_learner import ValueConfig, ValueLearner


@dataclass(frozen=True)
class DMCConfig(ValueConfig):
    """Settings of deep Monte Carlo."""

    epochs: int = setting(2, whole(1, 100))  # over the deals that an update finishes


class DMC(ValueLearner):
    """Deep Monte Carlo: values of actions by the outcomes of deals."""

    kind: ClassVar[str] = "dmc"
    only_chosen = True
    config: DMCConfig

    def __init__(self, config: DMCConfig, folder: Path) -> None:
        super().__init__(config, folder)

    def learn(self, experience: Experience) -> dict[str, float]:
        """Some epochs over the deals that were finished, and over a teacher's choices if any."""
        played = self.pending.add(experience)
        if not len(played):
            return {}
        teaches = self.imitates
        rng = self.rng()
        parts = max(1, round(len(played) / self.config.minibatch))
        told: dict[str, list[float]] = {}
        for _ in range(self.config.epochs):
            order = np.array_split(rng.permutation(len(played)), parts)
            others = np.array_split(rng.permutation(len(experience)), parts)
            for mine, theirs in zip(order, others, strict=True):
                notes = self._learn(played.take(mine), experience if teaches else None, theirs)
                for name, note in notes.items():
                    told.setdefault(name, []).append(note)
        return {name: float(np.mean(values)) for name, values in told.items()}

    def _learn(
        self, played: Played, taught: Experience | None, theirs: np.ndarray
    ) -> dict[str, float]:
        """One step on some decisions; with a teacher also on `theirs` among those it looked at."""
        x = Tensors.of_inputs(played.views.inputs, self.device)
        with self.autocast():
            worth = self.critic(self.seen(played.views))
            scores = self.policy(x)
        outcome = self.tensor(played.outcome)
        value = worth + scores
        loss = value_loss = (value - outcome).square().mean()
        notes = {
            "losses/value": value_loss,
            "losses/value_alone": (worth - outcome).square().mean(),
            "losses/action": scores.square().mean().sqrt(),
        }
        if taught is not None:
            views = taught.views.take(theirs)
            imitation, more = self.imitation(views, taught.label[theirs])
            notes |= more
            loss = loss + self.config.bc_weight * imitation
        batch = {
            "observation": x.observation, "rows": x.rows, "features": x.features,
            "outcome": outcome, "value": value,
        }  # fmt: skip
        self.step(self.optimizer, loss, batch)
        return {name: note.item() for name, note in notes.items()}
