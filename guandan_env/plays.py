"""Every play of exact cards in one position: for wire formats, records, and as a check.

The enumeration is driven by the action table: a row is legal exactly if some exact play of it
is (RULES 2 and 3 say which). Suits are chosen rank by rank and combined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np

from guandan_env.actions import IS_PLAY, ROW_NATURALS, ROW_WILDS, ROWS, Pattern, Row, beats
from guandan_env.cards import KIND_NAMES, KIND_RANK, Counts, kinds_of, parse_rank, wild_kind
from guandan_env.checks import check_flag
from guandan_env.errors import PlayError, shown
from guandan_env.notation import (
    PATTERN_WORDS,
    check_row,
    hand_counts,
    key_word,
    parse_pattern,
    row_name,
    row_of,
)


@dataclass(frozen=True)
class Play:
    """Exact cards with what they are claimed to be (牌型).

    Any claim can be written down; it is checked where it is used, as a lead.

    Attributes:
        pattern: `Single`, `Pair`, `Triple`, `FullHouse`, `Straight`, `Tube`, `Plate`, `Bomb`,
            `StraightFlush` or `JokerBomb`.
        key: what is compared: a rank `2`…`9 T J Q K A`, `B` or `R` for a small or big joker, the
            lowest rank of a sequence, or `JOKERS`.
        cards: two-character cards in canonical order (by rank, then suit S H C D, then SB, HR);
            a wild is written as itself, the heart of the level.
    """

    pattern: str
    key: str
    cards: tuple[str, ...]


def legal_plays(
    hand: str | Sequence[str],
    level: str,
    lead: Play | None = None,
    *,
    flush_straight_as_straight: bool = False,
) -> list[Play]:
    """Every play that a hand allows, on lead or against the play to beat.

    Passing is not listed: it is allowed exactly if there is something to beat.

    Args:
        hand: up to 27 cards, `"S3 H3 SB"` or `["S3", "H3", "SB"]`, in any order.
        level: the level `"2"`…`"A"`; its two hearts are wild (逢人配).
        lead: the play to beat, as claimed, or None on lead.
        flush_straight_as_straight: allow the claim of RULES 2.8.

    Returns:
        The plays, sorted by the text `pattern key card,card,…`; each once.

    Raises:
        CardError: an unknown card or level, three copies of a card, more than 27 cards.
        PlayError: a lead that is no `Play`, or whose cards do not make its claim.
        GuandanError: a flag that is not True or False.
    """
    level_index = parse_rank(level)
    check_flag(flush_straight_as_straight, "flush_straight_as_straight")
    holding = _Holding(hand_counts(hand), level_index)
    within = IS_PLAY & (holding.wilds >= ROW_WILDS)
    within &= (holding.naturals >= ROW_NATURALS).all(axis=1)
    if lead is not None:
        lead_row = _row_of_lead(lead, level, flush_straight_as_straight)
        within &= beats(level_index, lead_row)
    plays = [
        play
        for row in np.flatnonzero(within).tolist()
        for play in _plays(row, holding, flush_straight_as_straight)
    ]
    return sorted(plays, key=_line)


def plays_of_row(
    row: int,
    hand: str | Sequence[str],
    level: str,
    *,
    flush_straight_as_straight: bool = False,
) -> list[Play]:
    """Every choice of suits from a hand for one row, in canonical order; arguments as above.

    `PlayError` for a number that is no row, or a row that is no play (pass, card, resist).
    """
    found = plays_of_rows([row], hand, level, flush_straight_as_straight=flush_straight_as_straight)
    return sorted((play for _, play in found), key=_line)


def plays_of_rows(
    rows: Iterable[int],
    hand: str | Sequence[str],
    level: str,
    *,
    flush_straight_as_straight: bool = False,
) -> list[tuple[int, Play]]:
    """The same for several rows, in no particular order, each play with its row."""
    indices = [check_row(row) for row in rows]
    for index in indices:
        if not IS_PLAY[index]:
            raise PlayError(f"row {index} ({row_name(index)}) is no play of cards")
    check_flag(flush_straight_as_straight, "flush_straight_as_straight")
    holding = _Holding(hand_counts(hand), parse_rank(level))
    return [
        (index, play)
        for index in indices
        for play in _plays(index, holding, flush_straight_as_straight)
    ]


class _Holding:
    """A hand at a level: its natural cards by rank, and its wilds."""

    def __init__(self, counts: Counts, level: int) -> None:
        self.level = level
        self.wild = wild_kind(level)
        self.wilds = int(counts[self.wild])
        counts[self.wild] = 0
        self.naturals = np.bincount(KIND_RANK, weights=counts, minlength=15)
        self._by_rank: list[list[int]] = [[] for _ in range(15)]
        for kind in kinds_of(counts):
            self._by_rank[KIND_RANK[kind]].append(kind)
        self._choices: dict[tuple[int, int], list[tuple[int, ...]]] = {}

    def choices(self, rank: int, size: int) -> list[tuple[int, ...]]:
        """The different sets of `size` natural cards of a rank; copies are not told apart."""
        if (rank, size) not in self._choices:
            self._choices[rank, size] = list(set(combinations(self._by_rank[rank], size)))
        return self._choices[rank, size]


def _plays(index: int, holding: _Holding, flush_straight_as_straight: bool) -> Iterator[Play]:
    row = ROWS[index]
    if row.wilds > holding.wilds:
        return
    pattern, key = PATTERN_WORDS[row.pattern], key_word(index, holding.level)
    wilds = [holding.wild] * row.wilds
    # Five natural cards of one suit are a straight flush; a wild leaves the claim open (RULES 2.8).
    no_flush = row.pattern == Pattern.STRAIGHT and not wilds and not flush_straight_as_straight
    for chosen in product(*_choices_by_rank(row, holding)):
        if no_flush and len({cards[0] % 4 for cards in chosen}) == 1:
            continue
        kinds = sorted(chain(*chosen, wilds))
        yield Play(pattern, key, tuple([KIND_NAMES[kind] for kind in kinds]))


def _choices_by_rank(row: Row, holding: _Holding) -> list[list[tuple[int, ...]]]:
    choices = [holding.choices(rank, size) for rank, size in enumerate(row.naturals) if size]
    if row.suit < 0:
        return choices
    return [[cards for cards in of_rank if cards[0] % 4 == row.suit] for of_rank in choices]


def _row_of_lead(lead: object, level: str, flush_straight_as_straight: bool) -> int:
    if not isinstance(lead, Play):
        raise PlayError(f"lead is {shown(lead)}: allowed are a Play (pattern, key, cards) or None")
    parse_pattern(lead.pattern)
    if lead.key is None:
        raise PlayError(f"lead {shown(lead)} claims no key")
    return row_of(
        lead.cards,
        level,
        lead.pattern,
        lead.key,
        flush_straight_as_straight=flush_straight_as_straight,
    )


def _line(play: Play) -> str:
    return f"{play.pattern} {play.key} {','.join(play.cards)}"
