"""Played decisions on their way to a learner: until their deal is over, and kept to be seen again.

A decision is worth learning from when its deal has ended: only then is its Monte Carlo return
known, and which decision of the same seat came next. `Pending` holds decisions until then.
`Replay` keeps those of finished deals, the newest ones, as many as fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.candidates import NUM_FEATURES, Inputs
from agents.weights import WeightsError
from guandan_env import observation
from guandan_env.actions import NUM_ACTIONS
from train import strengths
from train.rollout import Experience, Floats, Ints, Views, joined

D = TypeVar("D", "Played", "Open")

# Of each column of what is kept, its dtype, and its shape after the first axis.
_COLUMNS: dict[str, tuple[Any, ...]] = {
    "observation": (np.int8, observation.SIZE),
    "number": (np.int64,),
    "rows": (np.int16,),
    "features": (np.float16, NUM_FEATURES),
    "full": (np.int8, observation.FULL_SIZE),
    "opponent": (np.int64,),
    "strengths": (np.float16, strengths.SIZE),
    "chosen": (np.int64,),
    "outcome": (np.float32,),
    "ahead": (np.int64,),
    "table": (np.int64,),
    "seat": (np.int8,),
}


@dataclass(frozen=True)
class Played:
    """n decisions of deals that are over; those of a seat in a deal stand together, in order.

    views: with all candidates, or the chosen ones only. chosen: `(n,)`, the place of the chosen
    candidate. outcome: `(n,)`, what the deal paid the seat's side. ahead: `(n,)`, how many
    decisions the seat had still to make in the deal; the next one is the next here.
    """

    views: Views
    chosen: Ints
    outcome: Floats
    ahead: Ints

    def __len__(self) -> int:
        return len(self.chosen)

    def take(self, chosen: Ints) -> Played:
        """Some of them, by position."""
        return Played(
            self.views.take(chosen), self.chosen[chosen], self.outcome[chosen], self.ahead[chosen]
        )


@dataclass(frozen=True)
class Open:
    """n decisions of deals that are not over yet, in the order in which they were made."""

    views: Views
    chosen: Ints
    table: Ints
    seat: NDArray[np.int8]

    def take(self, chosen: Ints) -> Open:
        """Some of them, by position."""
        return Open(
            self.views.take(chosen), self.chosen[chosen], self.table[chosen], self.seat[chosen]
        )


class Pending:
    """Holds decisions until their deals are over.

    only_chosen: keep of each decision's candidates the chosen one alone, which saves most of the
    memory where the others are not asked about.
    """

    def __init__(self, only_chosen: bool) -> None:
        self.only_chosen = only_chosen
        self._open: Open | None = None

    def add(self, experience: Experience) -> Played:
        """Take what was just played; what is finished by it comes back."""
        x = experience
        views, chosen = x.views, x.acted.chosen
        if self.only_chosen:
            views, chosen = chosen_only(views, chosen), np.zeros_like(chosen)
        held = Open(views, chosen, x.table, x.seat)
        # The deal of a decision is counted from the one in which its table stood at the beginning.
        before: NDArray[np.int64] = np.cumsum(x.ended, axis=0) - x.ended
        deal: NDArray[np.int64] = before[x.step, x.table]
        if self._open is not None:
            deal = np.concatenate([np.zeros(len(self._open.chosen), dtype=deal.dtype), deal])
            held = joined([self._open, held])
        ends = x.ended.sum(axis=0)
        over = deal < ends[held.table]
        self._open = held.take(np.flatnonzero(~over))
        # By table, deal and seat; decisions that are alike in these keep their order.
        done = np.flatnonzero(over)
        done = done[np.lexsort((held.seat[done], deal[done], held.table[done]))]
        table, deal, seat = held.table[done], deal[done], held.seat[done]
        paid = x.reward.T[x.ended.T]
        outcome = paid[(np.cumsum(ends) - ends)[table] + deal]
        ours = held.take(done)
        return Played(
            ours.views,
            ours.chosen,
            np.where(seat % 2 == 0, outcome, -outcome).astype(np.float32),
            _ahead(table, deal, seat.astype(np.int64)),
        )

    def tensors(self) -> dict[str, Tensor]:
        """What is held, to be saved."""
        return {} if self._open is None else to_tensors(self._open)

    def restore(self, tensors: Mapping[str, Tensor], tables: int, where: str) -> None:
        """Hold what was saved of so many tables; `WeightsError` if it is damaged."""
        held = from_tensors(Open, tensors, where) if tensors else None
        if held is not None and (
            ((held.table < 0) | (held.table >= tables)).any()
            or ((held.seat < 0) | (held.seat > 3)).any()
        ):
            raise WeightsError(f"{where}: decisions that were kept are of no table or seat")
        self._open = held


class Replay:
    """Decisions of finished deals, the newest ones, at most `capacity` of them.

    They come and go in the parts in which they were finished, so a seat's next decision is there
    as long as the decision is.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.parts: list[Played] = []

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def add(self, played: Played) -> None:
        """Keep more; the oldest parts go. Of a part that is too large by itself its end is kept."""
        if len(played) > self.capacity:
            played = played.take(np.arange(len(played) - self.capacity, len(played)))
        if len(played):
            self.parts.append(played)
        while len(self) > self.capacity:
            self.parts.pop(0)

    def sample(self, rng: np.random.Generator, n: int, steps: int) -> tuple[Played, Played, Ints]:
        """n decisions with those that their seats made `steps` decisions later.

        Returns the decisions, the later ones, of those that have one, and which those are
        (positions `(k,)`); the others' deals were over by then.
        """
        sizes = np.array([len(part) for part in self.parts])
        at = np.sort(rng.integers(sizes.sum(), size=n))
        start = np.cumsum(sizes) - sizes
        now, later, which = [], [], []
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero((at >= start[i]) & (at < start[i] + sizes[i]))
            local = at[mine] - start[i]
            goes_on = part.ahead[local] >= steps
            now.append(part.take(local))
            later.append(part.take(local[goes_on] + steps))
            which.append(mine[goes_on])
        return joined(now), joined(later), np.concatenate(which)

    def tensors(self) -> dict[str, Tensor]:
        """All of it, to be saved."""
        if not self.parts:
            return {}
        sizes = torch.tensor([len(part) for part in self.parts])
        return {"sizes": sizes, **to_tensors(joined(self.parts))}

    def restore(self, tensors: Mapping[str, Tensor], where: str) -> None:
        """Hold what was saved; `WeightsError` if it is damaged."""
        parts: list[Played] = []
        if tensors:
            rest = dict(tensors)
            sizes = rest.pop("sizes", torch.zeros(0)).numpy().astype(np.int64).reshape(-1)
            whole = from_tensors(Played, rest, where)
            if (sizes <= 0).any() or sizes.sum() != len(whole):
                raise WeightsError(f"{where}: the parts of the replay do not add up")
            ends = np.cumsum(sizes)
            left = np.repeat(ends, sizes) - 1 - np.arange(len(whole))
            if ((whole.ahead < 0) | (whole.ahead > left)).any():
                raise WeightsError(f"{where}: decisions of the replay lack what followed them")
            parts = [
                whole.take(np.arange(end - size, end))
                for size, end in zip(sizes, ends, strict=True)
            ]
        self.parts = parts


def chosen_only(views: Views, chosen: Ints) -> Views:
    """The same decisions with the chosen candidate as their only one."""
    inputs = views.inputs
    at = inputs.start + chosen
    one = np.ones_like(inputs.number)
    only = Inputs(inputs.observation, one, inputs.rows[at], inputs.features[at])
    return replace(views, inputs=only)


def _ahead(*keys: Ints) -> Ints:
    """How many with the same keys follow each, `(n,)`; equal keys stand together."""
    n = len(keys[0])
    last = np.ones(n, dtype=bool)
    last[:-1] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    ends = np.flatnonzero(last)
    return ends[np.searchsorted(ends, np.arange(n))] - np.arange(n)


def to_tensors(value: Any, prefix: str = "") -> dict[str, Tensor]:
    """The arrays of a dataclass, and of those in it, by dotted names."""
    if not is_dataclass(value):
        return {prefix: torch.from_numpy(np.ascontiguousarray(value))}
    found: dict[str, Tensor] = {}
    for f in fields(value):
        found |= to_tensors(getattr(value, f.name), f"{prefix}.{f.name}" if prefix else f.name)
    return found


def from_tensors(kind: type[D], tensors: Mapping[str, Tensor], where: str) -> D:
    """The dataclass of which `to_tensors` gave the tensors; `WeightsError` if they do not fit."""
    value = _filled(kind, tensors, "", where)
    views, n = value.views, len(value.chosen)
    inputs = views.inputs
    columns = [inputs.observation, inputs.number, views.full, views.opponent, views.strengths]
    columns += [getattr(value, f.name) for f in fields(value) if f.name != "views"]
    if (
        any(len(column) != n for column in columns)
        or (inputs.number < 1).any()
        or not len(inputs.rows) == len(inputs.features) == inputs.number.sum()
        or ((value.chosen < 0) | (value.chosen >= inputs.number)).any()
        or ((inputs.rows < 0) | (inputs.rows >= NUM_ACTIONS)).any()
    ):
        raise WeightsError(f"{where}: the decisions that were kept do not fit together")
    return value


def _filled(kind: type, tensors: Mapping[str, Tensor], prefix: str, where: str) -> Any:
    values = {}
    for name, hint in get_type_hints(kind).items():
        full = f"{prefix}{name}"
        if is_dataclass(hint):
            values[name] = _filled(hint, tensors, full + ".", where)  # type: ignore[arg-type]
            continue
        if full not in tensors:
            raise WeightsError(f"{where} lacks {full} of the decisions that were kept")
        array = tensors[full].numpy()
        dtype, *shape = _COLUMNS[name]
        if array.dtype != dtype or array.ndim != 1 + len(shape) or list(array.shape[1:]) != shape:
            raise WeightsError(
                f"{where}: {full} is {array.dtype} {array.shape}; "
                f"allowed is {np.dtype(dtype)} ({', '.join(map(str, ['n', *shape]))})"
            )
        if not np.isfinite(array).all():
            raise WeightsError(f"{where}: {full} holds numbers that are not finite")
        values[name] = array
    return kind(**values)
