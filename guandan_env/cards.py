"""Cards, their two-character notation, and hands as counts or as bits.

A card *kind* is `rank * 4 + suit` for the ranks 2…A (0…12) and the suits S, H, C, D (0…3);
52 is the small joker, 53 the big joker (RULES 1.1). Two decks hold two cards of each kind.

A hand is either *counts*, `(…, 54) uint8`, or *bits*, `(…, 2) uint64`: bit k of the first word
says that the hand holds at least one card of kind k, bit k of the second that it holds two.
Bits are what the engine computes on: a hand is 16 bytes, and one operation treats all its cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from guandan_env.checks import items_of, whole_array, whole_number
from guandan_env.errors import CardError, nearest, shown

RANKS = "23456789TJQKA"
SUITS = "SHCD"
NUM_RANKS = 13
NUM_KINDS = 54
NUM_CARDS = 2 * NUM_KINDS
SMALL_JOKER = 52
BIG_JOKER = 53
HAND_SIZE = 27
KIND_NAMES: tuple[str, ...] = (*(s + r for r in RANKS for s in SUITS), "SB", "HR")
KIND_RANK: NDArray[np.int8] = np.array([*(k // 4 for k in range(52)), 13, 14], dtype=np.int8)
KIND_OF = {name: kind for kind, name in enumerate(KIND_NAMES)}

Bits = NDArray[np.uint64]
Counts = NDArray[np.uint8]

ALL_KINDS = np.uint64((1 << NUM_KINDS) - 1)


def parse_rank(text: object) -> int:
    """Rank index 0…12 of a character `2`…`A`; `CardError` for anything else."""
    if isinstance(text, str) and len(text) == 1 and text in RANKS:
        return RANKS.index(text)
    raise CardError(f"{shown(text)} is no rank or level: allowed are {' '.join(RANKS)}")


def rank_name(rank: int) -> str:
    """Character of a rank index 0…12; `B` and `R` for the small and the big joker (13, 14).

    `CardError` for anything else.
    """
    return (RANKS + "BR")[whole_number(rank, "rank", 0, NUM_RANKS + 1, CardError)]


def kind_name(kind: int) -> str:
    """Two-character name of a kind 0…53; `CardError` for anything else."""
    return KIND_NAMES[whole_number(kind, "kind", 0, NUM_KINDS - 1, CardError)]


def wild_kind(level: int) -> int:
    """The kind that is wild (逢人配) at a level: the heart of the level rank."""
    return 4 * level + 1


def parse_card(text: object) -> int:
    """Kind of a two-character card such as `S3`, `HT`, `SB`, `HR`."""
    if isinstance(text, str) and text in KIND_OF:
        return KIND_OF[text]
    raise CardError(
        f"{shown(text)} is no card{nearest(text, KIND_NAMES)}: "
        f"a card is a suit (S H C D) and a rank ({RANKS}), or SB (small joker), HR (big joker)"
    )


def parse_cards(cards: object) -> list[int]:
    """Kinds of a list of cards, or of one string separated by spaces or commas.

    `CardError` for what is none, for an unknown card, and for more cards than two decks have.
    """
    if isinstance(cards, str):
        cards = cards.replace(",", " ").split()
    items = items_of(cards, NUM_CARDS)
    if items is None:
        raise CardError(f"{shown(cards)} is no list of cards such as ['S3', 'HR'] or 'S3 HR'")
    if len(items) > NUM_CARDS:
        raise CardError(f"{shown(cards)} is longer than two decks, which have {NUM_CARDS} cards")
    return [parse_card(card) for card in items]


def counts_of(kinds: Iterable[int]) -> Counts:
    """Counts `(54,) uint8` of some kinds 0…53.

    `CardError` where a kind comes three times, or is no such number.
    """
    counts = np.zeros(NUM_KINDS, dtype=np.int64)
    items = items_of(kinds, NUM_CARDS)
    if items is None:
        raise CardError(f"{shown(kinds)} is no list of kinds")
    for kind in items:
        counts[whole_number(kind, "kind", 0, NUM_KINDS - 1, CardError)] += 1
    if (counts > 2).any():
        kind = int(np.argmax(counts))
        raise CardError(f"{KIND_NAMES[kind]} is there {counts[kind]} times; two decks hold two")
    return counts.astype(np.uint8)


def kinds_of(counts: Counts | Sequence[int]) -> list[int]:
    """Kinds of a hand `(54,)`, in canonical order, each as often as it is held.

    `CardError` for what is no such hand.
    """
    held = whole_array(counts, "counts", (NUM_KINDS,), CardError)
    if held.min() < 0 or held.max() > 2:
        raise CardError(f"counts are {held.min()} to {held.max()}; 0 to 2 are allowed")
    kinds: list[int] = np.repeat(np.arange(NUM_KINDS), held.astype(np.int64)).tolist()
    return kinds


def card_names(counts: Counts | Sequence[int]) -> list[str]:
    """Names of the cards of a hand `(54,)`, in canonical order: by rank, then suit, then jokers."""
    return [KIND_NAMES[kind] for kind in kinds_of(counts)]


def to_bits(counts: NDArray[np.integer] | Counts) -> Bits:
    """Bits `(…, 2) uint64` of hands given as counts `(…, 54)`."""
    held = np.zeros((*counts.shape[:-1], 2, 64), dtype=bool)
    held[..., 0, :NUM_KINDS] = counts >= 1
    held[..., 1, :NUM_KINDS] = counts >= 2
    packed = np.packbits(held, axis=-1, bitorder="little")
    return packed.view(np.uint64)[..., 0]


def to_counts(bits: Bits) -> Counts:
    """Counts `(…, 54) uint8` of hands given as bits `(…, 2)`."""
    octets = np.ascontiguousarray(bits).view(np.uint8).reshape(*bits.shape, 8)
    held = np.unpackbits(octets, axis=-1, count=NUM_KINDS, bitorder="little")
    counts: Counts = held[..., 0, :] + held[..., 1, :]
    return counts


def remove(hand: Bits, cards: Bits) -> Bits:
    """Hands `(…, 2)` without some of their cards `(…, 2)` (which they must hold)."""
    one, two = hand[..., 0], hand[..., 1]
    at_least_one, both = cards[..., 0], cards[..., 1]
    return np.stack([one & ~(both | (at_least_one & ~two)), two & ~at_least_one], axis=-1)


def add(hand: Bits, cards: Bits) -> Bits:
    """Hands `(…, 2)` with some cards `(…, 2)` more (never more than two of a kind)."""
    one, two = hand[..., 0], hand[..., 1]
    return np.stack([one | cards[..., 0], two | cards[..., 1] | (one & cards[..., 0])], axis=-1)


def single_card(kinds: NDArray[np.integer]) -> Bits:
    """Bits `(…, 2)` of one card each of the given kinds `(…)`."""
    one = np.uint64(1) << kinds.astype(np.uint64)
    return np.stack([one, np.zeros_like(one)], axis=-1)
