"""How good a network is by now: duplicate deals against some agents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eval.duplicate import Terms, play_pairs
from eval.statistics import paired_rate
from guandan_env.decisions import Agent
from guandan_env.rules import RuleSet

EVAL_SEED = 20_000  # apart from the seeds that people take, so that no suite is looked at


@dataclass(frozen=True)
class Score:
    """Deals won against an agent with a 95% interval over pairs, and levels gained a deal."""

    won: float
    low: float
    high: float
    gain: float


def score(player: Agent, against: Agent, deals: int, rules: RuleSet, number: int) -> Score:
    """Play deals, each twice; `number` of the evaluation makes them others each time."""
    terms = Terms(rules=rules, seed=EVAL_SEED + number)
    pairs = play_pairs(player, against, 0, deals, terms)
    won = paired_rate(pairs.won.mean(axis=1))
    return Score(won.mean, won.low, won.high, float(np.mean(pairs.gain)))
