"""Names of the rows of the action table, and the way from cards with a claim to their row.

Every row has one name, every name one row:

===============  ==========================================================================
pattern          names
===============  ==========================================================================
pass, resist     `pass`, `resist`
single           `single 5`, `single B`, `single R`, `single wild`
pair             `pair 55`, `pair 55 with wild as 5`, `pair BB`, `pair of wilds`
triple           `triple 555`, `triple 555 with wilds as 5 and 5`
full house       `full house 55577`, `full house 555BB`, `full house 55577 with wilds as 5 and 7`,
                 `full house 555 and pair of wilds`
straight         `straight A2345`, `straight 34567 with wild as 5`
tube, plate      `tube 334455 with wilds as 3 and 5`, `plate KKKAAA`
bomb             `bomb 5555 with wild as 5`
straight flush   `straight flush 34567 of hearts with wild as 5`
joker bomb       `joker bomb`
card             `card S3`: the card kind to pay, to return or to pick in tribute
===============  ==========================================================================

The ranks are those that the play shows, wilds included: the three of a full house first, a
sequence from its lowest card on. `B` is a small, `R` a big joker. `with wild as` says at which of
these ranks wilds stand in, in the order in which the play shows them. Capitals and the width of
spaces do not matter when a name is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from guandan_env.actions import (
    IS_PLAY,
    JOKER_BOMB,
    LEVEL_KEY,
    LONE_WILD,
    NUM_ACTIONS,
    PAIR_OF_WILDS,
    PASS,
    RESIST,
    ROW_NATURALS,
    ROW_PATTERN,
    ROW_SUIT,
    ROW_WILDS,
    ROWS,
    SEQUENCES,
    STRENGTH,
    Pattern,
    Row,
)
from guandan_env.cards import (
    HAND_SIZE,
    KIND_NAMES,
    KIND_RANK,
    NUM_RANKS,
    SMALL_JOKER,
    Counts,
    card_names,
    counts_of,
    parse_cards,
    parse_rank,
    rank_name,
    wild_kind,
)
from guandan_env.checks import as_whole, check_flag
from guandan_env.errors import CardError, PlayError, nearest, shown

PATTERN_WORDS: dict[Pattern, str] = {
    Pattern.PASS: "Pass",
    Pattern.SINGLE: "Single",
    Pattern.PAIR: "Pair",
    Pattern.TRIPLE: "Triple",
    Pattern.FULL_HOUSE: "FullHouse",
    Pattern.STRAIGHT: "Straight",
    Pattern.TUBE: "Tube",
    Pattern.PLATE: "Plate",
    Pattern.BOMB: "Bomb",
    Pattern.STRAIGHT_FLUSH: "StraightFlush",
    Pattern.JOKER_BOMB: "JokerBomb",
    Pattern.CARD: "Card",
    Pattern.RESIST: "Resist",
}
PLAY_PATTERNS: dict[str, Pattern] = {
    word: pattern
    for pattern, word in PATTERN_WORDS.items()
    if pattern not in (Pattern.PASS, Pattern.CARD, Pattern.RESIST)
}
SUIT_WORDS = ("spades", "hearts", "clubs", "diamonds")


def key_word(row: int, level: int) -> str:
    """The key of a row at a level 0…12 in words: `3`, `A`, `B`, `R` or `JOKERS`.

    `PlayError` for an unknown row, and for pass and resist, which have none.
    """
    index = check_row(row)
    if index == JOKER_BOMB:
        return "JOKERS"
    key = ROWS[index].key
    if key < 0:
        raise PlayError(f"{row_name(row)!r} has no key")
    return rank_name(level if key == LEVEL_KEY else key)


@cache
def key_words(pattern: Pattern) -> tuple[str, ...]:
    """All keys of a play pattern in words, from low to high in the order of the table."""
    # At any level: the key of wilds alone is the level, and the other rows have all ranks.
    return tuple(dict.fromkeys(key_word(i, 0) for i, r in enumerate(ROWS) if r.pattern == pattern))


def check_row(row: object) -> int:
    """`row` as an int; `PlayError` unless it is a whole number from 0 to 2,243."""
    number = as_whole(row)
    if number is None or not 0 <= number < NUM_ACTIONS:
        raise PlayError(
            f"{shown(row)} is no row of the action table: allowed are 0 to {NUM_ACTIONS - 1}"
        )
    return number


def row_name(row: int) -> str:
    """Name of a row such as `straight 34567 with wild as 5`; `PlayError` for an unknown row."""
    return _names()[check_row(row)]


def parse_row(text: str) -> int:
    """Row of a name as `row_name` writes it; `PlayError` for anything else."""
    if not isinstance(text, str):
        raise PlayError(f"{shown(text)} is no name of a row: names are texts such as 'pair 55'")
    folded = _fold(text)
    row = _rows_by_name().get(folded)
    if row is None:
        raise PlayError(
            f"{shown(text)} is no name of a row{nearest(folded, _names())}: "
            "names are such as 'single 5', 'full house 55577', "
            "'straight 34567 with wild as 5', 'card S3', 'pass'"
        )
    return row


def hand_counts(cards: str | Sequence[str]) -> Counts:
    """Counts `(54,) uint8` of up to 27 cards as text or a sequence of two-character cards.

    `CardError` for an unknown card, three copies of one, more than 27, or another type.
    """
    if not isinstance(cards, Sequence):
        raise CardError(
            f"{shown(cards)} is no text or list of cards such as 'S3 HR' or ['S3', 'HR']"
        )
    kinds = parse_cards(cards)
    if len(kinds) > HAND_SIZE:
        raise CardError(f"{len(kinds)} cards are more than a hand of {HAND_SIZE} holds")
    return counts_of(kinds)


def find_rows(
    cards: str | Sequence[str],
    level: str,
    pattern: str | None = None,
    key: str | None = None,
    *,
    flush_straight_as_straight: bool = False,
) -> list[int]:
    """All rows, ascending, that these exact cards can be claimed as at a level (`"2"`…`"A"`).

    Args:
        cards: the cards in any order.
        level: the level; its hearts are wild.
        pattern: only rows of this pattern, in the words of `Play.pattern`.
        key: only rows of this key, in the words of `Play.key`.
        flush_straight_as_straight: let five natural cards of one suit be a plain straight too
            (RULES 2.8).

    Returns:
        The rows; empty where there is none. One (pattern, key) comes at most once: pattern and
        key say which ranks are shown, so the natural cards settle where the wilds stand.

    Raises:
        CardError: for what is no card or level, and for cards that no hand holds.
        PlayError: for an unknown pattern or key.
        GuandanError: for a flag that is not True or False.
    """
    level_index = parse_rank(level)
    flush_is_straight = check_flag(flush_straight_as_straight, "flush_straight_as_straight")
    counts = hand_counts(cards)
    wild = wild_kind(level_index)
    wilds = int(counts[wild])
    counts[wild] = 0
    kinds = np.flatnonzero(counts)
    naturals = np.bincount(KIND_RANK, weights=counts, minlength=15)
    found = IS_PLAY & (wilds == ROW_WILDS) & (naturals == ROW_NATURALS).all(axis=1)
    suits = set((kinds[kinds < SMALL_JOKER] % 4).tolist())
    suit = suits.pop() if len(suits) == 1 else -1
    found &= (ROW_PATTERN != Pattern.STRAIGHT_FLUSH) | (suit == ROW_SUIT)
    if suit >= 0 and not wilds and not flush_is_straight:
        found &= ROW_PATTERN != Pattern.STRAIGHT
    if pattern is not None:
        found &= parse_pattern(pattern) == ROW_PATTERN
    if key is not None:
        _check_key(pattern, key)
    rows: list[int] = np.flatnonzero(found).tolist()
    return [row for row in rows if key is None or key_word(row, level_index) == key]


def row_of(
    cards: str | Sequence[str],
    level: str,
    pattern: str | None = None,
    key: str | None = None,
    *,
    flush_straight_as_straight: bool = False,
) -> int:
    """The one row of exact cards with or without a claim; arguments as in `find_rows`.

    Without a key, cards that make one pattern with several keys are claimed with the lower one
    (RULES 2.13).

    Raises:
        CardError: for what is no card or level, and for cards that no hand holds.
        PlayError: for an unknown pattern or key, for cards that do not make the claim, and for
            cards that make several patterns where none is named.
    """
    find = partial(find_rows, cards, level, flush_straight_as_straight=flush_straight_as_straight)
    rows = find(pattern, key)
    patterns = dict.fromkeys(PATTERN_WORDS[ROWS[row].pattern] for row in rows)
    shown = " ".join(card_names(hand_counts(cards))) or "no cards"
    if not rows:
        wanted = " ".join(["play", *(f"{w!r}" for w in (pattern, key) if w is not None)])
        raise PlayError(
            f"{shown} make no {wanted} at level {level}; they make "
            f"{_claims(find(), parse_rank(level)) or 'no play at all'}"
        )
    if len(patterns) > 1:
        raise PlayError(
            f"{shown} at level {level} can be {_claims(rows, parse_rank(level))}: "
            "say which pattern is meant"
        )
    strength = STRENGTH[parse_rank(level)]
    return min(rows, key=lambda row: int(strength[row]))


def parse_pattern(word: object) -> Pattern:
    """The play pattern of a word such as `FullHouse`; `PlayError` for anything else."""
    if isinstance(word, str) and word in PLAY_PATTERNS:
        return PLAY_PATTERNS[word]
    raise PlayError(
        f"{shown(word)} is no pattern{nearest(word, PLAY_PATTERNS)}: "
        f"allowed are {', '.join(PLAY_PATTERNS)}"
    )


def _check_key(pattern: str | None, key: object) -> None:
    patterns = PLAY_PATTERNS.values() if pattern is None else [parse_pattern(pattern)]
    allowed = list(dict.fromkeys(k for p in patterns for k in key_words(p)))
    if not isinstance(key, str) or key not in allowed:
        of = "" if pattern is None else f" of a {pattern}"
        raise PlayError(f"{shown(key)} is no key{of}: allowed are {' '.join(allowed)}")


def _claims(rows: list[int], level: int) -> str:
    return " or ".join(f"{PATTERN_WORDS[ROWS[row].pattern]} {key_word(row, level)}" for row in rows)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


@cache
def _names() -> tuple[str, ...]:
    return tuple(_name(index, row) for index, row in enumerate(ROWS))


@cache
def _rows_by_name() -> dict[str, int]:
    return {_fold(name): row for row, name in enumerate(_names())}


def _name(index: int, row: Row) -> str:
    fixed = {
        PASS: "pass",
        RESIST: "resist",
        LONE_WILD: "single wild",
        PAIR_OF_WILDS: "pair of wilds",
        JOKER_BOMB: "joker bomb",
    }
    if index in fixed:
        return fixed[index]
    if row.pattern == Pattern.CARD:
        kind = 4 * row.key + row.suit if row.key < NUM_RANKS else SMALL_JOKER + row.key - NUM_RANKS
        return f"card {KIND_NAMES[kind]}"
    # From the key on upwards, so that ranks come in the order in which the play shows them;
    # an ace is first in a low sequence, last in a high one. The jokers come after them.
    if row.pattern in SEQUENCES or row.pattern == Pattern.FULL_HOUSE:
        order = [(row.key + i) % NUM_RANKS for i in range(NUM_RANKS)] + [13, 14]
    else:
        order = [row.key]
    stands_at = [*row.wild_as, 0, 0]
    ranks = "".join(rank_name(r) * (row.naturals[r] + stands_at[r]) for r in order)
    stands = [rank_name(r) for r in order for _ in range(stands_at[r])]
    name = f"{row.pattern.name.lower().replace('_', ' ')} {ranks}"
    if row.suit >= 0:
        name += f" of {SUIT_WORDS[row.suit]}"
    if row.wilds > len(stands):
        name += " and pair of wilds"
    if stands:
        name += f" with {'wilds' if len(stands) > 1 else 'wild'} as {' and '.join(stands)}"
    return name
