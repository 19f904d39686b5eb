"""Checks of what comes from outside, each for one sort of value, before anything is changed.

They stand where values enter: engine, environments, positions, notation, plays, rules, states and
scenes. Functions on arrays of the engine's own (bits, masks, legality, suits, tribute, promotion,
dealing, random keys) trust their callers, and are quick.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guandan_env.errors import GuandanError, nearest, shown

# A seed is one word of the random keys; so large, it still is a number for every file format.
MOST_SEED = 2**63 - 1


def as_whole(value: object) -> int | None:
    """`value` as an int if it is a whole number, numpy's among them; None for all else."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except Exception:  # TypeError, or what a stranger's __index__ raises: no whole number
        return None


def whole_number(
    value: object, what: str, low: int, high: int, error: type[GuandanError] = GuandanError
) -> int:
    """`value` as an int if it is a whole number from `low` to `high`, else `error`."""
    number = as_whole(value)
    if number is None or not low <= number <= high:
        raise error(f"{what} is {shown(value)}; a whole number from {low} to {high} is allowed")
    return number


def items_of(value: Any, most: int) -> list[object] | None:
    """The items of a list-like value, at most `most` + 1 of them; None of anything else."""
    if isinstance(value, (str, bytes, dict)):
        return None
    try:
        return list(islice(value, most + 1))
    except Exception:  # TypeError, or what a stranger's iterator raises: no list
        return None


def check_seed(seed: object) -> int:
    """A seed as an int; `GuandanError` unless it is a whole number from 0 to 2**63 - 1."""
    return whole_number(seed, "seed", 0, MOST_SEED)


def check_flag(value: object, what: str) -> bool:
    """`value` if it is True or False, else `GuandanError`."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise GuandanError(f"{what} is {shown(value)}; True and False are allowed")


def check_choice(value: object, what: str, allowed: Sequence[str]) -> str:
    """`value` if it is one of some words, else `GuandanError`."""
    if isinstance(value, str) and value in allowed:
        return value
    raise GuandanError(
        f"{what} is {shown(value)}{nearest(value, allowed)}; allowed are {', '.join(allowed)}"
    )


def whole_array(
    value: object, what: str, shape: tuple[int, ...], error: type[GuandanError] = GuandanError
) -> NDArray[np.integer]:
    """`value` as an array of whole numbers of this shape, else `error`."""
    allowed = f"whole numbers of shape {shape} are allowed"
    given = _array(value, what, allowed, error)
    if given.shape != shape or given.dtype.kind not in "iu":
        raise error(f"{what} are {given.dtype} of shape {given.shape}; {allowed}")
    return given


def check_within(
    given: NDArray[np.integer],
    what: str,
    low: int,
    high: int,
    error: type[GuandanError] = GuandanError,
) -> None:
    """Raise `error` unless whole numbers `(…)` are from `low` to `high`."""
    # As Python's numbers: numpy compares signed and unsigned ones of 64 bits as floats.
    if given.size and not low <= int(given.min()) <= int(given.max()) <= high:
        wrong = next(n for n in given.ravel().tolist() if not low <= n <= high)
        raise error(f"{what} name {wrong}; whole numbers from {low} to {high} are allowed")


def check_indices(
    value: object, what: str, size: int, *, distinct: bool = False
) -> NDArray[np.intp]:
    """`value` as positions `(n,)`, each from 0 to `size` - 1, else `GuandanError`.

    With `distinct` none may come twice.
    """
    allowed = f"an array of whole numbers from 0 to {size - 1} is allowed"
    given = _array(value, what, allowed, GuandanError)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise GuandanError(f"{what} are {given.dtype} of shape {given.shape}; {allowed}")
    # Negative numbers become the largest of all.
    if given.size and given.astype(np.uint64).max() >= size:
        wrong = given[(given < 0) | (given >= size)][0]
        raise GuandanError(f"{what} name {wrong}; {allowed}")
    places = given.astype(np.intp, copy=False)
    # Mostly they go upwards, which is quickly seen.
    if distinct and len(places) > 1 and not (places[1:] > places[:-1]).all():
        values, times = np.unique(places, return_counts=True)
        if len(values) < len(places):
            twice = values[np.argmax(times)]
            raise GuandanError(f"{what} name {twice} {times.max()} times; once is allowed")
    return places


def _array(value: object, what: str, allowed: str, error: type[GuandanError]) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except Exception as problem:  # ragged lists, or what a stranger's __array__ raises
        raise error(f"{what} are {shown(value)}; {allowed}") from problem
