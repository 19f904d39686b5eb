"""Settings of a training run: a dataclass a learner, read strictly from YAML and `--set`.

Every field says with `setting()` what it may be and what it is for. Anything else is refused before
a run begins: an unknown key with the nearest one, a value of another type or out of range with what
is allowed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml

from agents.networks import NetworkConfig
from guandan_env.errors import GuandanError, nearest, one_line, shown
from guandan_env.rules import RuleSet


class _Loader(yaml.SafeLoader):
    """Reads 1e-4 as a number, which YAML 1.1 does not."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)

Check = Callable[[object], Any]
C = TypeVar("C", bound="TrainConfig")


class ConfigError(GuandanError):
    """A setting that does not exist or is not allowed; the message says what is."""


def setting(default: Any, check: Check, about: str) -> Any:
    """A field: its default, the check that gives its value, and what it is for.

    The check raises `ValueError` with what is allowed.
    """
    metadata = {"check": check, "about": about}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: default.copy(), metadata=metadata)
    return field(default=default, metadata=metadata)


def whole(low: int, high: int) -> Check:
    """A whole number in a range."""

    def check(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"a whole number from {low:,} to {high:,}")
        return value

    return check


def number(low: float, high: float) -> Check:
    """A number in a range."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"a number from {low:g} to {high:g}")
        if not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(value)

    return check


def choice(*allowed: str) -> Check:
    """One of some words."""

    def check(value: object) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}{nearest(value, allowed)}")
        return str(value)

    return check


def text(value: object) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def words(value: object) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of texts")
    return value


def shares(value: object) -> dict[str, float]:
    """Parts of a whole by name, together at most 0.9."""
    allowed = "a mapping from agents (or 'pool') to parts from 0 to 0.9, together at most 0.9"
    if not isinstance(value, dict):
        raise ValueError(allowed)
    part = number(0, 0.9)
    try:
        checked = {text(name): part(share) for name, share in value.items()}
    except ValueError as error:
        raise ValueError(allowed) from error
    if sum(checked.values()) > 0.9 + 1e-9:
        raise ValueError(allowed)
    return checked


@dataclass(frozen=True)
class TrainConfig:
    """What every learner has. `moves` are moves of the environment, forced ones included."""

    seed: int = setting(0, whole(0, 2**31 - 1), "of deals, choices and weights")
    rules: str = setting("default", text, "a preset of rules")
    moves: int = setting(100_000_000, whole(1, 10**12), "moves of the run, forced ones included")
    minutes: float = setting(0.0, number(0, 1e6), "if not 0, the run ends after so many, too")
    threads: int = setting(0, whole(0, 256), "threads of torch; 0 for one a core")
    workers: int = setting(0, whole(0, 1024), "processes that play; 0: the one that learns plays")
    worker_timeout: float = setting(
        600.0, number(0.1, 1e6), "seconds of silence of a worker that end a run"
    )
    # Playing.
    tables: int = setting(512, whole(1, 1 << 16), "deals in play at once")
    steps: int = setting(96, whole(1, 1 << 14), "moves at each table between two updates")
    reward: str = setting("gain", choice("gain", "win", "equity"), "what a deal is worth")
    equity: str = setting("", text, "for reward equity: a file of `guandan equity`")
    opponents: dict[str, float] = setting(
        {}, shares, "agents, or a past self (pool), that hold one side at so many of the tables"
    )
    start: str = setting("", text, "weights to begin with, named as after `ppo:`; empty: random")
    # Imitation first.
    bc: str = setting("", text, "the agent that is imitated first; empty: none")
    bc_moves: int = setting(1_500_000, whole(1, 10**12), "moves of imitation")
    bc_taught: float = setting(0.5, number(0, 1), "part of those deals that the teacher plays")
    # The network.
    width: int = setting(384, whole(8, 4096), "of the trunk, which reads the observation")
    blocks: int = setting(2, whole(0, 32), "residual blocks of the trunk")
    candidate_width: int = setting(96, whole(8, 1024), "of the layers that score a play")
    row_width: int = setting(32, whole(1, 512), "of a play's embedding")
    # The past selves that `opponents: {pool: …}` plays against.
    pool_size: int = setting(6, whole(1, 64), "past selves that are kept")
    pool_every: int = setting(100, whole(1, 10**6), "updates between two that are kept")
    # Looking on.
    eval_every: int = setting(50, whole(1, 10**6), "updates between two evaluations")
    eval_deals: int = setting(400, whole(2, 10**6), "deals of an evaluation, each played twice")
    eval_against: list[str] = setting(["greedy", "planner"], words, "agents")
    checkpoint_minutes: float = setting(
        5.0, number(0, 1e4), "minutes between two checkpoints; 0: one after every update"
    )

    @property
    def network(self) -> NetworkConfig:
        """The sizes of the network."""
        return NetworkConfig(self.width, self.blocks, self.candidate_width, self.row_width)

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name."""
        return dataclasses.asdict(self)


def from_mapping(kind: type[C], values: Mapping[Any, Any], where: str) -> C:
    """The settings of a learner from a mapping; `ConfigError` names what is wrong with it.

    `where` says in messages where the values come from.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}
    checked = {}
    for key, value in values.items():
        if key not in fields:
            raise ConfigError(
                f"{where}: unknown setting {shown(key)}{nearest(key, fields)}; "
                f"allowed: {', '.join(fields)}"
            )
        try:
            checked[key] = fields[key].metadata["check"](value)
        except ValueError as error:
            raise ConfigError(f"{where}: {key} is {shown(value)}; allowed is {error}") from None
    config = kind(**checked)
    RuleSet.preset(config.rules)
    return config


def _read(source: str) -> Any:
    return yaml.load(source, _Loader)


def load(
    kind: type[C],
    path: Path | None,
    settings: Sequence[str],
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> C:
    """The settings of a learner from a YAML file, changed by texts `key=value`.

    The value of such a text is read as YAML is. `defaults` go before those of the learner.
    """
    values: dict[Any, Any] = dict(defaults)
    if path is not None:
        try:
            given = _read(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"{path} cannot be read: {one_line(error)}") from error
        if not isinstance(given, dict):
            raise ConfigError(f"{path} holds {shown(given)}; a mapping of settings is allowed")
        values.update(given)
    where = "the settings" if path is None else str(path)
    from_mapping(kind, values, where)
    for item in settings:
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"--set {item!r}: settings are written key=value")
        try:
            values[key] = _read(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"--set {item!r}: {one_line(error)}") from error
        from_mapping(kind, {key: values[key]}, "--set")
    return from_mapping(kind, values, where)


def described(kind: type[TrainConfig]) -> str:
    """Every setting of a learner as YAML: its default, what it is for and what is allowed."""
    lines = []
    for entry in dataclasses.fields(kind):
        value = {entry.name: getattr(kind(), entry.name)}
        written = yaml.safe_dump(value, default_flow_style=True, width=1000).strip()[1:-1]
        allowed = _allowed(entry.metadata["check"])
        lines.append(f"{written}  # {entry.metadata['about']} ({allowed})")
    return "\n".join(lines)


def _allowed(check: Check) -> str:
    """What a check lets through, in words."""
    try:
        check(None)
    except ValueError as error:
        return str(error)
    raise AssertionError("a check that lets anything through")
