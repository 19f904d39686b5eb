"""What DQN and deep Monte Carlo share: values of actions, exploration, and imitation.

The value of an action is V + A, the two streams of a dueling network. V sees all four hands and
is for training only; A, which plays, sees what its seat may know. So the luck of the cards falls
to V, and A is left with what the choice is worth. Both are in units of the reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.choosing import best, drawn
from agents.networks import Tensors, log_softmax
from guandan_env import randomness
from guandan_env.decisions import Decisions
from train.checkpoint import Checkpoint
from train.config import TrainConfig, number, setting, whole
from train.critic import Critic, critic_inputs
from train.learner import Learner
from train.replay import Pending
from train.rollout import Acted, Experience, Floats, Ints, Views

_EXPLORES = 7  # sets apart the random numbers that say where to explore


@dataclass(frozen=True)
class ValueConfig(TrainConfig):
    """Settings of value methods. What has a partner `…_end` moves there over the run."""

    lr: float = setting(1e-4, number(0, 1), "learning rate of the scores after imitation")
    lr_end: float = setting(1e-5, number(0, 1), "the same at the end of the run")
    critic_lr: float = setting(6e-4, number(0, 1), "learning rate of the critic, which is V")
    critic_lr_end: float = setting(1e-4, number(0, 1), "the same at the end of the run")
    minibatch: int = setting(8192, whole(1, 1 << 20), "decisions")
    # Exploration among the legal rows.
    epsilon: float = setting(0.01, number(0, 1), "probability of any legal row")
    epsilon_end: float = setting(0.01, number(0, 1), "the same at the end of the run")
    temperature: float = setting(0.1, number(1e-4, 100), "else by softmax(A / temperature)")
    temperature_end: float = setting(0.05, number(1e-4, 100), "the same at the end of the run")
    # Imitation: softmax(A / temperature) should give the teacher's choice.
    bc_lr: float = setting(1e-3, number(0, 1), "learning rate of the scores while they imitate")
    bc_minibatch: int = setting(4096, whole(1, 1 << 20), "decisions, while they imitate")
    critic_width: int = setting(256, whole(8, 4096), "of the critic's trunk")
    critic_blocks: int = setting(2, whole(0, 32), "its residual blocks")


@dataclass(frozen=True)
class Taught:
    """The loss of imitation in a step, and what there is to tell of it."""

    loss: Tensor
    notes: dict[str, Tensor]


class ValueLearner(Learner):
    """A learner of values of actions; subclasses say what the values should be, in `learn`."""

    STRENGTHS: ClassVar[bool] = True
    only_chosen: ClassVar[bool] = False
    """Whether of played decisions the chosen candidate is enough."""
    config: ValueConfig

    def __init__(self, config: ValueConfig, folder: Path) -> None:
        super().__init__(config, folder)
        self.critic = Critic(config.critic_width, config.critic_blocks, len(config.opponents)).to(
            self.device
        )
        self.pending = Pending(self.only_chosen)

    def modules(self) -> dict[str, nn.Module]:
        """The stream that sees all."""
        return {"critic": self.critic}

    # ------------------------------------------------------------------ playing

    @torch.inference_mode()
    def act(self, decisions: Decisions, views: Views) -> Acted:
        """Choose with exploration; see `rollout.Actor`."""
        inputs = views.inputs
        with self.autocast():
            scores = self.policy(Tensors.of_inputs(inputs, self.device)).cpu().numpy()
        chosen = explored(
            scores, views, decisions, self.scheduled("temperature"), self.scheduled("epsilon")
        )
        nothing = np.zeros(len(views), dtype=np.float32)
        return Acted(chosen, nothing, nothing)

    def values(self, views: Views) -> Floats:
        """Nothing asks for them; see `rollout.Actor`."""
        return np.zeros(len(views), dtype=np.float32)

    # ------------------------------------------------------------------ learning

    def rates(self) -> tuple[float, float]:
        """The learning rates of the two streams in this update."""
        rate = self.config.bc_lr if self.imitates else self.scheduled("lr")
        return rate, self.scheduled("critic_lr")

    def imitation(self, experience: Experience, chosen: Ints) -> Taught:
        """The loss of imitation on some decisions, by their positions.

        softmax(A / temperature) should give the teacher's choice, and the A of that be 0, so that V
        is what the position is worth. The notes say how often the best A is that choice.
        """
        inputs, label = experience.views.inputs.take(chosen), experience.label[chosen]
        x = Tensors.of_inputs(inputs, self.device)
        with self.autocast():
            scores = self.policy(x)
        at = self.tensor(inputs.start + label)
        log_p = log_softmax(scores / self.scheduled("temperature"), x.of, len(x))[at]
        agrees = (best(scores.detach().cpu().numpy(), inputs) == label).mean()
        return Taught(
            scores[at].square().mean() - log_p.mean(),
            {"losses/imitation": -log_p.mean(), "losses/agrees": torch.tensor(agrees)},
        )

    def seen(self, views: Views) -> Tensor:
        """What the critic is given."""
        return critic_inputs(views, len(self.config.opponents)).to(self.device)

    def tensor(self, values: np.ndarray) -> Tensor:
        """Numbers on the learner's device."""
        return torch.from_numpy(values).to(self.device)

    # ------------------------------------------------------------------ saving

    def checkpoint(self) -> Checkpoint:
        """All that is needed to go on, decisions of unfinished deals among it."""
        saved = super().checkpoint()
        tensors = {f"pending.{name}": t for name, t in self.pending.tensors().items()}
        return Checkpoint(
            saved.kind, saved.policy, {**saved.tensors, **tensors}, saved.counters, saved.config
        )

    def restore(self, checkpoint: Checkpoint, where: str) -> None:
        """Go on from a checkpoint; `WeightsError` or `StateError` if it does not fit."""
        super().restore(checkpoint, where)
        kept = tensors_of("pending", checkpoint.tensors)
        self.pending.restore(kept, self.config.tables, where)


def means(notes: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean over some steps of what each of them told; all tell the same."""
    return {name: float(np.mean([note[name] for note in notes])) for name in notes[0]}


def tensors_of(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those whose names begin with `name.`, without that."""
    prefix = name + "."
    return {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}


def explored(
    scores: Floats, views: Views, decisions: Decisions, temperature: float, epsilon: float
) -> Ints:
    """Places `(n,)` of candidates: any with probability epsilon, else drawn by softmax.

    scores: `(m,)`. Only candidates can be drawn, so what is not legal never is.
    """
    # Equal scores are as likely as each other.
    key = randomness.mix(decisions.key + np.uint64(_EXPLORES))
    explores = randomness.below(key, 1 << 20) < epsilon * (1 << 20)
    scores = np.where(explores[views.inputs.of], 0.0, scores.astype(np.float64) / temperature)
    return drawn(scores, views.inputs, decisions.key)
