"""What networks are given of a decision: the observation, and each legal row with its features.

The legal rows of many decisions stand together, ragged: `number` says how many each decision has.
The features of a candidate say what a network would find hard to work out by itself: what the play
does to the hand (its best partition into plays, `hand_plan`), how likely it stands (`card_count`),
and whether it fits what the others hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from agents.card_count import Count, count_cards, hand_columns
from agents.hand_plan import ROW_WORDS, WILD, HandPlanner, Ints, Words, bombs_of, of_size, to_words
from agents.planner_weights import WEIGHTS
from agents.play_features import STRONG, WEAK, columns, number_of, stand_and_control
from guandan_env import legality, observation
from guandan_env.actions import FIRST_CARD, IS_BOMB, NUM_ACTIONS, PASS, ROW_SIZE, STRENGTH
from guandan_env.cards import NUM_KINDS
from guandan_env.decisions import Decisions
from guandan_env.state import Phase

CANDIDATES_VERSION = "candidates-v1"

# What is left is meant of the hand after the play. A group is some cards of one rank.
CANDIDATE_FEATURES: dict[str, str] = {
    "value": "value of the rest of the hand (hand_plan), in fours",
    "behind": "how far that is below the best candidate's",
    "turns": "turns that the rest takes, in eighths",
    "near": "1 / (1 + turns of the rest)",
    "out": "no card is left",
    "one_left": "the rest is one play",
    "two_left": "the rest is two plays",
    "last_control": "control of the last play, if the rest is one play",
    "bombs_left": "bombs of one rank, in halves",
    "singles_left": "singles, in eighths",
    "weak_singles_left": "singles of little control, in eighths",
    "strong_singles_left": "singles that are likely to stand, in eighths",
    "pairs_left": "pairs, in quarters",
    "weak_pairs_left": "pairs of little control, in quarters",
    "strong_pairs_left": "pairs that are likely to stand, in quarters",
    "triples_left": "triples, in quarters",
    "wilds_left": "wilds, in halves",
    "stand": "how likely the opponents do not beat the play in kind (card_count)",
    "stand_near": "stand times near",
    "stand_value": "stand times value",
    "stand_one_left": "stand, if the rest is one play",
    "sure": "nobody can beat the play",
    "sure_one_left": "nobody can beat the play, and the rest is one play",
    "control": "what the play would be worth in taking the lead, kept",
    "tier": "strength of a bomb, in eighths",
    "mute": "more cards than either opponent has",
    "feeds_next": "the next seat holds exactly so many cards, times 1 - stand",
    "feeds_previous": "the same of the previous seat",
    "feeds_close": "an opponent has so many cards or up to two more, times 1 - stand",
    "feeds_partner": "the partner holds exactly so many cards, times 1 - stand",
    "feeds_partner_close": "the partner has so many cards or up to two more, times 1 - stand",
    "pass_stand": "of a pass: how likely the play to beat stands",
}
NUM_FEATURES = len(CANDIDATE_FEATURES)

_SIZE = ROW_SIZE.astype(np.int64)
_TIER = np.where(IS_BOMB, np.minimum(STRENGTH.astype(np.int64), 800) / 800, 0.0)
PLANNER = HandPlanner(WEIGHTS.plan)  # knows nothing but its weights
# Decisions that are worked on together: their tables then fit the processor's cache.
_TOGETHER = 512


@dataclass(frozen=True)
class Inputs:
    """What a network sees of n decisions with m legal rows together.

    observation: `(n, 902) int8`. number: `(n,) int64`, legal rows of each decision. rows: `(m,)
    int16`, by decision and ascending. features: `(m, 32) float16`, see `CANDIDATE_FEATURES`.
    """

    observation: NDArray[np.int8]
    number: NDArray[np.int64]
    rows: NDArray[np.int16]
    features: NDArray[np.float16]

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def start(self) -> Ints:
        """The first candidate of each decision, `(n,)`."""
        return np.cumsum(self.number) - self.number

    @cached_property
    def of(self) -> Ints:
        """The decision of each candidate, `(m,)`."""
        return np.repeat(np.arange(len(self)), self.number)

    def take(self, chosen: NDArray[np.integer]) -> Inputs:
        """Some decisions, by their positions, with their candidates."""
        number = self.number[chosen]
        first = np.cumsum(number) - number
        at = np.repeat(self.start[chosen] - first, number) + np.arange(number.sum())
        return Inputs(self.observation[chosen], number, self.rows[at], self.features[at])

    @classmethod
    def join(cls, parts: Sequence[Inputs]) -> Inputs:
        """One after the other."""
        return cls(
            np.concatenate([part.observation for part in parts]),
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.features for part in parts]),
        )


def inputs_of(decisions: Decisions) -> Inputs:
    """What a network sees of decisions."""
    n = len(decisions)
    number = legality.count(decisions.packed)
    of = np.repeat(np.arange(n), number)
    rows = np.flatnonzero(decisions.mask.view(bool)) - of * NUM_ACTIONS
    features = np.zeros((len(rows), NUM_FEATURES), dtype=np.float16)
    start = np.cumsum(number) - number
    playing = decisions.phase == Phase.PLAY
    if playing.all():
        for begin in range(0, n, _TOGETHER):
            some = np.arange(begin, min(begin + _TOGETHER, n))
            mine = slice(start[begin], start[some[-1]] + number[some[-1]])
            part = decisions if n <= _TOGETHER else decisions.take(some)
            features[mine] = _play_features(part, of[mine] - begin, rows[mine])
    else:
        for chosen, function in ((playing, _play_features), (~playing, _tribute_features)):
            at = np.flatnonzero(chosen)
            if at.size:
                theirs = chosen[of]
                place = np.cumsum(chosen) - 1
                features[theirs] = function(decisions.take(at), place[of[theirs]], rows[theirs])
    return Inputs(observation.encode(decisions), number, rows.astype(np.int16), features)


def _play_features(d: Decisions, of: Ints, rows: Ints) -> NDArray[np.float64]:
    """Features `(m, 32)` of rows `(m,)` of decisions `of` `(m,)` in the phase of play."""
    n = len(d)
    at = np.arange(n)
    level = d.level.astype(np.int64)
    count = count_cards(d, PLANNER.weights)
    plans = PLANNER.plans(count.counts, count.suits, level, count.control)
    outlook = PLANNER.evaluate(plans, of, ROW_WORDS[rows])
    value, turns = outlook.value / 4, outlook.turns

    seat, lead = d.seat.astype(np.int64), d.lead.astype(np.int64)
    following, partner, before = (
        d.counts[at, (seat + i) % 4].astype(np.int64) for i in range(1, 4)
    )
    most = np.maximum(following, before)
    no_bombs = ~count.bombs_out | (most < 4)
    lead_stand, _ = stand_and_control(count, PLANNER, level, at, lead)
    lead_stand = np.where((_SIZE[lead] > most) & ~IS_BOMB[lead], 1.0, lead_stand)
    size, bomb, passing = _SIZE[rows], IS_BOMB[rows], rows == PASS
    stand, control = stand_and_control(count, PLANNER, level, of, rows)
    mute = (size > most[of]) & ~passing
    stand = np.where(mute & (~bomb | no_bombs[of]), 1.0, stand)
    sure = (stand >= 1) & no_bombs[of]
    exposed = np.where(passing, 0.0, 1 - stand)
    near = 1 / (1 + turns)
    one_left = turns == 1
    over_next, over_before = following[of] - size, before[of] - size
    over_partner = partner[of] - size
    close = ((over_next >= 0) & (over_next <= 2)) | ((over_before >= 0) & (over_before <= 2))
    start = np.searchsorted(of, at)
    best = np.maximum.reduceat(value, start)
    out = np.empty((len(rows), NUM_FEATURES))
    for i, feature in enumerate(
        (
            value,
            best[of] - value,
            turns / 8,
            near,
            turns == 0,
            one_left,
            turns == 2,
            one_left * (4 * value + 1),
            *group_counts(outlook.groups, count, of),
            (outlook.groups[:, 1] >> np.uint64(8 * (WILD - 8)) & np.uint64(3)) / 2,
            stand,
            stand * near,
            stand * value,
            stand * one_left,
            sure,
            sure & one_left,
            control,
            _TIER[level[of], rows],
            mute,
            exposed * (over_next == 0),
            exposed * (over_before == 0),
            exposed * close,
            exposed * (over_partner == 0),
            exposed * ((over_partner >= 0) & (over_partner <= 2)),
            passing * lead_stand[of],
        )
    ):
        out[:, i] = feature
    return out


def group_counts(groups: Words, count: Count, of: Ints) -> list[NDArray[np.float64]]:
    """How many groups of each sort are in hands `(m, 2)` of decisions `of`, eight times `(m,)`.

    Bombs; singles, the weak and the strong among them; pairs likewise; triples: scaled as
    `CANDIDATE_FEATURES` says.
    """
    singles, pairs, triples = (of_size(groups, size) for size in (1, 2, 3))
    weak = [to_words(columns(count.control[:, i] < limit)) for i, limit in WEAK]
    strong = [to_words(columns(count.stand[:, i] > limit)) for i, limit in STRONG]
    return [
        number_of(bombs_of(groups)) / 2,
        number_of(singles) / 8,
        number_of(singles & weak[0][of]) / 8,
        number_of(singles & strong[0][of]) / 8,
        number_of(pairs) / 4,
        number_of(pairs & weak[1][of]) / 4,
        number_of(pairs & strong[1][of]) / 4,
        number_of(triples) / 4,
    ]


def _tribute_features(d: Decisions, of: Ints, rows: Ints) -> NDArray[np.float64]:
    """Features `(m, 32)` of rows in the phases of tribute: only the hand that stays is known."""
    hands = d.hand[of]
    card = np.flatnonzero((rows >= FIRST_CARD) & (rows < FIRST_CARD + NUM_KINDS))
    taken = np.where(d.phase[of[card]] == Phase.CHOOSE, 1, -1)
    hands[card, rows[card] - FIRST_CARD] += taken.astype(np.uint8)  # -1 wraps to what it should
    level = d.level.astype(np.int64)[of]
    count = count_cards(d, PLANNER.weights)
    plans = PLANNER.plans(*hand_columns(hands, level), level, count.control[of])
    every = np.arange(len(rows))
    outlook = PLANNER.evaluate(plans, every, np.zeros((len(rows), 2), dtype=np.uint64))
    value = outlook.value / 4
    best = np.maximum.reduceat(value, np.searchsorted(of, np.arange(len(d))))
    out = np.zeros((len(rows), NUM_FEATURES))
    out[:, 0], out[:, 1], out[:, 2] = value, best[of] - value, outlook.turns / 8
    out[:, 3] = 1 / (1 + outlook.turns)
    return out
