"""Clauses of docs/rules.md on the batch engine itself, each in a position made for it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from guandan_env import Engine, RuleSet, dealing, env, make_vec, promotion, raw_env
from guandan_env.actions import PASS, STRENGTH, beats
from guandan_env.cards import RANKS, card_names, to_bits, to_counts, wild_kind
from guandan_env.decisions import pending
from guandan_env.errors import IllegalActionError
from guandan_env.notation import parse_row
from guandan_env.observation import BLOCK, encode, seen_by
from guandan_env.positions import position
from guandan_env.state import FIELDS, Phase
from guandan_env.turns import NEXT

FOUR_SINGLES = ("S5 SJ", "S7 SQ", "S9 SK", "ST SA")
ONE = np.array([0])


def table(hands: tuple[str, ...], rules: RuleSet | None = None, **options: object) -> Engine:
    """One table at level 2 in a given position, seat 0 to lead unless said otherwise."""
    engine = Engine(1, rules, seed=1, previous=None)
    position(engine, 0, hands=hands, **{"level": "2", "leader": 0, "previous": None, **options})
    return engine


def act(engine: Engine, *names: str) -> None:
    for name in names:
        engine.step(np.array([parse_row(name)]))


def can(engine: Engine, name: str) -> bool:
    return bool(engine.masks()[0, parse_row(name)])


def play_out(engine: Engine, until: int = 10_000) -> list[int]:
    """Play the highest legal row everywhere; the levels of the deals that were played at table 0.

    Ends with the episode or after `until` deals.
    """
    levels = [int(engine.state.level[0])]
    while len(levels) <= until:
        masks = engine.masks()
        result = engine.step(masks.shape[1] - 1 - np.argmax(masks[:, ::-1], axis=1))
        if result.over[0]:
            return levels
        if result.deal_over[0]:
            levels.append(int(engine.state.level[0]))
    return levels[:-1]


# ---- cards, seats, levels


@pytest.mark.rule("1.2")
def test_the_turn_goes_round_by_seat_numbers_and_partners_sit_opposite():
    engine = table(FOUR_SINGLES, leader=2)
    seats = []
    for name in ("single 9", "single T", "pass", "pass", "single K", "single A"):
        seats.append(int(engine.state.seat[0]))
        act(engine, name)
    assert seats == [2, 3, 0, 1, 2, 3]
    assert [int(NEXT[15, seat]) for seat in range(4)] == [1, 2, 3, 0]
    engine = table(("S5", "S7 SQ", "S9", "ST SA"))
    act(engine, "single 5", "pass")
    result = engine.step(np.array([parse_row("single 9")]))
    assert result.reward[0].tolist() == [3, -3, 3, -3]


@pytest.mark.rule("1.4")
@pytest.mark.parametrize("level", RANKS)
def test_all_eight_cards_of_the_level_rank_beat_an_ace(level):
    lead = "K" if level == "A" else "A"
    three = "4" if level == "3" else "3"
    others = (f"S{three} C{three}", f"H{three} D{three}")
    for suit in "SHCD":
        engine = table((f"S{lead} SB", f"{suit}{level} HR", *others), level=level)
        act(engine, f"single {lead}")
        assert can(engine, "single wild" if suit == "H" else f"single {level}")
    eight = " ".join(f"{suit}{level}" for suit in "SHCD" * 2)
    engine = table((f"S{lead} SB", eight, *others), level=level)
    act(engine, f"single {lead}")
    assert can(engine, f"bomb {level * 8} with wilds as {level} and {level}")
    # Between the ace and the jokers, and nothing else moves.
    order = [RANKS.index(rank) for rank in RANKS.replace(level, "")] + [RANKS.index(level), 13, 14]
    strengths = STRENGTH[RANKS.index(level), 1:16]
    assert np.argsort(strengths).tolist() == order


@pytest.mark.rule("1.7")
def test_a_game_is_a_run_of_deals_from_the_start_level_to_a_passed_ace():
    engine = Engine(1, RuleSet.preset("default").replace(start_level="J"), seed=2, episode="game")
    levels = play_out(engine)
    assert levels[0] == RANKS.index("J")
    assert levels[-1] == promotion.ACE
    assert len(levels) == engine.state.deals[0] == engine.state.deal[0] + 1
    winner = engine.state.winner[0]
    assert engine.state.steps[0, winner] == promotion.PASSED_ACE
    assert winner == engine.state.order[0, 0] % 2
    # A game that is over is followed by one that begins at the start level again.
    engine.start(ONE)
    assert engine.state.steps[0].tolist() == [RANKS.index("J")] * 2
    assert (engine.state.deals[0], engine.state.declarer[0], engine.state.winner[0]) == (0, -1, -1)


# ---- what is public


@pytest.mark.rule("4.12")
def test_plays_are_public_and_hands_are_not():
    engine = Engine(1, seed=5, previous=None, level="2")
    for _ in range(9):
        engine.step(np.argmax(engine.masks(), axis=1))
    state = engine.state
    seen = engine.decisions()
    views = [seen_by(seen, state, np.array([seat])) for seat in range(4)]
    hidden = {"seat", "hand_bits", "packed"}
    for view in views:
        for field in fields(view):
            if field.name not in hidden:
                assert np.array_equal(getattr(view, field.name), getattr(seen, field.name))
        rows = view.history[0, : view.length[0]]
        assert np.array_equal(rows, state.history[0, : state.length[0]])
        assert np.array_equal(view.played, to_counts(state.played[ONE]))
    assert len({tuple(card_names(view.hand[0])) for view in views}) == 4
    # Two cards of hidden hands change places: whoever is to act sees the same as before.
    others = (state.seat[0] + np.array([1, 2])) % 4
    hands = to_counts(state.hands[0, others]).astype(np.int64)
    one, two = np.argmax(hands[0] > hands[1]), np.argmax(hands[1] > hands[0])
    hands[:, one] += [-1, 1]
    hands[:, two] += [1, -1]
    state.hands[0, others] = to_bits(hands)
    again = pending(state, engine.rules, engine.seed, seen.packed, ONE)
    for field in fields(again):
        assert np.array_equal(getattr(again, field.name), getattr(seen, field.name)), field.name
    assert np.array_equal(encode(again), encode(seen))


@pytest.mark.rule("6.16")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1)])
def test_paid_and_returned_cards_are_public_once_all_are_chosen(order):
    engine = Engine(1, seed=3, previous=None)
    position(engine, 0, level="2", previous=order)
    state = engine.state
    assert state.phase[0] == Phase.PAY
    payers = [int(seat) for seat in state.payers[0] if seat >= 0]
    made = []
    while state.phase[0] != Phase.PLAY:
        row = int(np.argmax(engine.masks()[0]))
        made.append((int(state.seat[0]), row))
        engine.step(np.array([row]))
    seen = engine.decisions()
    for seat in range(4):
        view = seen_by(seen, state, np.array([seat]))
        assert view.paid[0, : len(payers)].tolist() == state.paid[0, : len(payers)].tolist()
        assert view.returned[0].tolist() == state.returned[0].tolist()
        length = view.length[0]
        assert list(zip(view.history_seat[0, :length], view.history[0, :length], strict=True)) == (
            made
        )
        known = encode(view)[0, BLOCK["known"].slice].reshape(3, 54)
        for other in {s for s, _ in made} - {seat}:
            assert known[(other - seat) % 4 - 1].sum() == 1


# ---- levels and limits


@pytest.mark.rule("5.12")
def test_a_passed_ace_is_one_step_above_ace():
    standing = promotion.Standing(
        *(np.array([x]) for x in ((12, 4), 0, (0, 0), (0, 0), (0, 0, 0, 0), (0, 0, 0, 0))),
        deals=np.array([9]),
    )
    after, won = promotion.settle(RuleSet(), standing, np.array([[0, 1, 2, 3]]))
    assert won.tolist() == [0]
    assert np.subtract(*after.steps[0]) == 9
    # The most there is from 2 is to a passed A above a side that is still at 2.
    assert promotion.PASSED_ACE - RANKS.index("2") == 13


@pytest.mark.rule("5.12")
def test_steps_run_on_through_the_rounds_of_wrap():
    rules = RuleSet.preset("staff")
    engine = Engine(1, rules, seed=1, episode="game")
    engine.state.steps[0] = 11, 25
    engine.state.declarer[0] = 0
    play_out(engine, until=1)
    winner = engine.state.declarer[0]
    gained = engine.state.steps[0] - [11, 25]
    assert gained[1 - winner] == 0
    assert gained[winner] in (1, 2, 3)
    assert engine.state.level[0] == engine.state.steps[0, winner] % 13


@pytest.mark.rule("5.14")
@pytest.mark.parametrize("scope", ["game", "match"])
def test_a_game_is_cut_off_after_max_deals(scope):
    rules = RuleSet.preset("default").replace(max_deals=3, limit_scope=scope)
    engine = Engine(1, rules, seed=1, episode="game")
    assert len(play_out(engine)) == 3
    levels = engine.state.steps[0]
    assert levels[engine.state.winner[0]] == levels.max()
    engine.start(ONE)
    assert len(play_out(engine)) == 3, "a single game is a match of one; each counts anew"


@pytest.mark.rule("5.14")
def test_the_deals_of_earlier_games_of_a_match_count_towards_its_limit():
    rules = RuleSet.preset("university")
    engine = Engine(1, rules, seed=1, episode="game")
    engine.state.deals[0] = rules.max_deals - 1
    play_out(engine, until=1)
    assert engine.state.sudden_death[0]
    assert engine.state.level[0] == promotion.ACE
    assert engine.state.phase[0] == Phase.PLAY, "no tribute"


@pytest.mark.rule("5.17")
def test_sudden_death_stops_at_the_first_to_finish():
    engine = Engine(40, RuleSet.preset("university"), seed=4, episode="game")
    engine.state.deals[:] = 29
    while not engine.state.over.all():
        masks = engine.masks()
        was = engine.state.sudden_death.copy()
        result = engine.step(masks.shape[1] - 1 - np.argmax(masks[:, ::-1], axis=1))
        ended = result.over & was
        assert (result.order[ended, 1:] == -1).all()
        assert (engine.state.winner[ended] == result.order[ended, 0] % 2).all()
    assert (engine.state.deals == 31).all()
    leaders = np.bincount(engine.state.leader, minlength=4)
    assert (leaders > 0).all(), "a turned lead, whoever was first before"


@pytest.mark.rule("5.16")
@pytest.mark.parametrize(("tie", "lost"), [("last_first", False), ("non_declarer", True)])
def test_on_equal_levels_the_last_deal_decides(tie, lost):
    rules = RuleSet.preset("community").replace(at_limit_tie=tie)
    standing = promotion.Standing(
        *(np.array([x]) for x in ((5, 7), 1, (0, 0), (0, 0), (0, 0, 0, 0), (0, 0, 0, 0))),
        deals=np.array([11]),
    )
    after, won = promotion.settle(rules, standing, np.array([[0, 1, 2, 3]]))
    assert after.steps.tolist() == [[7, 7]]
    assert won.tolist() == [-1]
    assert promotion.limit_winner(rules, after).tolist() == [1 if lost else 0]


@pytest.mark.rule("5.13")
def test_a_fixed_level_is_that_of_single_deals_too():
    rules = RuleSet.preset("default").replace(fixed_level="7", max_deals=4)
    assert (Engine(30, rules, seed=1).state.level == RANKS.index("7")).all()


@pytest.mark.rule("4.10")
def test_the_heart_of_the_level_leads_a_position_that_is_dealt():
    five = RANKS.index("5")
    for seed in range(8):
        engine = Engine(1, RuleSet.preset("competitive"), seed=seed)
        position(engine, 0, level="5", previous=None)
        dealt = dealing.deal(seed, engine.state.table, engine.state.deal)
        assert engine.state.leader[0] == dealt.first_heart(np.array([five]))[0]
        assert to_counts(engine.state.hands[0, engine.state.leader[0]])[wild_kind(five)]


# ---- order of the plays, on the engine's own tables


@pytest.mark.rule("3.3")
@pytest.mark.parametrize(
    ("level", "lead", "higher"),
    [
        ("5", "straight 6789T", "straight TJQKA"),
        ("5", "straight A2345", "straight 23456"),
        ("5", "straight 45678", "straight 6789T"),
        ("K", "full house 222AA", "full house 33344"),
        ("3", "triple AAA", "triple 333"),
        ("T", "tube JJQQKK", "tube QQKKAA"),
    ],
)
def test_sequences_go_by_place_and_the_rest_by_level_order(level, lead, higher):
    at = RANKS.index(level)
    assert beats(at, parse_row(lead))[parse_row(higher)]
    assert not beats(at, parse_row(higher))[parse_row(lead)]


# ---- an illegal action, whatever the conduct


@pytest.mark.rule("7.1")
@pytest.mark.parametrize("preset", RuleSet.presets())
def test_engine_and_environments_raise_and_keep_their_state(preset):
    rules = RuleSet.preset(preset)
    engine = Engine(2, rules, seed=1, previous=None)
    raw = raw_env(rules=rules, previous=None)
    raw.reset(seed=1)
    vec = make_vec(2, rules, seed=1, previous=None)
    vec.reset()
    for at, step in (
        (engine, lambda: engine.step(np.array([PASS, PASS]))),
        (raw.engine, lambda: raw.step(PASS)),
        (vec.engine, lambda: vec.step(np.array([PASS, PASS]))),
    ):
        before = at.state.copy()
        with pytest.raises(IllegalActionError, match=r"seat .* is a pass, but this seat leads"):
            step()
        assert all(np.array_equal(getattr(before, n), getattr(at.state, n)) for n in FIELDS)


@pytest.mark.rule("7.1")
def test_the_wrapped_environment_refuses_what_is_no_row():
    wrapped = env(rules="company", previous=None)
    wrapped.reset(seed=1)
    before = wrapped.unwrapped.engine.state.copy()
    with pytest.raises(IllegalActionError, match="not in the action table"):
        wrapped.step(2244)
    state = wrapped.unwrapped.engine.state
    assert all(np.array_equal(getattr(before, name), getattr(state, name)) for name in FIELDS)


@pytest.mark.rule("2.8")
def test_the_option_opens_the_plain_claim_of_a_natural_flush():
    hands = ("S3 S4 S5 S6 S7 SK", "H3 H4", "CQ", "DQ")
    assert not can(table(hands), "straight 34567")
    rules = RuleSet.preset("default").replace(flush_straight_as_straight=True)
    engine = table(hands, rules)
    assert can(engine, "straight 34567")
    assert can(engine, "straight flush 34567 of spades")
