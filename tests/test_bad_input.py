"""What is given from outside and not allowed: documented errors, and nothing changes.

Every public function is given strange values in the place of each argument. It may take them, or
raise a `GuandanError`; anything else fails, and so does a table that an error has changed.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import io
import json
import math
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agents
import guandan_env
from guandan_env import (
    Engine,
    GuandanError,
    Play,
    RuleSet,
    SingleSeatEnv,
    SingleSeatVectorEnv,
    legal_plays,
    legality,
    make_vec,
    observation,
    raw_env,
)
from guandan_env import env as wrapped_env
from guandan_env.actions import NUM_ACTIONS, PASS
from guandan_env.cards import card_names, counts_of, kind_name, kinds_of, parse_cards, rank_name
from guandan_env.errors import CardError, IllegalActionError, PlayError, RulesError, StateError
from guandan_env.notation import find_rows, key_word, parse_pattern, parse_row, row_name, row_of
from guandan_env.options import LONGEST_TEXT
from guandan_env.plays import plays_of_row
from guandan_env.positions import position
from guandan_env.scene import SeatView, check_scene, group_by_rank
from guandan_env.scene_of import scene_of
from guandan_env.state import FIELDS, STATE_VERSION, State

RANDOM = agents.make("random")
ONE = np.array([0])


class Hostile:
    """An object whose every answer is an exception."""

    def _fail(self, *_: object, **__: object) -> None:
        raise RuntimeError("I will not")

    __repr__ = __str__ = __array__ = __iter__ = __len__ = __index__ = __int__ = _fail
    __float__ = __bool__ = __getitem__ = __contains__ = __eq__ = __hash__ = __call__ = _fail


# Small numbers, those next to a limit, and huge ones: nothing that would take gigabytes of tables.
numbers = (
    st.sampled_from([-1, 0, 1, 2, 3, 4, 13, 27, 28, 53, 54, 2243, 2244])
    | st.sampled_from([sign * 2**power for power in (21, 31, 32, 62, 63, 64) for sign in (1, -1)])
    | st.builds(lambda: 2**20_000)  # more digits than Python writes
)
scalars = (
    st.none()
    | st.booleans()
    | numbers
    | st.sampled_from([math.nan, math.inf, -0.0, 1.0, 1e300, 1j, object(), int, len])
    | st.builds(Hostile)
    | st.sampled_from([decimal.Decimal(1), datetime.date(2026, 1, 1), np.int8(1), np.array(0)])
    | st.sampled_from(["2", "A", "S3", "deal", "greedy", "default", "Single", "random", "dict"])
    | st.text(max_size=8)
    | st.binary(max_size=8)
)
lists = st.lists(scalars, max_size=5)
arrays = st.builds(
    lambda shape, value, dtype: np.full(shape, value).astype(dtype),
    st.sampled_from([(0,), (1,), (2,), (54,), (1, 54), (2, 54), (1, 36), (1, 1, 1)]),
    st.sampled_from([0, 1, 2, 3, 100]),
    st.sampled_from([np.int8, np.uint8, np.int64, np.uint64, np.float32, np.bool_, "U3", object]),
)
strange = (
    scalars
    | lists
    | lists.map(tuple)
    | st.sets(numbers, max_size=3)
    | st.dictionaries(st.text(max_size=8) | numbers, scalars, max_size=3)
    | st.builds(range, st.integers(0, 4))
    | arrays
)
few = settings(deadline=None, max_examples=10)


def tries(call, *args, **kwargs):
    """Call with strange values: a `GuandanError` or no error; True if there was none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PettingZoo's and Gymnasium's, of illegal moves
        try:
            call(*args, **kwargs)
        except GuandanError as error:
            text = str(error)
            assert text
            assert len(text) < 2000
            assert "I will not" not in text
            return False
    return True


def same(a: State, b: State) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in FIELDS)


# ------------------------------------------------------------------ the engine and its state


def engine(**options):
    return Engine(1, **{"seed": 3, "previous": None, **options})


def lead(at) -> np.ndarray:
    """The first legal row at each table."""
    return at.masks().argmax(axis=1)


ENGINE = {
    "reset": lambda e, v: e.reset(v),
    "start": lambda e, v: e.start(v),
    "start, deals used": lambda e, v: e.start(ONE, deals_used=v),
    "refresh_masks": lambda e, v: e.refresh_masks(v),
    "decisions": lambda e, v: observation.encode(e.decisions(v)),
    "decisions, masks": lambda e, v: e.decisions(packed_masks=v),
    "step": lambda e, v: e.step(v),
    "step, cards": lambda e, v: e.step(lead(e), v),
    "step, masks": lambda e, v: e.step(lead(e), packed_masks=v),
    "step, tables": lambda e, v: e.step(lead(e), tables=v),
    "step, go_on": lambda e, v: e.step(lead(e), go_on=v),
    "next_deal": lambda e, v: e.next_deal(v),
    "stop": lambda e, v: e.stop(v),
    "yield_lead": lambda e, v: e.yield_lead(v),
    "state": lambda e, v: setattr(e, "state", v),
    "take": lambda e, v: e.state.take(v),
    "decisions.take": lambda e, v: e.decisions().take(v),
    "scene_of": lambda e, v: scene_of(e.state, v),
    "scene_of, names": lambda e, v: scene_of(e.state, 0, names=v),
    "scene_of, viewer": lambda e, v: scene_of(e.state, 0, viewer=v),
    "position, table": lambda e, v: position(e, v),
    "position, hands": lambda e, v: position(e, 0, hands=v),
    "position, a hand": lambda e, v: position(e, 0, hands=[v, "S2", "S3", "S4"]),
    "position, level": lambda e, v: position(e, 0, level=v),
    "position, leader": lambda e, v: position(e, 0, leader=v),
    "position, scores": lambda e, v: position(e, 0, scores=v),
    "position, previous": lambda e, v: position(e, 0, previous=v),
    "position, trick": lambda e, v: position(e, 0, trick=v, hands=["S2"] * 2 + ["S3"] * 2, level=v),
    "position, unknown": lambda e, v: position(e, 0, **{str(type(v)): v}),
}


@pytest.mark.parametrize("name", ENGINE)
@few
@given(value=strange)
def test_an_engine_takes_it_or_stays_as_it_is(name, value):
    at = engine()
    before = at.state.copy()
    if not tries(ENGINE[name], at, value):
        assert same(before, at.state)
        assert at.num_tables == 1
        assert at.seed == 3


@pytest.mark.parametrize(
    "name", ["num_tables", "rules", "seed", "episode", "level", "previous", "tables"]
)
@few
@given(value=strange)
def test_parameters_of_an_engine(name, value):
    tries(lambda: Engine(**{"num_tables": 1, name: value}))


@settings(deadline=None, max_examples=100)
@given(
    name=st.sampled_from([f.name for f in dataclasses.fields(guandan_env.Decisions)]), value=strange
)
def test_decisions_are_of_their_shapes_and_types(name, value):
    decisions = engine().decisions()
    if tries(lambda: dataclasses.replace(decisions, **{name: value})):
        changed = dataclasses.replace(decisions, **{name: value})
        assert (changed.mask.shape, changed.hand.shape) == ((1, NUM_ACTIONS), (1, 54))


SAVED = Engine(2, seed=1, previous="random").state.to_bytes()


@settings(deadline=None, max_examples=150)
@given(
    data=strange
    | st.binary(max_size=300)
    | st.builds(lambda n: SAVED[:n], st.integers(0, len(SAVED)))
    | st.builds(
        lambda at, byte: SAVED[:at] + bytes([byte]) + SAVED[at + 1 :],
        st.integers(0, len(SAVED) - 1),
        st.integers(0, 255),
    )
)
def test_any_bytes_are_a_saved_state_or_refused(data):
    try:
        state = State.from_bytes(data)
    except StateError:
        return
    assert state.to_bytes() == SAVED  # the byte was what it had been, or one that nobody reads


def changed(state: State, rng: np.random.Generator) -> State:
    """A state of one table with one or two numbers in it changed a little, or altogether."""
    other = state.copy()
    for name in rng.choice(list(FIELDS), rng.integers(1, 3)):
        values = getattr(other, name).reshape(-1)
        at, kind = rng.integers(values.size), values.dtype
        if kind == np.uint64:
            values[at] ^= np.uint64(1) << np.uint64(rng.integers(54))
        else:
            new = int(values[at]) + rng.integers(-2, 3) if rng.random() < 0.6 else rng.integers(300)
            values[at] = np.array(new).astype(kind)
    return other


def play_on(at: Engine, rng: np.random.Generator, most: int) -> int:
    """Random legal steps until no seat is to act; how many they were."""
    for number in range(most):
        acting = at.state.seat >= 0
        if not acting.any():
            return number
        packed = at.packed_masks()
        legal = legality.count(packed[acting])
        assert (legal > 0).all()
        rows = np.zeros(at.num_tables, dtype=np.int64)
        rows[acting] = legality.select(
            packed[acting], (rng.random(len(legal)) * legal).astype(np.int64)
        )
        observation.encode(at.decisions())
        at.step(rows, go_on=False)
    return most


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    preset=st.sampled_from(RuleSet.presets()),
    episode=st.sampled_from(["deal", "game"]),
    steps=st.integers(0, 120),
)
def test_a_changed_state_is_refused_or_can_be_played_to_its_end(seed, preset, episode, steps):
    rng = np.random.default_rng(seed)
    rules = RuleSet.preset(preset)
    at = Engine(1, rules, seed=seed, episode=episode, previous="random")
    play_on(at, rng, steps)
    kept = at.state
    for _ in range(4):
        try:
            at.state = State.from_bytes(changed(kept, rng).to_bytes())
        except StateError:
            continue
        assert play_on(at, rng, 500) < 500


# ------------------------------------------------------------------ the environments

RAW = {
    "reset, seed": lambda e, v: e.reset(seed=v),
    "reset, options": lambda e, v: e.reset(options=v),
    **{
        f"reset, {name}": lambda e, v, name=name: e.reset(seed=1, options={name: v})
        for name in ("hands", "level", "leader", "scores", "previous", "trick", "leadre")
    },
    "step": lambda e, v: e.step(v),
    "observe": lambda e, v: e.observe(v),
    "observation_space": lambda e, v: e.observation_space(v),
    "action_space": lambda e, v: e.action_space(v),
}


@pytest.mark.parametrize("name", RAW)
@pytest.mark.parametrize("make", [raw_env, wrapped_env])
@settings(deadline=None, max_examples=8)
@given(value=strange)
def test_the_aec_environment_takes_it_or_stays_as_it_is(make, name, value):
    aec = make(previous=None)
    aec.reset(seed=1)
    before = aec.unwrapped.engine.state.copy()
    if not tries(RAW[name], aec, value):
        assert same(before, aec.unwrapped.engine.state)
        mask = aec.observe(aec.agent_selection)["action_mask"]
        aec.step(int(mask.argmax()))


@pytest.mark.parametrize("name", ["rules", "episode", "level", "previous", "reward", "render_mode"])
@few
@given(value=strange)
def test_parameters_of_the_aec_environment(name, value):
    tries(raw_env, **{name: value})
    tries(wrapped_env, **{name: value})


VECTOR = {
    "reset": lambda v, x: v.reset(x),
    "step": lambda v, x: v.step(x),
    "step, cards": lambda v, x: v.step(lead(v.engine), x),
}


@pytest.mark.parametrize("name", VECTOR)
@few
@given(value=strange)
def test_the_vector_environment_takes_it_or_stays_as_it_is(name, value):
    vec = make_vec(2, seed=1, previous=None)
    step = vec.reset()
    before = vec.engine.state.copy()
    if not tries(VECTOR[name], vec, value):
        assert same(before, vec.engine.state)
        vec.step(step.mask.argmax(axis=1))


@pytest.mark.parametrize(
    "name",
    ["num_tables", "rules", "episode", "seed", "level", "previous", "observe", "reward", "reuse"],
)
@few
@given(value=strange)
def test_parameters_of_the_vector_environment(name, value):
    tries(make_vec, **{"num_tables": 1, name: value})


SINGLE = {
    "reset, seed": lambda e, v: e.reset(seed=v),
    "reset, options": lambda e, v: e.reset(options=v),
    "reset, hands": lambda e, v: e.reset(options={"hands": v}),
    "reset, reset_mask": lambda e, v: e.reset(options={"reset_mask": v}),
    "step": lambda e, v: e.step(v),
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize(
    "make", [SingleSeatEnv, partial(SingleSeatVectorEnv, 2)], ids=["one", "two"]
)
@settings(deadline=None, max_examples=8)
@given(value=strange)
def test_single_seats_take_it_or_stay_as_they_are(make, name, value):
    single = make(RANDOM, illegal="raise", seat=1)
    single.reset(seed=1)
    before = single.tables.engine.state.copy()
    if not tries(SINGLE[name], single, value):
        assert same(before, single.tables.engine.state)
        single.step(single.action_masks().argmax(axis=-1))


SINGLE_PARAMETERS = (
    "agents", "seat", "rules", "episode", "level", "previous", "reward", "observation", "illegal",
    "table", "render_mode",
)  # fmt: skip


@pytest.mark.parametrize("name", SINGLE_PARAMETERS)
@few
@given(value=strange)
def test_parameters_of_single_seats(name, value):
    tries(SingleSeatEnv, **{"agents": RANDOM, name: value})
    if name != "table":
        given = {"num_envs": 2, "agents": RANDOM, name: value}
        tries(SingleSeatVectorEnv, **given)


# ------------------------------------------------------------------ what has no state

OPTIONS = [field.name for field in dataclasses.fields(RuleSet)]
WORDS = {
    "Engine, seed": lambda v: Engine(1, seed=v),
    "num_envs": lambda v: SingleSeatVectorEnv(v, RANDOM),
    "from_bytes": State.from_bytes,
    "preset": RuleSet.preset,
    "of": RuleSet.of,
    "from_dict": RuleSet.from_dict,
    "from_dict, options": lambda v: [RuleSet.from_dict({name: v}) for name in OPTIONS],
    "from_json": RuleSet.from_json,
    "from_yaml": RuleSet.from_yaml,
    "differences": lambda v: RuleSet().differences(v),
    "legal_plays, hand": lambda v: legal_plays(v, "2"),
    "legal_plays, level": lambda v: legal_plays("S3 H3", v),
    "legal_plays, lead": lambda v: legal_plays("S3 H3", "2", v),
    "legal_plays, pattern": lambda v: legal_plays("S3", "2", Play(v, "3", ("S3",))),
    "legal_plays, key": lambda v: legal_plays("S3", "2", Play("Single", v, ("S3",))),
    "legal_plays, cards": lambda v: legal_plays("S3", "2", Play("Single", "3", v)),
    "legal_plays, flag": lambda v: legal_plays("S3", "2", flush_straight_as_straight=v),
    "plays_of_row": lambda v: plays_of_row(v, "S3", "2"),
    "plays_of_row, hand": lambda v: plays_of_row(2, v, "2"),
    "row_name": row_name,
    "parse_row": parse_row,
    "parse_pattern": parse_pattern,
    "key_word": lambda v: key_word(v, 0),
    "row_of": lambda v: row_of(v, "2"),
    "row_of, pattern": lambda v: row_of("S3", "2", v),
    "find_rows, key": lambda v: find_rows("S3", "2", None, v),
    "parse_cards": parse_cards,
    "counts_of": counts_of,
    "kinds_of": kinds_of,
    "card_names": card_names,
    "rank_name": rank_name,
    "kind_name": kind_name,
    "check_scene": check_scene,
    "SeatView": lambda v: SeatView(v, "player"),
    "SeatView, name": lambda v: SeatView(0, v),
    "SeatView, cards": lambda v: SeatView(0, "player", v),
    "SeatView, place": lambda v: SeatView(0, "player", place=v),
    "group_by_rank": lambda v: group_by_rank(v, "2"),
    "parse": agents.parse,
    "make": agents.make,
    "single_seat": agents.single_seat,
}


@pytest.mark.parametrize("name", WORDS)
@settings(deadline=None, max_examples=15)
@given(value=strange)
def test_functions_take_it_or_say_why_not(name, value):
    tries(WORDS[name], value)


@settings(deadline=None, max_examples=60)
@given(text=st.text() | st.binary().map(lambda b: b.decode("latin-1")), tail=st.text(max_size=20))
def test_any_text_is_a_spec_or_refused(text, tail):
    for spec in (text, f"greedy?{tail}", f"random:{tail}", f"{text}:{tail}"):
        tries(agents.parse, spec)
        tries(agents.make, spec)


@settings(deadline=None, max_examples=60)
@given(text=st.text(max_size=60))
def test_any_text_is_a_rule_set_or_refused(text):
    for source in (text, "{" + text, f'{{"wind": "{text}"}}', f"wind: {text}"):
        tries(RuleSet.from_json, source)
        tries(RuleSet.from_yaml, source)


# ------------------------------------------------------------------ what the messages say


def other_version() -> bytes:
    """A saved state with another version in its first array."""
    with np.load(io.BytesIO(SAVED)) as file:
        kept = dict(file)
    meta = json.loads(kept["meta"].tobytes()) | {"state": "state-v0"}
    kept["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    out = io.BytesIO()
    np.savez(out, **kept)
    return out.getvalue()


def step_at_an_idle_seat():
    at = Engine(2, seed=1, previous=None)
    at.stop(ONE)
    at.step(lead(at), tables=ONE)


HAND = "S2 S3 S4 S5 S6 S7 S8 S9 ST SJ SQ SK SA H2 H3 H4 H5 H6 H7 H8 H9 HT HJ HQ HK HA C2"
SPADES = np.zeros((1, 54), dtype=np.uint8)
SPADES[0, 4] = 3

MESSAGES = [
    # call, error, what was given, what is allowed
    (lambda: RuleSet.preset("universty"), RulesError, "'universty'", "did you mean 'university'"),
    (lambda: RuleSet(windd="next"), RulesError, "'windd'", "did you mean 'wind'"),
    (lambda: RuleSet(wind="partnr"), RulesError, "wind='partnr'", "'partner', 'next'"),
    (lambda: RuleSet.from_json("{"), RulesError, "not JSON", "line 1"),
    (lambda: RuleSet.from_json(" " * 200_000), RulesError, "200,000", f"{LONGEST_TEXT:,}"),
    (lambda: Engine(1, rules="x"), RulesError, "'x'", "presets: default"),
    (lambda: Engine(0), GuandanError, "num_tables is 0", "1 to 1048576"),
    (lambda: Engine(10**12), GuandanError, "num_tables is 1000000000000", "1 to 1048576"),
    (lambda: Engine(True), GuandanError, "num_tables is True", "whole number"),
    (lambda: Engine(1, seed=-1), GuandanError, "seed is -1", "from 0 to"),
    (lambda: Engine(1, level="1"), CardError, "'1'", "2 3 4 5 6 7 8 9 T J Q K A"),
    (lambda: Engine(1, level=5), CardError, "5 is no rank", "2 3 4"),
    (lambda: Engine(1, episode="gmae"), GuandanError, "'gmae'", "did you mean 'game'"),
    (lambda: Engine(2, tables=[1]), GuandanError, "(1,)", "(2,)"),
    (lambda: Engine(1, tables=[-1]), GuandanError, "name -1", "from 0"),
    (lambda: engine().step([PASS]), IllegalActionError, "action 0 (pass)", "this seat leads"),
    (lambda: engine().step([2244]), IllegalActionError, "action 2244", "0 to 2243"),
    (lambda: engine().step([2**70]), IllegalActionError, "object", "whole numbers of shape (1,)"),
    (lambda: engine().step([1.0]), IllegalActionError, "float64", "whole numbers of shape (1,)"),
    (lambda: engine().step([[1], [2]]), IllegalActionError, "(2, 1)", "shape (1,)"),
    (lambda: engine().step([[1], [2, 3]]), IllegalActionError, "[[1], [2, 3]]", "shape (1,)"),
    (lambda: engine().step([2188]), IllegalActionError, "table 0, seat", "from this hand"),
    (step_at_an_idle_seat, GuandanError, "tables name 0", "no seat is to act"),
    (lambda: engine().step([2], tables=[0, 0]), GuandanError, "0 2 times", "once"),
    (lambda: engine().step(lead(engine()), SPADES), IllegalActionError, "cards", "not held"),
    (lambda: engine().step([2], [[1]]), IllegalActionError, "(1, 1)", "(1, 54)"),
    (lambda: engine().step([2], go_on=1), GuandanError, "go_on is 1", "True and False"),
    (lambda: engine().decisions([7]), GuandanError, "name 7", "0 to 0"),
    (lambda: engine().start([0.5]), GuandanError, "float64", "0 to 0"),
    (lambda: engine().start(ONE, deals_used=-1), GuandanError, "-1", "from 0"),
    (lambda: engine().next_deal(ONE), GuandanError, "name 0", "between two deals"),
    (lambda: setattr(engine(), "state", {}), StateError, "{}", "State"),
    (lambda: State.from_bytes(b"PK\3\4"), StateError, "no saved state", ""),
    (lambda: State.from_bytes(other_version()), StateError, "state-v0", STATE_VERSION),
    (lambda: legal_plays("S3 S3 S3", "2"), CardError, "S3 is there 3 times", "two decks hold two"),
    (lambda: legal_plays(HAND + " C3", "2"), CardError, "28", "27"),
    (lambda: legal_plays("X3", "2"), CardError, "'X3'", "S H C D"),
    (lambda: legal_plays("S3", "2", "pass"), PlayError, "'pass'", "Play (pattern, key, cards)"),
    (
        lambda: legal_plays("S3", "2", Play("Singel", "3", ("S3",))),
        PlayError,
        "'Singel'",
        "did you mean 'Single'",
    ),
    (lambda: legal_plays("S3", "2", Play("Pair", "1", ("S3",))), PlayError, "'1'", "allowed are 2"),
    (lambda: parse_row("pair 5"), PlayError, "'pair 5'", "pair 55"),
    (lambda: row_name(2244), PlayError, "2244", "0 to 2243"),
    (lambda: agents.make("gready"), agents.AgentError, "'gready'", "did you mean 'greedy'"),
    (lambda: agents.make("random?speed=1"), agents.AgentError, "'speed'", "allowed: "),
    (lambda: raw_env(render_mode="asni"), GuandanError, "'asni'", "did you mean 'ansi'"),
    (lambda: raw_env().step(0), StateError, "no episode", "call reset()"),
    (lambda: raw_env().observe("player_0"), StateError, "no episode", "call reset()"),
    (lambda: raw_env().observe("player_4"), GuandanError, "'player_4'", "player_3"),
    (lambda: make_vec(1, reuse="no"), GuandanError, "reuse is 'no'", "True and False"),
    (lambda: position(engine(), 1), StateError, "at is 1", "0 to 0"),
    (lambda: position(engine(), 0, trick=(0, 0)), StateError, "is 0", "a play is allowed"),
]


@pytest.mark.parametrize(("call", "error", "what", "allowed"), MESSAGES)
def test_a_message_says_what_was_given_and_what_is_allowed(call, error, what, allowed):
    with pytest.raises(error) as caught:
        call()
    assert what in str(caught.value)
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def test_once_all_is_over_there_is_no_action_left():
    for make in (raw_env, wrapped_env):
        aec = make(previous=None)
        aec.reset(seed=1, options={"hands": ["S3", "S4", "S5", "S6"], "leader": 0})
        while not all(aec.terminations.values()):
            aec.step(int(aec.observe(aec.agent_selection)["action_mask"].argmax()))
        for action in (0, "x", Hostile()):
            with pytest.raises(IllegalActionError, match="None is allowed"):
                aec.step(action)
        for _ in range(4):
            aec.step(None)
        assert not aec.agents
    with pytest.raises(StateError, match="call reset"):
        raw_env().step(None)


def test_a_state_that_is_set_is_the_one_that_is_played():
    vec = make_vec(2, seed=1, previous=None)
    first = vec.reset()
    other = Engine(2, seed=2, previous=None)
    vec.engine.state = other.state.copy()
    rows = (other.masks() > first.mask).argmax(axis=1)  # not legal where the first ones were
    assert (first.mask[[0, 1], rows] == 0).all()
    vec.step(rows)
    other.step(rows)
    assert same(vec.engine.state, other.state)
    vec.engine.state = Engine(3).state
    with pytest.raises(StateError, match="has 3 tables; 2 are allowed"):
        vec.step(rows)
    with pytest.raises(StateError, match="has 3 tables; 2 are allowed"):
        vec.reset()
