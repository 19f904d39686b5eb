"""What agents think of their moves, for records and replays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from guandan_env.decisions import Agent, Decisions
from guandan_env.notation import row_name

SHOWN = 5


@dataclass(frozen=True)
class Rated:
    """Rows `(m,)` that an agent has rated, the decision of each `(m,)`, and the values `(m,)`.

    Decisions are positions among those that were asked about; one may have no rows. Values are in
    the agent's own units, higher is better.
    """

    of: NDArray[np.integer]
    rows: NDArray[np.integer]
    values: NDArray[np.floating]


@runtime_checkable
class Thinker(Protocol):
    """An agent that can say what it thinks of the legal rows; no agent has to."""

    def rated(self, decisions: Decisions) -> Rated:
        """What the legal rows of n decisions are worth to it."""
        ...


def choices_of(agent: Agent, decisions: Decisions) -> list[list[dict[str, Any]]]:
    """The best moves of each decision in the form of records, the best first.

    Empty where the agent says nothing of a decision, or nothing at all.
    """
    told: list[list[dict[str, Any]]] = [[] for _ in range(len(decisions))]
    if not isinstance(agent, Thinker):
        return told
    rated = agent.rated(decisions)
    order = np.lexsort((rated.rows, -rated.values, rated.of))
    for i in order.tolist():
        choices = told[int(rated.of[i])]
        if len(choices) < SHOWN:
            value = round(float(rated.values[i]), 4)
            choices.append({"claim": row_name(int(rated.rows[i])), "value": value})
    return told
