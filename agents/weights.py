"""Weights of networks in files: safetensors, and beside them in JSON what they are.

`NAME.safetensors` holds tensors and nothing else; `NAME.json` says for which action table,
observation and candidate features they were made, and the sizes of the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from agents.candidates import CANDIDATES_VERSION
from agents.networks import CandidateNetwork, NetworkConfig
from guandan_env.action_features import ACTION_FEATURES_VERSION
from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.aside import written_aside
from guandan_env.errors import GuandanError, one_line, shown
from guandan_env.observation import OBSERVATION_VERSION

FORMAT = "guandan-network-v1"
VERSIONS = {
    "format": FORMAT,
    "actions": ACTION_TABLE_VERSION,
    "action_features": ACTION_FEATURES_VERSION,
    "observation": OBSERVATION_VERSION,
    "candidates": CANDIDATES_VERSION,
}


class WeightsError(GuandanError):
    """A file of weights that is missing, damaged, or made for something else."""


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as a whole or not at all; `WeightsError` where the disk does not take them."""
    try:
        with written_aside(path) as file:
            file.write(save({name: t.detach().cpu().contiguous() for name, t in tensors.items()}))
    except OSError as error:
        raise WeightsError(f"{path} cannot be written: {error.strerror or error}") from error


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file; `WeightsError` if it cannot be read or is none."""
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror or error}") from error
    except (SafetensorError, ValueError) as error:
        raise WeightsError(
            f"{path} is no file of tensors, or damaged: {one_line(error)}"
        ) from error


def save_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON as a whole or not at all; `WeightsError` where the disk does not take it."""
    try:
        with written_aside(path) as file:
            file.write(json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n")
    except OSError as error:
        raise WeightsError(f"{path} cannot be written: {error.strerror or error}") from error


def load_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file; `WeightsError` if it cannot be read or is none."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"{path} is no JSON, or damaged: {one_line(error)}") from error
    if not isinstance(value, dict):
        raise WeightsError(f"{path} holds {shown(value)}; an object is allowed")
    return value


def fill(module: torch.nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Give a module its weights; `WeightsError` if names, shapes or types are others."""
    wanted = module.state_dict()
    for name in sorted(set(wanted) ^ set(tensors)):
        what = "lacks" if name in wanted else "has an unknown tensor"
        raise WeightsError(f"{where} {what} {shown(name)}; it was made for another network")
    for name, tensor in wanted.items():
        given = tensors[name]
        if given.shape != tensor.shape or given.dtype != tensor.dtype:
            raise WeightsError(
                f"{where}: {name} is {given.dtype} {tuple(given.shape)}, the network has "
                f"{tensor.dtype} {tuple(tensor.shape)}"
            )
        if not torch.isfinite(given).all():
            raise WeightsError(f"{where}: {name} holds numbers that are not finite")
    module.load_state_dict(dict(tensors))


def save_network(path: Path, network: CandidateNetwork, about: Mapping[str, Any]) -> None:
    """Write a network to `path` (`….safetensors`) and what it is to the `.json` beside it.

    `about` is free: who made it, how. The description is written last.
    """
    save_tensors(path, network.state_dict())
    meta = {**VERSIONS, "network": asdict(network.config), "about": dict(about)}
    save_json(path.with_suffix(".json"), meta)


def load_network(path: str | os.PathLike[str]) -> tuple[CandidateNetwork, dict[str, Any]]:
    """The network of a file and what is said about it; `WeightsError` if it does not fit."""
    file = Path(path)
    meta = load_json(file.with_suffix(".json"))
    for name, version in VERSIONS.items():
        if meta.get(name) != version:
            raise WeightsError(
                f"{file} was made for {name} {shown(meta.get(name))}; this version has {version!r}"
            )
    network = CandidateNetwork(_sizes(meta.get("network"), file))
    fill(network, load_tensors(file), str(file))
    about = meta.get("about")
    return network.eval(), about if isinstance(about, dict) else {}


def _sizes(given: object, file: Path) -> NetworkConfig:
    names = set(NetworkConfig.__dataclass_fields__)
    if not isinstance(given, dict) or set(given) != names:
        raise WeightsError(f"{file}: network is {shown(given)}; it has {', '.join(sorted(names))}")
    if any(type(size) is not int or not 0 <= size <= 4096 for size in given.values()):
        raise WeightsError(f"{file}: network is {shown(given)}; sizes from 0 to 4096 are allowed")
    return NetworkConfig(**given)
