"""The program that `process_agent.Isolated` runs: one agent, asked through standard input."""

from __future__ import annotations

import os
import signal
import sys
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO

from agents.answers import ask, reset
from agents.process_frames import (
    ASK,
    DONE,
    FAIL,
    HEADER,
    LONGEST_MESSAGE,
    MAKE,
    RESET,
    frame,
    message_of,
    pack_answer,
    unpack_decisions,
)
from agents.registry import make
from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError, one_line


def main() -> None:
    """Make the agent that is asked for and answer until the input ends, which ends the process."""
    asked, answers = _own_pipes()
    questions: SimpleQueue[tuple[bytes, bytes]] = SimpleQueue()
    Thread(target=_listen, args=(asked, questions), daemon=True).start()
    agent: Agent | None = None
    while True:
        word, body = questions.get()
        try:
            if word == MAKE:
                agent = make(message_of(body)[0])
                reply = frame(DONE, one_line(agent.name))
            elif agent is not None and word == RESET:
                reset(agent)
                reply = frame(DONE, None)
            elif agent is not None and word == ASK:
                reply = pack_answer(ask(agent, unpack_decisions(body)))
            else:
                raise RuntimeError(f"the process of an agent was asked {word!r}")
        except GuandanError as error:
            reply = frame(FAIL, one_line(error, LONGEST_MESSAGE))
        answers.write(reply)
        answers.flush()


def _listen(asked: BinaryIO, questions: SimpleQueue[tuple[bytes, bytes]]) -> None:
    """Take in questions; when nobody asks any more, end whatever the agent is doing.

    That happens when the process that asks is gone without having ended this one.
    """
    while len(head := asked.read(HEADER.size)) == HEADER.size:
        word, length = HEADER.unpack(head)
        questions.put((word, asked.read(length)))
    os.killpg(0, signal.SIGKILL)  # its children too


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for frames alone: what the agent prints goes to standard error."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return asked, answers
