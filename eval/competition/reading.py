"""Values taken one by one out of a mapping that came from a file, each checked and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guandan_env.checks import as_whole
from guandan_env.errors import GuandanError, nearest, shown

LONGEST_NAME = 60


class DescriptionError(GuandanError):
    """A description of a competition that is none."""


class Part:
    """One mapping of a file: `where` is what errors call it, `allowed` are all its keys."""

    def __init__(self, given: object, where: str, allowed: Iterable[str]) -> None:
        self.where = where
        keys = list(allowed)
        if not isinstance(given, Mapping):
            raise DescriptionError(
                f"{where} is {shown(given)}; a mapping is allowed, with the keys {', '.join(keys)}"
            )
        for key in given:
            if key not in keys:
                raise DescriptionError(
                    f"{where} has the unknown key {shown(key)}{nearest(key, keys)}; "
                    f"allowed: {', '.join(keys)}"
                )
        self.given: Mapping[str, Any] = given

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def error(self, key: str, allowed: str) -> DescriptionError:
        """What is wrong with the value of a key."""
        if key not in self.given:
            return DescriptionError(f"{self.where} lacks {key!r}; {allowed} is allowed")
        return DescriptionError(
            f"{self.where}: {key} is {shown(self.given[key])}; {allowed} is allowed"
        )

    def whole(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number from `low` to `high`."""
        value = self.given.get(key, default)
        number = as_whole(value)
        if number is None or not low <= number <= high:
            raise self.error(key, f"a whole number from {low} to {high}")
        return number

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.given.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def choice(self, key: str, allowed: Iterable[str], default: str | None = None) -> str:
        """One of some words."""
        value, words = self.given.get(key, default), list(allowed)
        if not isinstance(value, str) or value not in words:
            near = nearest(value, words)
            raise self.error(key, f"one of {', '.join(words)}{near}")
        return value

    def text(self, key: str, default: str | None = None, longest: int = LONGEST_NAME) -> str:
        """One line of printable text."""
        value = self.given.get(key, default)
        if type(value) in (int, float):
            value = str(value)  # a club called 7 need not be quoted
        good = isinstance(value, str) and value.isprintable() and len(value) <= longest
        if not good or not (str(value).strip() or value == default):
            raise self.error(key, f"a text of 1 to {longest} printable characters")
        return str(value).strip()

    def items(self, key: str, most: int, default: list[Any] | None = None) -> list[Any]:
        """A list of 1 to `most` things."""
        value = self.given.get(key, default)
        if not isinstance(value, list) or not (1 <= len(value) <= most or value == default):
            raise self.error(key, f"a list of 1 to {most}")
        return value
