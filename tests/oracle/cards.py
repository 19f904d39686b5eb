"""Cards as strings: suit ``S H C D`` and rank, ``SB`` and ``HR`` for the jokers."""

from __future__ import annotations

RANKS = "23456789TJQKA"
SUITS = "SHCD"
SMALL_JOKER = "SB"
BIG_JOKER = "HR"

# Every kind of card, in canonical order.
KINDS = [suit + rank for rank in RANKS for suit in SUITS] + [SMALL_JOKER, BIG_JOKER]

# The ranks as they stand in sequences: A is low and high.
SEQUENCE = "A" + RANKS


def canonical(cards: list[str]) -> list[str]:
    """Sort cards by rank 2 to A, inside a rank by suit S H C D, then the jokers."""
    return sorted(cards, key=KINDS.index)


def rank_of(card: str) -> str:
    """Rank of a card; ``B`` and ``R`` for the small and the big joker."""
    return card[1]


def wild_of(level: str) -> str:
    """The wild card (逢人配) of a level: its heart."""
    return "H" + level


def level_order(level: str) -> str:
    """All ranks from the lowest to the highest at a level."""
    return RANKS.replace(level, "") + level + "BR"


def level_value(rank: str, level: str) -> int:
    """Place of a rank in level order; higher beats lower."""
    return level_order(level).index(rank)


def sequence_ranks(lowest: str, length: int) -> str:
    """Consecutive ranks from the lowest, where ``A`` as the lowest is the low ace."""
    start = SEQUENCE.index(lowest)
    return SEQUENCE[start : start + length]


def split_wilds(hand: list[str], level: str) -> tuple[list[str], int]:
    """Cards of a hand that are not wild, and the number of wilds."""
    naturals = [card for card in hand if card != wild_of(level)]
    return naturals, len(hand) - len(naturals)


def remove(hand: list[str], cards: list[str]) -> list[str]:
    """Take cards out of a hand; raises ValueError for a card that is not held."""
    left = list(hand)
    for card in cards:
        left.remove(card)
    return left


def full_deck() -> list[str]:
    """The 108 cards."""
    return KINDS * 2
