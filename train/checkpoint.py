"""Checkpoints of a run: all that is needed to go on, in a folder that is there as a whole or not.

`checkpoint-000120/` holds `policy.safetensors` and `.json` (what an agent plays by),
`training.safetensors` (all other tensors) and `training.json` (counters and settings). It is
written under another name and renamed when all of it is on the disk; the last `KEPT` stay.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from agents.networks import CandidateNetwork
from agents.weights import (
    VERSIONS,
    WeightsError,
    load_json,
    load_network,
    load_tensors,
    save_json,
    save_network,
    save_tensors,
)

KEPT = 2
FORMAT = "guandan-training-v1"
_NAME = re.compile(r"checkpoint-(\d{9})")


@dataclass(frozen=True)
class Checkpoint:
    """What a learner needs to go on. counters: plain JSON; tensors: by name."""

    kind: str
    policy: CandidateNetwork
    tensors: Mapping[str, Tensor]
    counters: Mapping[str, Any]
    config: Mapping[str, Any]


def save(folder: Path, number: int, checkpoint: Checkpoint) -> Path:
    """Write checkpoint `number` of the run in `folder`, and remove those before the last ones.

    Raises `WeightsError` where the disk does not take it; the older ones are then still there.
    """
    name = f"checkpoint-{number:09}"
    aside = folder / f".{name}.partial"
    about = {"kind": checkpoint.kind, **checkpoint.counters, "config": dict(checkpoint.config)}
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        save_network(aside / "policy.safetensors", checkpoint.policy, about)
        save_tensors(aside / "training.safetensors", checkpoint.tensors)
        meta = {"training": FORMAT, **VERSIONS, **about}
        save_json(aside / "training.json", meta)
        shutil.rmtree(folder / name, ignore_errors=True)
        os.replace(aside, folder / name)
        _sync(folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise WeightsError(f"{folder / name} cannot be written: {error.strerror}") from error
    except WeightsError:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    for old in saved(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder / name


def saved(folder: Path) -> list[Path]:
    """The checkpoints of a run, the oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def load(path: Path, kind: str) -> Checkpoint:
    """Read a checkpoint of a learner; `WeightsError` with the reason if it is none, or damaged."""
    meta = load_json(path / "training.json")
    for name, wanted in {"training": FORMAT, **VERSIONS, "kind": kind}.items():
        if meta.get(name) != wanted:
            raise WeightsError(f"{path} is of {name} {meta.get(name)!r}; this run has {wanted!r}")
    policy, _ = load_network(path / "policy.safetensors")
    config = meta.pop("config", None)
    if not isinstance(config, dict):
        raise WeightsError(f"{path / 'training.json'} lacks the settings of the run")
    counters = {k: v for k, v in meta.items() if k not in {"training", "kind", *VERSIONS}}
    tensors = load_tensors(path / "training.safetensors")
    return Checkpoint(kind, policy, tensors, counters, config)


def pool_of(path: Path) -> set[int]:
    """The past selves that a checkpoint names."""
    return set(load_json(path / "training.json").get("pool", ()))


def _sync(folder: Path) -> None:
    """Have the folder's entries on the disk, where the system can be asked for it."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
