"""A recorded deal as text: where it comes from, the deal as it was played, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from guandan_env.errors import one_line
from guandan_env.record_replay import replay
from guandan_env.render_deal import deal_lines
from guandan_env.scene import SIDE_NAMES

LONGEST_FAULT = 500  # characters that are shown of what is told of a fault
Record = Mapping[str, Any]


def record_lines(number: int, told: Record, *, color: bool = False) -> Iterator[str]:
    """The deal of a record (of the right shape), line by line; `number` is its place in its file.

    Raises `RecordError` where the record is not sound; what was yielded before is.
    """
    yield " · ".join(about(told))
    yield from deal_lines(replay(told), told["players"], f"Deal {number}", color=color)
    yield from sequel_lines(told)


def about(told: Record) -> list[str]:
    """Where a deal comes from, in short texts."""
    lines = [f"{one_line(name)}: {one_line(value)}" for name, value in told["context"].items()]
    numbers = [f"{name} {told[name]}" for name in ("seed", "table", "deal")]
    return [*lines, f"rules: {one_line(told['rules']['name'])}", ", ".join(numbers)]


def sequel_lines(told: Record) -> list[str]:
    """What a deal that was played to its end meant for the game, or why another was not."""
    fault, result = told["fault"], told["result"]
    if fault is not None:
        agent = f" ({one_line(fault['agent'])})" if "agent" in fault else ""
        text = one_line(fault["text"], LONGEST_FAULT)
        return [f"Fault of seat {fault['seat']}{agent}: {text}"]
    if result is None:
        return ["The deal was not played to its end."]
    if result["after"] is None:
        return []
    lines = ["Levels now: {} and {}.".format(*result["after"]["levels"])]
    if result["winner"] == "draw":
        lines.append("The game is drawn.")
    elif result["winner"] is not None:
        lines.append(f"Seats {SIDE_NAMES[result['winner']]} win the game.")
    return lines
