"""Names of rows both ways, and rows of exact cards with or without a claim."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guandan_env.actions import NUM_ACTIONS, ROW_KEY, ROW_PATTERN, ROW_SIZE, ROW_WILDS, Pattern
from guandan_env.cards import KIND_NAMES, RANKS
from guandan_env.errors import CardError, GuandanError, PlayError
from guandan_env.notation import PLAY_PATTERNS, find_rows, key_words, parse_row, row_name, row_of

DECKS = [name for name in KIND_NAMES for _ in range(2)]


@pytest.mark.parametrize("change", [str, str.upper, lambda name: f"  {name.replace(' ', '   ')}\n"])
def test_every_name_is_the_name_of_its_row(change: Any) -> None:
    assert [parse_row(change(row_name(row))) for row in range(NUM_ACTIONS)] == list(
        range(NUM_ACTIONS)
    )


@pytest.mark.parametrize(
    ("name", "pattern", "key", "size", "wilds"),
    [
        ("pass", Pattern.PASS, -1, 0, 0),
        ("single 2", Pattern.SINGLE, 0, 1, 0),
        ("single R", Pattern.SINGLE, 14, 1, 0),
        ("single wild", Pattern.SINGLE, 15, 1, 1),
        ("pair 55 with wild as 5", Pattern.PAIR, 3, 2, 1),
        ("pair BB", Pattern.PAIR, 13, 2, 0),
        ("pair of wilds", Pattern.PAIR, 15, 2, 2),
        ("triple AAA with wilds as A and A", Pattern.TRIPLE, 12, 3, 2),
        ("full house 55577 with wilds as 5 and 7", Pattern.FULL_HOUSE, 3, 5, 2),
        ("full house 555RR with wild as 5", Pattern.FULL_HOUSE, 3, 5, 1),
        ("full house 555 and pair of wilds", Pattern.FULL_HOUSE, 3, 5, 2),
        ("straight A2345 with wilds as A and 3", Pattern.STRAIGHT, 12, 5, 2),
        ("straight 34567 with wild as 5", Pattern.STRAIGHT, 1, 5, 1),
        ("straight TJQKA", Pattern.STRAIGHT, 8, 5, 0),
        ("tube QQKKAA with wild as A", Pattern.TUBE, 10, 6, 1),
        ("plate KKKAAA", Pattern.PLATE, 11, 6, 0),
        ("bomb 5555555555 with wilds as 5 and 5", Pattern.BOMB, 3, 10, 2),
        ("straight flush 34567 of hearts with wild as 5", Pattern.STRAIGHT_FLUSH, 1, 5, 1),
        ("joker bomb", Pattern.JOKER_BOMB, 13, 4, 0),
        ("card S3", Pattern.CARD, 1, 1, 0),
        ("card HR", Pattern.CARD, 14, 1, 0),
        ("resist", Pattern.RESIST, -1, 0, 0),
    ],
)
def test_names(name: str, pattern: Pattern, key: int, size: int, wilds: int) -> None:
    row = parse_row(name)
    assert row_name(row) == name
    assert (ROW_PATTERN[row], ROW_KEY[row], ROW_SIZE[row], ROW_WILDS[row]) == (
        pattern,
        key,
        size,
        wilds,
    )


@pytest.mark.parametrize("text", ["", "pair 5", "straight QKA23", "bomb", "strait 34567", 5, None])
def test_what_is_no_name(text: Any) -> None:
    with pytest.raises(PlayError, match="is no name of a row"):
        parse_row(text)


def test_near_name_is_offered() -> None:
    with pytest.raises(PlayError, match="did you mean 'straight 34567'"):
        parse_row("strait 34567")


@pytest.mark.parametrize("row", [-1, NUM_ACTIONS, True, 1.0, "3", None, np.int64(5000)])
def test_what_is_no_row(row: Any) -> None:
    with pytest.raises(PlayError, match="allowed are 0 to 2243"):
        row_name(row)


@pytest.mark.rule("2.12")
@pytest.mark.parametrize(
    ("cards", "names"),
    [
        ("S5", ["single 5"]),
        ("H2", ["single wild"]),
        ("S2 H2", ["pair 22 with wild as 2"]),
        ("H2 H2", ["pair of wilds"]),
        (
            "S4 C5 D6 H7 H2",
            ["straight 34567 with wild as 3", "straight 45678 with wild as 8"],
        ),
        (
            "S5 C5 DK HK H2",
            ["full house 555KK with wild as 5", "full house KKK55 with wild as K"],
        ),
        (
            "S5 C5 D6 H6 H2 H2",
            [
                "tube 445566 with wilds as 4 and 4",
                "tube 556677 with wilds as 7 and 7",
                "plate 555666 with wilds as 5 and 6",
            ],
        ),
        ("S3 S4 S5 S6 S7", ["straight flush 34567 of spades"]),
        ("S3 SB HR", []),
        ("", []),
    ],
)
def test_readings_of_cards(cards: str, names: list[str]) -> None:
    assert [row_name(row) for row in find_rows(cards, "2")] == names


@pytest.mark.rule("2.13")
def test_without_a_claim_the_lower_key_is_taken() -> None:
    assert row_name(row_of("S4 C5 D6 H7 H2", "2")) == "straight 34567 with wild as 3"
    # Low is meant in the order in which the pattern is compared: at level 5 fives are above kings.
    full_house = "S5 C5 DK CK H5"
    assert row_name(row_of(full_house, "5")) == "full house KKK55 with wild as K"
    assert row_name(row_of(full_house, "5", key="5")) == "full house 555KK with wild as 5"
    low_ace = row_of("SA C2 D4 S5 H3", "3")
    assert row_name(low_ace) == "straight A2345 with wild as 3"


@pytest.mark.rule("2.13")
def test_without_a_claim_two_patterns_are_asked_about() -> None:
    cards = "S3 S4 S5 S6 H2"
    with pytest.raises(PlayError, match=r"Straight 3.*StraightFlush 3.*say which pattern"):
        row_of(cards, "2")
    assert row_name(row_of(cards, "2", "StraightFlush", "2")).endswith("spades with wild as 2")
    assert row_name(row_of(cards, "2", "Straight")) == "straight 23456 with wild as 2"


def test_key_words() -> None:
    assert key_words(Pattern.SINGLE) == tuple("23456789TJQKABR")
    assert key_words(Pattern.STRAIGHT) == tuple("A23456789T")
    assert key_words(Pattern.JOKER_BOMB) == ("JOKERS",)


def test_bad_claims() -> None:
    with pytest.raises(PlayError, match="did you mean 'FullHouse'"):
        row_of("S3 H3", "2", "Fullhouse")
    with pytest.raises(PlayError, match="no key of a Straight"):
        find_rows("S3 H3", "2", "Straight", "K")
    with pytest.raises(CardError, match="is there 3 times"):
        find_rows("S3 S3 S3", "2")


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(range(108)), min_size=1, max_size=10, unique=True),
    st.sampled_from(RANKS),
    st.booleans(),
)
def test_a_claim_is_one_row(indices: list[int], level: str, option: bool) -> None:
    cards = [DECKS[i] for i in indices]
    rows = find_rows(cards, level, flush_straight_as_straight=option)
    found = [
        find_rows(cards, level, pattern, key, flush_straight_as_straight=option)
        for pattern, number in PLAY_PATTERNS.items()
        for key in key_words(number)
    ]
    assert all(len(of_claim) <= 1 for of_claim in found)
    assert sorted(row for of_claim in found for row in of_claim) == rows
    assert all(ROW_SIZE[row] == len(cards) for row in rows)


@settings(deadline=None)
@given(*[st.one_of(st.none(), st.integers(), st.text(max_size=4), st.lists(st.text()))] * 4)
def test_wrong_types_raise_nothing_else(cards: Any, level: Any, pattern: Any, key: Any) -> None:
    for call in (
        lambda: find_rows(cards, level, pattern, key),
        lambda: row_of("S3 C3 H2", "2", pattern, key),
        lambda: row_of(cards, "2"),
        lambda: row_name(cards),
        lambda: parse_row(cards),
    ):
        with contextlib.suppress(GuandanError):
            call()
