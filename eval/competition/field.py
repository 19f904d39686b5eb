"""What every format of a stage has in common: who takes part, and what a format must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from eval.competition.draw import Lot
from eval.competition.results import Played, Round
from eval.competition.scoring import Line
from eval.competition.terms import MatchTerms


@dataclass(frozen=True)
class Field:
    """Who takes part in a stage.

    entrants: by their place in the stage before, at first in the order of the file. clubs: of
    each, None for none. groups: of each in the stage before. lot: of this stage.
    """

    entrants: tuple[int, ...]
    clubs: Mapping[int, str | None] = field(default_factory=dict)
    groups: Mapping[int, str | None] = field(default_factory=dict)
    lot: Lot = field(default_factory=lambda: Lot.from_seed(0))

    def kept_apart(self, word: str) -> Mapping[int, Any]:
        """The labels of entrants who are to be kept apart in a draw: a choice of `APART`."""
        return {"club": self.clubs, "group": self.groups, "none": {}}[word]


APART = ("club", "group", "none")


class Format(Protocol):
    """How a stage is played. Everything follows from the field and what was played so far."""

    @property
    def terms(self) -> MatchTerms:
        """How its matches are played, unless a round has terms of its own."""
        ...

    def next_round(self, field: Field, played: Sequence[Played]) -> Round | None:
        """The round to play next; None when the stage is over."""
        ...

    def standings(self, field: Field, played: Sequence[Played]) -> list[Line]:
        """How things stand, the best first."""
        ...
