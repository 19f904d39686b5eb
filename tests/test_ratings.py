"""Ratings, the cross table and the intervals, on made results whose truth is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eval.crosstable import CrossTable
from eval.identity import Identity
from eval.leaderboard import as_json, by_rating, gain_table, rating_table, win_table
from eval.ratings import SCALE, expected, fit, rate
from eval.statistics import paired_mean, paired_rate
from eval.store import Result
from guandan_env.errors import GuandanError


def agent(name):
    return Identity(name, f"{name}-v1", "")


def result(a, b, won, suite="made"):
    """A match with these results `(n, 2)`; a level is gained for each deal won."""
    won = np.asarray(won, dtype=float)
    return Result(
        played="2026-01-01T00:00:00+00:00",
        a=agent(a),
        b=agent(b),
        suite=suite,
        suite_sha256="0",
        illegal_play="error",
        won=won,
        gain=2 * won - 1,
        figures={
            name: [1.0, 2.0]
            for name in ("bombs_over_partner", "wilds_left", "failures", "decisions", "seconds")
        },
        versions={},
    )


def simulated(strengths, deals, generator):
    """Results of all pairs of agents with these log odds; the legs of a pair share their luck."""
    names = list(strengths)
    results = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            chance = 1 / (1 + np.exp(strengths[b] - strengths[a]))
            luck = generator.random(deals)
            # A deal that favours one side favours the other agent when it sits there.
            legs = np.stack([luck, (1 - luck + generator.random(deals) / 2) % 1], axis=1)
            results.append(result(a, b, legs < chance))
    return results


def rated(results, seed=0, resamples=200):
    table = CrossTable.of_all(results)
    return {r.label: r for r in rate(table, np.random.default_rng(seed), resamples)}


def test_two_agents_have_the_rating_of_their_odds():
    won = np.zeros((550, 2))
    won[:500] = 1
    found = rated([result("x", "greedy", won)])
    # The prior's half deals make odds of ten a little less.
    odds = (1000 + 0.5) / (100 + 0.5)
    assert found["x"].points == pytest.approx(400 * np.log10(odds))
    assert (found["greedy"].points, found["greedy"].low, found["greedy"].high) == (0, 0, 0)
    assert expected(400) == pytest.approx(10 / 11)
    assert found["x"].low < found["x"].points < found["x"].high


def test_fit_is_where_expected_and_real_wins_agree():
    generator = np.random.default_rng(3)
    wins = generator.integers(1, 400, size=(5, 6, 6)).astype(float)
    wins *= 1 - np.eye(6)
    strength = fit(wins, 2)
    assert (strength[:, 2] == 0).all()
    chance = 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None]))
    met = wins + wins.transpose(0, 2, 1)
    np.testing.assert_allclose((met * chance).sum(2), wins.sum(2), rtol=1e-6)


@pytest.mark.parametrize("zero", [0, 3])
def test_another_anchor_moves_all_ratings_by_the_same(zero):
    wins = np.random.default_rng(1).integers(1, 50, size=(4, 4)) * (1.0 - np.eye(4))
    first, other = fit(wins, 1), fit(wins, zero)
    np.testing.assert_allclose(other - other[1], first, atol=1e-8)


def test_extreme_odds_are_found_too():
    wins = np.array([[0.0, 1e6, 1e6], [1e-3, 0.0, 5.0], [1e-3, 5.0, 0.0]])
    strength = fit(wins, 1)
    assert strength[0] == pytest.approx(np.log(1e9), rel=1e-3)


def test_wins_alone_have_no_maximum():
    with pytest.raises(GuandanError, match="no most likely"):
        fit(np.array([[0.0, 3.0], [0.0, 0.0]]), 0)


def test_order_of_agents_and_of_sides_changes_nothing():
    strengths = {"greedy": 0.0, "x": 1.0, "y": -0.5}
    results = simulated(strengths, 200, np.random.default_rng(4))
    found = rated(results)
    turned = [result(r.b.spec, r.a.spec, (1 - r.won)[:, ::-1]) for r in reversed(results)]
    again = rated(turned)
    for label, rating in found.items():
        assert again[label].points == pytest.approx(rating.points, abs=1e-6)
        assert again[label].low == pytest.approx(rating.low, abs=1e-6)
        assert again[label].high == pytest.approx(rating.high, abs=1e-6)


def test_rating_intervals_cover_the_truth_as_often_as_they_say():
    strengths = {"greedy": 0.0, "x": 0.8, "y": -1.2}
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(150):
        found = rated(simulated(strengths, 150, generator), resamples=200)
        covered += sum(
            found[name].low <= SCALE * strengths[name] <= found[name].high for name in ("x", "y")
        )
    assert 0.90 * 300 <= covered <= 0.985 * 300


def test_who_lost_nothing_has_a_bound_and_no_interval():
    even = np.tile([1.0, 0.0], (100, 1))
    results = [
        result("x", "greedy", even),
        result("best", "greedy", np.ones((100, 2))),
        result("best", "x", np.ones((100, 2))),
        result("worst", "greedy", np.zeros((100, 2))),
    ]
    found = rated(results)
    best, worst = found["best"], found["worst"]
    assert (best.bound, best.low, best.high) == ("at least", best.points, None)
    assert (worst.bound, worst.low, worst.high) == ("at most", None, worst.points)
    assert found["x"].bound == ""
    # One lost pair in 27 would be missed by 100 pairs once in forty times.
    assert 0.93 < expected(best.points) < 0.98
    longer = rated([result("best", "greedy", np.ones((1000, 2))), results[0]])
    assert longer["best"].points > best.points + 300
    table = CrossTable.of_all(results)
    ratings = rate(table, np.random.default_rng(0), 200)
    shown = rating_table(table, ratings)
    assert [row[0] for row in shown.rows] == ["best", *_even(found), "worst"]
    assert shown.rows[0][2].startswith("≥ +")
    assert shown.rows[-1][2].startswith("≤ -")
    told = json.loads(json.dumps(as_json(table, ratings)))
    assert told["ratings"][0]["bound"] == "at least"
    assert told["ratings"][0]["rating_ci"][1] is None


def _even(found):
    return sorted(("x", "greedy"), key=lambda name: -found[name].points)


def test_who_met_nobody_of_the_rest_is_refused():
    even = np.tile([1.0, 0.0], (10, 1))
    with pytest.raises(GuandanError, match=r"from x, y to greedy.*have to meet"):
        rated([result("x", "y", even), result("z", "greedy", even)])
    with pytest.raises(GuandanError, match="no results of greedy; there are some of x, y"):
        rated([result("x", "y", even)])


def test_cross_tables_show_both_sides_of_a_match():
    won = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.5], [1.0, 1.0]])
    table = CrossTable.of_all([result("x", "greedy", won)])
    i, j = table.index("x"), table.index("greedy")
    duel, back = table.duels[i, j], table.duels[j, i]
    assert duel.rate.mean + back.rate.mean == 1
    np.testing.assert_array_equal(back.won, [[0, 0], [1, 0], [0.5, 1], [0, 0]])
    assert duel.level_gain.mean == -back.level_gain.mean
    assert (duel.figure("failures"), back.figure("failures")) == ((1, 2), (2, 1))
    ratings = rate(table, np.random.default_rng(0), 100)
    assert by_rating(ratings) == [i, j]
    assert win_table(table, ratings).rows[0][2].startswith("68.8 ± ")
    assert "largest error" in win_table(table, ratings).note
    assert gain_table(table, ratings).rows[1][1].startswith("-0.38 ± ")


def test_of_several_results_the_longest_and_newest_counts():
    results = [
        result("x", "greedy", np.full((n, 2), w)) for n, w in ((5, 0), (9, 0.5), (9, 1), (3, 0))
    ]
    assert CrossTable.of_all(results).duels[0, 1].rate.mean == 1


def test_the_same_spec_of_two_versions_are_two_agents():
    old = result("x", "greedy", np.ones((4, 2)))
    new = Result(**{**vars(old), "a": Identity("x", "x-v2", "")})
    table = CrossTable.of_all([old, new])
    assert table.labels == ("x (x-v1)", "greedy", "x (x-v2)")
    assert table.index("x") == 2


# Intervals of rates


def test_rate_intervals_cover_where_few_pairs_decide():
    generator = np.random.default_rng(2)
    for chance in (0.5, 0.9, 0.99):
        pairs = (generator.random((1500, 150, 2)) < chance).mean(axis=2)
        found = [paired_rate(values) for values in pairs]
        covered = np.mean([e.low <= chance <= e.high for e in found])
        assert 0.93 <= covered <= 0.98, chance
    students = [paired_mean(values) for values in pairs]
    assert np.mean([e.low <= 0.99 <= e.high for e in students]) < 0.93


def test_rate_intervals_of_pairs_that_vary_less_are_shorter():
    generator = np.random.default_rng(6)
    luck = generator.random(2000)
    against = np.stack([luck < 0.5, 1 - luck < 0.5], axis=1).mean(axis=1)
    apart = (generator.random((2000, 2)) < 0.5).mean(axis=1)
    assert np.ptp([paired_rate(against).low, paired_rate(against).high]) == 0
    e = paired_rate(apart)
    assert e.high - e.low == pytest.approx(2 * 1.96 * 0.5 / 4000**0.5, rel=0.05)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rate_intervals_where_all_pairs_are_alike(value):
    e = paired_rate(np.full(100, value))
    assert e.mean == value
    assert 0 <= e.low < e.high <= 1
    assert 0.03 < e.high - e.low < 0.05
    with pytest.raises(GuandanError, match="two deals"):
        paired_rate(np.array([value]))
