"""Who met whom on the deals of a suite: one cell for every two agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.identity import Identity
from eval.statistics import Estimate, paired_mean, paired_rate
from eval.store import Result
from guandan_env.errors import GuandanError

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Duel:
    """A cell as its row's agent sees it: won and gain `(n, 2)`, by deal and by its leg."""

    won: Float
    gain: Float
    result: Result
    turned: bool  # the row's agent is b of the result

    @property
    def rate(self) -> Estimate:
        """Share of the deals that the row's agent won."""
        return paired_rate(self.won.mean(axis=1))

    @property
    def level_gain(self) -> Estimate:
        """Levels that the row's agent won less those it lost, a deal."""
        return paired_mean(self.gain.mean(axis=1))

    def figure(self, name: str) -> tuple[float, float]:
        """A figure of the result, of the row's agent and of the other."""
        first, second = self.result.figures[name]
        return (second, first) if self.turned else (first, second)


class CrossTable:
    """Agents and their matches on one suite.

    agents: `Identity` by index. labels: what tables call them, specs where those are enough.
    duels: by pairs of indices, each in both directions.
    """

    def __init__(self, agents: Sequence[Identity], results: Iterable[Result]) -> None:
        self.agents = tuple(agents)
        specs = Counter(agent.spec for agent in self.agents)
        self.labels = tuple(
            agent.spec if specs[agent.spec] == 1 else str(agent) for agent in self.agents
        )
        index = {agent: i for i, agent in enumerate(self.agents)}
        self.duels: dict[tuple[int, int], Duel] = {}
        for result in results:
            i, j = index.get(result.a), index.get(result.b)
            if i is None or j is None or i == j:
                continue
            known = self.duels.get((i, j))
            # Of several results the one of most deals counts, of equally many the last.
            if known is None or result.deals >= known.result.deals:
                won, gain = result.won, result.gain
                self.duels[i, j] = Duel(won, gain, result, False)
                self.duels[j, i] = Duel(1 - won[:, ::-1], -gain[:, ::-1], result, True)

    @classmethod
    def of_all(cls, results: Sequence[Result]) -> CrossTable:
        """All agents that have results, in the order of their first."""
        agents = dict.fromkeys(agent for result in results for agent in (result.a, result.b))
        return cls(list(agents), results)

    def __len__(self) -> int:
        return len(self.agents)

    def index(self, spec: str) -> int:
        """Where the agent of a spec stands, the last of several; `GuandanError` if it is not."""
        found = [i for i, agent in enumerate(self.agents) if agent.spec == spec]
        if not found:
            raise GuandanError(f"no results of {spec}; there are some of {', '.join(self.labels)}")
        return found[-1]

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of agents that met, each once."""
        return [(i, j) for i, j in self.duels if i < j]
