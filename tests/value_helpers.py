"""What the tests of DQN and deep Monte Carlo share: small learners, and a slow account of play."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from train.config import from_mapping
from train.dmc import DMC, DMCConfig
from train.dqn import DQN, DQNConfig
from train.rollout import Experience
from train.value_learner import ValueLearner

LEARNERS: dict[str, tuple[type, type]] = {"dmc": (DMC, DMCConfig), "dqn": (DQN, DQNConfig)}

TINY = {
    "tables": 6, "steps": 40, "minibatch": 64, "bc_minibatch": 64, "width": 16, "blocks": 1,
    "candidate_width": 8, "row_width": 4, "critic_width": 16, "critic_blocks": 0, "threads": 1,
    "moves": 10**6, "lr": 3e-3, "lr_end": 3e-3,
}  # fmt: skip


def learner(kind: str, folder: Path, **changes: object) -> ValueLearner:
    """A small learner in float32, whose networks all give something else than zero."""
    torch.set_num_threads(1)
    made, settings = LEARNERS[kind]
    found: ValueLearner = made(from_mapping(settings, {**TINY, **changes}, "test"), folder)
    found.half = False
    return found


def stirred(found: ValueLearner) -> ValueLearner:
    """The learner with every weight moved at random, also those that begin at zero."""
    generator = torch.Generator().manual_seed(3)
    for module in (found.policy, *found.modules().values()):
        for parameter in module.parameters():
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    return found


@dataclass(frozen=True)
class Fate:
    """What became of a decision: what its deal paid its side, and its seat's later decisions."""

    outcome: float
    later: list[int]


def numbered(parts: Sequence[Experience]) -> list[Experience]:
    """The same, where each decision carries its own number in place of its opponent."""
    first, found = 0, []
    for x in parts:
        numbers = np.arange(first, first + len(x))
        found.append(dataclasses.replace(x, views=dataclasses.replace(x.views, opponent=numbers)))
        first += len(x)
    return found


def fates(parts: Sequence[Experience]) -> dict[int, Fate]:
    """Of each decision whose deal came to its end, by its number, what became of it.

    Goes through play move by move, with lists.
    """
    found: dict[int, Fate] = {}
    open_: dict[int, list[tuple[int, int]]] = {}
    first = 0
    for x in parts:
        for step in range(x.reward.shape[0]):
            for i in np.flatnonzero(x.step == step):
                open_.setdefault(int(x.table[i]), []).append((first + int(i), int(x.seat[i])))
            for table in np.flatnonzero(x.ended[step]):
                deal = open_.pop(int(table), [])
                for at, (number, seat) in enumerate(deal):
                    paid = float(x.reward[step, table])
                    later = [other for other, whose in deal[at + 1 :] if whose == seat]
                    found[number] = Fate(paid if seat in (0, 2) else -paid, later)
        first += len(x)
    return found
