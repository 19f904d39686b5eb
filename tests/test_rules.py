"""RuleSet, Conduct and the presets: values, refusals, files, listings."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guandan_env.cards import RANKS
from guandan_env.cli import main as guandan
from guandan_env.commands.rules import markdown
from guandan_env.conduct import Conduct
from guandan_env.errors import GuandanError, RulesError
from guandan_env.options import Options
from guandan_env.presets import PRESETS
from guandan_env.rules import RuleSet

SETS: tuple[type[Options], ...] = (RuleSet, Conduct)
DOCUMENT = Path(__file__).parents[1] / "docs" / "rules.md"

# The values of the preset table, as differences from `standard`, written out a second time.
TABLE: dict[str, dict[str, Any]] = {
    "default": {"resist": "must"},
    "standard": {},
    "company": {
        "wind": "next",
        "resist": "must",
        "return_limit": "below_level_to_partner",
        "streaks": True,
    },
    "university": {
        "promotion": (5, 3, 1),
        "resist": "must",
        "ace_attempts": 3,
        "max_deals": 30,
        "limit_scope": "match",
        "at_limit": "sudden_death",
    },
    "staff": {"must_play": (), "ace": "wrap", "max_deals": 18, "at_limit_tie": "overtime"},
    "pharma": {"tribute": False, "ace": "reach"},
    "community": {"ace": "reach", "max_deals": 12, "at_limit_tie": "non_declarer"},
    "casual": {
        "promotion": (5, 3, 1),
        "tribute_tie": "choose",
        "return_tie": "choose_lead",
        "ace_attempts": 3,
        "surplus_demotes": True,
        "max_deals": 12,
    },
    "graduate": {
        "promotion": (5, 3, 1),
        "tribute_pairing": "seat",
        "tribute_lead": "last",
        "return_limit": "any",
        "must_play": ("J", "A"),
        "ace": "reach",
        "ace_attempts": 3,
        "ace_reset": "K",
        "max_deals": 12,
        "at_limit_tie": "overtime",
    },
    "competitive": {"resist": "must", "first_lead": "heart_level"},
    "njupt": {
        "resist": "must",
        "tribute_pairing": "seat",
        "tribute_lead": "higher_seat",
        "ace_attempts": 4,
        "ace_attempt_counts": "partner_last",
    },
}
STANDARD: dict[str, Any] = {
    "flush_straight_as_straight": False,
    "wind": "partner",
    "first_lead": "turned",
    "promotion": (3, 2, 1),
    "must_play": ("A",),
    "ace": "pass",
    "ace_pass": "not_last",
    "ace_attempts": None,
    "ace_attempt_counts": "any",
    "ace_reset": "2",
    "surplus_demotes": False,
    "streaks": False,
    "start_level": "2",
    "fixed_level": None,
    "max_deals": None,
    "limit_scope": "game",
    "at_limit": "higher",
    "at_limit_tie": "last_first",
    "tribute": True,
    "resist": "may",
    "tribute_pairing": "rank",
    "tribute_tie": "seat",
    "tribute_lead": "higher",
    "return_limit": "ten",
    "return_tie": None,
}
CONDUCT: dict[str, dict[str, Any]] = {
    "default": {},
    "standard": {"reveal_counts_at": 6},
    "company": {"illegal_play": "pass", "reveal_counts_at": 10},
    "university": {"reveal_counts_at": 7, "penalty_levels": 2, "grave_penalty_levels": 12},
    "staff": {"reveal_counts_at": 10},
    "pharma": {},
    "community": {},
    "casual": {"illegal_play": "pass", "start_time": 600},
    "graduate": {"move_time": 30, "start_time": 600},
    "competitive": {},
    "njupt": {},
}

level = st.sampled_from(RANKS)
rule_values: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(st.characters(exclude_categories=["C", "Zl", "Zp", "Zs"]), max_size=80),
    "flush_straight_as_straight": st.booleans(),
    "wind": st.sampled_from(["partner", "next"]),
    "first_lead": st.sampled_from(["turned", "heart_level"]),
    "promotion": st.sampled_from([(3, 2, 1), (5, 3, 1)]),
    "must_play": st.sets(level).map(lambda s: tuple(sorted(s | {"A"}, key=RANKS.index))),
    "ace": st.sampled_from(["pass", "reach", "wrap"]),
    "ace_pass": st.sampled_from(["not_last", "double_down"]),
    "ace_attempts": st.none() | st.integers(1, 100),
    "ace_attempt_counts": st.sampled_from(["any", "partner_last"]),
    "ace_reset": level,
    "surplus_demotes": st.booleans(),
    "streaks": st.booleans(),
    "start_level": level,
    "fixed_level": st.none() | level,
    "max_deals": st.none() | st.integers(1, 6_000),
    "limit_scope": st.sampled_from(["game", "match"]),
    "at_limit": st.sampled_from(["higher", "sudden_death"]),
    "at_limit_tie": st.sampled_from(["last_first", "non_declarer", "overtime", "draw"]),
    "tribute": st.booleans(),
    "resist": st.sampled_from(["must", "may"]),
    "tribute_pairing": st.sampled_from(["rank", "seat"]),
    "tribute_tie": st.sampled_from(["seat", "choose"]),
    "tribute_lead": st.sampled_from(["higher", "higher_seat", "last"]),
    "return_limit": st.sampled_from(["ten", "any", "below_level_to_partner"]),
    "return_tie": st.sampled_from([None, "choose_lead"]),
}
some_seconds = st.none() | st.floats(0.001, 1e6) | st.integers(1, 10**6)
conduct_values: dict[str, st.SearchStrategy[Any]] = {
    "illegal_play": st.sampled_from(["error", "pass", "forfeit"]),
    "reveal_counts_at": st.sampled_from([27, 10, 7, 6]),
    "move_time": some_seconds,
    "first_lead_time": some_seconds,
    "start_time": some_seconds,
    "penalty_levels": st.integers(0, 12),
    "grave_penalty_levels": st.integers(0, 12),
}


@st.composite
def option_sets(draw: st.DrawFn) -> Options:
    """Any set of either class: options set one by one, those that make a conflict left out."""
    cls, values = draw(st.sampled_from([(RuleSet, rule_values), (Conduct, conduct_values)]))
    made: dict[str, Any] = {}
    for name in draw(st.permutations(list(values))):
        tried = made | {name: draw(values[name])}
        try:
            cls(**tried)
        except RulesError:
            continue
        made = tried
    return cls(**made)


def test_strategies_name_every_option() -> None:
    for cls, values in ((RuleSet, rule_values), (Conduct, conduct_values)):
        assert [f.name for f in dataclasses.fields(cls)] == list(values)


@pytest.mark.rule("8.2")
@given(option_sets())
def test_files_round_trip(options: Options) -> None:
    cls = type(options)
    for back in (
        cls.from_dict(options.to_dict()),
        cls.from_json(options.to_json()),
        cls.from_yaml(options.to_yaml()),
    ):
        assert back == options
        assert back.to_dict() == options.to_dict()
        assert hash(back) == hash(options)
    assert options.replace() == options
    assert pickle.loads(pickle.dumps(options)) == copy.deepcopy(options) == options


@pytest.mark.rule("8.2")
@given(st.text() | st.binary() | st.none() | st.integers() | st.lists(st.integers()))
def test_other_input_raises_only_rules_errors(junk: Any) -> None:
    for cls in SETS:
        for read in (cls.from_json, cls.from_yaml, cls.from_dict):
            try:
                made = read(junk)
            except RulesError:
                continue
            # The text of an empty mapping is found now and then.
            assert made == cls()


@pytest.mark.parametrize(
    "source",
    [
        "!!bool x",
        "!!int ''",
        "!!timestamp x",
        "!!float x",
        "[" * 2000,
        "{[]: 1}",
        "&a [*a]",
        "a: b:",
    ],
)
def test_bad_yaml_is_a_rules_error(source: str) -> None:
    with pytest.raises(RulesError):
        RuleSet.from_yaml(source)


def test_deep_json_is_a_rules_error() -> None:
    with pytest.raises(RulesError):
        RuleSet.from_json("[" * 100_000)


@pytest.mark.rule("8.1")
@pytest.mark.parametrize("cls", SETS)
def test_wrong_values_are_refused_naming_option_value_and_allowed(cls: type[Options]) -> None:
    wrong = [object(), "nonsense", -1, 1.5, math.nan, b"2", {}, np.array([1, 2]), np.int64(3)]
    for field in dataclasses.fields(cls):
        allowed = field.metadata["allowed"]
        for value in wrong:
            if allowed.test(value):
                continue
            with pytest.raises(RulesError, match=f"{field.name}=.*allowed: ") as caught:
                cls(**{field.name: value})
            assert allowed.text in str(caught.value)


@pytest.mark.rule("8.1")
@pytest.mark.parametrize(
    "options",
    [
        {"max_deals": True},
        {"max_deals": 0},
        {"max_deals": 10_001},
        {"ace_attempts": 0},
        {"promotion": (3, 2, True)},
        {"promotion": (3, 2)},
        {"promotion": (1, 2, 3)},
        {"tribute": 1},
        {"start_level": 2},
        {"start_level": "10"},
        {"must_play": "A"},
        {"must_play": ("A", "J")},
        {"must_play": ("A", "A")},
        {"must_play": ("", "A")},
        {"resist": None},
        {"name": "x" * 81},
    ],
)
def test_nearly_right_values_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RulesError, match=f"{next(iter(options))}="):
        RuleSet(**options)


@pytest.mark.rule("8.1")
@pytest.mark.parametrize(
    "options",
    [
        {"move_time": 0},
        {"move_time": math.inf},
        {"move_time": True},
        {"reveal_counts_at": 8},
        {"reveal_counts_at": 27.0},
        {"penalty_levels": 13, "grave_penalty_levels": 12},
    ],
)
def test_nearly_right_conduct_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RulesError, match=f"{next(iter(options))}="):
        Conduct(**options)


def test_errors_name_the_nearest() -> None:
    with pytest.raises(RulesError, match="did you mean 'resist'"):
        RuleSet.from_dict({"resits": "must"})
    with pytest.raises(RulesError, match="did you mean 'tribute'"):
        RuleSet().replace(tribut=False)
    with pytest.raises(RulesError, match="did you mean 'partner'"):
        RuleSet(wind="partnr")
    with pytest.raises(RulesError, match="has no option 3"):
        RuleSet.from_dict({3: "must"})  # type: ignore[dict-item]
    for name in ("universty", "", None, 3, [], "Default"):
        for preset in (RuleSet.preset, Conduct.preset):
            with pytest.raises(RulesError, match="presets: default, standard"):
                preset(name)  # type: ignore[arg-type]


# Options that exclude each other, with words of the reason that is given.
CONFLICTS: list[tuple[dict[str, Any], str]] = [
    ({"fixed_level": "5"}, "fixed_level needs max_deals"),
    ({"ace": "wrap"}, "ace='wrap' needs max_deals"),
    ({"must_play": ()}, "lacks 'A'"),
    ({"must_play": ("J",), "ace": "reach"}, "lacks 'A'"),
    ({"ace": "reach", "start_level": "A"}, "won before the first deal"),
    ({"fixed_level": "5", "start_level": "6", "max_deals": 4}, "contradicts fixed_level='5'"),
    ({"ace_reset": "A", "ace_attempts": 3}, "no fall"),
    ({"streaks": True, "fixed_level": "5", "max_deals": 4}, "streaks moves levels"),
    ({"surplus_demotes": True, "fixed_level": "5", "max_deals": 4}, "surplus_demotes moves"),
    ({"ace_attempts": 3, "fixed_level": "A", "max_deals": 4}, "ace_attempts moves"),
    ({"streaks": True, "ace": "wrap", "max_deals": 4}, "streaks needs A"),
    ({"surplus_demotes": True, "ace": "wrap", "max_deals": 4}, "surplus_demotes needs A"),
    ({"ace_attempts": 3, "ace": "wrap", "max_deals": 4}, "ace_attempts needs A"),
    ({"at_limit": "sudden_death", "fixed_level": "A", "max_deals": 4}, "points are counted"),
    ({"at_limit": "sudden_death", "ace": "wrap", "max_deals": 4}, "never finishes"),
    ({"tribute_tie": "choose", "tribute_pairing": "seat"}, "no choice to make"),
    ({"tribute_tie": "choose", "tribute_lead": "last"}, "says otherwise"),
    ({"tribute_tie": "choose", "tribute_lead": "higher_seat"}, "says otherwise"),
    ({"return_tie": "choose_lead"}, "needs tribute_tie='choose'"),
]


@pytest.mark.rule("8.1")
@pytest.mark.parametrize(("options", "reason"), CONFLICTS)
def test_conflicts_are_refused_with_the_reason(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(RulesError, match=reason):
        RuleSet(**options)
    with pytest.raises(RulesError, match=reason):
        RuleSet().replace(**options)
    with pytest.raises(RulesError, match=reason):
        RuleSet.from_dict(options)


@pytest.mark.rule("8.1")
@pytest.mark.parametrize(
    "options",
    [
        {"fixed_level": "5", "max_deals": 4},
        {"fixed_level": "5", "start_level": "5", "max_deals": 4},
        {"fixed_level": "A", "ace": "reach", "start_level": "A", "max_deals": 4},
        {"ace": "wrap", "max_deals": 4},
        {"ace": "wrap", "max_deals": 4, "must_play": ()},
        {"start_level": "A"},
        {"ace_attempts": 3, "ace_reset": "K"},
        {"tribute_tie": "choose", "return_tie": "choose_lead"},
        {"at_limit": "sudden_death"},
    ],
)
def test_neighbours_of_the_conflicts_are_accepted(options: dict[str, Any]) -> None:
    rules = RuleSet(**options)
    assert all(getattr(rules, name) == value for name, value in options.items())


@pytest.mark.rule("8.1")
def test_milder_grave_penalty_is_refused() -> None:
    with pytest.raises(RulesError, match="milder"):
        Conduct(penalty_levels=2, grave_penalty_levels=1)
    assert Conduct(penalty_levels=2, grave_penalty_levels=2).penalty_levels == 2


@pytest.mark.rule("8.1")
@pytest.mark.parametrize("options", [RuleSet(), Conduct()])
def test_sets_are_immutable(options: Options) -> None:
    for name in options.to_dict():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(options, name, getattr(options, name))
    assert not hasattr(options, "__dict__")


@pytest.mark.rule("8.3")
@pytest.mark.parametrize("name", RuleSet.presets())
def test_every_preset_is_as_tabled(name: str) -> None:
    rules, conduct = RuleSet.preset(name), Conduct.preset(name)
    assert rules.to_dict() == RuleSet(**STANDARD | TABLE[name]).to_dict()
    assert rules.name == name
    assert conduct == Conduct(**CONDUCT[name])
    assert RuleSet.from_yaml(rules.to_yaml()).name == name
    assert PRESETS[name].title
    assert PRESETS[name].source


@pytest.mark.rule("8.3")
def test_presets_are_complete_and_distinct() -> None:
    assert RuleSet.presets() == tuple(TABLE)
    assert RuleSet.presets()[0] == "default"
    assert len({RuleSet.preset(name) for name in TABLE}) == len(TABLE)


@pytest.mark.rule("8.4")
def test_default_is_the_default() -> None:
    assert RuleSet() == RuleSet.preset("default")
    assert RuleSet().name == "default"
    assert Conduct() == Conduct.preset("default")
    assert RuleSet().differences(RuleSet.preset("standard")) == {"resist": ("must", "may")}
    assert Conduct().differences(Conduct.preset("standard")) == {"reveal_counts_at": (27, 6)}


def test_names_follow_the_options_unless_given() -> None:
    assert RuleSet.preset("university").replace(streaks=True).name == "custom"
    assert RuleSet.preset("standard").replace(resist="must").name == "default"
    assert RuleSet(wind="next", name="mine").name == "mine"
    assert RuleSet(name="mine") == RuleSet()


def test_lists_become_tuples() -> None:
    rules = RuleSet(promotion=[5, 3, 1], must_play=["J", "A"])  # type: ignore[arg-type]
    assert (rules.promotion, rules.must_play) == ((5, 3, 1), ("J", "A"))


def test_differences_need_the_same_class() -> None:
    for other in (Conduct(), None, {}):
        with pytest.raises(RulesError, match="another RuleSet"):
            RuleSet().differences(other)  # type: ignore[arg-type]


def test_missing_pyyaml_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for call in (RuleSet().to_yaml, lambda: RuleSet.from_yaml("{}")):
        with pytest.raises(RulesError, match="pip install"):
            call()


@pytest.mark.rule("8.5")
def test_document_holds_the_generated_table() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.partition("--markdown -->")[2].partition("<!-- end -->")[0]
    assert table.strip() == markdown(list(PRESETS)), "paste the output of guandan rules --markdown"


def test_document_names_every_option() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for cls in SETS:
        for name in cls.help_of():
            assert f"`{name}`" in text, name


@pytest.mark.rule("8.3")
def test_command_lists_all_presets(capsys: pytest.CaptureFixture[str]) -> None:
    assert guandan(["rules"]) == 0
    listed = capsys.readouterr().out
    for name, preset in PRESETS.items():
        assert f"\n{name} " in listed
        assert preset.source in " ".join(listed.split())
    assert guandan(["rules", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [d["name"] for d in described] == list(PRESETS)
    for d in described:
        assert RuleSet.from_dict(d["rules"]).to_dict() == RuleSet.preset(d["name"]).to_dict()
        assert Conduct.from_dict(d["conduct"]) == Conduct.preset(d["name"])
    assert set(described[2]["differs"]) == {
        *("wind", "resist", "return_limit", "streaks", "illegal_play", "reveal_counts_at")
    }


@pytest.mark.parametrize("name", RuleSet.presets())
def test_command_shows_one_preset(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert guandan(["rules", name]) == 0
    shown = capsys.readouterr().out
    assert all(option in shown for option in (*RuleSet.help_of(), *Conduct.help_of()))
    assert guandan(["rules", name, "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert guandan(["rules", name, "--yaml"]) == 0
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(capsys.readouterr().out) == described
    marked = [line for line in shown.splitlines() if line.startswith("* ")]
    assert len(marked) == len(described["differs"])


def test_command_refuses_an_unknown_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert guandan(["rules", "universty"]) == 2
    assert "did you mean 'university'" in capsys.readouterr().err
    assert issubclass(RulesError, GuandanError)
