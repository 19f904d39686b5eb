"""The scene of a table of the engine: what a person sees of a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from guandan_env.actions import IS_PLAY, PASS
from guandan_env.cards import HAND_SIZE, KIND_NAMES, RANKS, card_names, to_counts
from guandan_env.checks import items_of, whole_number
from guandan_env.errors import StateError, shown
from guandan_env.notation import row_name
from guandan_env.promotion import PASSED_ACE
from guandan_env.scene import Scene, SeatView
from guandan_env.state import Phase, State

SEAT_NAMES = ("player_0", "player_1", "player_2", "player_3")
_PHASES = {
    Phase.RESIST: "tribute: resist?",
    Phase.PAY: "tribute: paying",
    Phase.CHOOSE: "tribute: choosing",
    Phase.RETURN: "tribute: returning",
    Phase.PLAY: "play",
    Phase.OVER: "over",
}


def scene_of(
    state: State,
    table: int,
    names: Sequence[str] = SEAT_NAMES,
    title: str = "",
    viewer: int | None = None,
    reveal_counts_at: int = HAND_SIZE,
) -> Scene:
    """The scene at one table (its index in the state).

    `names` says what to call the four players. With a `viewer` (a seat) only that seat's cards
    are shown, without one those of all. `reveal_counts_at` (RULES 7.2): the number of cards in
    another hand is shown to a viewer at this many or fewer, with 27 always. `StateError` for a
    table that is not there, for another number of names, and for a number that is none of cards.
    """
    if not isinstance(state, State):
        raise StateError(f"{shown(state)} is no State of an engine")
    table = whole_number(table, "table", 0, len(state) - 1, StateError)
    if items_of(names, 4) is None or len(names) != 4:
        raise StateError(f"names are {shown(names)}; four are allowed, one for each seat")
    if viewer is not None:
        viewer = whole_number(viewer, "viewer", 0, 3, StateError)
    reveal = whole_number(reveal_counts_at, "reveal_counts_at", 0, HAND_SIZE, StateError)
    level = int(state.level[table])
    declarer, leader = int(state.declarer[table]), int(state.lead_seat[table])
    return Scene(
        level=RANKS[level],
        levels=(_level_name(state, table, 0), _level_name(state, table, 1)),
        declarer=None if declarer < 0 else declarer,
        seats=(
            _seat_view(state, table, 0, names[0], viewer, reveal),
            _seat_view(state, table, 1, names[1], viewer, reveal),
            _seat_view(state, table, 2, names[2], viewer, reveal),
            _seat_view(state, table, 3, names[3], viewer, reveal),
        ),
        phase=_PHASES[Phase(state.phase[table])],
        leader=None if leader < 0 else leader,
        title=title,
        message=tuple(tribute_lines(state, table)),
    )


def is_revealed(count: int, reveal_counts_at: int) -> bool:
    """Whether others are shown how many cards a hand of so many holds (RULES 7.2)."""
    return reveal_counts_at >= HAND_SIZE or count <= reveal_counts_at


def cards_of_plays(state: State, table: int) -> list[list[str]]:
    """The cards of every play of the deal so far, passes left out, as two-character names."""
    return [card_names(c) for c in to_counts(state.play_cards[table, : state.plays[table]])]


def tribute_lines(state: State, table: int) -> list[str]:
    """What everybody knows of the deal's tribute (进贡, 还牌, 抗贡), a line for each payer."""
    if state.resisted[table]:
        return ["tribute resisted: the payers hold both big jokers"]
    phase = state.phase[table]
    lines = []
    for index in range(2):
        payer, kind = int(state.payers[table, index]), int(state.paid[table, index])
        if payer < 0 or kind < 0 or phase == Phase.PAY:
            continue
        line = f"seat {payer} paid {KIND_NAMES[kind]}"
        if phase != Phase.CHOOSE:
            place = 0 if index == state.to_first[table] else 1
            line += f" to seat {state.previous[table, place]}"
            if phase != Phase.RETURN:
                line += f", which returned {KIND_NAMES[state.returned[table, place]]}"
        lines.append(line)
    return lines


def _level_name(state: State, table: int, side: int) -> str:
    step = int(state.steps[table, side])
    if step == PASSED_ACE and state.over[table] and state.winner[table] == side:
        return "A passed"
    return RANKS[step % len(RANKS)]


def _seat_view(
    state: State, table: int, seat: int, name: str, viewer: int | None, reveal: int
) -> SeatView:
    hand = to_counts(state.hands[table, seat])
    count, seen = int(hand.sum()), viewer in (None, seat)
    place = np.flatnonzero(state.order[table] == seat)
    row = int(state.last[table, seat])
    return SeatView(
        seat=seat,
        name=name,
        cards=tuple(card_names(hand)) if seen else None,
        count=count if seen or is_revealed(count, reveal) else None,
        place=int(place[0]) + 1 if place.size else None,
        action=row_name(row) if row >= 0 else "",
        action_cards=_last_cards(state, table, seat) if row > PASS else (),
        to_act=bool(state.seat[table] == seat),
    )


def _last_cards(state: State, table: int, seat: int) -> tuple[str, ...]:
    """The cards of the last play of a seat, which has played in this trick."""
    length = state.length[table]
    is_play = IS_PLAY[state.history[table, :length]]
    mine = is_play & (state.history_seat[table, :length] == seat)
    number = np.cumsum(is_play)[np.flatnonzero(mine)[-1]] - 1
    return tuple(card_names(to_counts(state.play_cards[table, number])))
