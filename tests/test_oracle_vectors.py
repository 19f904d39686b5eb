"""The oracle's claims and exact plays agree with the legal-move vectors."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from oracle.plays import ALL_CLAIMS, choose_cards, claim_of, exact_plays, legal_claims

VECTORS = Path(__file__).parent / "data" / "legal_moves.jsonl"
OPTIONS = SimpleNamespace(flush_straight_as_straight=False)


def vectors() -> list[dict]:
    with VECTORS.open(encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("part", range(8))
def test_legal_claims_and_exact_plays(part: int) -> None:
    for vector in vectors()[part::8]:
        level, hand, given = vector["level"], vector["hand"], vector["lead"]
        lead = given and claim_of(given["type"], given["key"], given["cards"], level, OPTIONS)
        claims = legal_claims(hand, level, lead, OPTIONS)
        plays = [(c[0], c[1], cards) for c in claims for cards in exact_plays(c, hand, level)]
        lines = sorted(f"{pattern} {key} {','.join(cards)}\n" for pattern, key, cards in plays)
        assert len(plays) == vector["count"], vector["id"]
        assert Counter(play[0] for play in plays) == vector["count_by_type"], vector["id"]
        assert len(claims) == vector["rank_count"], vector["id"]
        digest = hashlib.sha256("".join(lines).encode("ascii")).hexdigest()
        assert digest == vector["sha256"], vector["id"]


@pytest.mark.parametrize("level", "2TA")
def test_number_of_claims(level: str) -> None:
    counts = Counter(claim[0] for claim in ALL_CLAIMS[level])
    assert counts == {
        "Single": 16,
        "Pair": 29,
        "Triple": 39,
        "FullHouse": 871,
        "Straight": 160,
        "Tube": 120,
        "Plate": 78,
        "Bomb": 234,
        "StraightFlush": 640,
        "JokerBomb": 1,
    }


def test_flush_straight_as_straight() -> None:
    hand = ["S3", "S4", "S5", "S6", "S7"]
    loose = SimpleNamespace(flush_straight_as_straight=True)
    patterns = {c[0] for c in legal_claims(hand, "2", None, OPTIONS) if len(c[2]) == 5}
    assert patterns == {"StraightFlush"}
    patterns = {c[0] for c in legal_claims(hand, "2", None, loose) if len(c[2]) == 5}
    assert patterns == {"StraightFlush", "Straight"}


def test_suits_are_chosen_to_keep_straight_flushes() -> None:
    hand = "S3 S4 S5 S6 S7 H7 D7".split()
    pair = claim_of("Pair", "7", ["H7", "D7"], "2", OPTIONS)
    assert choose_cards(pair, hand, "2", OPTIONS) == ["H7", "D7"]
    # Nothing to keep: the first in canonical order.
    assert choose_cards(pair, ["S7", "H7", "D7"], "2", OPTIONS) == ["S7", "H7"]
