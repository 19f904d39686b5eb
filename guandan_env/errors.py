"""Errors that bad input raises. All derive from `GuandanError`, itself a `ValueError`."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable


class GuandanError(ValueError):
    """Something given from outside is not allowed; the message says what is."""


class CardError(GuandanError):
    """An unknown card, rank or level, or a hand that two decks cannot hold."""


class PlayError(GuandanError):
    """Cards or a claim that make no play of the game."""


class RulesError(GuandanError):
    """An unknown preset or option, or options that exclude each other."""


class IllegalActionError(GuandanError):
    """An action that is not legal where it was given; the state is unchanged."""


class StateError(GuandanError):
    """A position that cannot exist, or a saved state that does not fit."""


# Longest name for which a near one is looked for: difflib is quadratic.
_LONGEST_NAME = 64
_LONGEST_SHOWN = 80


class _Short(reprlib.Repr):
    """Looks at a few items of what is long only, and not deep."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = _LONGEST_SHOWN
        self.maxlong = 40

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[:_LONGEST_SHOWN])


_SHORT = _Short()


def shown(value: object) -> str:
    """What a message shows of any value: its `repr` in one line, cut at 80 characters."""
    try:
        text = _SHORT.repr(value)
    except Exception:  # what a stranger's __repr__ raises, or int for thousands of digits
        text = f"<{type(value).__name__}>"
    return one_line(text, _LONGEST_SHOWN)


def one_line(text: object, longest: int = 200) -> str:
    """A text without line breaks and control characters, cut at `longest` characters."""
    start = " ".join(str(text)[: 4 * longest].split())
    clean = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in start)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def nearest(name: object, allowed: Iterable[object]) -> str:
    """`" (did you mean 'x'?)"` for the allowed name closest to `name`, or an empty string."""
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return ""
    matches = difflib.get_close_matches(name, [str(a) for a in allowed], n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
