"""Players that give every legal row a score: all but the scores themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.candidates import Inputs, inputs_of
from agents.choosing import best, drawn
from agents.thoughts import Rated
from guandan_env import legality
from guandan_env.decisions import Decisions

# Decisions that are scored together.
_TOGETHER = 1024


class ScoringPlayer:
    """Plays the legal row of the highest score; forced moves cost nothing.

    temperature: 0 for the best, else rows are drawn from the softmax of the scores divided by it.
    """

    def __init__(self, name: str, temperature: float = 0.0) -> None:
        self.name, self.temperature = name, temperature

    def scores(self, inputs: Inputs) -> NDArray[np.float32]:
        """The score of each candidate, `(m,)`."""
        raise NotImplementedError

    def reset(self) -> None:
        """Nothing is remembered."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """A legal row for each decision, `(n,)`."""
        number = legality.count(decisions.packed)
        chosen = legality.select(decisions.packed, np.zeros(len(decisions), dtype=np.int64))
        free = np.flatnonzero(number > 1)
        for start in range(0, len(free), _TOGETHER):
            some = free[start : start + _TOGETHER]
            chosen[some] = self._choose(decisions.take(some))
        return chosen

    def rated(self, decisions: Decisions) -> Rated:
        """The scores of all legal rows, see `thoughts.Thinker`."""
        inputs = inputs_of(decisions)
        return Rated(inputs.of, inputs.rows, self.scores(inputs))

    def _choose(self, decisions: Decisions) -> NDArray[np.integer]:
        inputs = inputs_of(decisions)
        scores = self.scores(inputs)
        if self.temperature:
            place = drawn(scores / self.temperature, inputs, decisions.key)
        else:
            place = best(scores, inputs)
        return inputs.rows[inputs.start + place]
