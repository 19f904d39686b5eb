"""`random`: any legal row, each as likely as the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality, randomness
from guandan_env.decisions import Decisions


class Random:
    """Plays a uniformly random legal row, drawn from the decision's own random key.

    The same decision of the same match is answered alike in any batch, and in both legs of a
    duplicate deal.
    """

    name = "random"
    version = "random-v1"

    def reset(self) -> None:
        """Nothing is remembered."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """A legal row for each decision, `(n,)`."""
        number = legality.count(decisions.packed)
        return legality.select(decisions.packed, randomness.below(decisions.key, number))
