"""The platform's messages: by hand from its manual, and against the engine on random positions."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import make
from agents.answers import require
from agents.njupt import messages
from agents.njupt.actions import (
    PATTERNS,
    Action,
    Form,
    find_index,
    legal_actions,
    play_action,
    read_action,
    sorted_cards,
)
from agents.njupt.incoming import (
    MOST_REQUEST,
    Create,
    Play,
    WireError,
    parse_index,
    parse_request,
    parse_said,
    parse_told,
)
from agents.njupt.messages import Talk
from agents.njupt.seat_talk import SeatTalk, share_out
from guandan_env.actions import PASS, ROWS
from guandan_env.cards import KIND_NAMES, RANKS, card_names, counts_of, to_counts
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.notation import hand_counts, parse_row, row_of
from guandan_env.plays import Play as ExactPlay
from guandan_env.plays import legal_plays
from guandan_env.state import Phase

OURS = {
    "Single": "Single",
    "Pair": "Pair",
    "Trips": "Triple",
    "ThreePair": "Tube",
    "ThreeWithTwo": "FullHouse",
    "TwoTrips": "Plate",
    "Straight": "Straight",
    "StraightFlush": "StraightFlush",
    "Bomb": "Bomb",
}
WEAKEST = ["PASS", *OURS]


def rows_for(hand: str, level: str, lead: ExactPlay | None = None) -> list[int]:
    rows = {row_of(p.cards, level, p.pattern, p.key) for p in legal_plays(hand, level, lead)}
    return sorted(rows | ({PASS} if lead else set()))


def actions_of(hand: str, level: str, lead: ExactPlay | None = None, form: Form = Form.OLD) -> list:
    rows = rows_for(hand, level, lead)
    return [a.wire(form) for a in legal_actions(rows, hand_counts(hand), RANKS.index(level))]


def our_play(wire: list) -> tuple:
    pattern, rank, cards = wire
    if rank == "JOKER":
        pattern, rank = "JokerBomb", "JOKERS"
    return OURS.get(pattern, pattern), rank, tuple(sorted(cards, key=KIND_NAMES.index))


def test_a_hand_is_sorted_by_level_order_then_suit():
    hand = hand_counts("HR D5 S5 H5 SB CA S2 H2 D9")
    assert sorted_cards(hand, RANKS.index("5")) == "S2 H2 D9 CA S5 H5 D5 SB HR".split()


def test_actions_of_a_small_hand_with_a_wild():
    # At level 5 the heart of 5 is wild.
    assert actions_of("D4 H4 C4 H5 SB", "5") == [
        ["Single", "4", ["H4"]],
        ["Single", "4", ["C4"]],
        ["Single", "4", ["D4"]],
        ["Single", "5", ["H5"]],
        ["Single", "B", ["SB"]],
        ["Pair", "4", ["H4", "C4"]],
        ["Pair", "4", ["H4", "D4"]],
        ["Pair", "4", ["C4", "D4"]],
        ["Pair", "4", ["H4", "H5"]],
        ["Pair", "4", ["C4", "H5"]],
        ["Pair", "4", ["D4", "H5"]],
        ["Trips", "4", ["H4", "C4", "D4"]],
        ["Trips", "4", ["H4", "C4", "H5"]],
        ["Trips", "4", ["H4", "D4", "H5"]],
        ["Trips", "4", ["C4", "D4", "H5"]],
        ["Bomb", "4", ["H4", "C4", "D4", "H5"]],
    ]


@pytest.mark.parametrize(
    ("name", "cards", "level", "wire"),
    [
        ("straight A2345", "D5 SA H2 C3 S4", "9", ["Straight", "A", "SA H2 C3 S4 D5"]),
        ("straight TJQKA", "SA CK SQ SJ ST", "9", ["Straight", "T", "ST SJ SQ CK SA"]),
        ("tube AA2233", "S3 H3 S2 H2 SA DA", "9", ["ThreePair", "A", "SA DA S2 H2 S3 H3"]),
        ("plate KKKAAA", "SA HA CA SK HK CK", "9", ["TwoTrips", "K", "SK HK CK SA HA CA"]),
        ("full house 55577", "S7 D7 C5 H5 S5", "9", ["ThreeWithTwo", "5", "S5 H5 C5 S7 D7"]),
        ("full house 77755", "S7 D7 C7 H5 S5", "9", ["ThreeWithTwo", "7", "S7 C7 D7 S5 H5"]),
        ("straight flush 34567 of hearts with wild as 5", "H3 H4 H9 H6 H7", "9",
         ["StraightFlush", "3", "H3 H4 H9 H6 H7"]),
        ("full house 55577 with wilds as 5 and 7", "S5 C5 S7 H9 H9", "9",
         ["ThreeWithTwo", "5", "S5 C5 H9 S7 H9"]),
        ("full house 555 and pair of wilds", "S5 C5 H9 H9 D5", "9",
         ["ThreeWithTwo", "5", "S5 C5 D5 H9 H9"]),
        ("full house 555BB", "SB SB S5 C5 D5", "9", ["ThreeWithTwo", "5", "S5 C5 D5 SB SB"]),
        ("pair RR", "HR HR", "9", ["Pair", "R", "HR HR"]),
        ("pair of wilds", "H9 H9", "9", ["Pair", "9", "H9 H9"]),
        ("single wild", "H9", "9", ["Single", "9", "H9"]),
        ("joker bomb", "SB HR SB HR", "9", ["Bomb", "JOKER", "SB SB HR HR"]),
    ],
)  # fmt: skip
def test_how_plays_are_written(name, cards, level, wire):
    action = play_action(parse_row(name), cards.split(), RANKS.index(level))
    assert action.wire() == [*wire[:2], wire[2].split()]
    assert read_action(action.wire(), RANKS.index(level)) == action


def test_the_joker_bomb_has_a_form_for_each_platform():
    action = play_action(parse_row("joker bomb"), "SB SB HR HR".split(), 0)
    assert action.wire(Form.OLD) == ["Bomb", "JOKER", ["SB", "SB", "HR", "HR"]]
    assert action.wire(Form.OPEN) == ["FourKings", "B", ["SB", "SB", "HR", "HR"]]
    for form in Form:
        assert read_action(action.wire(form), 0) == action


def test_names_of_older_manuals_are_read():
    assert read_action(["Boom", "3", ["S3", "H3", "C3", "D3"]], 0).wire()[0] == "Bomb"
    tube = read_action(["TripsPair", "3", "S3 H3 S4 H4 S5 H5".split()], 0)
    assert tube.wire()[0] == "ThreePair"


def test_pass_comes_first_and_bombs_by_size():
    hand = "S3 H3 C3 D3 S4 H4 C4 D4 S3 S6 S7 S8 S9 ST SB SB HR HR"
    lead = ExactPlay("Single", "A", ("SA",))
    wires = actions_of(hand, "2", lead)
    assert wires[0] == ["PASS", "PASS", "PASS"]
    assert [w[1] for w in wires if w[0] == "Single"] == ["B", "R"]
    bombs = [w for w in wires if w[0] == "Bomb"]
    sizes = [len(w[2]) for w in bombs[:-1]]
    assert sizes == sorted(sizes)
    assert bombs[-1] == ["Bomb", "JOKER", ["SB", "SB", "HR", "HR"]]
    assert len({json.dumps(w) for w in wires}) == len(wires)


def random_hand(seed: int, size: int, few_ranks: bool) -> list[str]:
    rng = np.random.default_rng(seed)
    kinds = np.repeat(np.arange(54), 2)
    if few_ranks:  # many of a kind: full houses, bombs, tubes
        ranks = rng.choice(13, 4, replace=False)
        kinds = kinds[np.isin(kinds // 4, ranks)]
    return [KIND_NAMES[k] for k in rng.permutation(kinds)[:size]]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 14),
    level=st.sampled_from(RANKS),
    few_ranks=st.booleans(),
    follow=st.booleans(),
)
def test_the_list_is_exactly_the_legal_plays_in_order(seed, size, level, few_ranks, follow):
    hand = random_hand(seed, size, few_ranks)
    lead = None
    if follow:
        others = legal_plays(random_hand(seed + 1, 8, True), level)
        lead = others[seed % len(others)]
    legal = legal_plays(hand, level, lead)
    rows = sorted(
        {row_of(p.cards, level, p.pattern, p.key) for p in legal} | ({PASS} if lead else set())
    )
    number = RANKS.index(level)
    actions = legal_actions(rows, counts_of(map(KIND_NAMES.index, hand)), number)
    wires = [a.wire() for a in actions]
    assert len({json.dumps(w) for w in wires}) == len(wires)
    plays = [our_play(w) for w in wires if w[0] != "PASS"]
    assert sorted(plays) == sorted((p.pattern, p.key, p.cards) for p in legal)
    for index, action in enumerate(actions):
        assert read_action(action.wire(), number) == action
        assert find_index(action.wire(), actions, Form.OLD) == index
        if action.cards:
            assert row_of(action.cards, level, *our_play(action.wire())[:2]) == action.row
    places = [WEAKEST.index(w[0]) for w in wires]
    assert places == sorted(places)
    assert (lead is None) or wires[0] == ["PASS", "PASS", "PASS"]


def test_what_is_no_action_is_refused():
    for wire in (
        ["Single", "3"],
        ["Flush", "3", ["S3"]],
        ["Single", "3", "S3"],
        ["Single", "4", ["S3"]],
        ["Pair", "3", ["S3", "S3", "S3"]],
        ["Single", "3", [["S3"]]],
        ["tribute", "tribute", ["XX"]],
        [3, 4, []],
    ):
        with pytest.raises(GuandanError):
            read_action(wire, 0)


# ---------------------------------------------------------------------- messages


def test_a_trick_as_the_platform_tells_it():
    talk = Talk()
    three = play_action(parse_row("single 3"), ["S3"], 0)
    told = [talk.play(1, three), talk.play(2, Action(PASS)), talk.play(3, Action(PASS))]
    assert told[0] == {
        "type": "notify", "stage": "play", "curPos": 1, "curAction": ["Single", "3", ["S3"]],
        "greaterPos": 1, "greaterAction": ["Single", "3", ["S3"]],
    }  # fmt: skip
    assert (told[2]["curPos"], told[2]["curAction"]) == (3, ["PASS", "PASS", "PASS"])
    assert (told[2]["greaterPos"], told[2]["greaterAction"]) == (1, ["Single", "3", ["S3"]])
    four = play_action(parse_row("single 4"), ["H4"], 0)
    asked = talk.ask(
        "play", 0, hand=["H4"], actions=[Action(PASS), four], levels=("2", "3", "2"),
        rest=[1, 26, 27, 27],
    )  # fmt: skip
    assert asked == {
        "type": "act", "stage": "play", "handCards": ["H4"],
        "publicInfo": [
            {"rest": 1, "playArea": None},
            {"rest": 26, "playArea": ["Single", "3", ["S3"]]},
            {"rest": 27, "playArea": ["PASS", "PASS", "PASS"]},
            {"rest": 27, "playArea": ["PASS", "PASS", "PASS"]},
        ],
        "selfRank": "2", "oppoRank": "3", "curRank": "2",
        "curPos": 3, "curAction": ["PASS", "PASS", "PASS"],
        "greaterPos": 1, "greaterAction": ["Single", "3", ["S3"]],
        "actionList": [["PASS", "PASS", "PASS"], ["Single", "4", ["H4"]]], "indexRange": 1,
    }  # fmt: skip
    talk.play(0, Action(PASS))  # the trick is over: everything is cleared
    led = talk.ask("play", 1, hand=[], actions=[four], levels=("2", "2", "2"), rest=[1] * 4)
    assert [led[k] for k in ("curPos", "curAction", "greaterPos", "greaterAction")] == [
        -1,
        None,
    ] * 2
    assert [p["playArea"] for p in led["publicInfo"]] == [None] * 4


def test_openguandan_sends_less_and_says_who_paid():
    talk = Talk(Form.OPEN)
    asked = talk.ask(
        "back", 0, hand=["S3"], actions=[Action(2191, ("S3",), stage="back")],
        levels=("5", "2", "5"), rest=[28, 27, 27, 26], received=(3, "HR"),
    )  # fmt: skip
    assert asked["publicInfo"] == [{"rest": n} for n in (28, 27, 27, 26)]
    assert (asked["tributePos"], asked["tribute"]) == (3, "HR")
    assert asked["actionList"] == [["back", "back", ["S3"]]]


def test_notes_of_the_other_stages():
    assert messages.beginning(["S3"], 2) == {
        "type": "notify", "stage": "beginning", "handCards": ["S3"], "myPos": 2,
    }  # fmt: skip
    assert messages.exchanged("tribute", [(3, 2, "HR")])["result"] == [[3, 2, "HR"]]
    assert messages.anti_tribute([1, 3]) == {
        "type": "notify", "stage": "anti-tribute", "antiNums": 2, "antiPos": [1, 3],
    }  # fmt: skip
    over = messages.episode_over([2, 0, 1, 3], "5", {3: ["S3"], 1: ["H4", "HR"]})
    assert (over["order"], over["curRank"]) == ([2, 0, 1, 3], "5")
    assert over["restCards"] == [[1, ["H4", "HR"]], [3, ["S3"]]]
    assert messages.game_over(1, 3)["settingTimes"] == 3
    old = messages.game_result(Form.OLD, (2, 1), 0, ("A", "9"))
    assert (old["victoryNum"], old["draws"]) == ([2, 1, 2, 1], [0, 0, 0, 0])
    new = messages.game_result(Form.OPEN, (0, 1), 0, ("9", "A"))
    assert (new["victory"], new["victoryRank"]) == (1, "A")


# ---------------------------------------------------------------------- what comes in


def test_answers_and_requests_are_read():
    assert parse_index('{"actIndex": 3, "more": [1]}') == 3
    said = parse_request(
        '{"type":"PLAY","data":{"roomId":1,"player":0,"act":["PASS","PASS","PASS"]}}'
    )
    assert isinstance(said, Play)
    made = parse_request('{"type":"CREATE_ROOM","data":{"userId":7,"round":2,"seatNum":0}}')
    assert isinstance(made, Create)
    assert (made.data.round, made.data.seatNum) == (2, 0)
    assert parse_said("4").actIndex == 4
    assert parse_told(json.dumps(messages.beginning(["S3"], 1))).handCards == ["S3"]


@pytest.mark.parametrize(
    "data",
    [
        "", "nonsense", "[]", "null", '{"actIndex": -1}', '{"actIndex": 1e99}', '{"actIndex": "1"}',
        '{"actIndex": true}', b"\xff\xfe\x00", "[" * 50_000, '{"type": "PLAY"}', '{"type": "QUIT"}',
        '{"type": "CREATE_ROOM", "data": {"userId": "a", "round": 0}}',
        '{"type": "CREATE_ROOM", "data": {"userId": "' + "a" * 65 + '"}}',
        '{"type": "JOIN_ROOM", "data": {"userId": "a", "roomId": 1, "seatNum": 4}}',
        '{"type": "PLAY", "data": {"act": ["Single", "3"]}}',
        '{"type": "PLAY", "data": {"act": ["Single", "3", ' + json.dumps(["S3"] * 29) + "]}}",
        " " * (MOST_REQUEST + 1),
    ],
)  # fmt: skip
def test_garbage_is_refused_with_a_short_reason(data):
    for parse in (parse_index, parse_request):
        with pytest.raises(WireError) as info:
            parse(data)
        assert len(str(info.value)) < 400


@settings(max_examples=200, deadline=None)
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_random_bytes_raise_nothing_else(data):
    for parse in (parse_index, parse_request, parse_said, parse_told):
        with contextlib.suppress(WireError):
            parse(data)


# ---------------------------------------------------------------------- one seat's messages


@pytest.mark.parametrize("spec", ["random", "greedy"])
def test_messages_to_the_seats_agree_with_the_engine_over_a_game(spec):
    engine = Engine(1, "njupt", seed=3, episode="game")
    agent = make(spec)
    talks = [SeatTalk() for _ in range(4)]
    plays: list[list[tuple[int, tuple]]] = [[] for _ in range(4)]
    true: list[tuple[int, tuple]] = []
    deal, stages = 0, set()
    for _ in range(600):
        d = engine.decisions()
        if d.deal[0] != deal:
            deal, true, plays = int(d.deal[0]), [], [[] for _ in range(4)]
        seat = int(d.seat[0])
        new = talks[seat].hear(d, 0)
        message, actions = talks[seat].question(d, 0)
        stages |= {message["stage"], *(m["stage"] for m in new)}
        assert {a.row for a in actions} == set(np.flatnonzero(d.mask[0]).tolist())
        for told in new:
            if told["stage"] == "play" and told["curAction"][0] != "PASS":
                plays[seat].append((told["curPos"], tuple(sorted(told["curAction"][2]))))
        assert plays[seat] == true[: len(plays[seat])]
        if d.phase[0] == Phase.PLAY:
            assert len(plays[seat]) == len(true)
            lead = int(d.lead[0])
            greater = message["greaterAction"]
            assert (greater is None) == (lead == PASS)
            if greater:
                assert read_action(greater, int(d.level[0])).row == lead
                assert message["greaterPos"] == d.lead_seat[0]
            for s, place in enumerate(message["publicInfo"]):
                area = place["playArea"]
                assert (-1 if area is None else read_action(area, int(d.level[0])).row) == d.last[
                    0, s
                ]
                assert place["rest"] == d.counts[0, s]
        rows, cards = require(agent, d)
        before = engine.state.plays[0]
        engine.step(rows, cards, go_on=False)
        if engine.state.plays[0] > before:
            last = to_counts(engine.state.play_cards[0, before])
            true.append((seat, tuple(sorted(card_names(last)))))
        if engine.state.over[0]:
            break
        if engine.state.phase[0] == Phase.OVER:
            engine.next_deal(np.array([0]))
    assert {"beginning", "play", "tribute", "back", "episodeOver"} <= stages


def test_several_plays_of_one_seat_share_out_their_cards():
    rows = [
        parse_row("straight flush 34567 of hearts"),
        parse_row("pair 33"),
        parse_row("single 3"),
    ]
    cards = hand_counts("H3 H4 H5 H6 H7 S3 D3 C3").astype(np.int64)
    shares = share_out(rows, cards, RANKS.index("9"))
    assert shares[0] == tuple("H3 H4 H5 H6 H7".split())
    assert sorted(sum(shares[1:], ())) == ["C3", "D3", "S3"]
    assert [len(s) for s in shares] == [5, 2, 1]


def test_every_pattern_has_a_word():
    assert len(set(PATTERNS.values())) == len(PATTERNS) == 10
    assert {ROWS[r].pattern for r in rows_for("S3 H3 C3 S4 H4", "9")} <= set(PATTERNS)
