"""Deep Monte Carlo by self-play, as DouZero (Zha et al., 2021) and DanZero (Lu et al., 2022) do.

The value of a chosen action is taught to be what its deal came to in the end: no bootstrapping,
so nothing but played-out deals is believed. Acting scores all candidates of a decision, ragged
over the batch; learning needs the chosen one alone. Unlike in those works, the part of the outcome
that all hands together foretell is learned by another stream (`value_learner`), and with `bc` the
scores first learn only to rank a registered agent's choice first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from agents.networks import Tensors
from train.config import setting, whole
from train.replay import Played
from train.rollout import Experience
from train.value_learner import Taught, ValueConfig, ValueLearner, means


@dataclass(frozen=True)
class DMCConfig(ValueConfig):
    """Settings of deep Monte Carlo."""

    epochs: int = setting(2, whole(1, 100), "times that an update goes over the deals it finishes")


class DMC(ValueLearner):
    """Deep Monte Carlo: values of actions by the outcomes of deals."""

    kind: ClassVar[str] = "dmc"
    only_chosen: ClassVar[bool] = True
    config: DMCConfig

    def learn(self, experience: Experience) -> dict[str, float]:
        """Some epochs over the deals that were finished, and over a teacher's choices if any."""
        played = self.pending.add(experience)
        if not len(played):
            return {}
        teaches = self.imitates
        size = self.config.bc_minibatch if teaches else self.config.minibatch
        parts = max(1, round(len(played) / size))
        rng = self.rng()
        notes = []
        for _ in range(self.config.epochs):
            order = np.array_split(rng.permutation(len(played)), parts)
            others = np.array_split(rng.permutation(len(experience)), parts)
            for mine, theirs in zip(order, others, strict=True):
                taught = self.imitation(experience, theirs) if teaches else None
                notes.append(self._learn(played.take(mine), taught))
        return means(notes)

    def _learn(self, played: Played, taught: Taught | None) -> dict[str, float]:
        """One step on some decisions, and by what a teacher says if there is one."""
        x = Tensors.of_inputs(played.views.inputs, self.device)
        with self.autocast():
            worth = self.critic(self.seen(played.views))
            scores = self.policy(x)
        outcome = self.tensor(played.outcome)
        # Who imitates does not learn from the luck of the cards what to choose.
        value = worth + scores if taught is None else worth
        loss = value_loss = (value - outcome).square().mean()
        notes = {
            "losses/value": value_loss,
            "losses/value_alone": (worth - outcome).square().mean(),
            "losses/action": scores.square().mean().sqrt(),
        }
        if taught is not None:
            loss = loss + taught.loss
            notes |= taught.notes
        batch = {
            "observation": x.observation, "rows": x.rows, "features": x.features,
            "outcome": outcome, "value": value,
        }  # fmt: skip
        self.step(self.optimizer, loss, batch)
        return {name: note.item() for name, note in notes.items()}
