"""Deep Q-learning by self-play (Mnih et al., 2015), double, dueling, with n-step targets.

A seat's transition runs from its decision to its n-th next one in the deal, over whatever the
others do meanwhile; a deal that ends before pays its outcome. Each decision is kept with all its
legal rows, so the best action of a later one is sought among those that were legal there and then.
With `bc` the scores first learn only to rank a registered agent's choice first.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.choosing import best
from agents.networks import Tensors
from train.checkpoint import Checkpoint
from train.config import number, setting, whole
from train.replay import Played, Replay
from train.rollout import Experience, Views
from train.value_learner import Taught, ValueConfig, ValueLearner, means, tensors_of


@dataclass(frozen=True)
class DQNConfig(ValueConfig):
    """Settings of deep Q-learning."""

    n_steps: int = setting(
        3, whole(1, 200), "decisions of the seat from a choice to the value it learns from"
    )
    buffer: int = setting(60_000, whole(1, 10**8), "decisions that are kept, about 3 kB each")
    reuse: float = setting(1.0, number(0.01, 100), "times that a decision is learned from")
    target_rate: float = setting(
        0.01, number(1e-6, 1), "part that the copy which values moves at each step"
    )


class DQN(ValueLearner):
    """Deep Q-learning over the candidates of each decision."""

    kind: ClassVar[str] = "dqn"
    config: DQNConfig

    def __init__(self, config: DQNConfig, folder: Path) -> None:
        super().__init__(config, folder)
        self.replay = Replay(config.buffer)
        self.target = copy.deepcopy(nn.ModuleDict({"policy": self.policy, "critic": self.critic}))
        self.target.requires_grad_(False)

    def modules(self) -> dict[str, nn.Module]:
        """The stream that sees all, and what targets are computed with."""
        return {**super().modules(), "target": self.target}

    # ------------------------------------------------------------------ learning

    def learn(self, experience: Experience) -> dict[str, float]:
        """Some steps on what is kept, as many as new decisions ask for."""
        self.replay.add(self.pending.add(experience))
        teaches = self.imitates
        size = self.config.bc_minibatch if teaches else self.config.minibatch
        kept = {"charts/replay": float(len(self.replay))}
        if len(self.replay) < min(size, self.replay.capacity):
            return kept
        rng = self.rng()
        steps = max(1, round(self.config.reuse * len(experience) / size))
        notes = []
        for theirs in np.array_split(rng.permutation(len(experience)), steps):
            now, later, which = self.replay.sample(rng, size, self.config.n_steps)
            taught = self.imitation(experience, theirs) if teaches else None
            notes.append(self._learn(now, self.targets(now, later, which), taught))
            self._follow()
        return means(notes) | kept

    @torch.no_grad()
    def targets(self, now: Played, later: Played, which: np.ndarray) -> Tensor:
        """What the chosen actions should be worth, `(n,)`.

        The outcome of the deal; where the seat goes on (`which`), the value of what it would
        choose `later`: chosen by the network, valued by its slow copy.
        """
        aims = self.tensor(now.outcome).clone()
        if len(later):
            inputs = later.views.inputs
            x = Tensors.of_inputs(inputs, self.device)
            with self.autocast():
                place = best(self.policy(x).cpu().numpy(), inputs)
                scores = self.target["policy"](x)
                worth = self.target["critic"](self.seen(later.views))
            values = self.q(later.views, scores, worth)
            aims[self.tensor(which)] = values[self.tensor(inputs.start + place)]
        return aims

    def q(self, views: Views, scores: Tensor, worth: Tensor) -> Tensor:
        """The value of each candidate, `(m,)`: V + A, where the mean of a decision's A is 0.

        scores: `(m,)`, of the candidates. worth: `(n,)`, of the decisions.
        """
        of = self.tensor(views.inputs.of)
        total = torch.zeros_like(worth).index_add(0, of, scores)
        mean = total / self.tensor(views.inputs.number)
        return scores + (worth - mean)[of]

    def _learn(self, now: Played, aims: Tensor, taught: Taught | None) -> dict[str, float]:
        """One step on some decisions, and by what a teacher says if there is one."""
        x = Tensors.of_inputs(now.views.inputs, self.device)
        with self.autocast():
            worth = self.critic(self.seen(now.views))
            scores = self.policy(x)
        # Who imitates does not learn from the luck of the cards what to choose.
        q = self.q(now.views, scores if taught is None else scores.detach(), worth)
        value = q[self.tensor(now.views.inputs.start + now.chosen)]
        loss = value_loss = (value - aims).square().mean()
        notes = {"losses/value": value_loss, "losses/aims": aims.std(correction=0)}
        if taught is not None:
            loss = loss + taught.loss
            notes |= taught.notes
        batch = {
            "observation": x.observation, "rows": x.rows, "features": x.features, "of": x.of,
            "aims": aims, "q": q,
        }  # fmt: skip
        self.step(self.optimizer, loss, batch)
        return {name: note.item() for name, note in notes.items()}

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the slow copy towards the networks."""
        for name, module in (("policy", self.policy), ("critic", self.critic)):
            slow = self.target[name].parameters()
            for old, new in zip(slow, module.parameters(), strict=True):
                old.lerp_(new, self.config.target_rate)

    # ------------------------------------------------------------------ saving

    def checkpoint(self) -> Checkpoint:
        """All that is needed to go on, the replay among it."""
        saved = super().checkpoint()
        tensors = {f"replay.{name}": t for name, t in self.replay.tensors().items()}
        return Checkpoint(
            saved.kind, saved.policy, {**saved.tensors, **tensors}, saved.counters, saved.config
        )

    def restore(self, checkpoint: Checkpoint, where: str) -> None:
        """Go on from a checkpoint; `WeightsError` or `StateError` if it does not fit."""
        super().restore(checkpoint, where)
        self.replay.restore(tensors_of("replay", checkpoint.tensors), where)
