"""What a person types at the table, read as a move: no input or output happens here.

A move is one of

- two-character cards, `S5 H5` or `s5,h5`, in any order;
- the name of a row (`guandan_env.notation`), `pair 55`, for which the engine chooses suits;
- the number of a hint;
- `pass` or nothing, where passing is allowed; `resist` where that is the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guandan_env.actions import FIRST_CARD, NUM_ACTIONS, PASS, ROW_PATTERN, ROW_WILDS, STRENGTH
from guandan_env.actions import Pattern as P
from guandan_env.cards import KIND_OF, RANKS, Counts, card_names, kinds_of
from guandan_env.errors import PlayError
from guandan_env.notation import find_rows, hand_counts, parse_row, row_name
from guandan_env.plays import plays_of_row
from guandan_env.state import Phase

MAX_HINTS = 40
# A hand of 27 cards takes 81 characters, the longest name of a row fewer.
_LONGEST = 200


@dataclass(frozen=True)
class Situation:
    """The decision that a person has to make.

    Attributes:
        mask: legal rows, `(2244,)` of 0 and 1.
        hand: counts `(54,)`.
        level: rank index of the level, 0…12.
        lead: row to beat, 0 when leading and in tribute.
        phase: what is decided.
        flush_straight_as_straight: the option of the rules (RULES 2.8).
    """

    mask: NDArray[np.int8]
    hand: Counts
    level: int
    lead: int = PASS
    phase: Phase = Phase.PLAY
    flush_straight_as_straight: bool = False


@dataclass(frozen=True)
class Move:
    """What was typed: the legal rows it can be, and the cards where they were named.

    Several rows are several claims of the same cards, between which the person has to choose.
    """

    rows: tuple[int, ...]
    cards: Counts | None = None


def parse_move(text: str, situation: Situation, hints: Sequence[int] = ()) -> Move:
    """The move that `text` names; `hints` are the rows with the numbers 1, 2, ….

    `GuandanError`, saying what was wrong, for what is no move or not legal here.
    """
    if len(text) > _LONGEST:
        raise PlayError(f"{len(text)} characters are no move; at most {_LONGEST} are read")
    words = text.replace(",", " ").upper().split()
    if not words or words == ["PASS"]:
        return _of_row(PASS, situation)
    if len(words) == 1 and words[0].isdecimal():
        return _of_row(_hint(words[0], hints), situation)
    if words[0] != "CARD" and any(word in KIND_OF for word in words):
        return _of_cards(words, situation)
    return _of_row(parse_row(text.strip()), situation)


def list_hints(situation: Situation, first: int) -> list[int]:
    """At most `MAX_HINTS` legal rows: `first`, then by pattern, from the weakest on.

    Where there are more, every pattern gives its cheapest ones: few wilds, then low.
    """
    strength = STRENGTH[situation.level]
    cheap = sorted(
        (row for row in np.flatnonzero(situation.mask).tolist() if row != first),
        key=lambda row: (int(ROW_WILDS[row]), int(strength[row]), row),
    )
    seen: dict[int, int] = {}
    turn: dict[int, int] = {}
    for row in cheap:
        pattern = int(ROW_PATTERN[row])
        turn[row] = seen[pattern] = seen.get(pattern, -1) + 1
    # Sorting is stable: by turns the patterns give one each, later only grouped again.
    chosen = sorted(cheap, key=lambda row: turn[row])[: MAX_HINTS - 1]
    return [first, *sorted(chosen, key=lambda row: (ROW_PATTERN[row], turn[row]))]


def describe(row: int, phase: Phase) -> str:
    """Name of a row as a person reads it in a phase."""
    return "pass (do not resist)" if phase is Phase.RESIST and row == PASS else row_name(row)


def _hint(digits: str, hints: Sequence[int]) -> int:
    number = int(digits)
    if not 1 <= number <= len(hints):
        raise PlayError(
            f"{number} is no number of a hint: there are 1 to {len(hints)} (ranks alone are no "
            "move: write 'pair 55' or 'S5 H5')"
        )
    return hints[number - 1]


def _of_row(row: int, situation: Situation) -> Move:
    if not 0 <= row < NUM_ACTIONS or not situation.mask[row]:
        raise PlayError(_why_not(row, situation))
    return Move((row,))


def _of_cards(words: list[str], situation: Situation) -> Move:
    cards = hand_counts(words)
    missing = np.maximum(cards.astype(np.int64) - situation.hand, 0)
    if missing.any():
        raise PlayError(f"you do not hold {' '.join(card_names(missing.tolist()))}")
    if situation.phase is not Phase.PLAY:
        if len(words) != 1:
            raise PlayError(f"one card is asked for, not {len(words)}")
        return _of_row(FIRST_CARD + kinds_of(cards)[0], situation)
    rows = find_rows(
        words,
        RANKS[situation.level],
        flush_straight_as_straight=situation.flush_straight_as_straight,
    )
    if not rows:
        raise PlayError(f"{' '.join(words)} make no play at level {RANKS[situation.level]}")
    legal = tuple(row for row in rows if situation.mask[row])
    if not legal:
        raise PlayError(_why_not(rows[0], situation))
    return Move(legal, cards)


def _why_not(row: int, situation: Situation) -> str:
    name = row_name(row)
    if situation.phase is Phase.RESIST:
        return f"{name!r} is no answer here: 'resist' or 'pass'"
    if situation.phase is not Phase.PLAY:
        allowed = [row_name(r) for r in np.flatnonzero(situation.mask).tolist()]
        return f"{name!r} is not allowed here: allowed are {', '.join(allowed)}"
    if row == PASS:
        return "you lead, so you cannot pass: play something"
    if ROW_PATTERN[row] in (P.CARD, P.RESIST):
        return f"{name!r} belongs to tribute, which is over"
    held = plays_of_row(
        row,
        card_names(situation.hand),
        RANKS[situation.level],
        flush_straight_as_straight=situation.flush_straight_as_straight,
    )
    if not held:
        return f"your hand cannot make {name!r}"
    return f"{name!r} does not beat {row_name(situation.lead)!r}"
