from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from agents import single_seat
from guandan_env import legality, make_vec, observation, raw_env
from guandan_env.cards import HAND_SIZE, to_bits, to_counts
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError, RulesError
from guandan_env.observation import BLOCK, BLOCKS, FULL_BLOCKS, FULL_SIZE, SIZE, encode, encode_full
from guandan_env.rules import RuleSet
from guandan_env.state import Phase


def random_step(engine, rng):
    packed = engine.packed_masks()
    counts = legality.count(packed)
    nth = (rng.random(len(counts)) * np.maximum(counts, 1)).astype(np.int64)
    live = ~engine.state.over
    actions = np.zeros(len(counts), dtype=np.int64)
    actions[live] = legality.select(packed[live], nth[live])
    return engine.step(actions, packed_masks=packed)


def part(view, name):
    return view[..., BLOCK[name].slice].reshape(*view.shape[:-1], *BLOCK[name].shape)


def test_blocks_cover_the_observation():
    for blocks, size in ((BLOCKS, SIZE), (FULL_BLOCKS, FULL_SIZE)):
        assert blocks[0].slice.start == 0
        assert blocks[-1].slice.stop == size
        for one, two in pairwise(blocks):
            assert one.slice.stop == two.slice.start
        assert all(b.slice.stop - b.slice.start == np.prod(b.shape) for b in blocks)
        assert len({b.name for b in blocks}) == len(blocks)


@pytest.mark.parametrize("preset", RuleSet.presets())
def test_hidden_cards_leave_no_trace(preset):
    rules = RuleSet.preset(preset)
    engine = Engine(64, rules, seed=3, previous="random")
    rng = np.random.default_rng(1)
    for number in range(70):
        live = np.flatnonzero(~engine.state.over)
        seen = encode(engine.decisions())
        kept = engine.state.copy()
        s = engine.state
        for at in live:
            hands = to_counts(s.hands[at]).astype(np.int64)
            others = [(s.seat[at] + k) % 4 for k in (1, 2, 3)]
            cards = rng.permutation(np.repeat(np.arange(54), hands[others].sum(axis=0)))
            bounds = np.cumsum(hands[others].sum(axis=1))
            for seat, held in zip(others, np.split(cards, bounds[:-1]), strict=True):
                hands[seat] = np.bincount(held, minlength=54)
            s.hands[at] = to_bits(hands)
            # What was chosen in secret is hidden too.
            if s.phase[at] == Phase.PAY and s.paid[at, 0] >= 0:
                s.paid[at, 0] = rng.integers(54)
            if s.phase[at] == Phase.RETURN and s.returned[at, 0] >= 0:
                s.returned[at, 0] = rng.integers(54)
        s.hand_masks[:] = np.where(
            (np.arange(4) == s.seat[:, None])[..., None], s.hand_masks, np.uint64(0)
        )
        assert np.array_equal(seen, encode(engine.decisions())), f"decision {number}"
        engine.state = kept
        random_step(engine, rng)


@pytest.mark.parametrize("preset", RuleSet.presets())
def test_blocks_agree_with_the_state(preset):
    engine = Engine(32, RuleSet.preset(preset), seed=8, previous="half")
    rng = np.random.default_rng(2)
    for _ in range(150):
        tables = np.flatnonzero(~engine.state.over)
        if not tables.size:
            break
        s = engine.state
        view = encode(engine.decisions())
        full = encode_full(s, tables)
        hands = full[:, : 4 * 54].reshape(-1, 4, 54)
        assert view.min() >= 0
        assert np.array_equal(part(view, "hand"), hands[:, 0])
        assert np.array_equal(part(view, "unseen"), hands[:, 1:].sum(axis=1))
        assert np.array_equal(part(view, "left"), hands.sum(axis=2))
        played = part(view, "played").sum(axis=(1, 2))
        assert (played + part(view, "left").sum(axis=1) == 4 * HAND_SIZE).all()
        assert (part(view, "known") <= hands[:, 1:]).all(), "known cards are really there"
        wild = hands[np.arange(len(tables)), 0, 4 * s.level[tables] + 1]
        assert np.array_equal(part(view, "wilds")[:, 0], wild)
        leading = s.lead[tables] == 0
        assert np.array_equal(part(view, "lead_seat").sum(axis=1) == 0, leading)
        assert (part(view, "phase").argmax(axis=1) == s.phase[tables]).all()
        random_step(engine, rng)


def test_tribute_is_known():
    engine = Engine(256, seed=1, previous="random")
    rng = np.random.default_rng(0)
    for _ in range(5):
        random_step(engine, rng)
    view = encode(engine.decisions())
    assert (part(view, "known").sum(axis=(1, 2)) > 0).mean() > 0.5


def test_history_is_newest_first():
    engine = Engine(4, seed=1, previous=None)
    rng = np.random.default_rng(0)
    seats, rows = [], []
    for _ in range(5):
        seats.append(engine.state.seat.copy())
        random_step(engine, rng)
        rows.append(engine.state.history[np.arange(4), engine.state.length - 1])
    history = part(encode(engine.decisions()), "history")
    now = engine.state.seat
    for back in range(5):
        who = (seats[-1 - back] - now) % 4
        assert np.array_equal(history[:, back, :4].argmax(axis=1), who)
        assert np.array_equal(history[:, back, 4:], observation._FEATURES[rows[-1 - back] + 1])
    assert not history[:, 5:].any()


def test_out_is_filled_or_refused():
    engine = Engine(2)
    out = np.ones((2, SIZE), dtype=np.int8)
    assert encode(engine.decisions(), out) is out
    assert np.array_equal(out, encode(engine.decisions()))
    for wrong in (np.zeros((1, SIZE), np.int8), np.zeros((2, SIZE), np.float32)):
        with pytest.raises(GuandanError, match="is allowed"):
            encode(engine.decisions(), wrong)


@pytest.mark.rule("7.2")
@pytest.mark.parametrize("shown_from", [6, 7, 10, 27])
def test_counts_of_others_show_from_a_number_on(shown_from):
    """In every environment; one's own count and all else are the same as ever."""
    left = observation.BLOCK["left"].slice
    parameters = {"previous": None, "reveal_counts_at": shown_from}
    vec, plain = make_vec(8, seed=4, **parameters), make_vec(8, seed=4, previous=None)
    seen, full = vec.reset(), plain.reset()
    rng = np.random.default_rng(1)
    hidden = 0
    for _ in range(150):
        counts = full.observation[:, left].copy()
        others = counts[:, 1:]
        hidden += int((others > shown_from).sum())
        others[others > shown_from] = observation.NOT_SHOWN
        assert (seen.observation[:, left] == counts).all()
        rest = np.delete(seen.observation, np.arange(left.start, left.stop), axis=1)
        assert (rest == np.delete(full.observation, np.arange(left.start, left.stop), axis=1)).all()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in full.mask])
        seen, full = vec.step(actions), plain.step(actions)
    assert (hidden > 0) == (shown_from < 27)
    raw = raw_env(**parameters)
    raw.reset(seed=4)
    one = single_seat("greedy", **parameters)
    for view in (raw.observe("player_0"), one.reset(seed=4)[0]):
        others = view["observation"][left][1:]
        assert ((others == observation.NOT_SHOWN) == (shown_from < 27)).all()


@pytest.mark.rule("7.2")
def test_numbers_that_no_rules_reveal_at_are_refused():
    for make in (lambda n: make_vec(2, reveal_counts_at=n), lambda n: raw_env(reveal_counts_at=n)):
        with pytest.raises(RulesError, match="reveal_counts_at"):
            make(12)
