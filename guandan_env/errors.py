"""Errors that bad input raises. All derive from `GuandanError`, itself a `ValueError`."""

from __future__ import annotations

import difflib
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


def nearest(name: object, allowed: Iterable[object]) -> str:
    """`" (did you mean 'x'?)"` for the allowed name closest to `name`, or an empty string."""
    matches = difflib.get_close_matches(str(name), [str(a) for a in allowed], n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
