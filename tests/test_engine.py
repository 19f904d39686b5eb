"""The batch engine: conservation, independence of the batch, illegal actions, state."""

from __future__ import annotations

import numpy as np
import pytest

from guandan_env import Engine, GuandanError, RuleSet, legality, randomness
from guandan_env.cards import to_counts
from guandan_env.errors import IllegalActionError, StateError
from guandan_env.state import FIELDS, Phase, State


def random_rows(engine: Engine) -> np.ndarray:
    s, packed = engine.state, engine.packed_masks()
    keys = randomness.key(engine.seed, s.table, s.deal, s.seat, s.length)
    return legality.select(packed, randomness.below(keys, np.maximum(legality.count(packed), 1)))


def run(engine: Engine, steps: int) -> None:
    for _ in range(steps):
        result = engine.step(np.where(engine.state.over, 0, random_rows(engine)))
        if result.over.any():
            engine.start(np.flatnonzero(result.over))


def same(a: State, b: State) -> bool:
    return all((getattr(a, name) == getattr(b, name)).all() for name in FIELDS)


@pytest.mark.rule("1.1")
@pytest.mark.parametrize("preset", RuleSet.presets())
def test_all_108_cards_stay_at_the_table_and_every_deal_ends(preset):
    engine = Engine(16, RuleSet.preset(preset), seed=3, episode="game")
    deals = 0
    for _ in range(600):
        s = engine.state
        cards = to_counts(s.hands).sum(axis=1) + to_counts(s.played).sum(axis=1)
        assert (cards == 2).all()
        result = engine.step(random_rows(engine))
        deals += result.deal_over.sum()
        assert (result.reward.sum(axis=1) == 0).all()
        assert (s.length < 448).all()
        if result.over.any():
            engine.start(np.flatnonzero(result.over))
    assert deals >= 16


@pytest.mark.parametrize("episode", ["deal", "game"])
def test_a_table_plays_the_same_in_any_batch(episode):
    large = Engine(70, seed=11, episode=episode)
    small = Engine(2, seed=11, episode=episode, tables=np.array([69, 7]))
    run(large, 400)
    run(small, 400)
    assert same(large.state.take(np.array([69, 7])), small.state)


def test_the_same_seed_gives_the_same_deals_and_another_seed_others():
    hands = [Engine(8, seed=seed).state.hands for seed in (1, 1, 2)]
    assert (hands[0] == hands[1]).all()
    assert (hands[0] != hands[2]).any(axis=(1, 2)).all()


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.array([2244, 0]), "table 0, seat .*action 2244 is not in the action table"),
        (np.array([-1, 0]), "table 0, seat .*action -1 is not in the action table"),
        (np.array([0, 0]), "table 0, seat .*is a pass, but this seat leads"),
        (np.array([2243, 0]), "table 0, seat .*belongs to tribute"),
        (np.array([0.0, 0.0]), "float64 of shape"),
        (np.array([0]), r"shape \(1,\)"),
        ("ab", "shape"),
    ],
)
def test_an_illegal_action_says_why_and_changes_nothing(actions, message):
    engine = Engine(2, seed=1, previous=None)
    before = engine.state.copy()
    with pytest.raises(IllegalActionError, match=message):
        engine.step(actions)
    assert same(before, engine.state)


def test_explicit_cards_are_played_or_refused():
    engine = Engine(1, seed=4, previous=None, level="2")
    mask = engine.masks()[0]
    hand = engine.decisions().hand[0]
    rank = next(r for r in range(1, 13) if hand[4 * r : 4 * r + 4].sum() >= 1 and mask[1 + r])
    held = 4 * rank + np.flatnonzero(hand[4 * rank : 4 * rank + 4])
    cards = np.zeros((1, 54), dtype=np.uint8)
    cards[0, held[-1]] = 1
    wrong = np.zeros_like(cards)
    wrong[0, (held[-1] + 4) % 52] = 1
    before = engine.state.copy()
    with pytest.raises(IllegalActionError, match="do not make"):
        engine.step(np.array([1 + rank]), wrong)
    assert same(before, engine.state)
    engine.step(np.array([1 + rank]), cards)
    assert (to_counts(engine.state.play_cards[0, 0]) == cards[0]).all()


def test_a_saved_state_goes_on_as_the_original():
    engine = Engine(5, seed=8, episode="game")
    run(engine, 150)
    data = engine.state.to_bytes()
    other = Engine(5, seed=8, episode="game")
    other.state = State.from_bytes(data)
    assert same(engine.state, other.state)
    run(engine, 200)
    run(other, 200)
    assert same(engine.state, other.state)


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY nonsense"])
def test_a_damaged_state_is_refused(data):
    with pytest.raises(StateError, match="no saved state"):
        State.from_bytes(data)


def test_a_truncated_state_is_refused():
    data = Engine(1).state.to_bytes()
    with pytest.raises(StateError):
        State.from_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    "bad", [{"num_tables": 0}, {"num_tables": "x"}, {"episode": "gmae"}, {"previous": "maybe"}]
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(GuandanError, match="allowed"):
        Engine(**{"num_tables": 1, **bad})


def test_a_table_takes_under_8_kib():
    assert Engine(64).state.nbytes / 64 < 8192


@pytest.mark.rule("6.11")
def test_a_card_chosen_in_secret_is_hidden_from_the_other_payer():
    engine = Engine(400, seed=2, previous="random")
    engine.step(random_rows(engine))
    s = engine.state
    second = np.flatnonzero((s.phase == Phase.PAY) & (s.paid[:, 0] >= 0))
    assert second.size
    asked = engine.decisions(second)
    assert (asked.paid == -1).all()
    assert (asked.history[:, 0] == -1).all()
