"""Whether actions may be played: rows and cards, checked before anything changes, and why not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guandan_env import legality
from guandan_env.actions import FIRST_CARD, NUM_ACTIONS, PASS, ROW_PATTERN, Pattern
from guandan_env.cards import NUM_KINDS
from guandan_env.checks import whole_array
from guandan_env.errors import GuandanError, IllegalActionError, shown
from guandan_env.rules import RuleSet
from guandan_env.state import Phase, State
from guandan_env.suits import match_cards


def check_packed(packed: object, num_tables: int) -> NDArray[np.uint64]:
    """`packed` if it has the form of what `Engine.packed_masks` returns, else `GuandanError`.

    That the rows in it are legal is not looked at: it is given to save that work.
    """
    shape = (num_tables, legality.MASK_WORDS)
    if isinstance(packed, np.ndarray) and packed.shape == shape and packed.dtype == np.uint64:
        return packed
    given = f"{packed.dtype} {packed.shape}" if isinstance(packed, np.ndarray) else shown(packed)
    raise GuandanError(
        f"packed_masks are {given}; what packed_masks() returned is allowed, uint64 {shape}"
    )


def check_rows(
    s: State, actions: object, packed: NDArray[np.uint64], live: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Rows `(B,)`, of which those at the `live` tables are legal, else `IllegalActionError`.

    `packed` `(B, 36)` are the legal rows.
    """
    given = whole_array(actions, "actions", (len(s),), IllegalActionError)
    rows = given.astype(np.int64)
    inside = (rows >= 0) & (rows < NUM_ACTIONS)
    legal = inside & legality.is_set(packed, np.where(inside, rows, 0))
    wrong = live[~legal[live]]
    if wrong.size:
        at = int(wrong[0])
        raise IllegalActionError(_why_not(s, at, int(given[at])))
    return rows


def _why_not(s: State, at: int, row: int) -> str:
    where = f"table {at}, seat {s.seat[at]}: action {row}"
    if not 0 <= row < NUM_ACTIONS:
        return f"{where} is not in the action table: 0 to {NUM_ACTIONS - 1} are"
    pattern = Pattern(ROW_PATTERN[row]).name.lower().replace("_", " ")
    phase = Phase(s.phase[at])
    if phase is not Phase.PLAY:
        reason = f"is not legal in the phase {phase.name.lower()}"
    elif row == PASS:
        reason = "is a pass, but this seat leads"
    elif row >= FIRST_CARD:
        reason = "belongs to tribute, which is over"
    elif not legality.is_set(s.hand_masks[at, s.seat[at]][None], np.array([row]))[0]:
        reason = "cannot be made from this hand"
    else:
        reason = f"does not beat action {s.lead[at]}"
    return f"{where} ({pattern}) {reason}"


def check_cards(
    s: State,
    rules: RuleSet,
    rows: NDArray[np.int64],
    cards: object,
    playing: NDArray[np.intp],
) -> NDArray[np.uint64]:
    """Bits `(n, 2)` of the cards to be played at n tables, else `IllegalActionError`.

    `cards` are counts `(B, 54)`; where they are all zero the suits are chosen as by default.
    """
    given = whole_array(cards, "cards", (len(s), NUM_KINDS), IllegalActionError)
    bits, wrong = match_cards(
        s.hands[playing, s.seat[playing]],
        rows[playing],
        s.level[playing],
        given[playing],
        flush_is_straight=rules.flush_straight_as_straight,
    )
    if wrong.any():
        at = int(playing[np.argmax(wrong)])
        raise IllegalActionError(
            f"table {at}, seat {s.seat[at]}: the cards given are not held, or do not make "
            f"action {rows[at]}"
        )
    return bits
