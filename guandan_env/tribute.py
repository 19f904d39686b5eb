"""Cards that may be paid (进贡) and returned (还牌), as sets: bit k is kind k (RULES 6)."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from guandan_env.actions import level_order
from guandan_env.cards import BIG_JOKER, KIND_RANK, NUM_RANKS, Bits, wild_kind

U64 = NDArray[np.uint64]
_u = np.uint64


def _kind_set(kinds: list[int]) -> int:
    return sum(1 << k for k in kinds)


@cache
def _by_order() -> U64:
    """`(13, 16)`: at a level, the kinds at each place of level order; place 15 is the wild."""
    sets = np.zeros((NUM_RANKS, 16), dtype=np.uint64)
    for level in range(NUM_RANKS):
        order = level_order(level)
        for kind, rank in enumerate(KIND_RANK):
            place = 15 if kind == wild_kind(level) else order[rank]
            sets[level, place] |= _u(1 << kind)
    return sets


@cache
def _return_sets() -> dict[str, U64]:
    """Kinds that may be returned at each level `(13,)` under each limit."""
    everything = (1 << 54) - 1
    ten, below = [], []
    for level in range(NUM_RANKS):
        ten.append(_kind_set([k for k in range(52) if k // 4 <= 8 and k // 4 != level]))
        below.append(_kind_set([k for k in range(52) if k // 4 != level]))
    return {
        "ten": np.array(ten, dtype=np.uint64),
        "any": np.full(NUM_RANKS, everything, dtype=np.uint64),
        "below": np.array(below, dtype=np.uint64),
    }


def place_of(kinds: NDArray[np.integer], levels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Place in level order `(n,)` of card kinds at levels; wilds count as level cards."""
    orders = np.stack([level_order(level) for level in range(NUM_RANKS)])
    place: NDArray[np.int64] = orders[levels, KIND_RANK[kinds]]
    return place


def payable(hands: Bits, levels: NDArray[np.integer]) -> U64:
    """What a payer may give, `(n,)`: the kinds of its highest rank, the wild excepted."""
    sets = _by_order()[levels, :15]
    held = sets & hands[:, 0, None]
    top = 14 - np.argmax(held[:, ::-1] != 0, axis=1)
    kinds: U64 = held[np.arange(len(hands)), top]
    return kinds


def returnable(
    hands: Bits,
    levels: NDArray[np.integer],
    received: NDArray[np.integer],
    to_partner: NDArray[np.bool_],
    limit: str,
) -> U64:
    """What a receiver may give back, `(n,)`, after it took the card `received` into its hand.

    `limit` is the RuleSet's `return_limit`. With nothing eligible: the lowest rank held in level
    order, the wild only if there is nothing else.
    """
    sets = _return_sets()
    if limit == "below_level_to_partner":
        eligible = np.where(to_partner, sets["below"][levels], sets["any"][levels])
    else:
        eligible = sets[limit][levels]
    given = _u(1) << received.astype(np.uint64)
    held = hands[:, 0] & ~(given & ~hands[:, 1])
    fallback = _by_order()[levels] & held[:, None]
    lowest = fallback[np.arange(len(hands)), np.argmax(fallback != 0, axis=1)]
    kinds: U64 = np.where(held & eligible != 0, held & eligible, lowest)
    return kinds


def big_jokers(hands: Bits) -> NDArray[np.int64]:
    """Big jokers held, in the shape of the hands without their last axis."""
    bit = _u(BIG_JOKER)
    return (((hands[..., 0] >> bit) & _u(1)) + ((hands[..., 1] >> bit) & _u(1))).astype(np.int64)
