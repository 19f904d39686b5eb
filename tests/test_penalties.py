"""Levels that faults cost a side between the deals of a game (RULES 7.7)."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from agents.answers import Cause, PartialAnswerError, Wrong
from agents.greedy import Greedy
from eval.duplicate import Terms, play_pairs
from eval.faults import penalty, take_levels
from guandan_env.conduct import Conduct
from guandan_env.promotion import ACE
from guandan_env.rules import RuleSet
from guandan_env.state import State


class Faulty(Greedy):
    """Fails at one move of every deal, at some tables by crashing."""

    name = "faulty"

    def __init__(self, cause: Cause) -> None:
        self.cause = cause

    def act(self, decisions):
        rows = super().act(decisions)
        wrong = {
            int(i): Wrong(self.cause, "no idea") for i in np.flatnonzero(decisions.length == 30)
        }
        if wrong:
            raise PartialAnswerError(rows, np.zeros((len(rows), 54), np.uint8), wrong)
        return rows


@pytest.mark.rule("7.7")
@pytest.mark.parametrize("cause", [Cause.ILLEGAL, Cause.ERROR, Cause.LATE, Cause.CRASH])
def test_every_fault_of_a_deal_costs_levels_before_the_next(cause):
    conduct = Conduct(illegal_play="pass", penalty_levels=1, grave_penalty_levels=12)
    costs = 12 if cause is Cause.CRASH else 1
    terms = Terms(episode="game", conduct=conduct, record=True)
    played = play_pairs(Faulty(cause), Greedy(), 0, 2, terms)
    moved = 0
    for pair, records in enumerate(played.records):
        faults = Counter(
            (fault.job % 2, fault.deal, fault.seat % 2)
            for fault in played.faults
            if fault.job // 2 == pair
        )
        for record, following in itertools.pairwise(records):
            leg, deal = record["context"]["leg"], record["deal"]
            if following["context"]["leg"] != leg:
                continue
            after = record["result"]["after"]["steps"]
            expected = [max(0, after[s] - costs * faults[leg, deal, s]) for s in (0, 1)]
            assert following["start"]["steps"] == expected
            assert following["start"]["declarer"] == record["result"]["side"]
            moved += expected != after
    assert moved
    free = play_pairs(
        Faulty(cause), Greedy(), 0, 1, Terms(episode="game", conduct=Conduct(illegal_play="pass"))
    )
    assert free.failures[0]


@pytest.mark.rule("7.7")
def test_the_presets_say_what_faults_cost():
    university = Conduct.preset("university")
    assert penalty(university, Cause.ILLEGAL) == 2
    assert penalty(university, Cause.CRASH) == 12
    assert penalty(Conduct(), Cause.CRASH) == 0


@pytest.mark.rule("7.7")
@pytest.mark.parametrize(
    ("rules", "steps", "levels", "after"),
    [
        (RuleSet(), (5, 3), (2, 0), (3, 3)),
        (RuleSet(), (1, 12), (2, 12), (0, 0)),
        (RuleSet(), (12, 7), (0, 24), (12, 0)),
        (RuleSet(ace="wrap", max_deals=9), (20, 14), (12, 1), (13, 13)),
        (RuleSet(fixed_level="5", max_deals=9), (20, 14), (12, 1), (20, 14)),
    ],
)
def test_nobody_falls_below_level_2(rules, steps, levels, after):
    state = State.fresh(3)
    state.steps[:] = steps
    state.attempts[:] = 2
    take_levels(state, rules, np.array([0, 2]), np.array([levels, (0, 0)]))
    assert state.steps.tolist() == [list(after), list(steps), list(steps)]
    if rules.fixed_level is None:
        assert state.attempts[0].tolist() == [2 * (step == ACE) for step in after]
    assert state.attempts[1].tolist() == [2, 2]
