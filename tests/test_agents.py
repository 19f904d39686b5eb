"""The registry of agents, and what random and greedy do."""

from __future__ import annotations

import numpy as np
import pytest

from agents import AgentError, Spec, describe, make, parse
from agents.greedy import PLACE, PREFERENCE, Greedy, heights
from agents.random_bot import Random
from guandan_env.actions import FIRST_CARD, IS_BOMB, IS_PLAY, NUM_ACTIONS, ROW_PATTERN, STRENGTH
from guandan_env.cards import KIND_OF, counts_of, parse_cards, parse_rank, to_bits
from guandan_env.decisions import Agent
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.notation import parse_row, row_name
from guandan_env.rules import RuleSet
from guandan_env.state import Phase

MANY = "S2 S3 S4 S5 S7 S8 S9 C2 C3 C4 C5 C7 C8 C9"  # 14 cards: no alarm


def position(
    hand: str,
    *,
    level: str = "6",
    lead: str | None = None,
    lead_seat: int = 3,
    others: str = MANY,
    rules: RuleSet | None = None,
) -> Engine:
    """Seat 0 to decide with a hand, over a play of another seat or leading."""
    engine = Engine(1, rules, level=level, previous=None)
    s = engine.state
    for seat, cards in enumerate((hand, others, others, others)):
        s.hands[0, seat] = to_bits(counts_of(parse_cards(cards)))
    s.level[0], s.seat[0] = parse_rank(level), 0
    if lead is not None:
        s.lead[0], s.lead_seat[0] = parse_row(lead), lead_seat
    engine.refresh_masks(np.array([0]))
    return engine


def greedy_plays(hand: str, **options) -> str:
    return row_name(int(Greedy().act(position(hand, **options).decisions())[0]))


@pytest.mark.parametrize(
    ("hand", "expected"),
    [
        ("S3 S4 S9 C9", "single 3"),
        ("S3 C3 S9 C9 D9", "pair 33"),
        ("S3 C3 D3 S9 C9", "full house 33399"),
        ("S3 C3 D3 S4 C4 D4 SK", "plate 333444"),
        ("S3 C4 D5 S6 C7 C3", "straight 34567"),
        ("SA C2 D3 S4 C5 H2", "straight A2345"),
        ("S6 C7 D8", "single 7"),  # the level card is above the ace
        ("S6 H6", "single 6"),  # the wild comes after
        ("H6 H6", "pair of wilds"),
        ("S4 C4 D4 H4 SB", "triple 444"),  # a bomb may be broken, bombs come last
        ("SB SB HR", "pair BB"),
    ],
)
def test_leading_takes_the_longest_of_the_lowest_key(hand, expected):
    assert greedy_plays(hand) == expected


@pytest.mark.parametrize(
    ("hand", "lead", "expected"),
    [
        ("S5 S8 SK", "single 4", "single 5"),
        ("S5 S8 SK", "single K", "pass"),
        ("S5 S8 S6", "single A", "single 6"),
        ("S5 C5 D5 S9 C9 S3 C3", "full house 44477", "full house 55533"),
        ("S5 H6 SK", "pair 44", "pass"),  # only with the wild
        ("S5 C5 D5 H5 SK", "pair TT", "pass"),  # only with the bomb
    ],
)
def test_following_an_opponent_saves_wilds_and_bombs(hand, lead, expected):
    assert greedy_plays(hand, lead=lead) == expected


@pytest.mark.parametrize(
    ("hand", "lead", "expected"),
    [
        ("S5 H6 SK", "pair 44", "pair 55 with wild as 5"),
        ("S5 C5 D5 H5 S9", "pair TT", "bomb 5555"),
        ("S5 C5 D5 H5 S9 C9 D9 H9 D9", "pair TT", "bomb 5555"),
        ("S5 C5 D5 H5 H6 SK", "pair TT", "pair KK with wild as K"),  # wilds before bombs
        ("S5 C5 D5 H5 S9 C9 D9 H9", "bomb 7777", "bomb 9999"),
        ("S3", "pair TT", "pass"),
    ],
)
def test_few_cards_of_an_opponent_raise_the_alarm(hand, lead, expected):
    ten = " ".join(MANY.split()[:10])
    assert greedy_plays(hand, lead=lead, others=ten) == expected


def test_eleven_cards_or_none_raise_no_alarm():
    eleven = " ".join(MANY.split()[:11])
    engine = position("S5 H6 SK", lead="pair 44", others=eleven)
    engine.state.hands[0, 1] = 0
    assert row_name(int(Greedy().act(engine.decisions())[0])) == "pass"


@pytest.mark.parametrize("lead", ["single 6", "pair BB", "single wild", "single R", "triple 666"])
def test_level_cards_and_jokers_raise_the_alarm(lead):
    hand = "S5 C5 D5 H5 S9"
    assert greedy_plays(hand, lead=lead) == "bomb 5555"
    assert greedy_plays(hand, lead=lead, lead_seat=2) == "pass"  # the partner's


@pytest.mark.parametrize(
    ("hand", "lead", "expected"),
    [
        ("ST SK", "single 4", "single T"),
        ("SJ SK", "single 4", "pass"),
        ("S6 SK", "single 4", "pass"),  # the level card counts above the jack
        ("S5 C5 D5 H5 H6", "pair TT", "pass"),
        ("S5 H6", "pair 44", "pass"),  # no wild over the partner
        ("S8 C9 DT SJ CQ", "straight 34567", "straight 89TJQ"),
        ("SJ CQ DK SA CT", "straight 34567", "straight TJQKA"),
    ],
)
@pytest.mark.parametrize("cards", [10, 14])
def test_over_the_partner_only_low_natural_plays(hand, lead, expected, cards):
    others = " ".join(MANY.split()[:cards])
    assert greedy_plays(hand, lead=lead, lead_seat=2, others=others) == expected


@pytest.mark.parametrize("level", [0, 4, 12])
def test_inside_a_pattern_the_height_orders_like_the_strength(level):
    height = heights(level)
    for pattern in np.unique(ROW_PATTERN[IS_PLAY & ~IS_BOMB]):
        rows = np.flatnonzero(ROW_PATTERN == pattern)
        by_height = np.unique(height[rows], return_inverse=True)[1]
        by_strength = np.unique(STRENGTH[level][rows], return_inverse=True)[1]
        np.testing.assert_array_equal(by_height, by_strength)


def test_preferences_are_orders_of_all_rows():
    assert (np.sort(PREFERENCE, axis=-1) == np.arange(NUM_ACTIONS)).all()
    assert (np.take_along_axis(PLACE, PREFERENCE, axis=-1) == np.arange(NUM_ACTIONS)).all()


def tribute(phase: Phase, hand: str, rules: RuleSet | None = None) -> Engine:
    engine = position(hand, rules=rules)
    s = engine.state
    s.phase[0], s.previous[0], s.payers[0] = phase, [0, 1, 2, 3], [3, -1]
    s.paid[0, 0] = KIND_OF["SK"]
    return engine


@pytest.mark.parametrize(
    ("hand", "expected"),
    [
        ("S2 C2 D4 ST", "D4"),  # the twos are a pair
        ("S2 C2 D2 S3 C3", "S2"),  # nothing stands alone
        ("DT CT SA", "CT"),
        ("D9 S9 H8 D8 ST", "ST"),
    ],
)
def test_returns_the_lowest_card_that_breaks_no_pair(hand, expected):
    row = int(Greedy().act(tribute(Phase.RETURN, hand).decisions())[0])
    assert row == FIRST_CARD + KIND_OF[expected]


def test_returns_the_wild_last():
    rules = RuleSet.preset("default").replace(return_limit="any")
    row = int(Greedy().act(tribute(Phase.RETURN, "H6 SB SB", rules).decisions())[0])
    assert row == FIRST_CARD + KIND_OF["SB"]


def test_pays_the_first_suit_and_resists():
    row = int(Greedy().act(tribute(Phase.PAY, "DA CA HA S9 H6").decisions())[0])
    assert row == FIRST_CARD + KIND_OF["HA"]
    row = int(Greedy().act(tribute(Phase.RESIST, "HR HR S9").decisions())[0])
    assert row_name(row) == "resist"


@pytest.mark.parametrize("agent", [Random(), Greedy()])
def test_answers_do_not_depend_on_the_batch(agent):
    engine = Engine(64, seed=5)
    for _ in range(40):
        decisions = engine.decisions()
        rows = agent.act(decisions)
        some = np.arange(3, 64, 7)
        np.testing.assert_array_equal(agent.act(engine.decisions(some)), rows[some])
        engine.step(rows)
    assert agent.act(engine.decisions(np.array([], dtype=int))).shape == (0,)


def test_random_is_uniform_over_legal_rows():
    engine = Engine(6000, level="2", previous=None)
    s = engine.state
    s.hands[:, :] = to_bits(counts_of(parse_cards("S3 S4 S9")))
    s.seat[:], s.level[:] = 0, 0
    engine.refresh_masks(np.arange(6000))
    rows, counts = np.unique(Random().act(engine.decisions()), return_counts=True)
    assert [row_name(int(row)) for row in rows] == ["single 3", "single 4", "single 9"]
    assert abs(counts - 2000).max() < 200


# ---------------------------------------------------------------------------- the registry


@pytest.mark.parametrize("name", [name for name in describe() if ":" not in name])
def test_registered_kinds_make_agents(name):
    agent = make(name)
    assert isinstance(agent, Agent)
    assert agent.name == name


@pytest.mark.parametrize("name", [name for name in describe() if ":" in name])
def test_kinds_with_a_target_ask_for_it(name):
    kind, _, _ = name.partition(":")
    with pytest.raises(AgentError, match=f"'{kind}' lacks a target; it is written {name}"):
        make(kind)


@pytest.mark.parametrize(
    "text",
    [
        "greedy",
        "my_bot:MyBot?depth=2&name=x",
        r"ppo:C:\runs\best one?temperature=0.5",
        "search:ppo:pretrained?rollouts=64",
        "exec:python bot.py --what=1%3F%26 100%25?x=a%3Fb%26c%25=d",
    ],
)
def test_specs_round_trip(text):
    spec = parse(text)
    assert str(spec) == text
    assert parse(str(spec)) == spec


def test_parts_of_a_spec():
    assert parse(r"ppo:C:\runs\x?t=0.5&k=a=b") == Spec(
        "ppo", r"C:\runs\x", (("t", "0.5"), ("k", "a=b"))
    )
    spec = Spec("exec", "a?b=c&d%3F", (("k=%&?", "v=%&?"),))
    assert parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gredy", r"unknown agent 'gredy' \(did you mean 'greedy'\?\).*random, greedy"),
        ("", "is no agent"),
        ("greedy:", "kind"),
        ("greedy:x", "takes no target"),
        ("greedy?", "is no option"),
        ("greedy?depth", "'depth' is no option"),
        ("greedy?depth=1", "unknown option 'depth'.*allowed: none"),
        ("greedy?a=1&a=2", "given twice"),
        ("no_such_module_here:Bot", "there is no module"),
        ("builtins:int", "lacks name, reset, act"),
        ("..:Bot", "cannot be imported"),
    ],
)
def test_bad_specs_say_why(text, message):
    with pytest.raises(AgentError, match=message):
        make(text)
    assert issubclass(AgentError, GuandanError)


def test_a_class_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "own_bot_for_test.py").write_text(
        "from agents.greedy import Greedy\n"
        "class Mine(Greedy):\n"
        "    name = 'mine'\n"
        "    def __init__(self, depth=1, text='', loud=False):\n"
        "        self.given = depth, text, loud\n"
        "class Half:\n"
        "    name = 'half'\n"
        "class Broken:\n"
        "    def __init__(self):\n"
        "        raise RuntimeError('no luck')\n"
    )
    (tmp_path / "own_broken_for_test.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # taken off again after the test
    agent = make("own_bot_for_test:Mine?depth=2&text=x&loud=true")
    assert agent.given == (2, "x", True)
    for spec, message in (
        ("own_bot_for_test:Mien", "did you mean 'Mine'"),
        ("own_bot_for_test:Mine?dept=2", "did you mean 'depth'"),
        ("own_bot_for_test:Half", "lacks reset, act"),
        ("own_bot_for_test:Broken", "RuntimeError: no luck"),
        ("own_broken_for_test:Bot", "ZeroDivisionError"),
    ):
        with pytest.raises(AgentError, match=message):
            make(spec)
