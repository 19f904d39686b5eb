"""A whole deal written out for a terminal: the table as play begins, then a line for each move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from guandan_env.actions import PASS
from guandan_env.engine import Engine
from guandan_env.notation import row_name
from guandan_env.promotion import gains
from guandan_env.render_text import render_text
from guandan_env.scene import PLACE_NAMES
from guandan_env.scene_of import cards_of_plays, scene_of
from guandan_env.state import Phase

_WHO = 13
_CLAIM = 16
_FEW = 10  # from so few cards on, a line says how many are left


def deal_lines(
    engines: Iterable[Engine], names: Sequence[str], title: str = "", *, color: bool = False
) -> Iterator[str]:
    """The deal at table 0 of an engine, line by line as it is played.

    `engines` yields the same engine as the deal begins and after each move, as
    `record_replay.replay` does. Tribute is told under the table as play begins. A deal that ends
    before its end has no closing lines.
    """
    engine = None
    drawn = False
    length = 0
    for engine in engines:
        state = engine.state
        if drawn and state.length[0] > length:
            yield move_line(engine, names)
        elif drawn:
            yield f"      seat {state.seat[0]} is given the lead"
        length = int(state.length[0])
        if state.phase[0] == Phase.PLAY and not drawn:
            yield render_text(scene_of(state, 0, names, title), color=color)
            drawn = True
        if state.phase[0] == Phase.PLAY and state.lead[0] == PASS:
            yield ""
    if engine is None:
        return
    if not drawn:
        yield render_text(scene_of(engine.state, 0, names, title), color=color)
    if engine.state.phase[0] == Phase.OVER:
        yield ""
        yield from result_lines(engine, names)


def move_line(engine: Engine, names: Sequence[str]) -> str:
    """The last play or pass at table 0: its number, who, claim, cards, and what is left."""
    state = engine.state
    length = int(state.length[0])
    row, seat = int(state.history[0, length - 1]), int(state.history_seat[0, length - 1])
    who = f"{seat} {names[seat]}"
    if len(who) > _WHO:
        who = who[: _WHO - 1] + "…"
    start = f"{length:>4}  {who:<{_WHO}} "
    if row == PASS:
        return f"{start}pass"
    held = int(np.bitwise_count(state.hands[0, seat]).sum())
    left = "out" if held == 0 else f"{held} left" if held <= _FEW else ""
    cards = " ".join(cards_of_plays(state, 0)[-1])
    return f"{start}{row_name(row):<{_CLAIM}} {cards}   {left}".rstrip()


def result_lines(engine: Engine, names: Sequence[str]) -> list[str]:
    """How the deal at table 0 ended: places and levels won."""
    order = engine.state.order.astype(np.int64)
    side, levels = gains(engine.rules, order)
    places = ", ".join(
        f"{place} {names[seat]} ({seat})"
        for place, seat in zip(PLACE_NAMES, order[0].tolist(), strict=True)
        if seat >= 0
    )
    who = f"Seats {side[0]} and {side[0] + 2} win"
    if (order < 0).any():  # sudden death
        return [f"Finished: {places}.", f"{who} the game."]
    return [f"Finished: {places}.", f"{who} {levels[0]} level{'s' * int(levels[0] != 1)}."]
