"""Sets of named options: checked when made, immutable, to and from dict, JSON and YAML.

`guandan_env.rules.RuleSet` and `guandan_env.conduct.Conduct` are such sets. Every option carries
what it may be set to (`Allowed`) and one line of help; the checks, the error messages, the
listings and the files all come from these.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from guandan_env.cards import RANKS
from guandan_env.errors import RulesError, nearest, one_line, shown

LONGEST_TEXT = 100_000  # characters of JSON or YAML, a hundred times what all options take


@dataclass(frozen=True, slots=True)
class Allowed:
    """What an option may be set to: in words, as a test, and as names where it has names."""

    text: str
    test: Callable[[object], bool]
    names: tuple[str, ...] = ()


def one_of(*values: object) -> Allowed:
    """Allow exactly these values."""

    def test(value: object) -> bool:
        return any(_same(value, allowed) for allowed in values)

    names = tuple(v for v in values if isinstance(v, str))
    return Allowed(", ".join(map(repr, values)), test, names)


def _same(value: object, allowed: object) -> bool:
    """Whether two values are equal and of one type: True equals 1, but is not meant by it."""
    if type(value) is not type(allowed):
        return False
    if isinstance(value, tuple) and isinstance(allowed, tuple):
        return len(value) == len(allowed) and all(map(_same, value, allowed))
    return value == allowed


def flag() -> Allowed:
    """Allow True and False."""
    return one_of(True, False)


def level() -> Allowed:
    """Allow a level, written as the character of its rank."""
    return dataclasses.replace(one_of(*RANKS), text=f"a string, one character of {RANKS!r}")


def levels() -> Allowed:
    """Allow a tuple of different levels, lowest first."""

    def test(value: object) -> bool:
        return (
            isinstance(value, tuple)
            and all(isinstance(rank, str) and len(rank) == 1 and rank in RANKS for rank in value)
            and list(value) == sorted(set(value), key=RANKS.index)
        )

    return Allowed(f"a tuple of different characters of {RANKS!r}, lowest first", test)


def whole(low: int, high: int) -> Allowed:
    """Allow the whole numbers from `low` to `high`."""
    return Allowed(
        f"a whole number from {low} to {high}", lambda v: type(v) is int and low <= v <= high
    )


def seconds() -> Allowed:
    """Allow a finite number of seconds above zero."""
    return Allowed(
        "a number of seconds above 0",
        lambda v: type(v) in (int, float) and 0 < v < math.inf,  # type: ignore[operator]
    )


def text(max_length: int) -> Allowed:
    """Allow any printable string up to `max_length` characters: one line, in every file format."""
    return Allowed(
        f"a string of at most {max_length} printable characters",
        lambda v: type(v) is str and len(v) <= max_length and v.isprintable(),
    )


def optional(allowed: Allowed) -> Allowed:
    """Allow None besides what `allowed` does."""
    return Allowed(f"None, {allowed.text}", lambda v: v is None or allowed.test(v), allowed.names)


def option(default: object, allowed: Allowed, help: str, *, compare: bool = True) -> Any:
    """One field of an `Options` class; `compare=False` for a mere label."""
    return dataclasses.field(
        default=default, compare=compare, metadata={"allowed": allowed, "help": help}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Base of the option sets. A list given for an option becomes a tuple.

    Raises `RulesError` for a value that is not allowed and for options that exclude each other.
    """

    def __new__(cls, **options: object) -> Self:
        """Raise `RulesError` for names that are no options; their values are checked later."""
        cls._require_known(options)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            allowed: Allowed = field.metadata["allowed"]
            if not allowed.test(value):
                raise RulesError(
                    f"{type(self).__name__}: {field.name}={shown(value)} is not allowed"
                    f"{nearest(value, allowed.names)}; "
                    f"allowed: {allowed.text}"
                )
        for reason in self._conflicts():
            raise RulesError(f"{type(self).__name__}: {reason}")

    def _conflicts(self) -> Iterable[str]:
        """Say why options that are allowed alone cannot go together."""
        return ()

    @classmethod
    def help_of(cls) -> dict[str, str]:
        """Every option with its one line of help, labels left out."""
        return {f.name: f.metadata["help"] for f in dataclasses.fields(cls) if f.compare}

    @classmethod
    def _require_known(cls, names: Iterable[object]) -> None:
        known = [f.name for f in dataclasses.fields(cls)]
        for name in names:
            if name not in known:
                raise RulesError(
                    f"{cls.__name__} has no option {shown(name)}{nearest(name, known)}; "
                    f"options: {', '.join(known)}"
                )

    def replace(self, **options: Any) -> Self:
        """Return a copy with these options set, checked as a whole.

        A label that is not given again does not stay: it belonged to the old options.
        """
        self._require_known(options)
        kept = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.compare}
        return type(self)(**kept | options)

    def differences(self, other: Self) -> dict[str, tuple[Any, Any]]:
        """Return `{option: (own value, other's value)}` where two sets differ, labels left out."""
        if type(other) is not type(self):
            raise RulesError(
                f"{type(self).__name__}: cannot be compared with {shown(other)}; "
                f"allowed: another {type(self).__name__}"
            )
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in self.help_of()}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def to_dict(self) -> dict[str, Any]:
        """All options in the order of their definition, tuples as lists."""
        return dict(self._plain())

    def _plain(self) -> Iterator[tuple[str, Any]]:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            yield field.name, list(value) if isinstance(value, tuple) else value

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build from `to_dict`'s form; options left out have their defaults.

        Raises `RulesError` for an unknown option or a value that is not allowed.
        """
        if not isinstance(data, Mapping):
            raise RulesError(
                f"{cls.__name__}: {shown(data)} is not allowed; "
                "allowed: a mapping from options to values"
            )
        cls._require_known(data)
        return cls(**data)

    def to_json(self) -> str:
        """All options as one JSON object on one line."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, source: str) -> Self:
        """Build from a JSON object; raises `RulesError` as `from_dict` does, or for bad JSON."""
        cls._require_text(source, "JSON")
        try:
            data = json.loads(source)
        except (ValueError, RecursionError) as error:
            raise RulesError(f"{cls.__name__}: this is not JSON: {one_line(error)}") from error
        return cls.from_dict(data)

    def to_yaml(self) -> str:
        """All options as a YAML mapping. Needs PyYAML, else raises `RulesError`."""
        written: str = yaml_module().safe_dump(
            self.to_dict(), sort_keys=False, default_flow_style=None, allow_unicode=True
        )
        return written

    @classmethod
    def from_yaml(cls, source: str) -> Self:
        """Build from a YAML mapping; raises `RulesError` as `from_dict` does, or for bad YAML."""
        cls._require_text(source, "YAML")
        yaml = yaml_module()
        try:
            data = yaml.safe_load(source)
        except Exception as error:  # YAMLError, or what PyYAML's scalars raise, as for `!!bool x`
            raise RulesError(f"{cls.__name__}: this is not YAML: {one_line(error)}") from error
        return cls.from_dict(data)

    @classmethod
    def _require_text(cls, source: object, form: str) -> None:
        if not isinstance(source, str):
            raise RulesError(
                f"{cls.__name__}: {shown(source)} is not allowed; allowed: a string of {form}"
            )
        if len(source) > LONGEST_TEXT:
            raise RulesError(
                f"{cls.__name__}: {len(source):,} characters of {form} are not allowed; "
                f"allowed: at most {LONGEST_TEXT:,}"
            )


def yaml_module() -> Any:
    """PyYAML, imported when first needed; raises `RulesError` where it is not installed."""
    try:
        import yaml
    except ImportError as error:
        raise RulesError("YAML needs PyYAML: pip install 'guandan[eval]'") from error
    return yaml
