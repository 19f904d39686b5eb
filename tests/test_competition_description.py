"""Descriptions of competitions: what is read, what is refused, and how stages follow each other."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test_competition_draw import lower_wins

from eval.commands.tournament import examples
from eval.competition.course import Course
from eval.competition.description import DescriptionError, from_dict, load, read
from eval.competition.elimination import Elimination
from eval.competition.groups import Groups
from eval.competition.stages import COMMON, FORMATS
from eval.competition.terms import merged, terms_of
from guandan_env.errors import GuandanError

GROUPS = {"format": "groups", "groups": 2, "advance": 4}
SMALL = {
    "name": "Small",
    "entrants": [{"name": "Random", "agents": "random", "count": 8}],
    "stages": [{"format": "elimination"}],
}


def with_stages(*stages, **more):
    return {**SMALL, "stages": list(stages), **more}


def test_entrants_are_pairs_with_clubs():
    given = with_stages(
        {"format": "elimination"},
        entrants=[
            {"name": "A", "agents": ["greedy", "random"], "club": 7},
            {"name": "B", "agents": "random", "count": 2},
        ],
    )
    entrants = from_dict(given).entrants
    assert [(e.name, e.agents, e.club) for e in entrants] == [
        ("A", ("greedy", "random"), "7"),
        ("B 1", ("random", "random"), None),
        ("B 2", ("random", "random"), None),
    ]
    assert [e.played_by for e in entrants] == ["greedy + random", "random", "random"]


def test_stages_and_late_rounds_change_the_terms_of_the_match():
    competition = from_dict(
        with_stages(
            {
                "format": "elimination",
                "match": {"best_of": 3},
                "late": [
                    {"from": 4, "match": {"best_of": 5}},
                    {"from": 2, "match": {"rules": "pharma", "best_of": 7}},
                ],
            },
            match={"rules": "university", "options": {"max_deals": 20}},
        )
    )
    stage = competition.stages[0].format
    assert isinstance(stage, Elimination)
    assert (stage.terms.best_of, stage.terms.rules.max_deals) == (3, 20)
    assert [(n, t.best_of, t.rules.max_deals) for n, t in stage.late] == [(2, 7, None), (4, 5, 20)]
    assert stage.late[0][1].rules.name == "pharma"


@pytest.mark.rule("7.4")
def test_conduct_of_competitions_never_stops_and_never_waits_for_ever():
    conduct = terms_of({}, "match").conduct
    assert (conduct.illegal_play, conduct.move_time, conduct.start_time) == ("pass", 30, 600)
    conduct = terms_of({"rules": "university", "conduct": {"move_time": 1.5}}, "match").conduct
    assert (conduct.move_time, conduct.penalty_levels) == (1.5, 2)
    with pytest.raises(DescriptionError, match="would end the competition"):
        terms_of({"conduct": {"illegal_play": "error"}}, "match")
    with pytest.raises(DescriptionError, match="nobody waits for ever"):
        terms_of({"conduct": {"move_time": None}}, "match")


def test_layers_of_terms():
    one = {"rules": "pharma", "options": {"max_deals": 5}, "best_of": 3}
    assert merged(one, {"options": {"tribute": True}}) == {
        "rules": "pharma", "options": {"max_deals": 5, "tribute": True}, "best_of": 3,
    }  # fmt: skip
    assert merged(one, {"rules": "staff"}) == {"rules": "staff", "best_of": 3}
    assert one["options"] == {"max_deals": 5}


def change(path, value):
    """SMALL with one thing changed; a path of keys and indices."""
    given = copy.deepcopy(SMALL)
    *way, last = path
    at = given
    for key in way:
        at = at[key]
    at[last] = value
    return given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "the description is None; a mapping is allowed"),
        ([], "a mapping is allowed"),
        ({}, "lacks 'entrants'"),
        (change(["nmae"], 1), "unknown key 'nmae' .did you mean 'name'"),
        (change(["name"], "a\nb"), "name is 'a\\\\nb'; a text of 1 to 60"),
        (change(["seed"], -1), "seed is -1; a whole number from 0"),
        (change(["seed"], True), "seed is True; a whole number"),
        (change(["entrants"], []), "a list of 1 to 1024"),
        (change(["entrants"], [{"name": "x", "agents": "random"}]), "there are 1 entrants"),
        (change(["entrants", 0, "agents"], "planer"), "did you mean 'planner'"),
        (change(["entrants", 0, "agents"], "nobodys_bot:Bot"), "no module 'nobodys_bot'"),
        (change(["entrants", 0, "agents"], ["random"]), "entrant 1: agents is"),
        (change(["entrants", 0, "count"], 0), "count is 0"),
        (change(["entrants"], [{"name": "x", "agents": "random"}] * 2), "two entrants are called"),
        (change(["stages"], "x"), "stages is 'x'"),
        (change(["stages", 0], "x"), "stage 1 is 'x'; a mapping"),
        (change(["stages", 0, "format"], "eliminaton"), "did you mean 'elimination'"),
        (change(["stages", 0, "third_plaec"], True), "did you mean 'third_place'"),
        (change(["stages", 0, "third_place"], 1), "third_place is 1; true or false"),
        (change(["stages", 0, "rounds"], 1), r"stage 1 .elimination. has the unknown key 'rounds'"),
        (change(["stages", 0, "advance"], 4), "is the last stage"),
        (change(["stages", 0, "match"], {"best_of": 2}), "an odd number"),
        (change(["stages", 0, "match"], {"rules": "universty"}), "did you mean 'university'"),
        (change(["stages", 0, "match"], {"options": {"max_deal": 2}}), "no option 'max_deal'"),
        (change(["stages", 0, "match"], {"options": {1: 2}}), "no option 1"),
        (change(["stages", 0, "match"], {"options": {"max_deals": 0}}), "max_deals=0"),
        (change(["stages", 0, "match"], {"options": []}), "options is"),
        (change(["stages", 0, "match"], {"conduct": {"movetime": 2}}), "did you mean 'move_time'"),
        (change(["match"], {"rule": "x"}), "did you mean 'rules'"),
        (change(["stages", 0, "late"], [{"from": 9}]), "from is 9; a whole number from 2 to 8"),
        (change(["stages", 0, "late"], [{"from": 2}] * 2), "every 'from' is another one"),
        (with_stages({"format": "elimination"}, {"format": "race"}), "lacks 'advance'"),
        (with_stages({"format": "elimination", "advance": 8}, {"format": "race"}), "below that"),
        (
            with_stages({"format": "elimination", "advance": 3, "byes": "first"}, GROUPS),
            "2, 4, 8",
        ),
        (with_stages({"format": "elimination", "draw": "seeded", "byes": "each"}), "needs byes"),
        (with_stages({"format": "elimination", "draw": "pools", "byes": "first"}), "one of each"),
        (
            with_stages({"format": "elimination", "advance": 2, "third_place": True}, GROUPS),
            "third_place is True; in the last stage only",
        ),
        (with_stages({"format": "repechage"}), "leads to another"),
        (with_stages({"format": "repechage", "advance": 4}, GROUPS), "from 5 to 7"),
        (with_stages({**GROUPS, "groups": 5}, GROUPS), "groups is 5; a whole number from 2 to 4"),
        (with_stages({**GROUPS, "groups": 3, "advance": 2}, GROUPS), "one of each group"),
        (with_stages({"format": "swiss", "rounds": 5}), "from 1 to 4 is allowed .with 8 entrants"),
        (
            with_stages(
                {"format": "swiss", "rounds": 2},
                entrants=[{"name": "x", "agents": "random", "count": 257}],
            ),
            "has 257 entrants; 256 are allowed",
        ),
        (with_stages({"format": "swiss", "rounds": 2, "late": []}), "unknown key 'late'"),
        (with_stages({"format": "duplicate"}), "lacks 'deals'"),
        (with_stages({"format": "duplicate", "deals": 2, "match": {"best_of": 3}}), "no meaning"),
        (with_stages({"format": "race", "match": {"best_of": 3}}), "one game to pass or reach A"),
        (with_stages({"format": "race", "match": {"rules": "staff"}}), "one game to pass or reach"),
        (with_stages({"format": "round_robin", "tie_breaks": ["drect"]}), "did you mean 'direct'"),
        (with_stages({"format": "round_robin", "points": {"win": 0}}), "a win brings more"),
        (with_stages({**GROUPS, "name": "x"}, {"format": "race", "name": "x"}), "two stages"),
    ],
)
def test_what_is_wrong_is_named(given, message):
    with pytest.raises(DescriptionError, match=message):
        from_dict(given)


def test_yaml_that_is_none(tmp_path):
    for text, message in (
        ("a: [", "not YAML"),
        ("!!python/object:os.system {}", "not YAML"),
        ("x" * 200_000, "at most 100,000 characters"),
        ("&a [*a]", "a mapping is allowed"),
    ):
        with pytest.raises(DescriptionError, match=message):
            read(text)
    path = tmp_path / "x.yaml"
    with pytest.raises(DescriptionError, match="No such file"):
        load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DescriptionError, match="UTF-8"):
        load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
PATHS = [
    ["name"], ["seed"], ["match"], ["entrants"], ["entrants", 0], ["entrants", 0, "agents"],
    ["entrants", 0, "club"], ["entrants", 0, "count"], ["stages"], ["stages", 0],
    ["stages", 0, "format"], ["stages", 0, "late"], ["stages", 0, "match"],
]  # fmt: skip


@given(path=st.sampled_from(PATHS), value=JSON)
def test_nothing_but_errors_of_our_own(path, value):
    message = ""
    try:
        from_dict(change(path, value))
    except GuandanError as error:
        message = str(error)
    assert "\n" not in message


def test_the_hash_is_of_what_is_played():
    one = from_dict(SMALL).sha256
    assert from_dict({**SMALL, "name": "Another name", "source": "a text"}).sha256 == one
    assert from_dict({**SMALL, "seed": 1}).sha256 != one
    assert from_dict({**SMALL, "match": {"best_of": 3}}).sha256 != one


@pytest.mark.parametrize("name", examples())
def test_examples_are_ready(name):
    text = examples()[name]
    assert text.startswith("# ")
    competition = read(text)
    assert Course(competition).next([]) is not None
    assert yaml.safe_load(text)["seed"] == 1


DOCUMENT = (Path(__file__).parents[1] / "docs" / "competitions.md").read_text(encoding="utf-8")


def test_the_document_shows_a_file_that_can_be_played():
    (text,) = re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(read(text).entrants) == 8


def test_the_document_names_every_format_with_its_keys():
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", DOCUMENT, re.MULTILINE)
    documented = {name: set(re.findall(r"`(\w+)`", keys)) for name, keys in rows}
    assert documented == {name: set(keys) for name, (_, keys) in FORMATS.items()}
    for key in COMMON:
        assert f"`{key}`" in DOCUMENT


# How stages follow each other


def course_of(given):
    """The whole history, the lower number winning every match."""
    course = Course(from_dict(given))
    history = []
    while (present := course.next(history)) is not None:
        if present.stage == len(history):
            history.append([])
        assert present.number == len(history[present.stage])
        history[present.stage].append(lower_wins(present.round))
    return course, history


def test_groups_then_elimination():
    course, history = course_of(
        with_stages(GROUPS, {"format": "elimination", "name": "finals", "third_place": True})
    )
    groups = course.competition.stages[0].format
    assert isinstance(groups, Groups)
    members = groups.members(course.field(0, history))
    best = [sorted(own)[:2] for own in members.values()]
    assert sorted(course.field(1, history).entrants) == sorted(e for two in best for e in two)
    # The two of one group are drawn into different halves: they cannot meet before the final.
    for pairing in history[1][0].round.pairings:
        assert not any({pairing.a, pairing.b} == set(two) for two in best)
    ranking = course.ranking(history)
    assert [line.place for line in ranking[:5]] == [1, 2, 3, 4, 5]
    assert ranking[0].entrant == 0
    assert [line.stage for line in ranking] == ["finals"] * 4 + ["groups"] * 4
    assert sorted(line.entrant for line in ranking) == list(range(8))


def test_swiss_then_the_first_four_by_strength():
    course, history = course_of(
        with_stages(
            {"format": "swiss", "rounds": 4, "advance": 4},
            {"format": "elimination", "draw": "seeded"},
        )
    )
    first = [line.entrant for line in course.standings(0, history)][:4]
    semi = history[1][0].round.pairings
    assert [(p.a, p.b) for p in semi] == [(first[0], first[3]), (first[1], first[2])]


def test_the_lot_decides_who_of_equals_goes_on():
    """Quarter-final losers share fifth place; three of four stages later the lot has chosen."""
    given = with_stages(
        {"format": "elimination", "byes": "each", "advance": 4}, {"format": "swiss", "rounds": 1}
    )
    course, history = course_of(given)
    assert {len(course.field(1, history).entrants)} == {4}
    given["stages"][0] = {"format": "groups", "groups": 2, "advance": 3, "tie_breaks": ["games"]}
    chosen = set()
    for seed in range(20):
        course, history = course_of({**given, "seed": seed})
        members = course.competition.stages[0].format.members(course.field(0, history))
        seconds = {sorted(own)[1] for own in members.values()}
        own = course.field(1, history).entrants
        assert len(own) == 3
        assert {min(members) for members in members.values()} < set(own)
        assert len(seconds & set(own)) == 1
        chosen.add(min(seconds) in own)
    assert chosen == {True, False}
