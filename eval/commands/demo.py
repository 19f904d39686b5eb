"""`guandan demo`: a short match of the two simplest agents, and one deal to read."""

from __future__ import annotations

import argparse

import numpy as np

from agents import make
from eval.commands.match import print_result, run_match
from eval.duplicate import ask
from guandan_env.engine import Engine
from guandan_env.notation import row_name
from guandan_env.promotion import gains
from guandan_env.render_text import render_text
from guandan_env.scene import PLACE_NAMES
from guandan_env.scene_of import cards_of_plays, scene_of
from guandan_env.state import Phase

FIRST, SECOND = "greedy", "random"
_LINE = "{:>4}  {:<13} {:<16} {}"


def main(argv: list[str]) -> int:
    """Play and print; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="guandan demo",
        allow_abbrev=False,
        description=f"A duplicate match of {FIRST} and {SECOND}, then one of its deals, written "
        "out as a person would read it.",
    )
    parser.add_argument(
        "--deals", type=int, default=2000, help="deals, each played twice (default 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default 0)")
    args = parser.parse_args(argv)
    from rich.console import Console

    console = Console(highlight=False)
    result = run_match(FIRST, SECOND, deals=args.deals, seed=args.seed, show_progress=True)
    print_result(result)
    console.print(f"\nOne of these deals, with {FIRST} at seats 0 and 2:\n")
    color = console.is_terminal and console.color_system is not None
    print("\n".join(deal_in_words(args.seed, color=color)))
    return 0


def deal_in_words(seed: int, deal: int = 0, *, color: bool = False) -> list[str]:
    """Deal `deal` of a match of `FIRST` (seats 0 and 2) and `SECOND`, written out line by line."""
    engine = Engine(1, seed=seed, tables=np.array([deal]))
    state = engine.state
    agents = [make(FIRST), make(SECOND)]
    names = [agent.name for agent in agents] * 2
    lines: list[str] = []
    drawn = False
    while not state.over[0]:
        if state.phase[0] == Phase.PLAY and not drawn:
            lines += [render_text(scene_of(state, 0, names, f"Deal {deal}"), color=color)]
            drawn = True
        if state.phase[0] == Phase.PLAY and state.lead[0] == 0:
            lines.append("")
        rows, cards = ask(agents[int(state.seat[0]) % 2], engine.decisions())
        engine.step(rows, cards)
        # Tribute is told by the lines under the table.
        if drawn:
            lines.append(_line(engine, names))
    return [*lines, "", *_result(engine, names)]


def _line(engine: Engine, names: list[str]) -> str:
    """The last play or pass in one line: number, who, cards, claim, and what is left."""
    state = engine.state
    length = int(state.length[0])
    row, seat = int(state.history[0, length - 1]), int(state.history_seat[0, length - 1])
    who = f"{seat} {names[seat]}"
    if row == 0:
        return _LINE.format(length, who, "pass", "").rstrip()
    held = np.bitwise_count(state.hands[0, seat]).sum()
    left = "out" if held == 0 else f"{held} left" if held <= 10 else ""
    cards = " ".join(cards_of_plays(state, 0)[-1])
    return _LINE.format(length, who, row_name(row), f"{cards}   {left}".rstrip())


def _result(engine: Engine, names: list[str]) -> list[str]:
    order = engine.state.order
    side, levels = gains(engine.rules, order.astype(np.int64))
    places = ", ".join(
        f"{place} {names[seat]} ({seat})"
        for place, seat in zip(PLACE_NAMES, order[0].tolist(), strict=True)
    )
    return [
        f"Finished: {places}.",
        f"Seats {side[0]} and {side[0] + 2} win {levels[0]} level{'s' * int(levels[0] != 1)}.",
    ]
