"""Work of a competition in this process, or in several that end with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from types import FrameType, TracebackType
from typing import Any, Self

from eval.competition.play import end_programs
from guandan_env.errors import GuandanError

Work = Callable[..., Any]


class Workers:
    """So many processes for work, or none but this one for `count` 1. Use as a context.

    Work is a function of a module and arguments, all of which can be sent to a process; with it
    goes a label, under which its result is given back.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise GuandanError(f"--workers is {count}; 1 or more are allowed")
        self.count = count
        self._others = set(active_children())
        self._pool: ProcessPoolExecutor | None = None
        self._running: dict[Future[Any], object] = {}
        self._waiting: list[tuple[object, Work, tuple[Any, ...]]] = []

    def submit(self, label: object, work: Work, *arguments: Any) -> None:
        """Have work done."""
        if self.count == 1:
            self._waiting.append((label, work, arguments))
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.count, get_context("spawn"), initializer=_ready, initargs=(os.getcwd(),)
            )
        with _deaf():
            self._running[self._pool.submit(work, *arguments)] = label

    def next(self) -> tuple[object, Any] | None:
        """The label and the result of work that is done; waits for it. None if there is none.

        Raises `GuandanError` if a process has ended in the middle of its work.
        """
        if self._waiting:
            label, work, arguments = self._waiting.pop(0)
            return label, work(*arguments)
        if not self._running:
            return None
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        future = done.pop()
        label = self._running.pop(future)
        try:
            return label, future.result()
        except BrokenProcessPool as error:
            raise GuandanError(
                "a process in which games were played has ended; what was over by then is kept, "
                "and the same command goes on"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is None:
            return
        if error is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            for child in set(active_children()) - self._others:
                child.terminate()
        self._pool.shutdown(wait=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Begin processes that ignore Ctrl-C from their first moment; this one answers it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _ready(folder: str) -> None:
    """Make a process ready: it leaves Ctrl-C to the first one, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    os.chdir(folder)
    os.dup2(2, 1)  # what agents print is no result
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end(number: int, frame: FrameType | None) -> None:
    """End this process and the programs behind its agents.

    By no exception: that might pass through an agent's code, and be taken for a fault of it.
    """
    end_programs()
    os._exit(1)


def _end_with_parent() -> None:
    parent, main = parent_process(), threading.main_thread().ident
    assert parent is not None
    assert main is not None
    wait_for([parent.sentinel])
    # To the thread that may be waiting for work: a signal to another would not wake it.
    signal.pthread_kill(main, signal.SIGTERM)
