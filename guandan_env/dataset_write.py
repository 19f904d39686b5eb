"""Making data sets from files of records: every deal is played again, and verified by that."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env import __version__, observation
from guandan_env.aside import folder_aside
from guandan_env.dataset import (
    COLUMNS,
    DEAL_COLUMNS,
    DESCRIPTION,
    MASK_BYTES,
    MOST_ROWS,
    SPLITS,
    VERSIONS,
    Arrays,
    Column,
    DatasetError,
)
from guandan_env.dataset_card import card
from guandan_env.decisions import Decisions
from guandan_env.record_file import read_records
from guandan_env.record_replay import fault_of, first_wrong, next_chunk
from guandan_env.record_shape import RecordError

SHARD = 65_536  # decisions
Record = Mapping[str, Any]
FilePath = str | os.PathLike[str]


def write_dataset(
    records: Sequence[FilePath],
    out: FilePath,
    *,
    validation: float = 0.1,
    test: float = 0.1,
    shard_size: int = SHARD,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Make the folder `out` of the decisions in some files of records; returns its description.

    Parameters:
        validation, test: The shares of deals in these splits, the rest is for training. A deal
            belongs to a split by its four hands: deals with the same cards, such as both legs of
            a duplicate, are always together, in all data sets.
        shard_size: Decisions in a shard.
        progress: Is told how many deals have been read.

    Deals that were not played to their end are left out. Raises `RecordError` for a record that
    is not sound, and `DatasetError` if `out` exists, cannot be written or would be empty, or for
    shares and sizes that are not allowed. Nothing is left behind then.
    """
    _check(out, validation, test, shard_size)
    try:
        with folder_aside(out) as folder:
            making = _Making(folder, (test, validation), shard_size)
            for path in records:
                making.add_file(path, progress)
            return making.finish()
    except OSError as error:
        raise DatasetError(f"{os.fspath(out)!r}: {error.strerror or error}") from error


def _check(out: FilePath, validation: float, test: float, shard_size: int) -> None:
    if os.path.lexists(out):
        raise DatasetError(f"{os.fspath(out)!r} exists; a data set is written to a new folder")
    if not (0 <= validation and 0 <= test and validation + test < 1):
        raise DatasetError(
            f"validation is {validation}, test {test}; shares from 0, together below 1 are allowed"
        )
    if not 1 <= shard_size <= MOST_ROWS:
        raise DatasetError(f"shard_size is {shard_size}; 1 to {MOST_ROWS:,} are allowed")


class _Making:
    """A data set that is being written to a folder."""

    def __init__(self, folder: Path, shares: tuple[float, float], shard_size: int) -> None:
        self.folder, self.shares = folder, shares
        self.splits = [_Shards(folder, name, shard_size) for name in SPLITS]
        self.sources: list[dict[str, Any]] = []
        self.agents: dict[str, int] = {}  # name: decisions
        self.rules: list[dict[str, Any]] = []
        self.deals: list[Arrays] = []
        self.num_deals = self.left_out = 0

    def add_file(self, path: FilePath, progress: Callable[[int], None] | None) -> None:
        """Add all finished deals of a file of records."""
        self.sources.append({"name": Path(path).name, "deals": 0})
        source, read = self.sources[-1], 0
        records = read_records(path)
        while True:
            chunk, broken = next_chunk(records)
            seen = _Seen()
            wrong = first_wrong(chunk, seen.watch)
            if wrong is not None:
                broken = fault_of(chunk[wrong], read + wrong + 1)
            if broken is not None:
                reason = f"{os.fspath(path)!r}: {broken.reason}"
                raise RecordError(reason, deal=broken.deal, move=broken.move)
            source["deals"] += self._add(chunk, seen, read)
            read += len(chunk)
            if progress is not None:
                progress(self.num_deals + self.left_out)
            if not chunk:
                return

    def _add(self, chunk: Sequence[Record], seen: _Seen, read: int) -> int:
        """Add the finished deals of a chunk; `read` records were before it in its file."""
        finished = np.array([told["result"] is not None for told in chunk], dtype=bool)
        self.left_out += int((~finished).sum())
        if not finished.any():
            return 0
        number = self.num_deals + np.cumsum(finished) - 1
        split = np.array([self._split(told) for told in chunk], dtype=np.int8)
        columns, index = seen.columns()
        kept = finished[index]
        columns, index = {name: array[kept] for name, array in columns.items()}, index[kept]
        gain, place = _outcomes(chunk)
        columns["return"] = gain[index, columns["seat"]]
        columns["place"] = place[index, columns["seat"]]
        columns["deal"] = number[index]
        agents = self._agents(chunk)
        columns["agent"] = agents[index, columns["seat"]]
        names = list(self.agents)
        for which, count in enumerate(np.bincount(columns["agent"], minlength=len(names))):
            self.agents[names[which]] += int(count)
        for which, shards in enumerate(self.splits):
            part = split[index] == which
            shards.deals += int((finished & (split == which)).sum())
            shards.add({name: array[part] for name, array in columns.items()})
        deals = {
            "source": np.full(len(chunk), len(self.sources) - 1),
            "record": read + 1 + np.arange(len(chunk)),
            "split": split,
            "rules": np.array([self._rules(told) for told in chunk]),
        }
        self.deals.append({name: array[finished] for name, array in deals.items()})
        self.num_deals += int(finished.sum())
        return int(finished.sum())

    def _split(self, told: Record) -> int:
        """The split of a deal, from its cards alone."""
        cards = "|".join(told["start"]["hands"]).encode()
        share = int.from_bytes(hashlib.sha256(cards).digest()[:7], "big") / 2**56
        test, validation = self.shares
        return 2 if share < test else 1 if share < test + validation else 0

    def _agents(self, chunk: Sequence[Record]) -> NDArray[np.int64]:
        """Index of the agent at each seat of the records, `(n, 4)`; new ones are taken up."""
        for told in chunk:
            for name in told["players"]:
                self.agents.setdefault(name, 0)
        index = {name: i for i, name in enumerate(self.agents)}
        return np.array([[index[name] for name in told["players"]] for told in chunk])

    def _rules(self, told: Record) -> int:
        if told["rules"] not in self.rules:
            self.rules.append(told["rules"])
        return self.rules.index(told["rules"])

    def finish(self) -> dict[str, Any]:
        """Write what is left, and the description."""
        if not self.num_deals:
            raise DatasetError("there is no deal that was played to its end")
        shards: dict[str, int] = {}
        for part in self.splits:
            part.flush()
            shards |= part.written
        deals = {name: np.concatenate([d[name] for d in self.deals]) for name in self.deals[0]}
        write_arrays(self.folder / "deals.npz", DEAL_COLUMNS, deals)
        described = {
            **VERSIONS,
            "guandan": __version__,
            "deals": self.num_deals,
            "deals_left_out": self.left_out,
            "decisions": sum(shards.values()),
            "splits": {
                part.name: {"deals": part.deals, "decisions": sum(part.written.values())}
                for part in self.splits
            },
            "shards": shards,
            "arrays": _plain(COLUMNS),
            "deal_arrays": _plain(DEAL_COLUMNS),
            "observation_blocks": [
                {"name": b.name, "start": b.slice.start, "shape": list(b.shape), "unit": b.unit}
                for b in observation.BLOCKS
            ],
            "agents": list(self.agents),
            "agent_decisions": list(self.agents.values()),
            "rules": self.rules,
            "sources": self.sources,
        }
        text = json.dumps(described, indent=1, ensure_ascii=False)
        (self.folder / DESCRIPTION).write_bytes(text.encode("utf-8", "replace"))
        (self.folder / "README.md").write_text(card(described), encoding="utf-8")
        return described


def _plain(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [column._asdict() | {"shape": list(column.shape)} for column in columns]


def _outcomes(chunk: Sequence[Record]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Levels won and finishing places by seat, `(n, 4)` each; 0 in deals without a result."""
    gain = np.zeros((len(chunk), 4), dtype=np.float32)
    place = np.zeros((len(chunk), 4), dtype=np.int8)
    for i, told in enumerate(chunk):
        if (result := told["result"]) is not None:
            gain[i] = np.where(np.arange(4) % 2 == result["side"], 1, -1) * result["gain"]
            place[i, result["order"]] = 1 + np.arange(len(result["order"]))
    return gain, place


class _Seen:
    """The decisions of a chunk of records, gathered as they are played again."""

    def __init__(self) -> None:
        self._parts: list[Arrays] = []
        self._index: list[NDArray[np.intp]] = []

    def watch(
        self,
        index: NDArray[np.intp],
        decisions: Decisions,
        rows: NDArray[np.int64],
        cards: NDArray[np.uint8],
    ) -> None:
        """Keep one decision of each of some records."""
        self._index.append(index)
        packed = decisions.packed.astype("<u8", copy=False).view(np.uint8)
        self._parts.append(
            {
                "observation": observation.encode(decisions),
                "mask": packed[:, :MASK_BYTES],
                "action": rows,
                "cards": cards,
                "seat": decisions.seat,
                "move": decisions.length,
            }
        )

    def columns(self) -> tuple[Arrays, NDArray[np.intp]]:
        """All that was kept, ordered by record and move, and to which record each belongs."""
        index = np.concatenate(self._index)
        order = np.argsort(index, kind="stable")  # they were kept move by move
        names = self._parts[0]
        joined = {name: np.concatenate([p[name] for p in self._parts])[order] for name in names}
        return joined, index[order]


class _Shards:
    """The shards of a split: full ones are written, what is left over waits for more."""

    def __init__(self, folder: Path, name: str, size: int) -> None:
        self.folder, self.name, self.size = folder, name, size
        self.deals = 0
        self.written: dict[str, int] = {}  # name of the file: decisions
        self._waiting: list[Arrays] = []

    def add(self, columns: Arrays) -> None:
        """Add decisions, and write the shards that are full now."""
        self._waiting.append(columns)
        count = sum(len(part["seat"]) for part in self._waiting)
        if count < self.size:
            return
        whole = self._joined()
        full = count - count % self.size
        for start in range(0, full, self.size):
            self._write({name: a[start : start + self.size] for name, a in whole.items()})
        self._waiting = [{name: array[full:] for name, array in whole.items()}]

    def flush(self) -> None:
        """Write what waits."""
        if any(len(part["seat"]) for part in self._waiting):
            self._write(self._joined())

    def _joined(self) -> Arrays:
        names = [column.name for column in COLUMNS]
        return {name: np.concatenate([part[name] for part in self._waiting]) for name in names}

    def _write(self, columns: Arrays) -> None:
        name = f"{self.name}-{len(self.written):05}.npz"
        write_arrays(self.folder / name, COLUMNS, columns)
        self.written[name] = len(columns["seat"])


def write_arrays(path: Path, columns: Sequence[Column], arrays: Arrays) -> None:
    """Write the arrays of some columns as a compressed `.npz` file."""
    typed = {column.name: arrays[column.name].astype(column.dtype) for column in columns}
    np.savez_compressed(path, allow_pickle=False, **typed)
