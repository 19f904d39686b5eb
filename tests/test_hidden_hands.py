"""Hands drawn for the seats that a decision does not see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import make
from agents.hidden_hands import Unseen, draw, unseen
from guandan_env import randomness
from guandan_env.actions import PASS
from guandan_env.cards import (
    BIG_JOKER,
    KIND_OF,
    Counts,
    counts_of,
    parse_cards,
    parse_rank,
    to_bits,
    to_counts,
)
from guandan_env.decisions import Decisions
from guandan_env.engine import Engine
from guandan_env.notation import parse_row
from guandan_env.rules import RuleSet
from guandan_env.state import Phase
from guandan_env.tribute import place_of

OTHERS = (1, 2, 3)


def engine_after(
    steps: int, tables: int = 120, seed: int = 3, players: str = "planner", **options
) -> Engine:
    """Tables in the midst of deals."""
    engine, agent = Engine(tables, seed=seed, **options), make(players)
    for _ in range(steps):
        actions = np.zeros(tables, dtype=np.int64)
        pending = engine.decisions()
        actions[pending.index] = agent.act(pending)
        engine.step(actions)
    return engine


def in_play(engine: Engine) -> Decisions:
    d = engine.decisions()
    return d.take(np.flatnonzero(d.phase == Phase.PLAY))


def drawn(d: Decisions, worlds: int = 8) -> Counts:
    """Hands `(n, worlds, 3, 54)` for decisions."""
    at = np.repeat(np.arange(len(d)), worlds)
    keys = randomness.key(np.tile(np.arange(worlds), len(d)), root=d.key[at])
    return to_counts(draw(unseen(d).take(at), keys)).reshape(len(d), worlds, 3, 54)


def of_others(values: np.ndarray, d: Decisions) -> np.ndarray:
    """Values by seat `(n, 4, …)` of the other seats in turn order `(n, 3, …)`."""
    seats = (d.seat.astype(int)[:, None] + OTHERS) % 4
    return values[np.arange(len(d))[:, None], seats]


def true_hands(engine: Engine, d: Decisions) -> Counts:
    return of_others(to_counts(engine.state.hands[d.index]), d)


@pytest.mark.parametrize("steps", [0, 6, 25, 60, 90])
@pytest.mark.parametrize("rules", ["default", "casual", "graduate"])
def test_all_cards_are_in_their_places(steps, rules):
    engine = engine_after(steps, rules=RuleSet.preset(rules), previous="random")
    d = in_play(engine)
    if steps == 0:
        assert (d.resisted | (d.previous[:, 0] < 0)).all()
    hands = drawn(d)
    assert (hands.sum(axis=3) == of_others(d.counts, d)[:, None]).all()
    seen = d.hand + d.played.sum(axis=1, dtype=np.uint8)
    assert (hands.sum(axis=2) + seen[:, None] == 2).all()


def allowed_by(u: Unseen, hands: Counts) -> np.ndarray:
    """Whether hands `(n, 3, 54)` are among those that may be drawn, evidence of passes aside."""
    bits = np.array([1, 2, 4])[:, None]
    free = hands.astype(int) - u.known
    return ((free >= 0) & ((free == 0) | ((u.allowed[:, None] & bits) > 0))).all(axis=(1, 2))


@pytest.mark.parametrize("rules", ["default", "casual", "graduate", "njupt", "company"])
@pytest.mark.parametrize("steps", [5, 30, 70])
def test_the_true_hands_are_never_ruled_out(rules, steps):
    engine = engine_after(steps, rules=RuleSet.preset(rules), previous="random", seed=5)
    d = in_play(engine)
    assert len(d) > 20
    u = unseen(d)
    assert allowed_by(u, true_hands(engine, d)).all()
    hands = drawn(d)
    for world in range(hands.shape[1]):
        assert allowed_by(u, hands[:, world]).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.integers(0, 120),
    players=st.sampled_from(["random", "greedy"]),
    rules=st.sampled_from(["default", "casual", "graduate", "njupt", "company"]),
)
def test_drawn_hands_agree_with_all_that_was_seen(seed, steps, players, rules):
    engine = engine_after(steps, 16, seed, players, rules=RuleSet.preset(rules), previous="half")
    d = in_play(engine)
    u, hands = unseen(d), drawn(d, 4)
    seen = d.hand + d.played.sum(axis=1, dtype=np.uint8)
    assert allowed_by(u, true_hands(engine, d)).all()
    assert (hands.sum(axis=3) == of_others(d.counts, d)[:, None]).all()
    assert (hands.sum(axis=2) + seen[:, None] == 2).all()
    for world in range(hands.shape[1]):
        assert allowed_by(u, hands[:, world]).all()


def test_cards_of_tribute_stay_where_they_are_known_to_be():
    engine = engine_after(6, tables=400, previous="random")
    d = in_play(engine)
    paid = np.flatnonzero((d.payers[:, 0] >= 0) & (d.paid[:, 0] >= 0))
    assert len(paid) > 200
    hands, checked = drawn(d), 0
    for i in paid.tolist():
        for payer in (0, 1):
            if d.payers[i, payer] < 0:
                continue
            place = 0 if d.to_first[i] == payer else 1
            for holder, kind in (
                (d.previous[i, place], d.paid[i, payer]),
                (d.payers[i, payer], d.returned[i, place]),
            ):
                other = (int(holder) - int(d.seat[i]) - 1) % 4
                if other < 3 and d.played[i, holder, kind] == 0:
                    assert (hands[i, :, other, kind] >= 1).all()
                    checked += 1
            other = (int(d.payers[i, payer]) - int(d.seat[i]) - 1) % 4
            if other < 3:
                level = np.full(54, d.level[i])
                above = place_of(np.arange(54), level) > place_of(d.paid[i, [payer]], level[:1])
                above[4 * d.level[i] + 1] = False
                above[d.returned[i, place]] = False
                assert not hands[i][:, other, above].any()
    assert checked > 400


def test_only_payers_hold_the_big_jokers_after_a_resist():
    engine = engine_after(0, tables=2000, previous="random")
    d = in_play(engine)
    d = d.take(np.flatnonzero(d.resisted))
    assert len(d) > 50
    hands = drawn(d)
    pays = (d.payers[:, :1] == np.arange(4)) | (d.payers[:, 1:] == np.arange(4))
    free = ~of_others(pays, d)
    assert not hands[:, :, :, BIG_JOKER].transpose(0, 2, 1)[free].any()


def test_hands_are_uniform_where_nothing_is_known():
    engine = engine_after(12, tables=4, previous=None)
    d = in_play(engine).take(np.array([0]))
    worlds = 4000
    hands = drawn(d, worlds)[0].astype(float)
    u = unseen(d)
    assert (u.allowed == 7).all()
    expected = u.pool[0] * u.sizes[0][:, None] / u.sizes[0].sum()
    spread = np.sqrt(np.maximum(hands.var(axis=0), 0.01) / worlds)
    assert (np.abs(hands.mean(axis=0) - expected) < 5 * spread).all()


def test_restricted_cards_are_uniform_over_the_places_left():
    """Of 4 cards one seat may not hold two: by enumeration the odds of the others follow."""
    pool = np.zeros((1, 54), dtype=np.uint8)
    pool[0, [0, 4, 8, 12]] = 1
    allowed = np.full((1, 54), 7, dtype=np.uint8)
    allowed[0, [0, 4]] = 6  # the next seat holds neither
    u = Unseen(
        rules=RuleSet.preset("default"),
        pool=pool,
        sizes=np.array([[1, 2, 1]]),
        known=np.zeros((1, 3, 54), dtype=np.uint8),
        allowed=allowed,
        level=np.array([5]),
        passed_over=np.zeros((1, 3), dtype=np.int64),
    )
    worlds = 6000
    keys = randomness.key(np.arange(worlds), root=randomness.key(1))
    hands = to_counts(draw(u.take(np.zeros(worlds, dtype=int)), keys))
    seen, times = np.unique(hands.reshape(worlds, -1), axis=0, return_counts=True)
    # The next seat holds one of two cards; the three others go to two and one places: 2 * 3 ways.
    assert len(seen) == 6
    assert (np.abs(times - worlds / 6) < 5 * np.sqrt(worlds / 6)).all()


def test_a_seat_that_could_have_gone_out_has_not_passed():
    engine = Engine(1, level="2", previous=None)
    s = engine.state
    hands = ("S3 S4 S5 C6 C7 C8 C9", "ST DK", "S7 S8 S9 ST", "H9 D9 H8")
    for seat, cards in enumerate(hands):
        s.hands[0, seat] = to_bits(counts_of(parse_cards(cards)))
    s.level[0] = parse_rank("2")
    rest = 2 - to_counts(s.hands[0]).sum(axis=0, dtype=np.uint8)
    s.played[0] = 0
    s.played[0, 0] = to_bits(np.minimum(rest, 2))
    # Seat 2 played a pair, seat 3 passed with three cards, seat 0 is to act; then seat 1 passes.
    queens = parse_row("pair QQ")
    for i, (seat, row) in enumerate([(0, queens), (1, PASS), (2, PASS), (3, PASS)]):
        s.history[0, i], s.history_seat[0, i] = row, seat
    s.length[0], s.seat[0] = 4, 0
    engine.refresh_masks(np.array([0]))
    d = engine.decisions()
    u = unseen(d)
    assert u.passed_over.tolist() == [[queens, 0, queens]]
    held = drawn(d, 300)[0]
    kings = KIND_OF["DK"]
    assert held[:, :, kings].sum() == 300
    # The seats with two and three cards drew what they like, but the first no pair above queens.
    pairs = held[:, 0].reshape(300, 54)[:, :52].reshape(300, 13, 4).sum(axis=2) == 2
    assert not pairs[:, 11:].any()


def test_other_hands_and_other_batches_change_nothing():
    engine = engine_after(30, tables=40)
    d = in_play(engine)
    before = drawn(d)
    alone = d.take(np.array([7]))
    assert (drawn(alone)[0] == before[7]).all()
    s = engine.state
    for t, seat in zip(d.index, d.seat.astype(int), strict=True):
        a, b = (seat + 1) % 4, (seat + 3) % 4
        if (
            d.counts[np.flatnonzero(d.index == t)[0], a]
            == d.counts[np.flatnonzero(d.index == t)[0], b]
        ):
            s.hands[t, [a, b]] = s.hands[t, [b, a]]
    assert (drawn(in_play(engine)) == before).all()
