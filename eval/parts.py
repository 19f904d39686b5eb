"""A match cut in parts, played one after the other in this process or side by side in others.

What comes out of a part depends on which pairs it holds and nothing else, and parts are given back
in order. So no number depends on how they are cut: small ones first, larger ones while they are
played quickly, so that with slow agents too something is known soon.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from threading import current_thread, main_thread
from time import perf_counter
from types import FrameType

from agents import AgentError
from agents.process_agent import close, make_under
from eval.duplicate import LEGS, Pairs, Terms, play_pairs
from guandan_env.decisions import Agent

FIRST = 50  # pairs of the first part
MOST = 2500  # pairs of the largest: more would only cost memory
ENOUGH = 10.0  # seconds: parts grow no more once one has taken about so long
Progress = Callable[[int, float], None]
Played = tuple[Pairs | None, float]


class Cuts:
    """Where a match of so many pairs is cut, none of the parts larger than `most`."""

    def __init__(self, pairs: int, most: int) -> None:
        self._pairs, self._most = pairs, most
        self._next, self._size = 0, min(FIRST, most)

    def cut(self) -> tuple[int, int] | None:
        """The first pair of the next part and how many it has; None when all are cut."""
        count = min(self._size, self._pairs - self._next)
        if count < 1:
            return None
        self._next += count
        return self._next - count, count

    def took(self, count: int, seconds: float) -> None:
        """A part of so many pairs has taken so long."""
        if seconds < ENOUGH / 2 and count >= self._size:
            self._size = min(2 * self._size, self._most)
        elif seconds > 2 * ENOUGH:
            self._size = max(1, count // 2)


class Tally:
    """Tells how far a match is, over the parts."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.done, self.won = progress, 0, 0.0

    def within(self, done: int, rate: float) -> None:
        """So many deals or games of the part that is played are done, a has won at this rate."""
        if self.progress is not None:
            whole = self.done + done
            self.progress(whole, (self.won + done * rate) / whole)

    def add(self, part: Pairs) -> None:
        """A part is played."""
        self.done += LEGS * len(part)
        self.won += float(part.won.sum())
        if self.progress is not None and self.done:
            self.progress(self.done, self.won / self.done)


def played_here(a: str, b: str, terms: Terms, cuts: Cuts, tally: Tally) -> Generator[Pairs]:
    """The parts, played in this process; after Ctrl-C the last one is what is known of it."""
    with ExitStack() as stack:
        agents = _made(a, b, terms, stack)
        while (cut := cuts.cut()) is not None:
            begun = perf_counter()
            part = play_pairs(*agents, *cut, terms, tally.within)
            cuts.took(len(part), perf_counter() - begun)
            tally.add(part)
            yield part
            if len(part) < cut[1]:
                return


def played_elsewhere(
    a: str, b: str, terms: Terms, workers: int, cuts: Cuts, tally: Tally
) -> Generator[Pairs]:
    """The parts, played in processes; after Ctrl-C the last one is what is known of it.

    Raises `AgentError` where a process ends, which an agent must have ended.
    """
    with ExitStack() as stack:
        _made(a, b, terms, stack)  # what is wrong with a spec is said here, not in a process
    others = set(active_children())
    with ExitStack() as stack:
        pool = ProcessPoolExecutor(
            workers, get_context("spawn"), initializer=_ready, initargs=(a, b, terms)
        )
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        waiting: deque[tuple[int, Future[Played]]] = deque()
        try:
            while True:
                # No more ahead than keeps everybody busy, so that a decided match ends soon.
                while len(waiting) <= workers and (cut := cuts.cut()) is not None:
                    with _deaf():
                        waiting.append((cut[1], pool.submit(_play_part, *cut, terms)))
                if not waiting:
                    return
                count, future = waiting[0]
                part, seconds = future.result()
                waiting.popleft()
                if part is None or len(part) < count:  # the process alone has been interrupted
                    raise KeyboardInterrupt
                cuts.took(count, seconds)
                tally.add(part)
                yield part
        except KeyboardInterrupt:
            part = _known(waiting[0][1], others) if waiting else None
            if part is not None:
                yield part
        except BrokenProcessPool as error:
            raise AgentError(
                f"a process in which {a!r} and {b!r} played has ended; agents that crash can be "
                "given processes of their own, with a time for moves (--move-time)"
            ) from error
        finally:
            # Also when nobody asks for more, because the match is decided.
            _interrupt(others)


def _made(a: str, b: str, terms: Terms, stack: ExitStack) -> tuple[Agent, Agent]:
    agents = []
    for spec in (a, b):
        agents.append(make_under(spec, terms.conduct))
        stack.callback(close, agents[-1])
    return agents[0], agents[1]


def _interrupt(others: set[BaseProcess]) -> None:
    """Let the processes that are ours end what they play."""
    for child in set(active_children()) - others:
        if child.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGINT)


def _known(future: Future[Played], others: set[BaseProcess]) -> Pairs | None:
    """Interrupt the processes that are ours: what is known of the part of one of them."""
    while True:
        _interrupt(others)  # again and again: one that has just been begun does not hear yet
        try:
            return future.result(timeout=0.2)[0]
        except TimeoutError:
            continue


@contextmanager
def _deaf() -> Iterator[None]:
    """Begin processes that ignore Ctrl-C until they know what to do about it."""
    if current_thread() is not main_thread():
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


# ---------------------------------------------------------------------- in the processes

_agents: tuple[Agent, Agent] | None = None
_playing = _stopped = False


def _ready(a: str, b: str, terms: Terms) -> None:
    global _agents
    signal.signal(signal.SIGINT, _on_interrupt)
    # Ended by force it still ends the programs behind its agents.
    signal.signal(signal.SIGTERM, _on_end)
    os.dup2(2, 1)  # what agents print is no result
    _agents = make_under(a, terms.conduct), make_under(b, terms.conduct)


def _on_end(number: int, frame: FrameType | None) -> None:
    # No exception: the fault of an agent is what `ask` would take it for.
    for agent in _agents or ():
        close(agent)
    os._exit(1)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    """Break off what is played, and play no more."""
    global _playing, _stopped
    _stopped = True
    if _playing:
        _playing = False
        raise KeyboardInterrupt


def _play_part(first: int, count: int, terms: Terms) -> Played:
    """A part, or what is known of it after an interrupt, and the seconds it took."""
    global _playing
    assert _agents is not None
    begun, part = perf_counter(), None
    with suppress(KeyboardInterrupt):
        _playing = not _stopped
        if _playing:
            part = play_pairs(*_agents, first, count, terms)
    _playing = False
    return part, perf_counter() - begun
