"""What a seat can tell from its hand and the cards played: which plays are likely to stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.hand_plan import COLUMNS, WILD, Floats, Ints
from agents.planner_weights import PlanWeights
from guandan_env.actions import level_order
from guandan_env.cards import NUM_RANKS
from guandan_env.decisions import Decisions
from guandan_env.legality import straight_flushes

_PLACE = np.stack([level_order(level) for level in range(NUM_RANKS)])
_RANK_AT = np.argsort(_PLACE, axis=1)
# By the number of unseen cards of a rank (0…8): how far they count as a pair, and as a triple.
_AS_PAIR = np.array([0, 0, 0.35, 0.7, 0.9, 1, 1, 1, 1])
_AS_TRIPLE = np.array([0, 0, 0, 0.15, 0.4, 0.65, 0.8, 0.9, 1])


@dataclass(frozen=True)
class Count:
    """Hands and what is out, of n decisions.

    counts: `(n, 16)` own cards by column (see hand_plan). suits: `(n, 13, 4)`, natural cards held.
    stand: `(n, 3, 15)`, how likely one, two and three cards of a rank are not beaten in kind by
    the opponents. control: `(n, 3, 15)`, what they are worth in taking the lead (PlanWeights).
    bombs_out: `(n,)`, the unseen cards may hold a bomb.
    """

    counts: NDArray[np.uint8]
    suits: NDArray[np.bool_]
    stand: Floats
    control: Floats
    bombs_out: NDArray[np.bool_]


def count_cards(d: Decisions, weights: PlanWeights) -> Count:
    """Own and unseen cards of decisions, and the control they give."""
    n = len(d)
    at = np.arange(n)
    level = d.level.astype(np.int64)
    counts, suits = hand_columns(d.hand, level)
    gone = d.hand + d.played.sum(axis=1, dtype=np.uint8)
    unseen = np.empty((n, 15), dtype=np.int64)
    unseen[:, :13] = 8 - gone[:, :52].reshape(n, 13, 4).sum(axis=2, dtype=np.uint8)
    unseen[:, 13:] = 2 - gone[:, 52:]
    wild = 4 * level + 1
    seat = d.seat.astype(np.int64)
    theirs = d.counts[at, (seat + 1) % 4] + d.counts[at, (seat + 3) % 4].astype(np.int64)
    all_theirs = np.maximum(unseen.sum(axis=1), 1)
    weight = np.stack([unseen.astype(np.float64), _AS_PAIR[unseen], _AS_TRIPLE[unseen]], axis=1)
    weight[:, 2, 13:] = 0
    order = _RANK_AT[level][:, None, :]
    placed = np.take_along_axis(weight, order, axis=2)
    upto = np.cumsum(placed, axis=2)
    total = upto[:, :, -1:]
    place = _PLACE[level][:, None, :]
    above = np.take_along_axis(total - upto, place, axis=2)
    higher = above * (theirs / all_theirs)[:, None, None]
    risk = np.array([weights.risk_single, weights.risk_pair, weights.risk_triple])
    stand = 1 / (1 + risk[:, None] * higher)
    stand *= stand
    share = 1 - above / np.maximum(total, 1e-9)
    control = weights.share * share * share + (1 - weights.share) * stand
    # A rank's cards with the wilds, which count among the level's; or a straight flush.
    wilds = 2 - gone[at, wild]
    together = unseen[:, :13] + wilds[:, None]
    together[at, level] -= wilds
    out = 2 - gone[:, :52].reshape(n, 13, 4) > 0
    flush = straight_flushes(_suited_bits(out), wilds.astype(np.uint64)) != 0
    bombs_out = (together >= 4).any(axis=1) | (unseen[:, 13:] == 2).all(axis=1) | flush
    return Count(counts, suits, stand, control, bombs_out)


def hand_columns(
    hands: NDArray[np.uint8], level: Ints
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Counts `(n, 16)` by column and natural cards held `(n, 13, 4)`, of hands `(n, 54)`."""
    n, wild = len(hands), 4 * level + 1
    naturals = hands.copy()
    counts = np.zeros((n, COLUMNS), dtype=np.uint8)
    counts[:, WILD] = hands[np.arange(n), wild]
    naturals[np.arange(n), wild] = 0
    suits = naturals[:, :52].reshape(n, 13, 4)
    counts[:, :13] = suits.sum(axis=2, dtype=np.uint8)
    counts[:, 14:] = hands[:, 52:]
    return counts, suits != 0


def _suited_bits(held: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Cards `(n, 13, 4)` as bits `(n,)` by kind."""
    padded = np.zeros((len(held), 64), dtype=bool)
    padded[:, :52] = held.reshape(-1, 52)
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)[:, 0]
