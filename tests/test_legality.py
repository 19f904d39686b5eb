"""Masks over rows and the list of exact plays say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guandan_env import legality
from guandan_env.actions import IS_PLAY, NUM_ACTIONS, PASS
from guandan_env.cards import RANKS, card_names, counts_of, to_bits, to_counts
from guandan_env.notation import row_of
from guandan_env.plays import legal_plays
from guandan_env.suits import choose_cards

DECKS = [kind for kind in range(54) for _ in range(2)]
hands = st.lists(st.sampled_from(range(108)), min_size=1, max_size=14, unique=True).map(
    lambda cards: counts_of(DECKS[c] for c in cards)
)


@pytest.mark.rule("2.12")
@settings(max_examples=150, deadline=None)
@given(hands, st.integers(0, 12), st.booleans(), st.data())
def test_a_row_is_legal_exactly_if_some_exact_play_of_it_is(hand, level, plain, data):
    option = {"flush_straight_as_straight": plain}
    packed = legality.hand_masks(to_bits(hand)[None], np.array([level]), flush_is_straight=plain)
    mask = legality.unpack(packed)[0]
    listed = legal_plays(card_names(hand), RANKS[level], **option)
    rows = {row_of(p.cards, RANKS[level], p.pattern, p.key, **option) for p in listed}
    assert rows == set(np.flatnonzero(mask)) - {PASS}
    lead = data.draw(st.sampled_from(listed))
    index, beating = legality.beating_masks()
    lead_row = row_of(lead.cards, RANKS[level], lead.pattern, lead.key, **option)
    answers = legality.unpack(packed & beating[index[level, lead_row]])[0]
    listed = legal_plays(card_names(hand), RANKS[level], lead, **option)
    rows = {row_of(p.cards, RANKS[level], p.pattern, p.key, **option) for p in listed}
    assert rows | {PASS} == set(np.flatnonzero(answers))


@settings(max_examples=100, deadline=None)
@given(hands, st.integers(0, 12))
def test_cards_chosen_for_a_row_make_it(hand, level):
    bits = to_bits(hand)[None]
    rows = np.flatnonzero(legality.unpack(legality.hand_masks(bits, np.array([level])))[0])
    rows = rows[rows != PASS]
    levels = np.full(len(rows), level)
    cards = to_counts(choose_cards(np.repeat(bits, len(rows), axis=0), rows, levels))
    assert (cards <= hand).all()
    plays = legal_plays(card_names(hand), RANKS[level])
    rows_of_cards = {(p.cards, row_of(p.cards, RANKS[level], p.pattern, p.key)) for p in plays}
    for row, chosen in zip(rows, cards, strict=True):
        assert (tuple(card_names(chosen)), int(row)) in rows_of_cards


@given(st.lists(st.integers(0, NUM_ACTIONS - 1), min_size=1, max_size=50, unique=True))
def test_select_finds_the_nth_legal_row(rows):
    mask = np.zeros((1, NUM_ACTIONS), dtype=np.int8)
    mask[0, rows] = 1
    packed = legality.pack(mask)
    assert (legality.unpack(packed) == mask).all()
    assert legality.count(packed)[0] == len(rows)
    found = legality.select(np.repeat(packed, len(rows), axis=0), np.arange(len(rows)))
    assert list(found) == sorted(rows)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 130), st.booleans())
def test_masks_do_not_depend_on_the_batch(seed, size, plain):
    """Few hands and many go different ways to the same masks."""
    rng = np.random.default_rng(seed)
    cards = [rng.permutation(108)[: rng.integers(1, 28)] // 2 for _ in range(size)]
    hands, levels = to_bits(np.stack([counts_of(c) for c in cards])), rng.integers(0, 13, size)
    masks = legality.hand_masks(hands, levels, flush_is_straight=plain)
    for few in (1, legality.FEW):
        for at in range(0, size, few):
            part = slice(at, at + few)
            alone = legality.hand_masks(hands[part], levels[part], flush_is_straight=plain)
            assert np.array_equal(alone, masks[part])
    assert not legality.unpack(masks)[:, ~IS_PLAY][:, 1:].any()
