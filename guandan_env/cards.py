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

from guandan_env.errors import CardError, nearest

RANKS = "23456789TJQKA"
SUITS = "SHCD"
NUM_RANKS = 13
NUM_KINDS = 54
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
    raise CardError(f"{text!r} is no rank or level: allowed are {' '.join(RANKS)}")


def rank_name(rank: int) -> str:
    """Character of a rank index; `B` and `R` for the small and the big joker (13, 14)."""
    return (RANKS + "BR")[rank]


def kind_name(kind: int) -> str:
    """Two-character name of a kind 0…53."""
    return KIND_NAMES[kind]


def wild_kind(level: int) -> int:
    """The kind that is wild (逢人配) at a level: the heart of the level rank."""
    return 4 * level + 1


def parse_card(text: object) -> int:
    """Kind of a two-character card such as `S3`, `HT`, `SB`, `HR`."""
    if isinstance(text, str) and text in KIND_OF:
        return KIND_OF[text]
    hint = nearest(text, KIND_NAMES) if isinstance(text, str) else ""
    raise CardError(
        f"{text!r} is no card{hint}: a card is a suit (S H C D) and a rank ({RANKS}), "
        "or SB (small joker), HR (big joker)"
    )


def parse_cards(cards: object) -> list[int]:
    """Kinds of a list of cards, or of one string separated by spaces or commas."""
    if isinstance(cards, str):
        cards = cards.replace(",", " ").split()
    if not isinstance(cards, Iterable) or isinstance(cards, (bytes, dict)):
        raise CardError(f"{cards!r} is no list of cards such as ['S3', 'HR'] or 'S3 HR'")
    return [parse_card(card) for card in cards]


def counts_of(kinds: Iterable[int]) -> Counts:
    """Counts `(54,) uint8` of some kinds; `CardError` where a kind comes three times."""
    counts = np.zeros(NUM_KINDS, dtype=np.int64)
    for kind in kinds:
        counts[kind] += 1
    if (counts > 2).any():
        kind = int(np.argmax(counts))
        raise CardError(f"{KIND_NAMES[kind]} is there {counts[kind]} times; two decks hold two")
    return counts.astype(np.uint8)


def kinds_of(counts: Counts | Sequence[int]) -> list[int]:
    """Kinds of a hand `(54,)`, in canonical order, each as often as it is held."""
    return [int(k) for k in np.repeat(np.arange(NUM_KINDS), np.asarray(counts, dtype=np.int64))]


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
