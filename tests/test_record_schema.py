"""The JSON Schema of records, the check in code, and what is written agree with each other."""

from __future__ import annotations

import copy
import json
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.greedy import Greedy
from agents.random_bot import Random
from eval.duplicate import Terms, play_pairs
from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.record import FORMAT
from guandan_env.record_replay import first_wrong, verify
from guandan_env.record_shape import RecordError, check_shape
from guandan_env.rules import RuleSet

SCHEMA = json.loads((files("guandan_env") / "data" / "record-v1.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
# What JSON Schema cannot say as exactly as the check in code does.
STRICTER = ("control characters", "nested more than")


def recorded(preset: str, pairs: int = 3) -> list[dict]:
    """Records of single deals and of a game, with everything that a preset has."""
    rules = RuleSet.preset(preset)
    told = []
    for episode, count in (("deal", pairs), ("game", 1)):
        terms = Terms(rules=rules, episode=episode, record=True, seed=4)
        played = play_pairs(Greedy(), Random(), 0, count, terms)
        told += [record for pair in played.records for record in pair]
    return json.loads(json.dumps(told))


RECORDS = recorded("company", 6)


def test_the_schema_is_one_and_of_this_version():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    assert SCHEMA["properties"]["actions"]["const"] == ACTION_TABLE_VERSION


@pytest.mark.parametrize("preset", RuleSet.presets())
def test_what_is_written_fits_and_verifies(preset):
    for told in recorded(preset):
        VALIDATOR.validate(told)
        verify(check_shape(told))


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The paths to everything inside a value of JSON."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return []
    found = [(*path, key) for key, _ in items]
    for key, entry in items:
        found += places(entry, (*path, key))
    return found


PLACES = [places(told) for told in RECORDS]
# Each kind of place is as likely as any other, however often a record has it.
KINDS = [
    {kind: [p for p in all_ if tuple(k if isinstance(k, str) else "#" for k in p) == kind]
     for kind in {tuple(k if isinstance(k, str) else "#" for k in p) for p in all_}}
    for all_ in PLACES
]  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 30),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0.5, 1e300, "", "S3", "SB HR", "A", "2", "pair 55", "pass", "play", "yield",
                     "draw", "\x1b[31m", "\u4e2d", "<b>", "x" * 3000]),
)  # fmt: skip
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=5), st.dictionaries(st.text(), SCALARS))


@st.composite
def damaged(draw) -> dict:
    """A record in which one or two things are not what they were."""
    which = draw(st.integers(0, len(RECORDS) - 1))
    told = copy.deepcopy(RECORDS[which])
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(sorted(KINDS[which])))
        *path, key = draw(st.sampled_from(KINDS[which][kind]))
        try:
            at = told
            for step in path:
                at = at[step]
            at[key]
        except (KeyError, IndexError, TypeError):
            continue  # the first damage took this place away
        how = draw(st.sampled_from(["replace", "remove", "add", "repeat", "nudge"]))
        if how == "replace":
            at[key] = draw(VALUES)
        elif how == "remove":
            del at[key]
        elif how == "add" and isinstance(at, dict):
            at[draw(st.text(max_size=8))] = draw(VALUES)
        elif how == "repeat" and isinstance(at, list):
            at.insert(key, at[key])
        elif how == "nudge" and type(at[key]) is int:
            at[key] += draw(st.sampled_from([-1, 1]))
    return told


def refusal(check, told) -> RecordError | None:
    """What a check says against a record; any other exception is one of the test."""
    try:
        check(told)
    except RecordError as error:
        return error
    return None


@settings(max_examples=60, deadline=None)
@given(damaged())
def test_damage_is_an_error_of_records_and_of_the_schema_alike(told):
    wrong = refusal(check_shape, told)
    if wrong is not None:
        assert not VALIDATOR.is_valid(told) or any(word in str(wrong) for word in STRICTER)
    else:
        assert VALIDATOR.is_valid(told)
        assert first_wrong([told]) == (None if refusal(verify, told) is None else 0)


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_anything_at_all_is_refused_as_no_record(value):
    with pytest.raises(RecordError):
        check_shape(value)
