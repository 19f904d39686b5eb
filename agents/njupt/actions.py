"""Actions as the platform writes them, `[pattern, rank, cards]`, and the list of the legal ones.

Bots break ties by place in the list, and some compare lists of cards, so both orders are fixed:

- Actions come by pattern (`PATTERNS`), bombs by size with the joker bomb last, then by strength at
  the level (a full house by its three), then with fewer wilds first, then by the rank of a full
  house's pair, then by suits S H C D, a wild after them.
- Cards come by rank as the play shows them: a sequence from its lowest card on, a full house with
  the three first; inside a rank by suits S H C D, a wild last in the rank that it completes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from guandan_env.actions import (
    FIRST_CARD,
    JOKER_BOMB,
    PASS,
    ROWS,
    STRENGTH,
    Pattern,
    level_order,
)
from guandan_env.cards import (
    KIND_NAMES,
    KIND_OF,
    KIND_RANK,
    NUM_RANKS,
    RANKS,
    SMALL_JOKER,
    Counts,
    card_names,
    counts_of,
    kinds_of,
    wild_kind,
)
from guandan_env.errors import PlayError, shown
from guandan_env.notation import PATTERN_WORDS, key_word, row_of
from guandan_env.plays import plays_of_rows
from guandan_env.state import Phase


class Form(Enum):
    """Whose messages: the offline platform's of 2020 and later, or OpenGuanDan's."""

    OLD = "old"
    OPEN = "open"


# The platform's words in the order of its list of actions.
PATTERNS: dict[Pattern, str] = {
    Pattern.PASS: "PASS",
    Pattern.SINGLE: "Single",
    Pattern.PAIR: "Pair",
    Pattern.TRIPLE: "Trips",
    Pattern.TUBE: "ThreePair",
    Pattern.FULL_HOUSE: "ThreeWithTwo",
    Pattern.PLATE: "TwoTrips",
    Pattern.STRAIGHT: "Straight",
    Pattern.STRAIGHT_FLUSH: "StraightFlush",
    Pattern.BOMB: "Bomb",
}
_PLACE = {pattern: place for place, pattern in enumerate([*PATTERNS, Pattern.JOKER_BOMB])}
_PASS = ["PASS", "PASS", "PASS"]
JOKER_BOMBS = {Form.OLD: ("Bomb", "JOKER"), Form.OPEN: ("FourKings", "B")}
JOKERS = ("SB", "SB", "HR", "HR")
STAGES = {Phase.PLAY: "play", Phase.PAY: "tribute", Phase.RETURN: "back"}
# What manuals of several years call the same patterns.
_PLAY_WORDS = {
    **{word: pattern for pattern, word in PATTERNS.items() if pattern is not Pattern.PASS},
    "TripsPair": Pattern.TUBE,
    "Boom": Pattern.BOMB,
}


@dataclass(frozen=True)
class Action:
    """A row of the action table with exact cards, in the order in which the platform shows them.

    stage: `play`, `tribute` or `back`. rank: what is compared, as a character; empty for others
    than plays. cards: empty for a pass.
    """

    row: int
    cards: tuple[str, ...] = ()
    rank: str = ""
    stage: str = "play"

    def wire(self, form: Form = Form.OLD) -> list[Any]:
        """The action as a message has it."""
        if self.row == PASS:
            return _PASS
        if self.stage != "play":
            return [self.stage, self.stage, list(self.cards)]
        if self.row == JOKER_BOMB:
            return [*JOKER_BOMBS[form], list(self.cards)]
        return [PATTERNS[ROWS[self.row].pattern], self.rank, list(self.cards)]

    def counts(self) -> Counts:
        """The cards as counts `(54,)`."""
        return counts_of([KIND_OF[card] for card in self.cards])


def sorted_cards(counts: Counts, level: int) -> list[str]:
    """A hand `(54,)` from low to high in level order, suits S H C D (level: a rank 0…12)."""
    order = level_order(level)
    kinds = sorted(kinds_of(counts), key=lambda kind: (order[KIND_RANK[kind]], kind))
    return [KIND_NAMES[kind] for kind in kinds]


def play_action(row: int, cards: Iterable[str], level: int) -> Action:
    """The action of a row of a play (or of a pass) with its exact cards, in any order."""
    if row == PASS:
        return Action(PASS)
    rank = key_word(row, level)
    return Action(row, _in_order(row, sorted(cards, key=KIND_OF.__getitem__), level), rank)


def card_action(row: int, stage: str) -> Action:
    """The action of a row of one card, to pay or to return."""
    return Action(row, (KIND_NAMES[row - FIRST_CARD],), stage=stage)


def legal_actions(
    rows: Sequence[int],
    hand: Counts,
    level: int,
    phase: Phase = Phase.PLAY,
    *,
    flush_straight_as_straight: bool = False,
) -> list[Action]:
    """Every action that legal rows allow with a hand `(54,)`, in the platform's order.

    Parameters: `rows`, the legal rows; `level`, a rank 0…12; `phase`, `PLAY`, `PAY` or `RETURN`.
    Raises `PlayError` for another phase, which the platform does not know.
    """
    if phase not in STAGES:
        raise PlayError(f"the platform has no message for the phase {phase.name}")
    if phase is not Phase.PLAY:
        order = level_order(level)
        rows = sorted(rows, key=lambda r: (order[KIND_RANK[r - FIRST_CARD]], r))
        return [card_action(row, STAGES[phase]) for row in rows]
    found = plays_of_rows(
        [row for row in rows if row != PASS],
        card_names(hand),
        RANKS[level],
        flush_straight_as_straight=flush_straight_as_straight,
    )
    actions = [Action(row, _in_order(row, play.cards, level), play.key) for row, play in found]
    actions.sort(key=lambda action: _key(action, level))
    return [Action(PASS), *actions] if PASS in rows else actions


def read_action(
    wire: Sequence[Any], level: int, *, flush_straight_as_straight: bool = False
) -> Action:
    """The action that a message means, in either form; cards may come in any order.

    Raises `PlayError` for what is no action at this level (a rank 0…12), `CardError` for what is
    no card.
    """
    if len(wire) != 3 or not all(isinstance(word, str) for word in wire[:2]):
        raise PlayError(f"{shown(wire)} is no action [pattern, rank, cards]")
    pattern, rank, cards = wire
    if pattern == "PASS":
        return Action(PASS)
    if not isinstance(cards, (list, tuple)):
        raise PlayError(f"the cards of {shown(wire)} are no list")
    if pattern in ("tribute", "back"):
        if len(cards) != 1 or cards[0] not in KIND_OF:
            raise PlayError(f"{shown(wire)} is no {pattern} of one card")
        return card_action(FIRST_CARD + KIND_OF[cards[0]], pattern)
    if (pattern, rank) in JOKER_BOMBS.values() or pattern == "FourKings":
        row = row_of(list(cards), RANKS[level], "JokerBomb")
        return Action(row, JOKERS, key_word(row, level))
    if pattern not in _PLAY_WORDS:
        raise PlayError(f"{shown(pattern)} is no pattern of the platform")
    ours = PATTERN_WORDS[_PLAY_WORDS[pattern]]
    flush = flush_straight_as_straight
    row = row_of(list(cards), RANKS[level], ours, rank, flush_straight_as_straight=flush)
    return play_action(row, cards, level)


def find_index(wire: Sequence[Any], actions: Sequence[Action], form: Form) -> int | None:
    """Where an action stands in a list: to the letter, else with its cards in another order."""
    wires = [action.wire(form) for action in actions]
    given = list(wire)
    if given in wires:
        return wires.index(given)
    try:
        plain = [*given[:2], sorted(given[2])]
        return next(i for i, w in enumerate(wires) if [*w[:2], sorted(w[2])] == plain)
    except (StopIteration, TypeError):
        return None


@cache
def _ranks(row: int) -> tuple[tuple[int, int, int], ...]:
    """The ranks that a row shows, in order: rank, natural cards, wilds that stand in."""
    told = ROWS[row]
    start = told.key if told.key < NUM_RANKS else 0
    order = [*((start + i) % NUM_RANKS for i in range(NUM_RANKS)), 13, 14]
    stands = [*told.wild_as, 0, 0]
    return tuple((r, told.naturals[r], stands[r]) for r in order if told.naturals[r] or stands[r])


def _in_order(row: int, cards: Sequence[str], level: int) -> tuple[str, ...]:
    """Cards of a row, given in canonical order, as the platform shows them."""
    wild = wild_kind(level)
    of_rank: dict[int, list[str]] = {}
    for card in cards:
        kind = KIND_OF[card]
        if kind != wild:
            of_rank.setdefault(int(KIND_RANK[kind]), []).append(card)
    out: list[str] = []
    for rank, naturals, stands in _ranks(row):
        out += (of_rank[rank] if naturals else []) + [KIND_NAMES[wild]] * stands
    # Wilds that show nothing but themselves: alone, as a pair, as the pair of a full house.
    out += [KIND_NAMES[wild]] * (len(cards) - len(out))
    return tuple(out)


def _key(action: Action, level: int) -> tuple[Any, ...]:
    row = ROWS[action.row]
    size = len(action.cards) if row.pattern is Pattern.BOMB else 0
    wild = KIND_NAMES[wild_kind(level)]
    suits = tuple(
        4 if card == wild else KIND_OF[card] % 4 if KIND_OF[card] < SMALL_JOKER else 0
        for card in action.cards
    )
    strength = int(STRENGTH[level, action.row])
    return _PLACE[row.pattern], size, strength, row.wilds, _pair_place(action.row, level), suits


@cache
def _pair_place(row: int, level: int) -> int:
    """The place in level order of a full house's pair, 0 for all other rows."""
    if ROWS[row].pattern is not Pattern.FULL_HOUSE:
        return 0
    other = [rank for rank, _, _ in _ranks(row)[1:]] or [level]
    return int(level_order(level)[other[0]])
