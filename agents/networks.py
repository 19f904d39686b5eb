"""The network of the learned agents: one score for each legal row of each decision.

A residual trunk reads the observation. Each candidate is embedded from what its row is (table
features shared between rows, and a little of its own) and from its features in this position, is
looked at in the light of the trunk, and gets its score as a product with it. So one pass of the
trunk serves all candidates, and rows share what is learned about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.candidates import NUM_FEATURES, Inputs
from guandan_env import observation
from guandan_env.action_features import ACTION_FEATURES
from guandan_env.actions import NUM_ACTIONS

ROWS = 128  # see `as_input`
_ROW_KEY, _ROW_CARDS, _ROW_WILDS = (observation.NUM_PATTERNS + i for i in range(3))


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes: the trunk's width and residual blocks, of candidates, and of what is a row's own."""

    width: int = 384
    blocks: int = 2
    candidate_width: int = 128
    row_width: int = 32


@dataclass(frozen=True)
class Tensors:
    """`Inputs` as tensors: observation `(n, 902)`, rows, features and `of` of m candidates."""

    observation: Tensor
    rows: Tensor
    features: Tensor
    of: Tensor

    @classmethod
    def of_inputs(cls, inputs: Inputs, device: torch.device | str = "cpu") -> Tensors:
        """The tensors of inputs, on a device."""
        return cls(
            torch.from_numpy(inputs.observation).to(device),
            torch.from_numpy(inputs.rows.astype(np.int64)).to(device),
            torch.from_numpy(inputs.features).to(device),
            torch.from_numpy(inputs.of).to(device),
        )

    def __len__(self) -> int:
        return len(self.observation)


def observation_scale() -> np.ndarray:
    """`(902,) float32`: what observations are multiplied with, so that most are within 0 … 1."""
    scale = np.ones(observation.SIZE, dtype=np.float32)
    unit = {"left": 1 / 27, "lead_height": 1 / 15, "steps": 1 / 13}
    for block in observation.BLOCKS:
        scale[block.slice] = unit.get(block.name, 1.0)
        part = scale[block.slice].reshape(block.shape)
        if block.name in ("lead", "last", "history"):
            first = block.shape[-1] - observation.ROW_WIDTH
            part[..., first + _ROW_KEY] = 1 / 16
            part[..., first + _ROW_CARDS] = 1 / 10
            part[..., first + _ROW_WILDS] = 1 / 2
    return scale


class Block(nn.Module):
    """A residual block: normalise, two layers, add."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.into = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        """`(n, width)` to the same."""
        return x + self.out(functional.relu(self.into(self.norm(x))))


class Trunk(nn.Module):
    """A residual network over scaled small numbers: `(n, size)` to `(n, width)`."""

    scale: Tensor

    def __init__(self, scale: np.ndarray, width: int, blocks: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(scale), persistent=False)
        self.stem = nn.Linear(len(scale), width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)

    def forward(self, numbers: Tensor) -> Tensor:
        """Features of int8 numbers `(n, size)`."""
        known = self.above(functional.linear(as_input(numbers), self.weight, self.stem.bias))
        return known[: numbers.shape[0]]  # not len(): exports leave it open

    @property
    def weight(self) -> Tensor:
        """The stem's weights of numbers that are not scaled: scaling them here is far cheaper."""
        return self.stem.weight * self.scale

    def above(self, x: Tensor) -> Tensor:
        """The features from what the stem gives, `(…, width)`."""
        return functional.relu(self.norm(self.blocks(x)))


def as_input(numbers: Tensor) -> Tensor:
    """Small numbers `(n, k)` in the precision that networks compute in.

    In half precision some rows of zeros come after them, up to a multiple of 128: products of
    matrices are compiled for each number of rows anew, and how many decisions there are changes
    with every step.
    """
    device = numbers.device.type
    if not torch.is_autocast_enabled(device):
        return numbers.to(torch.float32)
    n = len(numbers)
    rows = -(-n // ROWS) * ROWS
    padded = numbers.new_empty((rows, numbers.shape[1]), dtype=torch.get_autocast_dtype(device))
    padded[:n] = numbers
    padded[n:] = 0
    return padded


class CandidateNetwork(nn.Module):
    """Scores of candidates: logits of a policy, or values of actions."""

    row_features: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width = config.candidate_width
        self.trunk = Trunk(observation_scale(), config.width, config.blocks)
        self.register_buffer(
            "row_features", torch.from_numpy(ACTION_FEATURES.copy()), persistent=False
        )
        self.row = nn.Linear(ACTION_FEATURES.shape[1], width)
        self.own = nn.Parameter(torch.zeros(NUM_ACTIONS, config.row_width))
        self.own_out = nn.Linear(config.row_width, width, bias=False)
        self.features = nn.Linear(NUM_FEATURES, width, bias=False)
        self.light = nn.Linear(config.width, width, bias=False)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        nn.init.normal_(self.own, std=0.1)

    def forward(self, x: Tensors) -> Tensor:
        """The score of each candidate, `(m,) float32`."""
        seen = self.trunk(x.observation)
        # In float32, whatever the trunk is in: where scores lie is left open by softmax, and what
        # half precision takes off numbers far from 0 would hide what is learned of close choices.
        with torch.autocast(seen.device.type, enabled=False):
            rows = self.row(self.row_features) + self.own_out(self.own)
            features = self.features(x.features.to(self.features.weight.dtype))
            # embedding(), whose backward pass adds up rows far faster than that of indexing.
            embedded = functional.embedding(x.rows, rows)
            embedded = embedded + functional.embedding(x.of, self.light(seen.float())) + features
            embedded = functional.relu(embedded)
            embedded = functional.relu(self.hidden(embedded))
            return self.score(embedded).squeeze(1)


def log_softmax(scores: Tensor, of: Tensor, decisions: int) -> Tensor:
    """Log-probabilities `(m,) float32` of candidates, each decision's by itself."""
    top = torch.full((decisions,), -torch.inf, device=scores.device)
    top = top.scatter_reduce(0, of, scores.detach(), "amax")
    shifted = scores - top[of]
    total = torch.zeros(decisions, device=scores.device).index_add(0, of, shifted.exp())
    return shifted - total.log()[of]
