"""Playing in processes of its own: the tables of a run, shared out among workers.

A worker is a learner of the same settings at some of the tables; it plays and never learns. Before
each batch it is told how far the run is and given the networks. While the main process learns from
a batch the workers already play the next one, by networks that are one update old. Only the first
batch of a run and the first after imitation wait for the newest networks. Which worker has which
tables, and what it plays by, follows from the settings alone, so a run does too.

The tables of a checkpoint stand where the last batch that was learned from left them. A run goes on
from there with any number of workers; its first batch is then played by the newest networks, so it
is not bit-equal to one that was never stopped. What is being played when a run ends is lost.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

from guandan_env.errors import GuandanError
from guandan_env.state import State
from train.config import ConfigError, TrainConfig
from train.learner import Learner, Orders
from train.rollout import Experience

GRACE = 2.0  # seconds for a worker to end by itself
# A worker is one thread on one core, and leaves an accelerator to the process that learns.
ALONE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
Batch = tuple[Experience, State]


class WorkerError(GuandanError):
    """A worker failed, ended or fell silent, and the run with it."""


def check(config: TrainConfig) -> None:
    """`ConfigError` where there are more workers than tables."""
    if config.workers > config.tables:
        raise ConfigError(
            f"workers is {config.workers}; with {config.tables} tables 0 to {config.tables} are "
            "allowed"
        )


class Workers:
    """The workers of a learner, from entering the context to leaving it.

    Nothing that a worker does makes the main process wait longer than `timeout` seconds, the
    setting `worker_timeout`. `processes` are the workers'.
    """

    def __init__(self, learner: Learner) -> None:
        check(learner.config)
        self.learner, self.timeout = learner, learner.config.worker_timeout
        self._workers: list[_Worker] = []
        self._asked: list[Future[Batch]] = []  # the batch that is being played

    def __enter__(self) -> Workers:
        config, play = self.learner.config, self.learner.play
        try:
            for number in range(config.workers):
                # Every so many, so that each has its part of those with opponents.
                tables = np.arange(number, config.tables, config.workers)
                worker = _Worker(self.learner, number, tables)
                self._workers.append(worker)
                worker.begin(play.engine.state.take(tables))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def processes(self) -> list[int]:
        """Their numbers in the system."""
        return [worker.process.pid or 0 for worker in self._workers]

    def update(self) -> dict[str, float]:
        """Learn from the next batch, while the one after it is played; see `Learner.update`.

        `charts/waiting` is the part of the time in which there was nothing to learn from yet.
        Raises `WorkerError` if a worker does not do its part.
        """
        learner, begun = self.learner, time.monotonic()
        if not self._asked:
            self._ask(learner.orders())
        self._wait()
        waited = time.monotonic() - begun
        experience = self._take()
        if learner.looks_ahead:
            self._ask(learner.orders(ahead=1))
        figures = learner.learn_from(experience)
        return {**figures, "charts/waiting": waited / (time.monotonic() - begun)}

    def _ask(self, orders: Orders) -> None:
        # Written down at once: learning changes the networks.
        data = pickle.dumps(orders, pickle.HIGHEST_PROTOCOL)
        self._asked = [worker.ask(data) for worker in self._workers]

    def _wait(self) -> None:
        """Wait until all have played, or one has failed."""
        _, late = wait(self._asked, self.timeout, FIRST_EXCEPTION)
        total = len(self._workers)
        for number, (worker, asked) in enumerate(zip(self._workers, self._asked, strict=True), 1):
            if not asked.done():
                continue
            error = asked.exception()
            if isinstance(error, WorkerError):
                raise WorkerError(f"worker {number} of {total} failed:\n{error}")
            if isinstance(error, (OSError, EOFError)):
                raise WorkerError(f"worker {number} of {total} {worker.how_it_ended()}")
            if error is not None:
                raise error
        if late:
            number = min(self._asked.index(asked) for asked in late) + 1
            raise WorkerError(
                f"worker {number} of {total} has said nothing for {self.timeout:g} seconds "
                "(the setting worker_timeout)"
            )

    def _take(self) -> Experience:
        """What all have played; the learner's tables then stand as theirs do."""
        parts = [asked.result() for asked in self._asked]
        self._asked = []
        for _, state in parts:
            self.learner.play.put(state)
        return Experience.join([part for part, _ in parts], [state.table for _, state in parts])

    def stop(self) -> None:
        """End all of them, whatever they do."""
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + GRACE
        for worker in self._workers:
            worker.stop(max(0.0, deadline - time.monotonic()))
        self._workers, self._asked = [], []


class _Worker:
    """A worker as the main process sees it.

    A thread talks with it, so that the main one can wait for a worker that stands still in the
    middle of reading or writing as long as it likes.
    """

    def __init__(self, learner: Learner, number: int, tables: np.ndarray) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_work,
            args=(theirs, type(learner), learner.config, learner.folder),
            name=f"guandan worker {number + 1}",
            daemon=True,
        )
        with _for_workers():
            self.process.start()
        theirs.close()  # so that the pipe ends with the worker
        self._thread = ThreadPoolExecutor(1)

    def begin(self, state: State) -> None:
        """Have it begin with tables in this state."""
        self._thread.submit(self.pipe.send_bytes, pickle.dumps(state, pickle.HIGHEST_PROTOCOL))

    def ask(self, orders: bytes) -> Future[Batch]:
        """Have it play a batch by orders that were written down."""
        return self._thread.submit(self._talk, orders)

    def _talk(self, orders: bytes) -> Batch:
        # Who reads no more may still have said why.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send_bytes(orders)
        answer: Batch | str = pickle.loads(self.pipe.recv_bytes())
        if isinstance(answer, str):
            raise WorkerError(answer)
        return answer

    def how_it_ended(self) -> str:
        """In words, once its pipe is closed."""
        self.process.join(GRACE)
        code = self.process.exitcode
        if code is None:
            return "talks no more"
        if code >= 0:
            return f"ended with exit status {code}"
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"

    def stop(self, grace: float) -> None:
        """Wait for its end, at most so many seconds, and then kill it."""
        self.process.join(grace)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self._thread.shutdown(cancel_futures=True)  # it finds the pipe closed
        self.pipe.close()
        self.process.close()


@contextmanager
def _for_workers() -> Iterator[None]:
    """What a process inherits that starts here: its environment, and no ear for Ctrl-C."""
    before = {name: os.environ.get(name) for name in ALONE}
    resource_tracker.ensure_running()  # else it is started, and ends the blocking, in between
    blocked = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if blocked else set()
    os.environ.update(ALONE)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        if blocked:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# ---------------------------------------------------------------------- in the worker


def _work(pipe: Connection, kind: type[Learner], config: TrainConfig, folder: Path) -> None:
    """What a worker does: play what it is asked to, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides what Ctrl-C means
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        state = pipe.recv_bytes()
        try:
            learner = kind(config, folder)
            learner.play.restore(pickle.loads(state))
        except Exception:
            pipe.send_bytes(pickle.dumps(traceback.format_exc()))
            return
        while True:
            data = pipe.recv_bytes()
            try:
                answer: Batch | str = learner.obey(pickle.loads(data)), learner.play.engine.state
            except Exception:
                answer = traceback.format_exc()
            pipe.send_bytes(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _end_with_parent() -> None:
    """End this process when the main one has, whatever this one is doing."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)
