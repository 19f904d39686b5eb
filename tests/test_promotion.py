"""Levels after a deal: the array rules against the oracle's, under random rule sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle.promotion import Standing as OracleStanding

from guandan_env import RuleSet, promotion
from guandan_env.dealing import FINISHING_ORDERS
from guandan_env.errors import RulesError

OPTIONS = st.fixed_dictionaries(
    {
        "promotion": st.sampled_from([(3, 2, 1), (5, 3, 1)]),
        "must_play": st.sampled_from([("A",), ("J", "A"), ("5", "T", "A"), ("5", "K", "A"), ()]),
        "ace": st.sampled_from(["pass", "pass", "reach", "wrap"]),
        "ace_pass": st.sampled_from(["not_last", "double_down"]),
        "ace_attempts": st.sampled_from([None, 1, 3]),
        "ace_attempt_counts": st.sampled_from(["any", "partner_last"]),
        "ace_reset": st.sampled_from(["2", "K", "J"]),
        "surplus_demotes": st.booleans(),
        "streaks": st.booleans(),
        "fixed_level": st.sampled_from([None, None, None, "7"]),
        "max_deals": st.sampled_from([None, 12]),
    }
)
side = st.tuples(st.integers(0, 5), st.integers(0, 5))
seats = st.tuples(*[st.integers(0, 5)] * 4)


@pytest.mark.rule("5.2")
@settings(max_examples=600, deadline=None)
@given(
    OPTIONS,
    st.tuples(st.integers(0, 12), st.integers(0, 12)),
    st.sampled_from([0, 1]),
    st.sampled_from(FINISHING_ORDERS.tolist()),
    side,
    side,
    seats,
    seats,
)
def test_levels_move_as_in_the_oracle(
    options, steps, declarer, order, attempts, debt, last_run, first_run
):
    try:
        rules = RuleSet.preset("default").replace(**options)
    except RulesError:
        assume(False)
    attempts = tuple(
        min(a, (rules.ace_attempts or 1) - 1) if rules.ace == "pass" and step == 12 else 0
        for a, step in zip(attempts, steps, strict=True)
    )
    if rules.ace == "reach":
        steps = tuple(min(step, 11) for step in steps)
    if not rules.streaks:
        debt = (0, 0)
    oracle = OracleStanding(rules, steps)
    for name, values in (
        ("attempts", attempts), ("debt", debt), ("last_run", last_run), ("first_run", first_run)
    ):  # fmt: skip
        getattr(oracle, name)[:] = values
    winner = oracle.settle(order, declarer)
    before = promotion.Standing(
        *(np.array([x]) for x in (steps, declarer, attempts, debt, last_run, first_run)),
        deals=np.array([3]),
    )
    after, won = promotion.settle(rules, before, np.array([order]))
    assert won[0] == (-1 if winner is None else winner)
    assert after.declarer[0] == order[0] % 2
    if rules.fixed_level is not None:
        assert tuple(after.steps[0] - np.array(steps)) == tuple(oracle.score)
        return
    assert tuple(after.steps[0]) == tuple(oracle.steps)
    assert tuple(after.debt[0]) == tuple(oracle.debt)
    if rules.ace_attempts is not None:
        assert tuple(after.attempts[0]) == tuple(oracle.attempts)
