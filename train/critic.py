"""Critics: what a deal is worth to the side to act, from everything on the table."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from agents.networks import Trunk, as_input, observation_scale
from guandan_env import observation
from train import strengths
from train.rollout import Views


class Critic(nn.Module):
    """The value of a position for the side of the seat to act, from all four hands.

    It sees the seat's observation, what is hidden from it (`observation.encode_full`), what the
    hands are worth (`strengths`), and which of `opponents` holds the other side (one-hot, none for
    the learner itself). For training only.
    """

    def __init__(self, width: int, blocks: int, opponents: int) -> None:
        super().__init__()
        rest = np.ones(observation.FULL_SIZE + strengths.SIZE + opponents, dtype=np.float32)
        self.trunk = Trunk(np.concatenate([observation_scale(), rest]), width, blocks)
        self.value = nn.Linear(width, 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    def forward(self, seen: Tensor) -> Tensor:
        """Values `(n,) float32` of `critic_inputs`."""
        return self.value(self.trunk(seen)).float().squeeze(1)


class SideCritic(nn.Module):
    """The value of a position, the same but for its sign whichever side it is asked of.

    A network looks at the whole table as the seat to act sees it, and as the next seat does; what
    the deal is worth to the side to act is the difference. So what the network gets wrong by the
    same amount everywhere cancels. Where a critic favours the side to act, every play after which
    the other side acts next looks too bad, and every pass that leaves it to the partner too good.

    A view has hands and strengths of all seats, what is public but for the history, whether its
    seat is to act, and which of `opponents` holds the other side (1) or its own (-1).
    """

    sides: Tensor

    def __init__(self, width: int, blocks: int, opponents: int) -> None:
        super().__init__()
        rest = np.ones(observation.FULL_SIZE + strengths.SIZE, dtype=np.float32)
        scale = np.concatenate([observation_scale(), rest])[_PLACES[_SIDES[0]]]
        self.opponents = opponents
        self.trunk = Trunk(
            np.concatenate([scale, np.ones(1 + opponents, dtype=np.float32)]), width, blocks
        )
        self.register_buffer("sides", torch.from_numpy(_SIDES), persistent=False)
        self.value = nn.Linear(width, 1, bias=False)
        nn.init.zeros_(self.value.weight)

    def forward(self, seen: Tensor) -> Tensor:
        """Values `(n,) float32` of `side_inputs`."""
        known = self.trunk.above(self._stems(seen))[: len(seen)]
        # In float32: differences of values make advantages, and bfloat16 has steps of 1/64 at 2.
        with torch.autocast(seen.device.type, enabled=False):
            return self.value(known[:, 0].float() - known[:, 1].float()).squeeze(1)

    def _stems(self, seen: Tensor) -> Tensor:
        """What the stem makes of both views, `(n, 2, width)`.

        The views hold the same numbers in other places. Moving the weights there instead of the
        numbers costs nothing.
        """
        weight = self.trunk.weight
        of_table, acts, who = weight.split([self.sides.shape[1], 1, self.opponents], dim=1)
        nothing = weight.new_zeros(len(weight), len(_PLACES))
        views = [
            torch.cat([nothing.index_copy(1, side, of_table), sign * who], dim=1)
            for side, sign in zip(self.sides, (1, -1), strict=True)
        ]
        bias = self.trunk.stem.bias
        return functional.linear(
            as_input(seen), torch.cat(views), torch.cat([bias + acts.squeeze(1), bias])
        ).unflatten(1, (2, -1))


def _sides() -> NDArray[np.int64]:
    """Places in observation, full view and strengths of what either side's view holds, `(2, k)`."""
    own_only = {"hand", "wilds", "unseen", "known", "history"}
    blocks = [(0, b) for b in observation.BLOCKS if b.name not in own_only]
    blocks += [(observation.SIZE, b) for b in observation.FULL_BLOCKS if b.name == "hands"]
    own, following = [], []
    for first, block in blocks:
        places = first + np.arange(block.slice.start, block.slice.stop).reshape(block.shape)
        # The first axis goes over seats or sides, unless it is of something else.
        turns = len(places) in (2, 4) and block.name not in ("lead_height", "resisted")
        own.append(places)
        following.append(np.roll(places, -1, axis=0) if turns else places)
    places = observation.SIZE + observation.FULL_SIZE + np.arange(strengths.SIZE).reshape(4, -1)
    own.append(places)
    following.append(np.roll(places, -1, axis=0))
    return np.stack([np.concatenate([p.ravel() for p in view]) for view in (own, following)])


def _runs(places: NDArray[np.int64]) -> list[tuple[int, slice]]:
    """Ascending places as slices of observation (0), full view (1) and strengths (2)."""
    starts = np.cumsum([0, observation.SIZE, observation.FULL_SIZE])
    part = np.searchsorted(starts, places, side="right") - 1
    breaks = np.flatnonzero((np.diff(places) > 1) | (np.diff(part) > 0)) + 1
    return [
        (int(of[0]), slice(int(run[0] - starts[of[0]]), int(run[-1] - starts[of[0]]) + 1))
        for run, of in zip(np.split(places, breaks), np.split(part, breaks), strict=True)
    ]


_ALL = [(0, slice(None)), (1, slice(None)), (2, slice(None))]
_PLACES = np.unique(_sides())
_SIDES = np.searchsorted(_PLACES, _sides())
_RUNS = _runs(_PLACES)


def critic_inputs(views: Views, opponents: int) -> Tensor:
    """What `Critic` is given of n decisions, `(n, 902 + 432 + 40 + opponents) bfloat16`.

    The small whole numbers are exact in that.
    """
    return _inputs(views, opponents, _ALL)


def side_inputs(views: Views, opponents: int) -> Tensor:
    """What `SideCritic` is given of n decisions, `(n, 647 + opponents) bfloat16`."""
    return _inputs(views, opponents, _RUNS)


def _inputs(views: Views, opponents: int, runs: list[tuple[int, slice]]) -> Tensor:
    parts = (views.inputs.observation, views.full, views.strengths)
    who = (np.arange(opponents) == views.opponent[:, None]).astype(np.int8)
    columns = [*(parts[part][:, run] for part, run in runs), who]
    return torch.cat([torch.from_numpy(column).to(torch.bfloat16) for column in columns], dim=1)
