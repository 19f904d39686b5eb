"""`legal_plays` against the test vectors, and its treatment of bad input."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guandan_env.actions import IS_PLAY, NUM_ACTIONS, PASS, RESIST
from guandan_env.cards import HAND_SIZE, KIND_NAMES, RANKS
from guandan_env.errors import CardError, GuandanError, PlayError
from guandan_env.notation import row_of
from guandan_env.plays import Play, legal_plays, plays_of_row

VECTORS = Path(__file__).parent / "data" / "legal_moves.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text(encoding="ascii").splitlines()]
DECKS = [name for name in KIND_NAMES for _ in range(2)]

hands = st.lists(st.sampled_from(range(108)), max_size=HAND_SIZE, unique=True).map(
    lambda cards: [DECKS[card] for card in cards]
)
levels = st.sampled_from(RANKS)
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=8),
    st.text(max_size=12),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3), st.sampled_from(DECKS))),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def lead_of(case: dict[str, Any]) -> Play | None:
    lead = case["lead"]
    return None if lead is None else Play(lead["type"], lead["key"], tuple(lead["cards"]))


def sha256(plays: list[Play]) -> str:
    lines = (f"{p.pattern} {p.key} {','.join(p.cards)}\n" for p in plays)
    return hashlib.sha256("".join(lines).encode("ascii")).hexdigest()


def test_vectors_are_all_there() -> None:
    assert len(CASES) == 393


# The cases cover every pattern and order; the file names what each is about.
@pytest.mark.rule("1.5")
@pytest.mark.rule("1.6")
@pytest.mark.rule("2.1")
@pytest.mark.rule("2.2")
@pytest.mark.rule("2.3")
@pytest.mark.rule("2.4")
@pytest.mark.rule("2.5")
@pytest.mark.rule("2.6")
@pytest.mark.rule("2.7")
@pytest.mark.rule("2.9")
@pytest.mark.rule("2.10")
@pytest.mark.rule("2.11")
@pytest.mark.rule("3.2")
@pytest.mark.rule("3.3")
@pytest.mark.rule("3.4")
@pytest.mark.rule("3.5")
@pytest.mark.rule("3.6")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_vector(case: dict[str, Any]) -> None:
    level = case["level"]
    plays = legal_plays(case["hand"], level, lead_of(case))
    assert len(plays) == case["count"]
    assert dict(Counter(p.pattern for p in plays)) == case["count_by_type"]
    if "actions" in case:
        assert [[p.pattern, p.key, list(p.cards)] for p in plays] == case["actions"]
    assert sha256(plays) == case["sha256"]
    rows = {row_of(p.cards, level, p.pattern, p.key) for p in plays}
    assert len(rows) == case["rank_count"]


@pytest.mark.rule("2.8")
def test_option_lets_a_natural_flush_be_a_straight() -> None:
    hand = "S3 S4 S5 S6 S7 H7"
    straight = Play("Straight", "3", ("S3", "S4", "S5", "S6", "S7"))
    assert straight not in legal_plays(hand, "2")
    plays = legal_plays(hand, "2", flush_straight_as_straight=True)
    assert straight in plays
    assert Play("StraightFlush", "3", straight.cards) in plays
    lead = Play("Straight", "2", ("S2", "S3", "S4", "S5", "S6"))
    assert straight in legal_plays(hand, "A", lead, flush_straight_as_straight=True)
    with pytest.raises(PlayError, match="StraightFlush 2"):
        legal_plays(hand, "A", lead)


@settings(deadline=None, max_examples=25)
@given(hands, levels)
def test_every_play_belongs_to_one_row_and_comes_back_from_it(hand: list[str], level: str) -> None:
    plays = legal_plays(hand, level)
    by_row: dict[int, list[Play]] = {}
    for play in plays:
        row = row_of(play.cards, level, play.pattern, play.key)
        by_row.setdefault(row, []).append(play)
    assert len(set(plays)) == len(plays)
    for row in range(0, NUM_ACTIONS, 7):
        if IS_PLAY[row]:
            assert plays_of_row(row, hand, level) == by_row.get(row, [])


@settings(deadline=None, max_examples=25)
@given(hands, levels, st.data())
def test_what_beats_a_lead_is_part_of_what_may_be_led(
    hand: list[str], level: str, data: st.DataObject
) -> None:
    plays = legal_plays(hand, level)
    if plays:
        lead = data.draw(st.sampled_from(plays))
        answers = legal_plays(hand, level, lead)
        assert lead not in answers
        assert set(answers) <= set(plays)
        assert all(lead not in legal_plays(hand, level, answer) for answer in answers[:5])


@pytest.mark.parametrize(
    ("hand", "level", "message"),
    [
        ("S3 X9", "2", "'X9' is no card"),
        ("S3 S3 S3", "2", "S3 is there 3 times"),
        (DECKS[:28], "2", "28 cards are more than a hand of 27"),
        ("S3", "1", "'1' is no rank or level: allowed are 2"),
        ("S3", 2, "2 is no rank or level"),
        (7, "2", "7 is no text or list of cards"),
        (b"S3", "2", "is no list of cards"),
        ([["S3"]], "2", "is no card"),
    ],
)
def test_bad_hand_or_level(hand: Any, level: Any, message: str) -> None:
    with pytest.raises(CardError, match=message):
        legal_plays(hand, level)


@pytest.mark.parametrize(
    ("lead", "message"),
    [
        (("Pair", "3", ("S3", "H3")), "allowed are a Play"),
        (Play("Pear", "3", ("S3", "H3")), "did you mean 'Pair'.*allowed are Single"),
        (Play("Pair", "10", ("ST", "HT")), "no key of a Pair: allowed are 2 3"),
        (Play("Straight", "J", ("SJ", "HQ", "SK", "SA", "S2")), "allowed are A 2 3 4 5 6 7 8 9 T"),
        (Play("Pair", "4", ("S3", "C3")), "S3 C3 make no play 'Pair' '4' .* they make Pair 3"),
        (Play("Pair", "3", ("S3", "C4")), "make no play at all"),
        (Play("Triple", "5", ("S5", "H5")), "they make Pair 5"),
        (Play("Single", "3", ()), "no cards make no"),
        (Play("Pair", "5", None), "is no text or list"),  # type: ignore[arg-type]
        (Play(None, "5", ("S5",)), "is no pattern"),  # type: ignore[arg-type]
        (Play("Single", None, ("S5",)), "claims no key"),  # type: ignore[arg-type]
    ],
)
def test_bad_lead(lead: Any, message: str) -> None:
    with pytest.raises(GuandanError, match=message):
        legal_plays("S3 S4", "2", lead)


@pytest.mark.parametrize("row", [-1, NUM_ACTIONS, PASS, RESIST, RESIST - 1, True, "1", 1.0, None])
def test_bad_row(row: Any) -> None:
    with pytest.raises(PlayError, match="row"):
        plays_of_row(row, "S3", "2")


@settings(deadline=None, max_examples=150)
@given(anything, anything, anything, anything, anything)
def test_wrong_types_raise_nothing_else(
    hand: Any, level: Any, pattern: Any, key: Any, cards: Any
) -> None:
    for arguments in (
        (hand, level),
        (hand, "5"),
        ("S5 H5", level),
        ("S5 H5", "5", hand),
        ("S5 H5", "5", Play(pattern, key, cards)),
        ("S5 H5", "5", Play("Single", key, cards)),
        ("S5 H5", "5", Play("Single", "5", cards)),
    ):
        with contextlib.suppress(GuandanError):
            assert all(isinstance(play, Play) for play in legal_plays(*arguments))
