"""What `planner` looks at in each legal play: named features, one number a play.

`play_features` gives them for all legal rows of all decisions at once. What a feature is worth
depends on the situation: leading, over an opponent's play, over the partner's play.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.card_count import Count, count_cards
from agents.hand_plan import (
    COLUMNS,
    RANK_COLUMN,
    ROW_WORDS,
    WILD,
    Floats,
    HandPlanner,
    Ints,
    Words,
    bombs_of,
    of_size,
    to_words,
)
from guandan_env import actions as table
from guandan_env import legality
from guandan_env.actions import IS_BOMB, NUM_ACTIONS, PASS, ROW_SIZE, ROW_WILDS, STRENGTH, Pattern
from guandan_env.cards import NUM_RANKS
from guandan_env.decisions import Decisions

LEAD, OPPONENT, PARTNER = range(3)

# Words in the explanations. *Danger*: 0 while both opponents have eleven cards or more, rising to
# 1 at one card. *Stand*: how likely the opponents do not beat the play in kind (card_count).
# *Near*: 1 / (1 + turns of the rest). *Few*: 0 while the partner has six cards or more, rising to
# 1 at one card. *Early*: the part of all cards not played. Cards of the next seat: of 27.
FEATURES: dict[str, str] = {
    # The hand that stays.
    "value": "value of the rest of the hand (hand_plan)",
    "value_danger": "value of the rest, times danger",
    "value_early": "value of the rest, times early",
    "value_next": "value of the rest, by the cards of the next seat",
    "value_few": "value of the rest, times few",
    "value_ended": "value of the rest, if a player is out already",
    "value_above_1": "value of the rest above -1",
    "value_above_2": "value of the rest above -2",
    "value_above_4": "value of the rest above -4",
    "turns": "turns that the rest takes",
    "turns_danger": "turns of the rest, times danger",
    "out": "no card is left",
    "one_left": "the rest is one play",
    "two_left": "the rest is two plays",
    "one_left_control": "control of the last play, if the rest is one play",
    "bombs_left": "bombs of one rank in the rest",
    "bombs_left_danger": "bombs of one rank in the rest, times danger",
    "singles_left": "singles in the rest",
    "weak_singles_left": "singles of little control in the rest",
    "strong_singles_left": "singles in the rest that are likely to stand",
    "pairs_left": "pairs in the rest",
    "weak_pairs_left": "pairs of little control in the rest",
    "strong_pairs_left": "pairs in the rest that are likely to stand",
    "triples_left": "triples in the rest",
    "wilds_left": "wilds in the rest",
    "wilds_left_early": "wilds in the rest, times early",
    # The play.
    "stand": "stand",
    "stand_danger": "stand, times danger",
    "stand_near": "stand, times near",
    "stand_one_left": "stand, if the rest is one play",
    "stand_two_left": "stand, if the rest is two plays",
    "stand_passed": "stand, if the next seat has passed in this trick",
    "stand_passed_next": "the same, by the cards of the next seat",
    "stand_few": "stand, times few",
    "stand_ended": "stand, if a player is out already",
    "stand_value": "stand, times the value of the rest",
    "sure": "nobody can beat the play",
    "sure_near": "nobody can beat the play, times near",
    "sure_one_left": "nobody can beat the play, and the rest is one play",
    "control": "control of the play: what it would be worth kept",
    "control_danger": "control of the play, times danger",
    "control_early": "control of the play, times early",
    "cards": "cards of the play, in tenths",
    "cards_danger": "cards of the play, in tenths, times danger",
    "cards_early": "cards of the play, in tenths, times early",
    "single": "a single",
    "pair": "a pair",
    "triple": "a triple",
    "full_house": "a full house",
    "straight": "a straight",
    "tube": "a tube",
    "plate": "a plate",
    "single_danger": "a single, times danger",
    "pair_danger": "a pair, times danger",
    "single_few": "a single, times few",
    "pair_few": "a pair, times few",
    "wilds": "wilds in a play that is no bomb",
    "wilds_near": "wilds in a play that is no bomb, times near",
    "bomb": "a bomb of any kind",
    "bomb_danger": "a bomb, times danger",
    "bomb_near": "a bomb, times near",
    "bomb_ended": "a bomb, if a player is out already",
    "bomb_tier": "strength of a bomb above the lowest",
    "bomb_over_bomb": "a bomb over a bomb",
    "bomb_over_cards": "a bomb, by the cards of the play to beat, in tenths",
    "mute": "more cards than either opponent has",
    "feeds_next": "the next seat holds exactly so many cards, times 1 - stand",
    "feeds_previous": "the same of the previous seat",
    "feeds_close": "an opponent has so many cards or up to two more, times 1 - stand",
    "feeds_partner": "the partner holds exactly so many cards, times 1 - stand",
    "feeds_partner_close": "the partner has so many cards or up to two more, times 1 - stand",
    # The pass.
    "pass": "a pass",
    "pass_danger": "a pass, times danger",
    "pass_next": "a pass, if the next seat has one to three cards",
    "pass_previous": "a pass, if the previous seat has one to three cards",
    "pass_loses": "a pass after which the opponent has the trick",
    "pass_loses_danger": "a pass after which the opponent has the trick, times danger",
    "pass_loses_value": "such a pass, by the value of the hand",
    "pass_stand": "a pass, by how likely the play to beat stands",
    "pass_stand_danger": "the same, times danger",
    "pass_partner": "a pass, with the partner still to answer",
    "pass_partner_passed": "a pass, if the partner has passed in this trick",
    "pass_passed": "a pass, if the next seat has passed in this trick",
    "pass_passed_next": "the same, by the cards of the next seat",
    "pass_few": "a pass, times few",
    "pass_behind": "a pass, if the partner has fewer cards",
    "pass_near": "a pass, divided by the turns of the hand",
    "pass_ended": "a pass, if a player is out already",
    "pass_bomb": "a pass over a bomb",
    "pass_bombs": "a pass, by the bombs of one rank in the hand",
    "pass_cards": "a pass, by the cards of the play to beat, in tenths",
}
NAMES = tuple(FEATURES)

_STRENGTH = STRENGTH.astype(np.int64)
# Groups of one and of two cards: below this control they are weak, above this stand strong.
WEAK = ((0, 0.3), (1, 0.3))
STRONG = ((0, 0.6), (1, 0.6))


def _slots() -> Ints:
    """`(13, 2244)`: cell of stand and control `(3, 15)` that each row uses, -1 for none."""
    key = np.broadcast_to(table.ROW_KEY.astype(np.int64), (NUM_RANKS, NUM_ACTIONS))
    key = np.where(key == table.LEVEL_KEY, np.arange(NUM_RANKS)[:, None], key)
    pattern = table.ROW_PATTERN
    triples = (pattern == Pattern.TRIPLE) | (pattern == Pattern.FULL_HOUSE)
    same = [pattern == Pattern.SINGLE, pattern == Pattern.PAIR, triples]
    return np.select(same, [key, 15 + key, 30 + key], -1)


def _bomb_stand() -> Floats:
    """`(13, 2244)`: how likely bombs stand, from their strength alone."""
    s = _STRENGTH
    return np.select(
        [s >= 600, s >= 400, s >= 300, s >= 200, s >= 100],
        [0.99, 0.93, 0.85, 0.75, 0.5 + (s - 100) * 0.015],
        0.0,
    )


def _sequence_stand() -> Floats:
    """`(2244,)`: how likely sequences stand, from their position alone."""
    position = (table.ROW_KEY.astype(np.float64) + 1) % NUM_RANKS
    pattern = table.ROW_PATTERN
    return np.select(
        [pattern == Pattern.STRAIGHT, pattern == Pattern.TUBE, pattern == Pattern.PLATE],
        [0.25 + position / 15, 0.7 + position / 40, 0.8 + position / 60],
        0.0,
    )


_SLOT = _slots()
_STAND = np.where(IS_BOMB, _bomb_stand(), _sequence_stand())
_TIER = np.where(IS_BOMB, np.minimum(_STRENGTH, 800) / 100 - 1, 0.0)
_SIZE = ROW_SIZE.astype(np.int64)
_PLAIN_WILDS = np.where(IS_BOMB, 0, ROW_WILDS).astype(np.float64)
_BASIC = (
    Pattern.SINGLE,
    Pattern.PAIR,
    Pattern.TRIPLE,
    Pattern.FULL_HOUSE,
    Pattern.STRAIGHT,
    Pattern.TUBE,
    Pattern.PLATE,
)


@dataclass(frozen=True)
class Candidates:
    """All legal plays of n decisions, m together, by ascending decision and row.

    of, rows: `(m,)`. start: `(n,)`, the first of each decision. values: each feature `(m,)`, by
    name. situation: `(n,)`, LEAD, OPPONENT or PARTNER.
    """

    of: Ints
    rows: Ints
    start: Ints
    values: dict[str, NDArray[np.generic]]
    situation: Ints


def play_features(d: Decisions, planner: HandPlanner) -> Candidates:
    """The legal plays of decisions in the phase of play, and their features."""
    n = len(d)
    level = d.level.astype(np.int64)
    number = legality.count(d.packed)
    of = np.repeat(np.arange(n), number)
    rows = np.flatnonzero(d.mask.view(bool)) - of * NUM_ACTIONS
    start = np.cumsum(number) - number
    count = count_cards(d, planner.weights)
    plans = planner.plans(count.counts, count.suits, level, count.control)
    outlook = planner.evaluate(plans, of, ROW_WORDS[rows])
    value, turns = outlook.value, outlook.turns

    at = np.arange(n)
    seat, lead = d.seat.astype(np.int64), d.lead.astype(np.int64)
    own, following, partner, before = (
        d.counts[at, (seat + i) % 4].astype(np.int64) for i in range(4)
    )
    fewest = np.minimum(np.where(following > 0, following, 99), np.where(before > 0, before, 99))
    most = np.maximum(following, before)
    danger_of = np.clip((11 - fewest) / 10, 0, 1)
    few_of = np.clip((6 - partner) / 5, 0, 1) * (partner > 0)
    leads = lead == PASS
    by = (d.lead_seat - seat) % 4
    by_partner = ~leads & (by == 2)
    loses = ~leads & ((by == 1) | ((by == 3) & (partner == 0)))
    no_bombs = ~count.bombs_out | (most < 4)
    lead_stand, _ = stand_and_control(count, planner, level, at, lead)
    lead_stand = np.where((_SIZE[lead] > most) & ~IS_BOMB[lead], 1.0, lead_stand)

    size, bomb, passing = _SIZE[rows], IS_BOMB[rows], rows == PASS
    stand, control = stand_and_control(count, planner, level, of, rows)
    mute = (size > most[of]) & ~passing
    stand = np.where(mute & (~bomb | no_bombs[of]), 1.0, stand)
    sure = (stand >= 1) & no_bombs[of]
    exposed = np.where(passing, 0.0, 1 - stand)
    bombs_left = number_of(bombs_of(outlook.groups))
    singles, pairs, triples = (of_size(outlook.groups, size) for size in (1, 2, 3))
    weak = [to_words(columns(count.control[:, i] < limit)) for i, limit in WEAK]
    strong = [to_words(columns(count.stand[:, i] > limit)) for i, limit in STRONG]
    wilds_left = (outlook.groups[:, 1] >> np.uint64(8 * (WILD - 8)) & np.uint64(3)).astype(np.int64)
    near = 1 / (1 + turns)
    danger, few = danger_of[of], few_of[of]
    early = (d.counts.sum(axis=1) / 108)[of]
    next_share = (following / 27)[of]
    ended = (d.order[:, 0] >= 0)[of]
    next_passed = (d.last[at, (seat + 1) % 4] == PASS)[of]
    partner_passed = (d.last[at, (seat + 2) % 4] == PASS)[of]
    one_left, two_left = turns == 1, turns == 2
    tenths = size / 10
    lead_tenths = (_SIZE[lead] / 10)[of]
    wilds = _PLAIN_WILDS[rows]
    is_pattern = {p.name.lower(): table.ROW_PATTERN[rows] == p for p in _BASIC}
    over_partner = partner[of] - size
    over_next, over_before = following[of] - size, before[of] - size
    close = ((over_next >= 0) & (over_next <= 2)) | ((over_before >= 0) & (over_before <= 2))
    pass_loses = passing & loses[of]
    pass_stand = passing * lead_stand[of]
    values: dict[str, NDArray[np.generic]] = {
        "value": value,
        "value_danger": value * danger,
        "value_early": value * early,
        "value_next": value * next_share,
        "value_few": value * few,
        "value_ended": value * ended,
        "value_above_1": np.maximum(value + 1, 0),
        "value_above_2": np.maximum(value + 2, 0),
        "value_above_4": np.maximum(value + 4, 0),
        "turns": turns,
        "turns_danger": turns * danger,
        "out": turns == 0,
        "one_left": one_left,
        "two_left": two_left,
        "one_left_control": one_left * (value + 1),
        "bombs_left": bombs_left,
        "bombs_left_danger": bombs_left * danger,
        "singles_left": number_of(singles),
        "weak_singles_left": number_of(singles & weak[0][of]),
        "strong_singles_left": number_of(singles & strong[0][of]),
        "pairs_left": number_of(pairs),
        "weak_pairs_left": number_of(pairs & weak[1][of]),
        "strong_pairs_left": number_of(pairs & strong[1][of]),
        "triples_left": number_of(triples),
        "wilds_left": wilds_left,
        "wilds_left_early": wilds_left * early,
        "stand": stand,
        "stand_danger": stand * danger,
        "stand_near": stand * near,
        "stand_one_left": stand * one_left,
        "stand_two_left": stand * two_left,
        "stand_passed": stand * next_passed,
        "stand_passed_next": stand * next_passed * next_share,
        "stand_few": stand * few,
        "stand_ended": stand * ended,
        "stand_value": stand * value,
        "sure": sure,
        "sure_near": sure * near,
        "sure_one_left": sure & one_left,
        "control": control,
        "control_danger": control * danger,
        "control_early": control * early,
        "cards": tenths,
        "cards_danger": tenths * danger,
        "cards_early": tenths * early,
        **is_pattern,
        "single_danger": is_pattern["single"] * danger,
        "pair_danger": is_pattern["pair"] * danger,
        "single_few": is_pattern["single"] * few,
        "pair_few": is_pattern["pair"] * few,
        "wilds": wilds,
        "wilds_near": wilds * near,
        "bomb": bomb,
        "bomb_danger": bomb * danger,
        "bomb_near": bomb * near,
        "bomb_ended": bomb & ended,
        "bomb_tier": _TIER[level[of], rows],
        "bomb_over_bomb": bomb & IS_BOMB[lead][of],
        "bomb_over_cards": bomb * lead_tenths,
        "mute": mute,
        "feeds_next": exposed * (over_next == 0),
        "feeds_previous": exposed * (over_before == 0),
        "feeds_close": exposed * close,
        "feeds_partner": exposed * (over_partner == 0),
        "feeds_partner_close": exposed * ((over_partner >= 0) & (over_partner <= 2)),
        "pass": passing,
        "pass_danger": passing * danger,
        "pass_next": passing & ((following >= 1) & (following <= 3))[of],
        "pass_previous": passing & ((before >= 1) & (before <= 3))[of],
        "pass_loses": pass_loses,
        "pass_loses_danger": pass_loses * danger,
        "pass_loses_value": pass_loses * value,
        "pass_stand": pass_stand,
        "pass_stand_danger": pass_stand * danger,
        "pass_partner": passing & (~leads & (by == 3) & (partner > 0))[of],
        "pass_partner_passed": passing & partner_passed,
        "pass_passed": passing & next_passed,
        "pass_passed_next": passing * next_passed * next_share,
        "pass_few": passing * few,
        "pass_behind": passing & ((partner > 0) & (partner < own))[of],
        "pass_near": passing / np.maximum(turns, 1),
        "pass_ended": passing & ended,
        "pass_bomb": passing & IS_BOMB[lead][of],
        "pass_bombs": passing * bombs_left,
        "pass_cards": passing * lead_tenths,
    }
    situation = np.where(leads, LEAD, np.where(by_partner, PARTNER, OPPONENT))
    return Candidates(of, rows, start, values, situation)


def columns(ranks: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Marks `(n, 15)` by rank as columns `(n, 16)`."""
    marks = np.zeros((len(ranks), COLUMNS), dtype=np.uint8)
    marks[:, RANK_COLUMN] = ranks
    return marks


def number_of(marks: Words) -> NDArray[np.uint8]:
    """How many columns of words `(m, 2)` are marked by one bit each, `(m,)`."""
    bits = np.bitwise_count(marks)
    return bits[:, 0] + bits[:, 1]


def stand_and_control(
    count: Count, planner: HandPlanner, level: Ints, of: Ints, rows: Ints
) -> tuple[Floats, Floats]:
    """Stand and control `(m,)` of rows `(m,)` of decisions `of` `(m,)`."""
    slot = _SLOT[level[of], rows]
    grouped = slot >= 0
    cell = of * 45 + np.where(grouped, slot, 0)
    stand = np.where(grouped, count.stand.reshape(-1)[cell], _STAND[level[of], rows])
    control = np.where(grouped, count.control.reshape(-1)[cell], planner.row_control[rows])
    return stand, control
