"""Draws by lot (RULES 9.2, 9.3): who stands where, from a seed alone.

All chance is hashed from (seed, stage, round, purpose), so a draw can be made again at any time,
on any machine, and comes out the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from guandan_env import randomness

_LOT = 0x6C6F74  # tells draws from all other uses of the seed
_HALF, _REST, _SIZES, _PART = range(4)  # purposes; parts count on from the last
T = TypeVar("T")


@dataclass(frozen=True)
class Lot:
    """The source of chance of one draw; `of` makes others that hang on it."""

    path: tuple[int, ...]

    @classmethod
    def from_seed(cls, seed: int) -> Lot:
        """Where all draws of a competition begin."""
        return cls((seed, _LOT))

    def of(self, *purpose: int) -> Lot:
        """The lot for a part of what this one is for."""
        return Lot(self.path + purpose)

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """The things in an order that is drawn."""
        tickets = randomness.numbers(randomness.key(*self.path), max(1, len(things)))[0]
        return [things[i] for i in np.argsort(tickets[: len(things)], kind="stable")]

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1."""
        return int(randomness.below(randomness.key(*self.path), bound)[0])


def apart(
    entrants: Sequence[int], clubs: Mapping[int, Hashable], lot: Lot, sizes: Sequence[int]
) -> list[list[int]]:
    """Entrants drawn into parts of these sizes, each club spread over them evenly.

    The numbers of a club's members in two parts differ by one at most, as long as none is full.
    Entrants without a club (None, or not in `clubs`) fill up.
    """
    drawn = lot.shuffled(entrants)
    count = Counter(clubs.get(e) for e in drawn)
    first_seen = {club: place for place, club in reversed(list(enumerate(map(clubs.get, drawn))))}

    def order(entrant: int) -> tuple[bool, int, int]:
        club = clubs.get(entrant)
        return club is None, -count[club], first_seen[club]

    # Largest clubs first, club after club, dealt out in turn: neighbours fall into different parts.
    # Larger parts have the first turn, so that parts of nearly one size are full at the end only.
    turn = lot.of(_REST).shuffled(range(len(sizes)))
    turn.sort(key=lambda part: -sizes[part])
    result: list[list[int]] = [[] for _ in sizes]
    for entrant in sorted(drawn, key=order):
        turn.sort(key=lambda part: len(result[part]) >= sizes[part])  # full ones to the end
        part = turn.pop(0)
        result[part].append(entrant)
        turn.append(part)
    return [lot.of(_HALF, number).shuffled(part) for number, part in enumerate(result)]


def even_sizes(count: int, parts: int, lot: Lot) -> list[int]:
    """Sizes of parts that differ by one at most; which are the larger ones is drawn."""
    sizes = [count // parts + (part < count % parts) for part in range(parts)]
    return lot.of(_SIZES).shuffled(sizes)


def bracket(
    entrants: Sequence[int], clubs: Mapping[int, Hashable], lot: Lot, slots: int
) -> list[int | None]:
    """Entrants drawn onto the lines of a bracket of `slots`, a power of two; None is a bye.

    Clubs are kept apart at every cut: in halves first, then in the quarters of each, and so on.
    Byes are spread as evenly, so that with at least half as many entrants as lines no pair of
    lines is empty.
    """
    if slots == 1:
        return list(entrants) or [None]
    lines: list[int | None] = []
    sizes = even_sizes(len(entrants), 2, lot)
    for number, half in enumerate(apart(entrants, clubs, lot, sizes)):
        lines += bracket(half, clubs, lot.of(_PART + number), slots // 2)
    return lines


def in_pairs(entrants: Sequence[int], clubs: Mapping[int, Hashable], lot: Lot) -> list[int]:
    """Entrants drawn in an order in which the first two meet, the next two, and so on.

    Clubs are kept apart as in a bracket; of an odd number the last entrant stays alone.
    """
    pairs = (len(entrants) + 1) // 2
    if pairs <= 1:
        return lot.shuffled(entrants)
    left = 2 * (pairs // 2)
    halves = apart(entrants, clubs, lot, (left, len(entrants) - left))
    return [e for n, half in enumerate(halves) for e in in_pairs(half, clubs, lot.of(_PART + n))]


def seeded(ranking: Sequence[int], slots: int) -> list[int | None]:
    """The lines of a bracket by strength: the first two can meet in the final only, and so on.

    The strongest have the byes.
    """
    places = [0]
    while len(places) < slots:
        last = 2 * len(places) - 1
        places = [place for p in places for place in (p, last - p)]
    return [ranking[p] if p < len(ranking) else None for p in places]


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << max(0, count - 1).bit_length()
