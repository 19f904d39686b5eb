"""Asking an agent: checked rows and cards, and what was wrong with those that are not there."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from time import perf_counter
from traceback import extract_tb

import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentError
from guandan_env import legality
from guandan_env.actions import NUM_ACTIONS
from guandan_env.cards import NUM_KINDS
from guandan_env.decisions import Agent, Decisions
from guandan_env.errors import one_line
from guandan_env.notation import row_name
from guandan_env.state import Phase
from guandan_env.suits import match_cards


class Cause(Enum):
    """Why an answer cannot be played."""

    ILLEGAL = "illegal"  # a row or cards that are not allowed
    ERROR = "error"  # an exception, or an answer of the wrong form
    LATE = "late"  # no answer in time
    CRASH = "crash"  # its process ended, or had to be ended
    ABSENT = "absent"  # its process did not start, or not again


@dataclass(frozen=True)
class Wrong:
    """What was wrong with the answer to one decision."""

    cause: Cause
    text: str


class PartialAnswerError(Exception):
    """For agents that can tell which of their decisions failed: the rest is still good.

    `rows` `(n,)`, `cards` `(n, 54)`, and `wrong` by index of the decision.
    """

    def __init__(
        self, rows: NDArray[np.int64], cards: NDArray[np.uint8], wrong: dict[int, Wrong]
    ) -> None:
        super().__init__(f"{len(wrong)} of {len(rows)} decisions failed")
        self.rows, self.cards, self.wrong = rows, cards, wrong


@dataclass
class Answer:
    """Rows `(n,)` and cards `(n, 54)` (all zero: the engine chooses suits), and the faults.

    Entries of decisions in `wrong` mean nothing. seconds: what the agent took for all of them.
    """

    rows: NDArray[np.int64]
    cards: NDArray[np.uint8]
    wrong: dict[int, Wrong] = field(default_factory=dict)
    seconds: float = 0.0


def ask(agent: Agent, decisions: Decisions) -> Answer:
    """An agent's answer to n decisions, every fault found and none raised.

    An agent that fails on a batch is asked again for each decision alone, so that the fault is
    laid at the decision where it belongs.
    """
    n = len(decisions)
    # What is legal is judged by arrays that the agent cannot reach.
    legal, held = decisions.packed.copy(), decisions.hand_bits.copy()
    begun = perf_counter()
    wrong: dict[int, Wrong] = {}
    try:
        given = agent.act(decisions)
        rows, cards = given if isinstance(given, tuple) else (given, _no_cards(n))
        rows, cards = np.asarray(rows), np.asarray(cards)
        problem = _wrong_form(rows, cards, n)
    except PartialAnswerError as partial:
        rows, cards, wrong, problem = partial.rows, partial.cards, dict(partial.wrong), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever an agent raises is its fault, not ours
        problem = f"it raised {type(error).__name__}: {one_line(error)}{_place(error)}"
    seconds = perf_counter() - begun
    if problem is None:
        answer = Answer(rows.astype(np.int64), cards.astype(np.uint8), wrong, seconds)
        _find_illegal(answer, decisions, legal, held)
        return answer
    if n == 1:
        return Answer(
            np.zeros(1, dtype=np.int64), _no_cards(1), {0: Wrong(Cause.ERROR, problem)}, seconds
        )
    return _one_by_one(agent, decisions, problem, seconds)


def _place(error: BaseException) -> str:
    """Where an agent's own code raised an error, or called what did; empty if that is not known."""
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if frame.filename == __file__:
            break
        if "site-packages" not in file.parts and not frame.filename.startswith("<"):
            return f" ({file.name}, line {frame.lineno})"
    return ""


def _one_by_one(agent: Agent, decisions: Decisions, problem: str, seconds: float) -> Answer:
    whole = Answer(
        np.zeros(len(decisions), dtype=np.int64), _no_cards(len(decisions)), seconds=seconds
    )
    for i in range(len(decisions)):
        one = ask(agent, decisions.take(np.array([i])))
        whole.rows[i], whole.cards[i] = one.rows[0], one.cards[0]
        whole.seconds += one.seconds
        if one.wrong:
            whole.wrong[i] = one.wrong[0]
    if not whole.wrong:
        # It answers each decision but not all of them together: the first stands for the batch.
        batch = f"{problem} (for {len(decisions)} decisions at once, though for none of them alone)"
        whole.wrong[0] = Wrong(Cause.ERROR, batch)
    return whole


def _no_cards(n: int) -> NDArray[np.uint8]:
    return np.zeros((n, NUM_KINDS), dtype=np.uint8)


def _wrong_form(rows: NDArray[np.integer], cards: NDArray[np.integer], n: int) -> str | None:
    if rows.shape != (n,) or rows.dtype.kind not in "iu":
        return (
            f"it answered with {rows.dtype} of shape {rows.shape}; whole numbers of shape ({n},) "
            "are allowed"
        )
    if cards.shape != (n, NUM_KINDS) or cards.dtype.kind not in "iu":
        return (
            f"it answered with cards of {cards.dtype} and shape {cards.shape}; counts of shape "
            f"({n}, {NUM_KINDS}) are allowed"
        )
    if cards.size and not (0 <= int(cards.min()) <= int(cards.max()) <= 2):
        return "it answered with cards that are there less than 0 or more than 2 times"
    return None


def _find_illegal(
    answer: Answer,
    decisions: Decisions,
    packed: NDArray[np.uint64],
    hand_bits: NDArray[np.uint64],
) -> None:
    """Note the rows that are not legal, and the cards that do not make their row."""
    rows = answer.rows
    inside = (rows >= 0) & (rows < NUM_ACTIONS)
    legal = inside & legality.is_set(packed, np.where(inside, rows, 0))
    for i in np.flatnonzero(~legal).tolist():
        name = row_name(int(rows[i])) if inside[i] else "which is no row of the action table"
        text = f"it played the illegal action {rows[i]} ({name})"
        answer.wrong.setdefault(i, Wrong(Cause.ILLEGAL, text))
    given = legal & answer.cards.any(axis=1) & (decisions.phase == Phase.PLAY)
    chosen = np.flatnonzero(given)
    if not chosen.size:
        return
    _, bad = match_cards(
        hand_bits[chosen],
        rows[chosen],
        decisions.level[chosen],
        answer.cards[chosen],
        flush_is_straight=decisions.rules.flush_straight_as_straight,
    )
    for i in chosen[bad].tolist():
        text = f"its cards are not held, or do not make action {rows[i]} ({row_name(int(rows[i]))})"
        answer.wrong.setdefault(i, Wrong(Cause.ILLEGAL, text))


def require(agent: Agent, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """An agent's rows `(n,)` and cards `(n, 54)`; `AgentError` for the first that is wrong."""
    answer = ask(agent, decisions)
    for i, wrong in sorted(answer.wrong.items()):
        where = f"deal {decisions.table[i]}, seat {decisions.seat[i]}, move {decisions.length[i]}"
        raise AgentError(f"agent {agent.name!r} failed at {where}: {wrong.text}")
    return answer.rows, answer.cards


def reset(agent: Agent) -> None:
    """Let an agent forget everything; `AgentError` for what it raises."""
    try:
        agent.reset()
    except (AgentError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise AgentError(
            f"agent {agent.name!r} failed to reset: it raised {type(error).__name__}: {error}"
        ) from error
