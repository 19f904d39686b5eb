"""Decisions as tokens and as text, and what is answered read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import make
from agents.answers import require
from guandan_env.actions import FIRST_CARD, PASS
from guandan_env.cards import KIND_NAMES, card_names
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.notation import find_rows, row_name
from guandan_env.rules import RuleSet
from guandan_env.state import Phase
from guandan_env.text import (
    FIRST_ROW,
    PAD,
    SEATS,
    VOCABULARY,
    describe,
    encode_tokens,
    parse_play,
    token_words,
)

DOCUMENT = Path(__file__).parents[1] / "docs" / "text.md"
CHOOSING = RuleSet(resist="may", tribute_tie="choose")


def positions(moves: int, rules: RuleSet | str = "default", tables: int = 6, seed: int = 1):
    """Decisions after some random moves."""
    engine = Engine(tables, rules, seed=seed, previous="random")
    agent = make("random")
    for _ in range(moves):
        engine.step(require(agent, engine.decisions())[0])
    return engine.decisions()


def words_of(tokens, lengths, i):
    return token_words(tokens[i, : lengths[i]])


def between(words: list[str], start: str, stops: tuple[str, ...]) -> list[str]:
    rest = words[words.index(start) + 1 :]
    return rest[: next(k for k, word in enumerate(rest) if word in stops)]


@pytest.mark.parametrize("moves", [0, 1, 2, 3, 5, 30, 90])
@pytest.mark.parametrize("rules", ["default", CHOOSING], ids=["default", "choosing"])
def test_tokens_say_what_the_decision_says(moves, rules):
    d = positions(moves, rules)
    tokens, lengths = encode_tokens(d)
    assert tokens.shape == (len(d), lengths.max())
    for i in range(len(d)):
        assert (tokens[i, lengths[i] :] == PAD).all()
        words = words_of(tokens, lengths, i)
        assert "<pad>" not in words
        hand = between(words, "<hand>", ("<resisted>", "<paid>", "<returned>", "<played>"))
        assert hand == card_names(d.hand[i])
        seat = int(d.seat[i])
        played = words[words.index("<played>") + 1 : words.index("<history>")]
        for k, name in enumerate(SEATS):
            start = played.index(name)
            stop = played.index(SEATS[k + 1]) if k < 3 else len(played)
            assert played[start + 1 : stop] == card_names(d.played[i, (seat + k) % 4])
        past = words[words.index("<history>") + 1 : -1]
        rows = [
            (int(r), int(s)) for r, s in zip(d.history[i], d.history_seat[i], strict=True) if r >= 0
        ]
        assert past == [w for r, s in rows for w in (SEATS[(s - seat) % 4], row_name(r))]
        assert words[-1] == f"{Phase(d.phase[i]).name.lower()}?"
        assert ("<paid>" in words) == bool((d.paid[i] >= 0).any())
        assert ("<resisted>" in words) == bool(d.resisted[i])


def test_a_batch_is_encoded_as_each_decision_alone():
    d = positions(25)
    tokens, lengths = encode_tokens(d)
    for i in range(len(d)):
        alone, length = encode_tokens(d.take(np.array([i])))
        assert length[0] == lengths[i]
        assert (alone[0] == tokens[i, : lengths[i]]).all()


def test_a_card_chosen_in_secret_is_not_told():
    engine = Engine(64, seed=1, previous="random")
    state = engine.state
    agent = make("random")
    for _ in range(3):
        engine.step(require(agent, engine.decisions())[0])
    secret = [
        t for t in range(64)
        if state.phase[t] == Phase.RETURN and state.returned[t, 0] >= 0
    ]  # fmt: skip
    assert secret
    tokens, lengths = encode_tokens(engine.decisions())
    for t in secret:
        words = words_of(tokens, lengths, t)
        assert "<returned>" not in words
        assert f"card {KIND_NAMES[state.returned[t, 0]]}" not in words[
            words.index("<history>") :
        ] or (state.returned[t, 0] in state.paid[t])


def test_the_vocabulary_is_as_documented():
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text[text.index("<!-- vocabulary -->") : text.index("<!-- end -->")].splitlines()[3:]
    at = 0
    for line in table:
        names, numbers, _ = (cell.strip() for cell in line.strip("| ").split("|"))
        low, high = map(int, numbers.split("–"))
        first, last = (name.strip(" `") for name in names.split("…"))
        assert (low, VOCABULARY[low], VOCABULARY[high]) == (at, first, last)
        at = high + 1
    assert at == len(VOCABULARY)
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    assert VOCABULARY[FIRST_ROW] == "pass"
    for wrong in (-1, len(VOCABULARY), "S3", True):
        with pytest.raises(GuandanError, match="no token"):
            token_words([wrong])


@settings(max_examples=25, deadline=None)
@given(moves=st.integers(0, 80), seed=st.integers(0, 50), choosing=st.booleans())
def test_every_listed_play_is_read_back(moves, seed, choosing):
    d = positions(moves, CHOOSING if choosing else "default", tables=1, seed=seed)
    if not len(d):
        return
    text = describe(d)
    listed = text[text.index("Allowed: ") + 9 :].splitlines()[0].removesuffix(".").split("; ")
    rows = set(np.flatnonzero(d.mask[0]).tolist())
    assert {parse_play(name.partition(" (")[0], d)[0] for name in listed} == rows
    assert len(listed) == len(rows)
    assert " ".join(card_names(d.hand[0])) in text


@pytest.mark.rule("7.2")
def test_numbers_of_cards_are_said_from_few_on():
    d = positions(40, tables=1)
    seat, counts = int(d.seat[0]), d.counts[0].tolist()
    line = next(x for x in describe(d, reveal_counts_at=10).splitlines() if "Cards left" in x)
    for k, name in enumerate(SEATS):
        left = counts[(seat + k) % 4]
        assert (f"{name} {left}" in line) == (k == 0 or left <= 10)
        assert (f"{name} more than 10" in line) == (k > 0 and left > 10)
    assert "more than" not in describe(d)


def engine_on_lead() -> Engine:
    return Engine(1, seed=7, level="5", previous=None)


def test_exact_cards_and_names_give_rows_and_cards():
    d = engine_on_lead().decisions()
    hand = card_names(d.hand[0])
    row, cards = parse_play(hand[0].lower(), d)
    assert row_name(row).startswith("single")
    assert card_names(cards) == [hand[0]]
    pair = next(r for r in np.flatnonzero(d.mask[0]) if row_name(r).startswith("pair"))
    assert parse_play(f' "{row_name(pair).upper()}". ', d) == (pair, None)
    rank = row_name(pair)[-1]
    two = [card for card in hand if card[1] == rank and card != "H5"][:2]
    row, cards = parse_play(f"{row_name(pair)}: {','.join(two)}", d)
    assert row == pair
    assert card_names(cards) == two


def test_what_is_wrong_is_said():
    d = engine_on_lead().decisions()
    hand = card_names(d.hand[0])
    missing = next(name for name in KIND_NAMES if name not in hand)
    cases = {
        "": "empty",
        "pass": "cannot pass",
        missing: f"do not hold {missing}",
        "nonsense": "no name of a row",
        "par 55": "did you mean 'pair 55'",
        "card S3": "tribute, which is over",
        f"{hand[0]} {hand[-1]}": "make no play",
        f"joker bomb: {hand[0]}": "cannot make 'joker bomb'",
        "x" * 401: "401 characters",
        f"single {hand[0][1]}: {hand[-1]}": "do not make",
        f"{hand[0]} XX": "no name of a row",
    }
    for said, why in cases.items():
        with pytest.raises(GuandanError, match=why):
            parse_play(said, d)
    with pytest.raises(GuandanError, match="no text"):
        parse_play(7, d)
    with pytest.raises(GuandanError, match="decisions"):
        describe(d, 1)


def test_a_weaker_play_does_not_beat():
    engine = Engine(1, seed=7, level="5", previous=None)
    agent = make("greedy")
    for _ in range(60):
        d = engine.decisions()
        if d.lead[0] != PASS and not d.mask[0, d.lead[0]]:
            cards = card_names(d.hand[0])
            weak = [
                r for card in cards for r in find_rows(card, "5", "Single") if not d.mask[0, r]
            ]  # fmt: skip
            if weak and row_name(int(d.lead[0])).startswith("single"):
                with pytest.raises(GuandanError, match="does not beat 'single"):
                    parse_play(row_name(weak[0]), d)
                return
        engine.step(require(agent, d)[0])
    pytest.fail("no such position came up")


def test_tribute_is_answered_with_a_card():
    d = next(
        p for p in (positions(0, seed=s, tables=1) for s in range(20)) if p.phase[0] == Phase.PAY
    )
    row = int(np.flatnonzero(d.mask[0])[0])
    card = KIND_NAMES[row - FIRST_CARD]
    assert parse_play(card, d) == (row, None)
    assert parse_play(f"card {card}", d) == (row, None)
    with pytest.raises(GuandanError, match="allowed are card"):
        parse_play("pass", d)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=500))
def test_any_text_is_read_or_refused(text):
    d = engine_on_lead().decisions()
    try:
        row, _ = parse_play(text, d)
    except GuandanError:
        return
    assert d.mask[0, row]
