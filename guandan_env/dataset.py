"""Data sets of decisions: what stands in their shards, and how to read them.

A data set is a folder with shards `train-00000.npz`, …, a description `dataset.json`, the origin of
each deal in `deals.npz`, and a README.md. Every shard has the arrays of `COLUMNS`, one entry a
decision; `dataset_write` makes the folder from files of records. Nothing in it is pickled.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from guandan_env.actions import ACTION_TABLE_VERSION, NUM_ACTIONS
from guandan_env.cards import NUM_KINDS
from guandan_env.checks import check_choice
from guandan_env.errors import GuandanError, shown
from guandan_env.observation import OBSERVATION_VERSION, SIZE

FORMAT = "guandan-dataset-v1"
DESCRIPTION = "dataset.json"
SPLITS = ("train", "validation", "test")
MASK_BYTES = -(-NUM_ACTIONS // 8)
MOST_DESCRIPTION = 10_000_000  # bytes
MOST_ROWS = 10_000_000  # of a shard
_SHARD_NAME = re.compile(r"(train|validation|test)-\d{5}\.npz")
VERSIONS = {"format": FORMAT, "observation": OBSERVATION_VERSION, "actions": ACTION_TABLE_VERSION}


class DatasetError(GuandanError):
    """A data set that cannot be written, or a folder that holds none that this version reads."""


class Column(NamedTuple):
    """An array of a shard: its entries have `shape` and `dtype`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    meaning: str


COLUMNS = (
    Column("observation", "int8", (SIZE,), "what the seat sees; the blocks: docs/observation.md"),
    Column(
        "mask",
        "uint8",
        (MASK_BYTES,),
        "legal rows, one bit each: row r is bit r % 8 of byte r // 8",
    ),
    Column("action", "int16", (), "the row of the action table that was chosen"),
    Column("cards", "uint8", (NUM_KINDS,), "cards that left the hand by kind, 0 for none"),
    Column("return", "float32", (), "levels that the seat's side won in the deal, lost ones < 0"),
    Column("place", "int8", (), "finishing place of the seat, 1 to 4; 0 where it got none"),
    Column("seat", "int8", (), "the seat that decides, 0 to 3"),
    Column("move", "int16", (), "number of the decision in its deal, from 0"),
    Column("deal", "int64", (), "number of the deal in this data set: its entry in deals.npz"),
    Column("agent", "int16", (), "who decided: index into `agents` of dataset.json"),
)
DEAL_COLUMNS = (
    Column("source", "int32", (), "file it came from: index into `sources` of dataset.json"),
    Column("record", "int64", (), "number of the record in that file, from 1"),
    Column("split", "int8", (), "0 train, 1 validation, 2 test"),
    Column("rules", "int16", (), "its rules: index into `rules` of dataset.json"),
)
Arrays = dict[str, NDArray[Any]]
# What numpy and zipfile raise for files that are not what they say.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, MemoryError, RuntimeError,
)  # fmt: skip


def describe_dataset(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The description of a data set; `DatasetError` where the folder has none of these versions."""
    path = Path(folder) / DESCRIPTION
    try:
        with open(path, "rb") as file:
            described = json.loads(file.read(MOST_DESCRIPTION))
    except OSError as error:
        raise DatasetError(f"{str(path)!r}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{str(path)!r} is not JSON: {error}") from error
    if not isinstance(described, dict):
        raise DatasetError(f"{str(path)!r} holds {shown(described)}; an object is allowed")
    for name, version in VERSIONS.items():
        if described.get(name) != version:
            raise DatasetError(
                f"{str(path)!r}: {name} is {shown(described.get(name))}; "
                f"this version reads {version!r}"
            )
    return described


def load_shards(folder: str | os.PathLike[str], split: str = "train") -> Iterator[Arrays]:
    """The shards of a split, one after the other: arrays by name, as `COLUMNS` describes them.

    Raises `DatasetError` for a folder or shard that is damaged or of other versions, and for an
    unknown split.
    """
    check_choice(split, "split", SPLITS)
    shards = describe_dataset(folder).get("shards")
    if not isinstance(shards, dict) or not all(
        _SHARD_NAME.fullmatch(name) and type(rows) is int and 0 < rows <= MOST_ROWS
        for name, rows in shards.items()
    ):
        raise DatasetError(f"shards are {shown(shards)}; names and numbers of rows are allowed")
    for name in sorted(shards):
        if name.startswith(split):
            yield read_arrays(Path(folder) / name, COLUMNS, shards[name])


def unpack_mask(mask: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Legal rows `(n, 2244) int8` of 0 and 1, from the array `mask` of a shard."""
    return np.unpackbits(mask, axis=-1, count=NUM_ACTIONS, bitorder="little").view(np.int8)


def read_arrays(path: Path, columns: tuple[Column, ...], rows: int) -> Arrays:
    """The arrays of an `.npz` file; `DatasetError` unless they are just these columns and rows."""
    name = repr(str(path))
    arrays: Arrays = {}
    try:
        with open(path, "rb") as raw:
            file = np.load(raw, allow_pickle=False)
            if not isinstance(file, NpzFile):
                raise DatasetError(f"{name} is no .npz file")
            if set(file.files) != {column.name for column in columns}:
                raise DatasetError(f"{name} has the arrays {shown(file.files)}")
            for column in columns:
                array, shape = file[column.name], (rows, *column.shape)
                if not isinstance(array, np.ndarray):
                    raise DatasetError(f"{name}: {column.name} is no array")
                if array.dtype != column.dtype or array.shape != shape:
                    raise DatasetError(
                        f"{name}: {column.name} is {array.dtype} of shape {array.shape}; "
                        f"{column.dtype} of shape {shape} is allowed"
                    )
                arrays[column.name] = array
    except DatasetError:
        raise
    except OSError as error:
        raise DatasetError(f"{name}: {error.strerror or error}") from error
    except _DAMAGE as error:
        raise DatasetError(f"{name} is damaged: {error}") from error
    return arrays
