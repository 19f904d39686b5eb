"""A decision as tokens for sequence models and as plain text for language models; docs/text.md.

Both hold what the acting seat may know: the standing, its hand, what was paid, played and passed.
Seats are told as they stand to it: `me`, `next`, `partner`, `previous`. `describe` writes a text
that lists the legal plays, `parse_play` reads what is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from guandan_env.actions import (
    FIRST_CARD,
    NUM_ACTIONS,
    PASS,
    RESIST,
    ROW_PATTERN,
    STRENGTH,
    Pattern,
)
from guandan_env.cards import (
    HAND_SIZE,
    KIND_NAMES,
    KIND_OF,
    NUM_KINDS,
    RANKS,
    Counts,
    card_names,
    kinds_of,
    wild_kind,
)
from guandan_env.checks import as_whole, check_indices
from guandan_env.decisions import Decisions
from guandan_env.errors import GuandanError, PlayError, shown
from guandan_env.notation import find_rows, hand_counts, parse_row, row_name
from guandan_env.plays import plays_of_row
from guandan_env.record import level_name
from guandan_env.scene_of import is_revealed
from guandan_env.state import MAX_HISTORY, Phase

VOCABULARY_VERSION = "tokens-v1"
SEATS = ("me", "next", "partner", "previous")
_PHASES = {
    Phase.RESIST: "resist?",
    Phase.PAY: "pay?",
    Phase.CHOOSE: "choose?",
    Phase.RETURN: "return?",
    Phase.PLAY: "play?",
}
_MARKS = (
    "<pad>",
    "<levels>",
    "<hand>",
    "<paid>",
    "<returned>",
    "<played>",
    "<history>",
    "<resisted>",
)
VOCABULARY: tuple[str, ...] = (
    *_MARKS,
    *SEATS,
    *(f"level {rank}" for rank in RANKS),
    *KIND_NAMES,
    *_PHASES.values(),
    *(row_name(row) for row in range(NUM_ACTIONS)),
)
"""What the tokens mean, by number. Reordering it breaks every trained model: it is versioned."""

PAD = 0
_NUMBER = {word: number for number, word in enumerate(VOCABULARY)}
_SEAT = _NUMBER["me"]
_LEVEL = _NUMBER["level 2"]
_CARD = _NUMBER[KIND_NAMES[0]]
_PHASE = _NUMBER["resist?"]
FIRST_ROW = len(VOCABULARY) - NUM_ACTIONS
"""Row r of the action table is token `FIRST_ROW` + r."""
_LONGEST = 400  # characters of an answer: 27 cards take 81, the longest name of a row fewer
_NONE = -1

Tokens = NDArray[np.int16]


# ---------------------------------------------------------------------- tokens


def encode_tokens(decisions: Decisions) -> tuple[Tokens, NDArray[np.int64]]:
    """The tokens of n decisions, `(n, longest) int16` filled up with `PAD`, and lengths `(n,)`.

    The order is: `<levels>`, the level of the deal, of the own side, of the others; `<hand>` and
    its cards; `<resisted>` if so; `<paid>` and `<returned>`, each with seat and card; `<played>`
    and for each seat from `me` on the seat and the cards that it has played; `<history>` and for
    each decision of the deal the seat and the row; at last what is asked.
    """
    d = decisions
    n = len(d)
    seat = d.seat.astype(np.int64)
    everyone = (seat[:, None] + np.arange(4)) % 4
    steps = d.steps.astype(np.int64) % len(RANKS)
    of_sides = np.take_along_axis(steps, np.stack([seat % 2, 1 - seat % 2], axis=1), axis=1)
    columns = [
        _mark("<levels>", n),
        _LEVEL + d.level.astype(np.int64)[:, None],
        _LEVEL + of_sides,
        _mark("<hand>", n),
        _cards(d.hand),
        np.where(d.resisted[:, None], _NUMBER["<resisted>"], _NONE),
        _gifts("<paid>", d.payers, d.paid, seat),
        _gifts("<returned>", d.previous[:, :2], d.returned, seat),
        _mark("<played>", n),
    ]
    for i in range(4):
        played = d.played[np.arange(n), everyone[:, i]]
        columns += [np.full((n, 1), _SEAT + i), _cards(played)]
    columns += [
        _mark("<history>", n),
        _history(d, seat),
        _PHASE + d.phase.astype(np.int64)[:, None],
    ]
    wide = np.concatenate(columns, axis=1)
    there = wide != _NONE
    lengths = there.sum(axis=1)
    tokens = np.full((n, int(lengths.max(initial=0))), PAD, dtype=np.int16)
    row, column = np.nonzero(there)
    tokens[row, (np.cumsum(there, axis=1) - 1)[row, column]] = wide[row, column]
    return tokens, lengths


def token_words(tokens: Iterable[int]) -> list[str]:
    """What tokens mean; `GuandanError` for numbers that are no tokens."""
    words = []
    for token in tokens:
        number = as_whole(token)
        if number is None or not 0 <= number < len(VOCABULARY):
            raise GuandanError(
                f"{shown(token)} is no token: allowed are 0 to {len(VOCABULARY) - 1}"
            )
        words.append(VOCABULARY[number])
    return words


def _mark(word: str, n: int) -> NDArray[np.int64]:
    return np.full((n, 1), _NUMBER[word])


def _cards(counts: Counts) -> NDArray[np.int64]:
    """Two columns a kind: its token as often as it is there."""
    kinds = np.repeat(np.arange(NUM_KINDS), 2)
    there = counts[:, kinds] > np.tile([0, 1], NUM_KINDS)
    return np.where(there, _CARD + kinds, _NONE)


def _gifts(
    word: str,
    givers: NDArray[np.int8],
    kinds: NDArray[np.int8],
    seat: NDArray[np.int64],
) -> NDArray[np.int64]:
    there = kinds >= 0
    who = _SEAT + (givers - seat[:, None]) % 4
    columns = [np.where(there.any(axis=1), _NUMBER[word], _NONE)]
    for i in range(2):
        columns.append(np.where(there[:, i], who[:, i], _NONE))
        columns.append(np.where(there[:, i], _CARD + kinds[:, i].astype(np.int64), _NONE))
    return np.stack(columns, axis=1)


def _history(d: Decisions, seat: NDArray[np.int64]) -> NDArray[np.int64]:
    rows = d.history.astype(np.int64)
    who = _SEAT + (d.history_seat - seat[:, None]) % 4
    pairs = np.stack([np.where(rows < 0, _NONE, who), rows + FIRST_ROW], axis=2)
    pairs[rows < 0] = _NONE
    return pairs.reshape(len(seat), 2 * MAX_HISTORY)


# ---------------------------------------------------------------------- text


def describe(decisions: Decisions, i: int = 0, *, reveal_counts_at: int = HAND_SIZE) -> str:
    """Decision i in plain words: the standing, what happened, the hand, and the legal plays.

    Numbers of cards of others above `reveal_counts_at` are not said (RULES 7.2). `GuandanError`
    for an i that is no decision.
    """
    d = _one(decisions, i)
    seat, level, phase = int(d.seat[0]), int(d.level[0]), Phase(d.phase[0])
    own, other = (level_name(d.rules, int(d.steps[0, side])) for side in (seat % 2, 1 - seat % 2))
    lines = [
        f"Guandan, level {RANKS[level]} (your side is at {own}, the others at {other}). The wild "
        f"card is {KIND_NAMES[wild_kind(level)]}.",
        "Players in turn: me, next (opponent), partner, previous (opponent).",
        *_tribute_lines(d, seat),
        *_trick_lines(d, seat),
        f"Cards left: {_counts(d.counts[0].tolist(), seat, reveal_counts_at)}.",
        f"Out, first to last: {_out(d, seat)}.",
        f"Your hand: {' '.join(card_names(d.hand[0]))}.",
        _question(d, seat, phase),
        "Allowed: " + "; ".join(_word(row, phase) for row in _sorted_rows(d.mask[0], level)) + ".",
        "Answer with one of these, or with exact cards such as S5 H5.",
    ]
    return "\n".join(lines)


def parse_play(text: str, decisions: Decisions, i: int = 0) -> tuple[int, Counts | None]:
    """The legal row that a text names for decision i, and the cards where it names them.

    A text is the name of a row (`pair 55`), exact cards (`S5 H5`), or a name, a colon and the
    cards (`pair 55: S5 H5`). Capitals, quotes around it and a full stop behind it do not matter.
    Cards alone that make one pattern with two keys are claimed with the lower one (RULES 2.13).

    Raises `PlayError` or `CardError` saying what was wrong with anything else.
    """
    d = _one(decisions, i)
    if not isinstance(text, str):
        raise PlayError(f"{shown(text)} is no text")
    if len(text) > _LONGEST:
        raise PlayError(f"{len(text)} characters are no play; at most {_LONGEST} are read")
    said = re.sub(r"\s+", " ", text).strip(" .`'\"*")
    if not said:
        raise PlayError("the answer is empty; a play such as 'pair 55', or 'pass', is wanted")
    name, colon, cards = said.partition(":")
    if colon:
        row = _legal(_row(name.strip(), d), d)
        return row, _exact(_card_words(cards), row, d)
    words = _card_words(said)
    if all(word in KIND_OF for word in words):
        return _of_cards(words, d)
    return _legal(_row(said, d), d), None


def _one(decisions: Decisions, i: int) -> Decisions:
    return decisions.take(check_indices([i], "decisions", len(decisions)))


def _row(name: str, d: Decisions) -> int:
    if d.phase[0] == Phase.RESIST and name.casefold() in ("no", "decline"):
        return PASS
    return parse_row(name)


def _card_words(text: str) -> list[str]:
    return text.replace(",", " ").upper().split()


def _of_cards(words: Sequence[str], d: Decisions) -> tuple[int, Counts | None]:
    cards = _held(words, d)
    if d.phase[0] != Phase.PLAY:
        if len(words) != 1 or d.phase[0] == Phase.RESIST:
            raise PlayError(f"{' '.join(words)} is no answer here: {_allowed(d)}")
        return _legal(FIRST_CARD + kinds_of(cards)[0], d), None
    level = int(d.level[0])
    rows = find_rows(
        words, RANKS[level], flush_straight_as_straight=d.rules.flush_straight_as_straight
    )
    if not rows:
        raise PlayError(f"{' '.join(words)} make no play at level {RANKS[level]}")
    legal = [row for row in rows if d.mask[0, row]]
    if not legal:
        raise PlayError(_why_not(rows[0], d))
    if len({int(ROW_PATTERN[row]) for row in legal}) > 1:
        names = " or ".join(repr(row_name(row)) for row in legal)
        raise PlayError(
            f"{' '.join(words)} can be {names}: say which, as 'NAME: {' '.join(words)}'"
        )
    return min(legal, key=lambda row: int(STRENGTH[level, row])), cards


def _held(words: Sequence[str], d: Decisions) -> Counts:
    cards = hand_counts(list(words))
    missing = np.maximum(cards.astype(np.int64) - d.hand[0], 0)
    if missing.any():
        raise PlayError(f"you do not hold {' '.join(card_names(missing.tolist()))}")
    return cards


def _exact(words: Sequence[str], row: int, d: Decisions) -> Counts | None:
    """The cards named for a legal row, which they must make."""
    if not FIRST_CARD > row > PASS:
        raise PlayError(f"{row_name(row)!r} takes no cards behind a colon")
    cards = _held(words, d)
    flush = d.rules.flush_straight_as_straight
    level = RANKS[int(d.level[0])]
    if row not in find_rows(list(words), level, flush_straight_as_straight=flush):
        raise PlayError(f"{' '.join(words) or 'no cards'} do not make {row_name(row)!r}")
    return cards


def _legal(row: int, d: Decisions) -> int:
    if not d.mask[0, row]:
        raise PlayError(_why_not(row, d))
    return row


def _allowed(d: Decisions) -> str:
    rows = np.flatnonzero(d.mask[0]).tolist()
    return "allowed are " + ", ".join(_word(row, Phase(d.phase[0])) for row in rows)


def _why_not(row: int, d: Decisions) -> str:
    name = row_name(row)
    if d.phase[0] != Phase.PLAY:
        return f"{name!r} is not allowed here: {_allowed(d)}"
    if row == PASS:
        return "you lead, so you cannot pass: play something"
    if ROW_PATTERN[row] in (Pattern.CARD, Pattern.RESIST):
        return f"{name!r} belongs to tribute, which is over"
    flush = d.rules.flush_straight_as_straight
    level = RANKS[int(d.level[0])]
    held = plays_of_row(row, card_names(d.hand[0]), level, flush_straight_as_straight=flush)
    if not held:
        return f"your hand cannot make {name!r}"
    return f"{name!r} does not beat {row_name(int(d.lead[0]))!r}"


def _relative(seat: int, me: int) -> str:
    return SEATS[(seat - me) % 4]


def _word(row: int, phase: Phase) -> str:
    return "pass (do not resist)" if phase is Phase.RESIST and row == PASS else row_name(row)


def _sorted_rows(mask: NDArray[np.int8], level: int) -> list[int]:
    """Legal rows by pattern, from the weakest on."""
    rows = np.flatnonzero(mask)
    order = np.lexsort((rows, STRENGTH[level, rows], ROW_PATTERN[rows]))
    found: list[int] = rows[order].tolist()
    return found


def _counts(numbers: Sequence[int], me: int, reveal_at: int) -> str:
    shown = []
    for k, name in enumerate(SEATS):
        left = numbers[(me + k) % 4]
        known = not k or is_revealed(left, reveal_at)
        shown.append(f"{name} {left}" if known else f"{name} more than {reveal_at}")
    return ", ".join(shown)


def _out(d: Decisions, me: int) -> str:
    return ", ".join(_relative(s, me) for s in d.order[0].tolist() if s >= 0) or "nobody"


def _tribute_lines(d: Decisions, me: int) -> list[str]:
    lines = []
    if d.resisted[0]:
        lines.append("No tribute was paid: two big jokers resisted it.")
    for verb, givers, kinds in (
        ("paid", d.payers[0], d.paid[0]),
        ("returned", d.previous[0, :2], d.returned[0]),
    ):
        gifts = [
            f"{_relative(int(giver), me)} {verb} {KIND_NAMES[kind]}"
            for giver, kind in zip(givers, kinds, strict=True)
            if kind >= 0
        ]
        if gifts:
            lines.append(f"Tribute: {', '.join(gifts)}.")
    return lines


def _trick_lines(d: Decisions, me: int) -> list[str]:
    length = int(d.length[0])
    told = [
        f"{_relative(seat, me)}: {row_name(row)}"
        for row, seat in zip(
            d.history[0, :length].tolist(), d.history_seat[0, :length].tolist(), strict=True
        )
        if 0 <= row < FIRST_CARD or row == RESIST
    ]
    lines = ["Played so far: " + ("; ".join(told) or "nothing") + "."]
    for k, name in enumerate(SEATS):
        cards = card_names(d.played[0, (me + k) % 4])
        if cards:
            lines.append(f"Cards played by {name}: {' '.join(cards)}.")
    return lines


def _question(d: Decisions, me: int, phase: Phase) -> str:
    if phase is Phase.PLAY and d.lead[0] != PASS:
        whose = _relative(int(d.lead_seat[0]), me)
        return f"Beat {row_name(int(d.lead[0]))} of {whose}, or pass."
    return {
        Phase.RESIST: "You may resist the tribute.",
        Phase.PAY: "You pay tribute: one of your highest cards.",
        Phase.CHOOSE: "Two tributes are equal: choose the card that you take.",
        Phase.RETURN: "You return a card for the tribute that you received.",
        Phase.PLAY: "You lead.",
    }[phase]
