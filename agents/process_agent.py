"""Agents of users in processes of their own: `Isolated`, held to the times of a `Conduct`.

Such an agent may hang, crash, flood its output or end: the decision it was asked about is then a
fault with its cause (`PartialAnswerError`), its process is ended and begun anew, and everybody else
plays on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from agents.answers import Answer, Cause, PartialAnswerError
from agents.process import Process, ProcessFault
from agents.process_frames import (
    DONE,
    FAIL,
    HEADER,
    LONGEST_MESSAGE,
    MAKE,
    MOST_TEXT,
    RESET,
    SAID,
    FrameError,
    frame,
    message_of,
    most_answer,
    pack_decisions,
    unpack_answer,
)
from agents.registry import KINDS, AgentError, Spec, make, parse
from guandan_env.actions import PASS
from guandan_env.cards import NUM_KINDS
from guandan_env.conduct import Conduct
from guandan_env.decisions import Agent, Decisions
from guandan_env.errors import one_line, shown
from guandan_env.state import Phase

MOST_RESTARTS = 100  # of a program between two resets; one that needs more is given up
START_TIME = 120.0  # seconds for a program to start, where the conduct sets no time
MOST_AT_ONCE = 4096  # decisions in one question
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from agents.process_main import main; main()"
)


class Stops(Protocol):
    """Something that runs and can be ended."""

    def stop(self) -> None:
        """End it."""
        ...


Program = TypeVar("Program", bound=Stops)


class Keeper(Generic[Program]):
    """Keeps a program running: begins it when it is needed, anew after a fault, but not for ever.

    `start` begins it and returns it when it is ready, or raises `ProcessFault`. A program that
    does not start is given up; one that has been begun anew `MOST_RESTARTS` times is, till `reset`.
    """

    def __init__(self, start: Callable[[], Program]) -> None:
        self._start = start
        self._program: Program | None = None
        self._starts = 0
        self._given_up: str | None = None

    @property
    def program(self) -> Program:
        """The program, running; `ProcessFault` (`Cause.ABSENT`) where it cannot be."""
        if self._given_up is not None:
            raise ProcessFault(Cause.ABSENT, self._given_up)
        if self._program is None:
            if self._starts > MOST_RESTARTS:
                text = f"it has failed and been begun anew {MOST_RESTARTS} times: enough"
                raise ProcessFault(Cause.ABSENT, text)
            self._starts += 1
            try:
                self._program = self._start()
            except ProcessFault as fault:
                self._given_up = f"it did not start: {fault.wrong.text}"
                raise ProcessFault(Cause.ABSENT, self._given_up) from fault
        return self._program

    @property
    def running(self) -> bool:
        """Whether it has been begun and has not failed since."""
        return self._program is not None

    def drop(self) -> None:
        """End it; it is begun anew when it is needed."""
        if self._program is not None:
            self._program.stop()
            self._program = None

    def reset(self) -> None:
        """Count from nothing again how often it was begun."""
        self._starts = 0


@runtime_checkable
class KeepsTime(Protocol):
    """An agent that holds itself, or the program behind it, to the times of a conduct."""

    def keep_time(self, conduct: Conduct) -> None:
        """Said before a match begins."""
        ...


def make_under(spec: str | Spec, conduct: Conduct) -> Agent:
    """The agent of a spec, held to the times of a conduct.

    Where there is a time for moves, classes from modules of the user's own run in processes of
    their own (`Isolated`), while registered kinds decide in this one: those with a program behind
    them are told the times (`KeepsTime`). Raises `AgentError` as `make` does. Whoever makes an
    agent here ends it with `close`.
    """
    parsed = parse(spec) if isinstance(spec, str) else spec
    timed = conduct.move_time is not None or conduct.first_lead_time is not None
    if timed and parsed.kind not in KINDS:
        return Isolated(parsed, conduct)
    agent = make(parsed)
    if isinstance(agent, KeepsTime):
        agent.keep_time(conduct)
    return agent


def close(agent: Agent) -> None:
    """End what runs for an agent, if anything does."""
    end = getattr(agent, "close", None)
    if callable(end):
        end()


class Isolated:
    """The agent of a spec in a process of its own.

    It is asked about many decisions at once as long as it answers them well within the time for
    one; what it does not answer is asked again one by one, each with that time, so that only
    decisions which fail alone are faults. Between two tries its process is begun anew.

    Raises `AgentError` if the spec names no agent. If the process does not start for another
    reason, or not within the conduct's start time, every decision is a fault (`Cause.ABSENT`).
    """

    def __init__(self, spec: str | Spec, conduct: Conduct) -> None:
        self.spec = parse(spec) if isinstance(spec, str) else spec
        self.name = str(self.spec)
        self._conduct = conduct
        self._keeper = Keeper(self._begin)
        self._at_once = 1
        self._made = False  # whether the spec has once made an agent
        with suppress(ProcessFault):  # each decision will be told
            self._made = self._keeper.program.alive

    def reset(self) -> None:
        """Begin a new match; `AgentError` if the agent fails to reset."""
        self._keeper.reset()
        if not self._keeper.running:
            return
        try:
            self._asked(self._keeper.program, frame(RESET, None), self._start_time)
        except ProcessFault:
            self._keeper.drop()  # begun anew it has nothing to forget
        except BaseException:
            self._keeper.drop()
            raise

    def act(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Rows and cards; `PartialAnswerError` with what failed and why."""
        n = len(decisions)
        whole = Answer(np.zeros(n, dtype=np.int64), np.zeros((n, NUM_KINDS), dtype=np.uint8))
        usual, first = self._conduct.move_time, self._conduct.first_lead_time
        leads = first_leads(decisions)
        self._answer(decisions, np.flatnonzero(leads), usual if first is None else first, whole)
        self._answer(decisions, np.flatnonzero(~leads), usual, whole)
        if whole.wrong:
            raise PartialAnswerError(whole.rows, whole.cards, whole.wrong)
        return whole.rows, whole.cards

    def close(self) -> None:
        """End the process."""
        self._keeper.drop()

    # ------------------------------------------------------------------ asking

    def _answer(
        self, decisions: Decisions, chosen: NDArray[np.intp], limit: float | None, whole: Answer
    ) -> None:
        """Have some decisions answered, each within `limit` seconds, into `whole`."""
        at = singly_to = 0
        while at < len(chosen):
            size = MOST_AT_ONCE if limit is None else self._at_once
            part = chosen[at : at + (1 if at < singly_to else size)]
            begun = perf_counter()
            try:
                answer = self._ask(decisions.take(part), limit)
            except ProcessFault as fault:
                self._keeper.drop()
                if len(part) > 1:
                    singly_to = at + len(part)
                    continue
                whole.wrong[int(part[0])] = fault.wrong
            except BaseException:  # such as Ctrl-C: an answer that nobody waits for would be left
                self._keeper.drop()
                raise
            else:
                whole.rows[part], whole.cards[part] = answer.rows, answer.cards
                whole.wrong |= {int(part[i]): wrong for i, wrong in answer.wrong.items()}
                self._pace(len(part), perf_counter() - begun, limit)
            at += len(part)

    def _pace(self, asked: int, seconds: float, limit: float | None) -> None:
        """Ask for as many at once as stay far within the time of a single one."""
        if limit is None:
            return
        if seconds > limit / 4:
            self._at_once = max(1, asked // 2)
        elif seconds < limit / 16 and asked == self._at_once:
            self._at_once = min(2 * asked, MOST_AT_ONCE)

    def _ask(self, decisions: Decisions, limit: float | None) -> Answer:
        process = self._keeper.program
        n = len(decisions)
        word, body = self._heard(process, pack_decisions(decisions), limit, most_answer(n))
        try:
            if word != SAID:
                raise FrameError(f"it said {shown(word)}: {shown(body)}")
            return unpack_answer(body, n)
        except FrameError as error:
            raise _garbage(process, error) from error

    @property
    def _start_time(self) -> float:
        return START_TIME if self._conduct.start_time is None else self._conduct.start_time

    def _begin(self) -> Process:
        process = Process([sys.executable, "-c", _BOOT, json.dumps(sys.path)])
        try:
            name = self._asked(process, frame(MAKE, str(self.spec)), self._start_time)
        except AgentError as error:
            if self._made:
                raise ProcessFault(Cause.ABSENT, str(error)) from error
            raise
        self.name = name if isinstance(name, str) and name else self.name
        return process

    def _asked(self, process: Process, question: bytes, seconds: float) -> object:
        """What is answered to anything but decisions; `AgentError` for what the agent raised."""
        word, body = self._heard(process, question, seconds, MOST_TEXT)
        try:
            told, rest = message_of(body)
            if word not in (DONE, FAIL) or len(rest):
                raise FrameError(f"it said {shown(word)}: {shown(body)}")
        except FrameError as error:
            raise _garbage(process, error) from error
        if word == FAIL:
            process.stop()
            raise AgentError(one_line(told, LONGEST_MESSAGE))
        return told

    def _heard(
        self, process: Process, question: bytes, seconds: float | None, most: int
    ) -> tuple[bytes, bytes]:
        """Send a frame, wait for another: its word and its body."""

        def end_of(heard: bytearray) -> int | None:
            if len(heard) < HEADER.size:
                return None
            word, length = HEADER.unpack_from(heard)
            if word not in (DONE, SAID, FAIL) or length > most:
                raise ProcessFault(Cause.ERROR, f"it answered with garbage: {shown(bytes(heard))}")
            return HEADER.size + length if len(heard) >= HEADER.size + length else None

        process.send(question)
        answer = process.receive(end_of, seconds, most)
        return answer[:4], answer[HEADER.size :]


def _garbage(process: Process, error: FrameError) -> ProcessFault:
    return process.fault(Cause.ERROR, f"it answered with garbage: {one_line(error)}")


def first_leads(decisions: Decisions) -> NDArray[np.bool_]:
    """Which decisions `(n,)` are the first lead of their deal (RULES 7.3)."""
    nothing_played = ~decisions.played_bits.any(axis=(1, 2))
    return (decisions.phase == Phase.PLAY) & (decisions.lead == PASS) & nothing_played
