"""What standings are worth: the table against rules one can follow by hand, and against play."""

import json

import numpy as np
import pytest

from agents import make
from eval.equity import Equity, manner_of, measure
from guandan_env.cards import RANKS
from guandan_env.cli import main
from guandan_env.errors import GuandanError
from guandan_env.promotion import Standing
from guandan_env.rules import RuleSet


def levels_only(name: str) -> bool:
    """Whether a preset's games depend on nothing but levels, declarer and tries at A."""
    rules = RuleSet.preset(name)
    return not (rules.streaks or rules.ace == "wrap" or rules.fixed_level or rules.max_deals)


LEVELS_ONLY = [name for name in RuleSet.presets() if levels_only(name)]
EVEN = np.ones((3, 6), dtype=np.int64)


def standing(own: str, theirs: str, declarer: int, attempts=(0, 0)) -> Standing:
    """One standing; `own` and `theirs` are levels of the sides 0 and 1."""
    return Standing(
        steps=np.array([[RANKS.index(own), RANKS.index(theirs)]]),
        declarer=np.array([declarer]),
        attempts=np.array([attempts]),
        debt=np.zeros((1, 2), dtype=np.int64),
        last_run=np.zeros((1, 4), dtype=np.int64),
        first_run=np.zeros((1, 4), dtype=np.int64),
        deals=np.array([5]),
    )


def test_at_ace_all_is_won_or_lost_by_passing_it():
    """Both at A under even outcomes: the declarers pass it in 2 of 6, in 3 of 6 they lose it."""
    equity = Equity.of_counts(RuleSet.preset("default"), "x", 0, EVEN)
    # v = 1/3 + v/6 + (1 - v)/2, so v = 5/8.
    assert equity.worth(standing("A", "A", 0), np.array([0]))[0] == pytest.approx(5 / 8)
    assert equity.worth(standing("A", "A", 1), np.array([0]))[0] == pytest.approx(3 / 8)


def test_nobody_declares_is_even():
    equity = Equity.of_counts(RuleSet.preset("default"), "x", 0, EVEN)
    assert equity.worth(standing("2", "2", -1), np.array([0]))[0] == 0.5


@pytest.mark.parametrize("manner", range(3))
def test_more_levels_are_worth_more_and_sides_are_alike(manner):
    counts = np.array([[5, 2, 3, 2, 1, 3], [3, 2, 2, 3, 1, 2], [4, 2, 2, 2, 2, 2]])
    equity = Equity.of_counts(RuleSet.preset("default"), "x", 0, counts)
    worth = equity.table[manner, :, :, 0, 0]
    assert (np.diff(worth[:, :], axis=0) > -1e-9).all()
    assert (np.diff(worth[:, :], axis=1) < 1e-9).all()
    one = equity.worth(standing("7", "J", 0), np.array([manner]))
    other = equity.worth(standing("J", "7", 1), np.array([manner]))
    assert one[0] == pytest.approx(1 - other[0])


def test_tries_at_ace_are_used_up():
    rules = RuleSet.preset("default").replace(ace_attempts=3)
    equity = Equity.of_counts(rules, "x", 0, EVEN)
    fresh, worn = (equity.worth(standing("A", "K", 0, (k, 0)), np.array([2]))[0] for k in (0, 2))
    assert worn < fresh


def test_gain_is_what_the_deal_changed():
    equity = Equity.of_counts(RuleSet.preset("default"), "x", 0, EVEN)
    before = standing("A", "5", 0)
    passed = equity.gain(before, np.array([1]), np.array([[0, 2, 3, 1]]))
    assert passed[0] == pytest.approx(1 - equity.worth(before, np.array([1]))[0])
    lost = equity.gain(before, np.array([1]), np.array([[1, 3, 0, 2]]))
    after = equity.worth(standing("A", "8", 1), np.array([0]))[0]
    assert lost[0] == pytest.approx(after - equity.worth(before, np.array([1]))[0])


def test_expected_gain_is_zero():
    """The table is consistent: weighed by the measured outcomes no deal changes anything."""
    counts = np.array([[5, 2, 3, 2, 1, 3], [3, 2, 2, 3, 1, 2], [4, 2, 2, 2, 2, 2]])
    equity = Equity.of_counts(RuleSet.preset("default"), "x", 0, counts)
    orders = [[0, 2, 3, 1], [0, 1, 2, 3], [0, 1, 3, 2], [1, 3, 0, 2], [1, 0, 3, 2], [1, 0, 2, 3]]
    for own, theirs, manner in (("2", "2", 0), ("K", "A", 1), ("A", "Q", 2), ("T", "3", 2)):
        change = [
            equity.gain(standing(own, theirs, 0), np.array([manner]), np.array([order]))[0]
            for order in orders
        ]
        assert np.dot(change, counts[manner]) == pytest.approx(0, abs=1e-9)


def test_manners():
    assert manner_of(np.array([[3, 1, 2, 0], [3, 0, 1, 2], [0, 1, 3, 2]])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", LEVELS_ONLY)
def test_measured_counts_are_of_whole_games(name):
    rules = RuleSet.preset(name)
    equity = measure(make("greedy"), rules, 40, seed=3)
    again = measure(make("greedy"), rules, 40, seed=3)
    assert (equity.counts == again.counts).all()
    assert equity.counts.sum() > 40
    assert ((equity.table >= 0) & (equity.table <= 1)).all()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"streaks": True}, "streaks"),
        ({"ace": "wrap", "max_deals": 20, "must_play": ()}, "wrap"),
        ({"max_deals": 20}, "max_deals"),
        ({"fixed_level": "2", "max_deals": 20}, "fixed_level"),
    ],
)
def test_rules_that_a_table_cannot_hold_are_refused(options, reason):
    with pytest.raises(GuandanError, match=reason):
        measure(make("random"), RuleSet.preset("default").replace(**options), 4)


def test_saved_and_loaded(tmp_path):
    equity = Equity.of_counts(RuleSet.preset("default"), "x", 7, EVEN)
    equity.save(tmp_path / "e.json")
    back = Equity.load(tmp_path / "e.json")
    assert (back.table == equity.table).all()
    assert (back.rules, back.agent, back.seed) == (equity.rules, "x", 7)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"counts": [[1] * 6] * 2},
        {"counts": [[1] * 6, [1] * 5, [1] * 6]},
        {"counts": [[-1] * 6] * 3},
        {"counts": [[0] * 6] * 3},
        {"counts": "many"},
        {"agent": 3},
        {"seed": None},
        {"rules": {"wind": "storm"}},
        {"more": 1},
    ],
)
def test_files_that_are_none_are_refused(tmp_path, change):
    told = json.loads(Equity.of_counts(RuleSet.preset("default"), "x", 7, EVEN).to_json())
    path = tmp_path / "e.json"
    path.write_text(json.dumps({**told, **change}))
    with pytest.raises(GuandanError, match=r"e\.json"):
        Equity.load(path)


def test_the_command(tmp_path, capsys):
    out = tmp_path / "equity.json"
    assert main(["equity", "greedy", "--games", "30", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(out.read_bytes())
    assert main(["equity", "random", "--games", "30", "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert told == json.loads(out.read_bytes())
    assert main(["equity", "greedy", "--games", "30"]) == 0
    assert "declarers first" in capsys.readouterr().out
    assert main(["equity", "greedy", "--games", "0"]) == 2
