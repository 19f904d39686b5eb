"""Claims, exact plays, and what beats what.

A claim is ``(pattern, key, naturals, wild_as, suit)``: the pattern's name, the rank that is
compared, the non-wild cards as sorted ``(rank, count)`` pairs, the ranks at which wilds stand as
sorted ``(rank, number)`` pairs, and the suit of a straight flush or ``""``.  ``wild_as`` is empty
for a wild played alone, for two wilds played as a pair, and for two wilds that are the pair of a
full house, because there the rank is no choice.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, combinations_with_replacement, product

from .cards import (
    KINDS,
    RANKS,
    SUITS,
    canonical,
    level_value,
    rank_of,
    remove,
    sequence_ranks,
    split_wilds,
    wild_of,
)

Claim = tuple[str, str, tuple, tuple, str]

STRAIGHT_KEYS = "A23456789T"
TUBE_KEYS = "A23456789TJQ"
PLATE_KEYS = "A23456789TJQK"
SIZES = {
    "Single": 1,
    "Pair": 2,
    "Triple": 3,
    "FullHouse": 5,
    "Straight": 5,
    "Tube": 6,
    "Plate": 6,
    "StraightFlush": 5,
    "JokerBomb": 4,
}


def shapes() -> list[tuple[str, str, dict[str, int], str]]:
    """Every play as ``(pattern, key, cards needed of each rank, suit)``, wilds left aside."""
    found = []
    for rank in RANKS + "BR":
        found.append(("Single", rank, {rank: 1}, ""))
        found.append(("Pair", rank, {rank: 2}, ""))
    for rank in RANKS:
        found.append(("Triple", rank, {rank: 3}, ""))
        for pair in RANKS + "BR":
            if pair != rank:
                found.append(("FullHouse", rank, {rank: 3, pair: 2}, ""))
        for size in range(4, 11):
            found.append(("Bomb", rank, {rank: size}, ""))
    for key in STRAIGHT_KEYS:
        found.append(("Straight", key, dict.fromkeys(sequence_ranks(key, 5), 1), ""))
        for suit in SUITS:
            found.append(("StraightFlush", key, dict.fromkeys(sequence_ranks(key, 5), 1), suit))
    for key in TUBE_KEYS:
        found.append(("Tube", key, dict.fromkeys(sequence_ranks(key, 3), 2), ""))
    for key in PLATE_KEYS:
        found.append(("Plate", key, dict.fromkeys(sequence_ranks(key, 2), 3), ""))
    found.append(("JokerBomb", "JOKERS", {"B": 2, "R": 2}, ""))
    return found


SHAPES = shapes()


def pairs(counts: dict[str, int]) -> tuple:
    """Sorted ``(rank, count)`` pairs without the zeros."""
    return tuple(sorted((rank, count) for rank, count in counts.items() if count > 0))


def claims_of_shape(pattern: str, key: str, need: dict[str, int], suit: str, level: str) -> list:
    """All claims of one shape, with no, one or two wilds standing somewhere in it."""
    found = []
    for wilds in range(3):
        for places in combinations_with_replacement(sorted(need), wilds):
            wild_as = Counter(places)
            naturals = {rank: need[rank] - wild_as[rank] for rank in need}
            # There are no more than eight cards of a rank, and no wild stands for a joker.
            if min(naturals.values()) < 0 or max(naturals.values()) > 8:
                continue
            if wild_as["B"] or wild_as["R"]:
                continue
            if sum(naturals.values()) == 0:
                # Only wilds: they are level cards, alone or as a pair.
                if key == level:
                    found.append((pattern, key, (), (), ""))
                continue
            if pattern == "FullHouse" and any(wild_as[r] == 2 and r != key for r in need):
                # Two wilds are the pair: whichever rank it is, this is one claim.
                found.append((pattern, key, pairs(naturals), (), ""))
                continue
            if pattern == "Single" and wilds:
                continue
            found.append((pattern, key, pairs(naturals), pairs(wild_as), suit))
    return found


def all_claims(level: str) -> list[Claim]:
    """Every claim there is at a level, each once."""
    found = [claim for shape in SHAPES for claim in claims_of_shape(*shape, level)]
    return list(dict.fromkeys(found))


ALL_CLAIMS = {level: all_claims(level) for level in RANKS}


def size_of(claim: Claim) -> int:
    """Number of cards in a claim."""
    pattern, _, naturals, wild_as, _ = claim
    if pattern == "Bomb":
        return sum(count for _, count in naturals + wild_as)
    return SIZES[pattern]


def wilds_of(claim: Claim) -> int:
    """Number of wilds in a claim."""
    return size_of(claim) - sum(count for _, count in claim[2])


class Holding:
    """A hand counted once: its natural cards, its ranks without the wilds, and its wilds."""

    def __init__(self, hand: list[str], level: str) -> None:
        naturals, self.wilds = split_wilds(hand, level)
        self.naturals = set(naturals)
        self.ranks = Counter(rank_of(card) for card in naturals)

    def has(self, claim: Claim) -> bool:
        """Whether the cards for a claim are held, the rule about flushes left aside."""
        if wilds_of(claim) > self.wilds:
            return False
        suit = claim[4]
        if suit:
            return all(suit + rank in self.naturals for rank, _ in claim[2])
        return all(self.ranks[rank] >= count for rank, count in claim[2])


def is_accidental_flush(claim: Claim, cards: list[str], options: object | None) -> bool:
    """Whether the cards of a straight without wilds are a straight flush, and that forbids it."""
    if claim[0] != "Straight" or wilds_of(claim) > 0:
        return False
    if options is not None and options.flush_straight_as_straight:
        return False
    return len({card[0] for card in cards}) == 1


def exact_plays(
    claim: Claim, hand: list[str], level: str, options: object | None = None
) -> list[list[str]]:
    """All card multisets, in canonical order, with which the hand can make a claim.

    Without options, five cards of one suit are never a plain straight.
    """
    if not Holding(hand, level).has(claim):
        return []
    suit = claim[4]
    naturals = canonical(split_wilds(hand, level)[0])
    wilds = [wild_of(level)] * wilds_of(claim)
    choices = []
    for rank, count in claim[2]:
        held = [c for c in naturals if rank_of(c) == rank and (not suit or c[0] == suit)]
        choices.append(sorted(set(combinations(held, count))))
    found = []
    for parts in product(*choices):
        cards = canonical([card for part in parts for card in part] + wilds)
        if not is_accidental_flush(claim, cards, options):
            found.append(cards)
    return sorted(found, key=lambda cards: [KINDS.index(card) for card in cards])


def bomb_class(claim: Claim) -> int:
    """0 for what is not a bomb; otherwise higher beats lower, equal is decided by the key."""
    pattern = claim[0]
    if pattern == "Bomb":
        size = size_of(claim)
        return size if size <= 5 else size + 1
    return {"StraightFlush": 6, "JokerBomb": 12}.get(pattern, 0)


def key_value(claim: Claim, level: str) -> int:
    """Value of a claim's key inside its pattern."""
    pattern, key = claim[:2]
    if pattern == "JokerBomb":
        return 0
    if pattern in ("Straight", "Tube", "Plate", "StraightFlush"):
        return PLATE_KEYS.index(key)
    return level_value(key, level)


def beats(claim: Claim, lead: Claim, level: str) -> bool:
    """Whether a claim beats the claim that lies on the table."""
    ours, theirs = bomb_class(claim), bomb_class(lead)
    if ours != theirs:
        return ours > theirs
    if claim[0] != lead[0]:
        return False
    return key_value(claim, level) > key_value(lead, level)


def legal_claims(hand: list[str], level: str, lead: Claim | None, options: object) -> set[Claim]:
    """The claims a hand can make, as a lead or over another claim; passing is not among them."""
    holding = Holding(hand, level)
    return {
        claim
        for claim in ALL_CLAIMS[level]
        if holding.has(claim)
        and (lead is None or beats(claim, lead, level))
        and (claim[0] != "Straight" or exact_plays(claim, hand, level, options))
    }


def claim_of(pattern: str, key: str, cards: list[str], level: str, options: object) -> Claim:
    """The claim that names a pattern and a key for exactly these cards."""
    (claim,) = [
        claim
        for claim in legal_claims(cards, level, None, options)
        if claim[:2] == (pattern, key) and size_of(claim) == len(cards)
    ]
    return claim


def straight_flush_windows(hand: list[str], level: str) -> int:
    """Number of (suit, position) pairs that the hand can make a straight flush of."""
    naturals, wilds = split_wilds(hand, level)
    windows = 0
    for suit in SUITS:
        for key in STRAIGHT_KEYS:
            missing = [r for r in sequence_ranks(key, 5) if suit + r not in naturals]
            windows += len(missing) <= wilds
    return windows


def choose_cards(claim: Claim, hand: list[str], level: str, options: object) -> list[str]:
    """The exact play after which the hand can make most straight flushes; the first of equals."""
    plays = exact_plays(claim, hand, level, options)
    if not plays:
        raise ValueError(f"the hand {hand} cannot make the claim {claim}")
    # max() keeps the first of equals, and the plays are in canonical order.
    return max(plays, key=lambda cards: straight_flush_windows(remove(hand, cards), level))
