"""What a deal is worth to its winners: the one place where the aim of learning is set."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eval.equity import Equity, manner_of
from guandan_env.engine import Engine, StepResult
from guandan_env.errors import GuandanError
from guandan_env.promotion import Standing
from guandan_env.rules import RuleSet

Ints = NDArray[np.integer]


class DealReward(Protocol):
    """Pays side 0 for the deals that end; side 1 gets the opposite."""

    episode: str
    """What is played for it: single deals (`"deal"`) or whole games (`"game"`)."""

    def begins(self, engine: Engine, tables: Ints) -> None:
        """Deals begin at some tables (indices)."""
        ...

    def pays(self, engine: Engine, result: StepResult, tables: Ints) -> NDArray[np.float32]:
        """What the deals that ended at some tables (indices) in a step are worth, `(k,)`."""
        ...


class Gain:
    """The levels won, or lost."""

    episode = "deal"

    def begins(self, engine: Engine, tables: Ints) -> None:
        """Nothing to note."""

    def pays(self, engine: Engine, result: StepResult, tables: Ints) -> NDArray[np.float32]:
        """-3 … 3 by the rules of promotion, `(k,)`."""
        return result.reward[tables, 0]


class Win(Gain):
    """1 for a deal won, -1 for a deal lost."""

    def pays(self, engine: Engine, result: StepResult, tables: Ints) -> NDArray[np.float32]:
        """1 or -1, `(k,)`."""
        return np.sign(result.reward[tables, 0])


class EquityGain:
    """The change in the probability of winning the game, times `SCALE` to be of the size of levels.

    equity: from a measured agent, see `guandan equity`. num_tables: of the engine.
    """

    SCALE = 10
    episode = "game"

    def __init__(self, equity: Equity, num_tables: int) -> None:
        self.equity = equity
        self._before = np.full(num_tables, 0.5)

    def begins(self, engine: Engine, tables: Ints) -> None:
        """Note what the games are worth before the deals that begin."""
        self._before[tables] = self._worth(engine, tables, engine.state.previous[tables])

    def pays(self, engine: Engine, result: StepResult, tables: Ints) -> NDArray[np.float32]:
        """The change, `(k,)`."""
        winner = engine.state.winner[tables]
        after = self._worth(engine, tables, result.order[tables])
        now = np.where(winner >= 0, winner == 0, after)
        return (self.SCALE * (now - self._before[tables])).astype(np.float32)

    def _worth(self, engine: Engine, tables: Ints, order: Ints) -> NDArray[np.float64]:
        names = Standing.__dataclass_fields__
        standing = Standing(*(getattr(engine.state, n)[tables].astype(np.int64) for n in names))
        return self.equity.worth(standing, manner_of(order.astype(np.int64)))


def deal_reward(
    name: str, num_tables: int, rules: RuleSet, equity: Path | None = None
) -> DealReward:
    """The reward of a name under some rules.

    `gain`, `win`, or `equity`, which needs the file of a table for the same rules; `GuandanError`
    for a table of others, since it would pay for a game that is not played.
    """
    if name == "gain":
        return Gain()
    if name == "win":
        return Win()
    if equity is None:
        raise GuandanError("reward 'equity' needs the table of `guandan equity`: set equity to it")
    table = Equity.load(equity)
    if table.rules != rules:
        theirs = f"the rules {table.rules.name!r}"
        if table.rules.name == rules.name:
            theirs = f"other rules of the name {rules.name!r}"
        raise GuandanError(
            f"{equity} was made under {theirs}, this run has {rules.name!r}: "
            f"guandan equity AGENT --rules {rules.name} --out FILE makes the table for it"
        )
    return EquityGain(table, num_tables)
