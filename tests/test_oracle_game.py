"""Hand-made scenarios for the oracle's deals, tribute, promotion and ends of games."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from oracle.game import PASS, RESIST, OracleGame
from oracle.promotion import Standing

STANDARD = {
    "flush_straight_as_straight": False,
    "wind": "partner",
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
    "at_limit_tie": "draw",
    "first_lead": "turned",
    "tribute": True,
    "resist": "must",
    "tribute_pairing": "rank",
    "tribute_tie": "seat",
    "tribute_lead": "higher",
    "return_limit": "ten",
    "return_tie": None,
}

DOUBLE_DOWN = (0, 2, 3, 1)  # seat 0 first, 1 = next(0) last
FIRST_THIRD = (0, 1, 2, 3)
FIRST_LAST = (0, 1, 3, 2)
OTHERS_WIN = (1, 0, 3, 2)
J, Q, K, A, PASSED = 9, 10, 11, 12, 13


def rules(**changes: object) -> SimpleNamespace:
    return SimpleNamespace(**{**STANDARD, **changes})


def single(rank: str) -> tuple:
    return ("play", ("Single", rank, ((rank, 1),), (), ""))


def cards(*names: str) -> set[tuple]:
    return {("card", name) for name in names}


def one_deal(hands: list[str], leader: int = 0):
    return lambda number: ([hand.split() for hand in hands], leader)


def tribute_game(hands: list[str], order: tuple, **changes: object) -> OracleGame:
    return OracleGame(
        rules(**changes), one_deal(hands), steps=(1, 1), declarer=order[0] % 2, previous_order=order
    )


def settle(standing: Standing, *orders: tuple, declarer: int | None = None) -> int | None:
    for order in orders:
        winner = standing.settle(order, declarer)
        declarer = order[0] % 2
    return winner


# ---- tribute


@pytest.mark.rule("6.3")
@pytest.mark.rule("6.7")
@pytest.mark.rule("6.9")
def test_double_down_the_higher_card_goes_to_the_first_and_its_payer_leads() -> None:
    game = tribute_game(["S4 S5 SJ", "SK S6", "S7 S8 SJ", "SA S9"], DOUBLE_DOWN)
    assert (game.phase, game.seat, game.legal()) == ("pay", 1, cards("SK"))
    game.act(("card", "SK"))
    assert (game.phase, game.seat) == ("pay", 3)
    game.act(("card", "SA"))
    assert (game.phase, game.seat, game.legal()) == ("return", 0, cards("S4", "S5"))
    assert game.hands[0] == ["S4", "S5", "SJ", "SA"]
    game.act(("card", "S4"))
    assert "S4" in game.hands[0]
    assert (game.phase, game.seat, game.legal()) == ("return", 2, cards("S7", "S8"))
    game.act(("card", "S7"))
    assert (game.phase, game.seat) == ("play", 3)
    assert game.hands == [["S5", "SJ", "SA"], ["S6", "S7"], ["S8", "SJ", "SK"], ["S4", "S9"]]


@pytest.mark.rule("6.8")
@pytest.mark.parametrize(
    ("changes", "to_first", "leader"),
    [
        ({"tribute_tie": "seat"}, "SK", 1),
        ({"tribute_lead": "higher_seat"}, "SK", 3),
        ({"tribute_lead": "last"}, "SK", 1),
    ],
)
def test_equal_tributes(changes: dict, to_first: str, leader: int) -> None:
    game = tribute_game(["S4", "SK S6", "S7", "CK S9"], DOUBLE_DOWN, **changes)
    for card in ("SK", "CK"):
        game.act(("card", card))
    assert to_first in game.hands[0]
    game.act(("card", "S4"))
    game.act(("card", "S7"))
    assert game.seat == leader


@pytest.mark.rule("6.10")
@pytest.mark.parametrize("returns", [("S4", "S7"), ("S7", "S4"), ("S4", "C4")])
def test_choice_and_return_tie(returns: tuple[str, str]) -> None:
    hands = [returns[0], "SK S6", returns[1], "CK S9"]
    game = tribute_game(hands, DOUBLE_DOWN, tribute_tie="choose", return_tie="choose_lead")
    game.act(("card", "SK"))
    game.act(("card", "CK"))
    assert (game.phase, game.seat, game.legal()) == ("choose", 0, cards("SK", "CK"))
    game.act(("card", "CK"))
    assert "CK" in game.hands[0]
    for card in returns:
        game.act(("card", card))
    # Seat 3 got the first player's card; the payer with the lower card leads, else next(first).
    assert game.seat == {"S4S7": 3, "S7S4": 1, "S4C4": 1}["".join(returns)]


@pytest.mark.rule("6.8")
def test_choice_gives_the_lead_and_two_cards_of_one_kind_leave_none() -> None:
    game = tribute_game(["S4", "SK S6", "S7", "CK S9"], DOUBLE_DOWN, tribute_tie="choose")
    for card in ("SK", "CK", "CK", "S4", "S7"):
        game.act(("card", card))
    assert game.seat == 3
    game = tribute_game(["S4", "SK S6", "S7", "SK S9"], DOUBLE_DOWN, tribute_tie="choose")
    for card in ("SK", "SK", "S4", "S7"):
        game.act(("card", card))
    assert game.seat == 1


@pytest.mark.rule("6.7")
def test_pairing_by_seat() -> None:
    changes = {"tribute_pairing": "seat", "tribute_lead": "higher"}
    game = tribute_game(["S4", "SK S6", "S7", "SA S9"], DOUBLE_DOWN, **changes)
    for card in ("SK", "SA", "S4", "S7"):
        game.act(("card", card))
    assert game.hands[0] == ["SK"]
    assert game.seat == 3


@pytest.mark.rule("6.4")
def test_wilds_are_not_paid_and_jokers_and_levels_are_high() -> None:
    # The level is 3: its heart is wild, its other suits rank above A; suits are the payer's choice.
    game = tribute_game(["S4", "S5", "S6", "H3 S3 D3 SA"], FIRST_THIRD)
    assert (game.seat, game.legal()) == (3, cards("S3", "D3"))


@pytest.mark.rule("6.5")
@pytest.mark.rule("6.6")
def test_resist() -> None:
    game = tribute_game(["S4", "HR S5", "S6", "HR S7"], DOUBLE_DOWN)
    assert (game.phase, game.seat) == ("play", 0)
    game = tribute_game(["S4", "HR S5", "S6", "HR S7"], DOUBLE_DOWN, resist="may")
    assert (game.phase, game.seat, game.legal()) == ("resist", 1, {RESIST, PASS})
    game.act(PASS)
    assert (game.phase, game.seat) == ("resist", 3)
    game.act(PASS)
    assert (game.phase, game.seat, game.legal()) == ("pay", 1, cards("HR"))
    # A partner that does not pay does not count.
    game = tribute_game(["S4", "HR S5", "S6", "HR S7"], FIRST_THIRD)
    assert (game.phase, game.seat) == ("pay", 3)


@pytest.mark.rule("6.11")
@pytest.mark.rule("6.12")
@pytest.mark.rule("6.13")
@pytest.mark.rule("6.14")
def test_returns() -> None:
    # The received card may not go back, unless another copy was held.
    game = tribute_game(["S4 S5", "S7", "S6", "S9"], FIRST_THIRD)
    game.act(("card", "S9"))
    assert game.legal() == cards("S4", "S5")
    game = tribute_game(["S4 S9", "S7", "S6", "S9"], FIRST_THIRD)
    game.act(("card", "S9"))
    assert game.legal() == cards("S4", "S9")
    # Nothing eligible (3 is the level): the lowest in level order, wilds last.
    game = tribute_game(["SQ DQ S3 H3", "S7", "S6", "SA"], FIRST_THIRD)
    game.act(("card", "SA"))
    assert game.legal() == cards("SQ", "DQ")
    game = tribute_game(["S3 H3 SB", "S7", "S6", "HR"], FIRST_THIRD)
    game.act(("card", "HR"))
    assert game.legal() == cards("S3")
    # To a partner only what is below the level card, to an opponent anything.
    limit = {"return_limit": "below_level_to_partner"}
    game = tribute_game(["S2 SA S3 H3 SB", "S7", "S6", "HR"], FIRST_LAST, **limit)
    game.act(("card", "S6"))
    assert game.legal() == cards("S2", "SA")
    game = tribute_game(["S2 SA S3 H3 SB", "S7", "S6", "HR"], FIRST_THIRD, **limit)
    game.act(("card", "HR"))
    assert game.legal() == cards("S2", "SA", "S3", "H3", "SB")


# ---- play


@pytest.mark.rule("4.6")
@pytest.mark.parametrize(("wind", "leader"), [("partner", 2), ("next", 1)])
def test_wind(wind: str, leader: int) -> None:
    game = OracleGame(rules(wind=wind), one_deal(["SK", "S3 S4", "S5 S6", "S7 S8"]))
    game.act(single("K"))
    for seat in (1, 2, 3):
        assert game.seat == seat
        game.act(PASS)
    assert game.seat == leader
    assert PASS not in game.legal()


@pytest.mark.rule("4.6")
@pytest.mark.rule("4.5")
def test_wind_for_the_second_passes_over_the_first() -> None:
    game = OracleGame(rules(wind="next"), one_deal(["S3", "S5 S6", "S7 S8", "SK"]))
    game.act(single("3"))
    game.act(PASS)
    game.act(PASS)
    game.act(single("K"))
    game.act(PASS)
    game.act(PASS)
    assert game.seat == 1


@pytest.mark.rule("4.3")
def test_a_seat_may_pass_and_come_back() -> None:
    game = OracleGame(rules(), one_deal(["S3 SA", "S9 S9", "S4 S4", "S8 S8"]))
    for action in (single("3"), PASS, single("4"), single("8"), PASS, single("9")):
        game.act(action)
    assert game.seat == 2


@pytest.mark.rule("4.7")
@pytest.mark.rule("4.8")
def test_double_down_ends_the_deal_and_orders_the_losers() -> None:
    game = OracleGame(rules(), one_deal(["S3", "S9 S9", "S4", "S8 S8"]))
    game.act(single("3"))
    game.act(PASS)
    game.act(single("4"))
    result = game.last_result
    assert result.order == DOUBLE_DOWN
    assert (result.gain, result.step_change, result.declarer) == (3, (3, 0), 0)
    assert not result.game_over
    assert (game.level, game.phase, game.seat) == ("5", "pay", 1)


# ---- promotion


@pytest.mark.rule("5.2")
@pytest.mark.parametrize(("order", "gain"), [(DOUBLE_DOWN, 3), (FIRST_THIRD, 2), (FIRST_LAST, 1)])
def test_promotion_table(order: tuple, gain: int) -> None:
    standing = Standing(rules(), (0, 0))
    standing.settle(order, None)
    assert standing.steps == [gain, 0]


@pytest.mark.rule("5.4")
def test_must_play_stops_once() -> None:
    standing = Standing(rules(must_play=("J", "A"), promotion=(5, 3, 1)), (7, 0))
    standing.settle(DOUBLE_DOWN, 0)
    assert standing.steps == [J, 0]
    standing.settle(DOUBLE_DOWN, 0)
    assert standing.steps == [A, 0]


@pytest.mark.rule("5.5")
@pytest.mark.rule("5.6")
@pytest.mark.rule("5.7")
def test_passing_ace() -> None:
    standing = Standing(rules(), (A, A))
    assert settle(standing, FIRST_THIRD, declarer=1) is None  # not its own A
    assert settle(standing, FIRST_LAST, declarer=0) is None  # partner last
    assert standing.steps == [A, A]
    assert settle(standing, FIRST_THIRD, declarer=0) == 0
    assert standing.steps == [PASSED, A]
    standing = Standing(rules(ace_pass="double_down"), (A, 0))
    assert settle(standing, FIRST_THIRD, declarer=0) is None
    assert settle(standing, DOUBLE_DOWN, declarer=0) == 0


@pytest.mark.rule("5.5")
def test_reach_and_wrap() -> None:
    assert settle(Standing(rules(ace="reach"), (K, 0)), FIRST_LAST, declarer=0) == 0
    standing = Standing(rules(ace="wrap", must_play=()), (K, 0))
    assert settle(standing, DOUBLE_DOWN, DOUBLE_DOWN, declarer=0) is None
    assert standing.steps == [K + 6, 0]


@pytest.mark.rule("5.8")
def test_ace_attempts() -> None:
    standing = Standing(rules(ace_attempts=3), (A, 3))
    settle(standing, FIRST_LAST, OTHERS_WIN, declarer=0)
    assert standing.attempts == [2, 0]
    settle(standing, FIRST_LAST, declarer=1)  # declared by the others: does not count
    assert standing.attempts == [2, 0]
    settle(standing, OTHERS_WIN, declarer=0)
    assert (standing.steps[0], standing.attempts) == (0, [0, 0])

    standing = Standing(
        rules(ace_attempts=2, ace_attempt_counts="partner_last", ace_reset="K"), (A, 3)
    )
    settle(standing, OTHERS_WIN, declarer=0)
    assert standing.attempts == [0, 0]
    settle(standing, FIRST_LAST, FIRST_LAST, declarer=0)
    assert (standing.steps[0], standing.attempts) == (K, [0, 0])


@pytest.mark.rule("5.9")
def test_surplus_demotes() -> None:
    standing = Standing(rules(surplus_demotes=True, promotion=(5, 3, 1)), (Q, 1))
    settle(standing, DOUBLE_DOWN, declarer=0)
    assert standing.steps == [A, 0]
    settle(standing, FIRST_LAST, declarer=0)  # already at A: nothing arrives
    assert standing.steps == [A, 0]


@pytest.mark.rule("5.10")
@pytest.mark.rule("5.11")
def test_streaks_and_debt() -> None:
    standing = Standing(rules(streaks=True), (0, 1))
    settle(standing, DOUBLE_DOWN, DOUBLE_DOWN)
    assert (standing.steps, standing.last_run, standing.first_run[0]) == ([6, 1], [0, 2, 0, 2], 2)
    settle(standing, DOUBLE_DOWN)  # bonus 1 for the first; the losers lose 2, of which 1 is debt
    assert (standing.steps, standing.debt) == ([10, 0], [0, 1])
    settle(standing, (1, 3, 0, 2))  # double-down: 3, of which 1 repays
    assert (standing.steps, standing.debt) == ([10, 2], [0, 0])
    assert standing.first_run == [0, 1, 0, 0]


# ---- limits


def limited(deals: int, last: tuple, steps: tuple[int, int], **changes: object) -> OracleGame:
    """A game one deal before its limit; seat 0 leads and both sides' players go out by script."""
    changes = {"tribute": False, "max_deals": deals + 1, **changes}
    hands = ["", "", "", ""]
    for seat, hand in zip(last, ("S7", "S8", "S9", "ST ST"), strict=True):
        hands[seat] = hand
    game = OracleGame(
        rules(**changes), one_deal(hands, last[0]), steps=steps, declarer=0, deals_played=deals
    )
    finish(game, last)
    return game


def finish(game: OracleGame, order: tuple) -> None:
    deal = game.deals_played
    while game.deals_played == deal and not game.game_over:
        goes_out = game.seat == order[len(game.finished)]
        game.act(min(game.legal() - {PASS}) if goes_out else PASS)


@pytest.mark.rule("5.15")
def test_higher_level_wins_at_the_limit() -> None:
    game = limited(3, FIRST_THIRD, (1, 0))
    assert (game.game_over, game.winner, game.legal()) == (True, 0, set())


@pytest.mark.rule("5.16")
@pytest.mark.parametrize(
    ("tie", "winner"), [("last_first", 0), ("non_declarer", 1), ("draw", None)]
)
def test_level_ties(tie: str, winner: int | None) -> None:
    game = limited(3, FIRST_THIRD, (0, 2), at_limit_tie=tie)
    assert (game.game_over, game.winner) == (True, winner)


@pytest.mark.rule("5.16")
def test_overtime() -> None:
    game = limited(3, FIRST_THIRD, (0, 2), at_limit_tie="overtime")
    assert (game.phase, game.seat) == ("play", 0)
    finish(game, FIRST_THIRD)
    assert (game.game_over, game.winner, game.steps) == (True, 0, (4, 2))


@pytest.mark.rule("5.17")
def test_sudden_death_is_one_deal_at_ace_that_stops_at_the_first_finisher() -> None:
    game = limited(3, FIRST_THIRD, (1, 0), at_limit="sudden_death", tribute=True)
    assert (game.level, game.phase, game.seat) == ("A", "play", 0)
    game.act(single("7"))
    assert (game.game_over, game.winner) == (True, 0)
    assert (game.last_result.order, game.last_result.gain, game.steps) == ((0,), 0, (3, 0))


@pytest.mark.rule("5.13")
def test_fixed_level_scores() -> None:
    game = limited(0, FIRST_THIRD, (5, 5), fixed_level="5", at_limit_tie="overtime")
    assert (game.winner, game.score, game.steps) == (0, (2, 0), (5, 5))


@pytest.mark.rule("4.10")
def test_first_lead_by_a_heart_of_the_level() -> None:
    hands = ["S3", "S4", "H2 S5", "S6"]
    assert OracleGame(rules(first_lead="heart_level"), one_deal(hands, 1)).seat == 2
    split = ["S3", "H2 S4", "H2 S5", "S6"]
    given = OracleGame(
        rules(first_lead="heart_level"), lambda number: ([h.split() for h in split], 0, 1)
    )
    assert given.seat == 1
    with pytest.raises(ValueError, match="values"):
        OracleGame(rules(first_lead="heart_level"), one_deal(split, 1))


# ---- errors


def test_illegal_actions_change_nothing() -> None:
    game = OracleGame(rules(), one_deal(["S3 S4", "S9", "S4", "S8"]))
    with pytest.raises(ValueError, match="not legal"):
        game.act(PASS)
    with pytest.raises(ValueError, match="not cards"):
        game.act(single("3"), ["S4"])
    assert (game.seat, game.hands[0]) == (0, ["S3", "S4"])
