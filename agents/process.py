"""Programs in processes of their own: asked and answering through pipes, in bounded time and size.

`Process` starts a program in a new process group, talks with it in bytes and ends it with all its
children; `LineProcess` talks in lines of text. Whatever a program does wrong (it crashes, hangs,
floods its output, ends) becomes a `ProcessFault` that says so, and then it is ended.
Needs POSIX; tested on Linux.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agents.answers import Cause, Wrong
from guandan_env.errors import one_line

MOST_ANSWER = 1 << 20  # bytes of one answer, unless said otherwise
MOST_NOISE = 1 << 24  # bytes on standard error while one answer is waited for
MOST_UNREAD = 1 << 26  # bytes that wait for a program to read them
_TAIL = 2000  # last bytes of standard error that are kept
_CHUNK = 1 << 16
_TICK = 0.1  # seconds between two looks at whether a silent program is still there
_GRACE = 0.5  # seconds for a program that closed its output to end, so that its status is known


class ProcessFault(Exception):
    """A program did not do what it should; it has been ended. `wrong` says why."""

    def __init__(self, cause: Cause, text: str) -> None:
        super().__init__(text)
        self.wrong = Wrong(cause, text)


class Process:
    """A running program. Nothing is read from it but while an answer is waited for.

    Parameters: `command`, the program and its arguments; `cwd`, the folder it runs in; `env`, its
    environment (default: ours). Raises `ProcessFault` (`Cause.ABSENT`) if it cannot be started.
    Children that begin a session of their own are not ended with it.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        if os.name != "posix":
            raise ProcessFault(Cause.ABSENT, "programs can be run as players on Linux or macOS")
        try:
            program = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            text = f"it cannot be started: {one_line(error)}"
            raise ProcessFault(Cause.ABSENT, text) from error
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        self._in, self._out, self._err = (
            pipe.fileno() for pipe in (program.stdin, program.stdout, program.stderr)
        )
        self._program = program
        self._selector = selectors.DefaultSelector()
        # Also when nobody calls `stop`: at the latest with the interpreter.
        self._end = weakref.finalize(self, _end, program, self._selector)
        for pipe in (self._in, self._out, self._err):
            os.set_blocking(pipe, False)
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)
        self._unread = bytearray()  # to be written
        self._heard = bytearray()  # read, and not yet part of an answer
        self._tail = b""
        self._noise = 0
        self._silent = False  # whether it has closed its output

    @property
    def alive(self) -> bool:
        """Whether it has not been ended yet; it may have ended by itself."""
        return self._end.alive

    def send(self, data: bytes) -> None:
        """Give it bytes to read, now or while the next answer is waited for."""
        if not self.alive:
            raise ProcessFault(Cause.CRASH, "it has been ended")
        if len(self._unread) + len(data) > MOST_UNREAD:
            raise self._fault(Cause.ERROR, f"it left {len(self._unread):,} bytes unread")
        if not self._unread:
            # A program that does not read any more is found when its answer is waited for.
            with suppress(KeyError):
                self._selector.register(self._in, selectors.EVENT_WRITE)
        self._unread += data
        self._pump(0)

    def receive(
        self, end_of: Callable[[bytearray], int | None], seconds: float | None, most: int
    ) -> bytes:
        """Wait for an answer and take it.

        `end_of` is given what was heard so far and returns where the answer ends, None while it
        does not. `seconds` is the time for it, None for no limit; `most` its largest size in
        bytes. Raises `ProcessFault`, and ends the program, if there is no such answer; of what
        `end_of` raises the same is true.
        """
        if not self.alive:
            raise ProcessFault(Cause.CRASH, "it has been ended")
        deadline = None if seconds is None else time.monotonic() + seconds
        self._noise = 0
        while True:
            try:
                end = end_of(self._heard)
            except ProcessFault:
                self.stop()
                raise
            if (len(self._heard) if end is None else end) > most:
                raise self._fault(
                    Cause.CRASH, f"it flooded its output: more than {most:,} bytes in one answer"
                )
            if end is not None:
                answer = bytes(self._heard[:end])
                del self._heard[:end]
                return answer
            if self._noise > MOST_NOISE:
                raise self._fault(
                    Cause.CRASH,
                    f"it flooded standard error: more than {MOST_NOISE:,} bytes in one answer",
                )
            if self._silent:
                raise self._fault(Cause.CRASH, self._how_it_ended())
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise self._fault(Cause.LATE, f"it gave no answer within {seconds:g} s")
            quiet = not self._pump(_TICK if left is None else min(left, _TICK))
            # It may have ended while a child of its holds the pipes open, with a last word in them.
            if quiet and self._has_ended() and not self._pump(0):
                self._silent = True

    def fault(self, cause: Cause, text: str) -> ProcessFault:
        """End it, for an answer that is wrong; returns the fault to raise."""
        self.stop()
        return ProcessFault(cause, text)

    def stop(self, grace: float = 0.0) -> None:
        """End it with all its children; it has `grace` seconds to end when its input closes."""
        if grace > 0 and self.alive:
            with suppress(KeyError):
                self._selector.unregister(self._in)
            assert self._program.stdin is not None
            self._program.stdin.close()
            deadline = time.monotonic() + grace
            while (left := deadline - time.monotonic()) > 0 and not self._has_ended():
                self._pump(min(left, 0.01))
                self._heard.clear()
        self._end()

    # ------------------------------------------------------------------ pipes

    def _pump(self, seconds: float) -> bool:
        """Write and read what can be, waiting for it at most so long; whether there was any."""
        if not self._selector.get_map():
            time.sleep(seconds)
            return False
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.fd == self._in:
                self._write()
            else:
                self._read(key.fd)
        return bool(ready)

    def _write(self) -> None:
        try:
            written = os.write(self._in, memoryview(self._unread)[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:  # it reads no more; why is found where its answer is missed
            self._unread.clear()
        else:
            del self._unread[:written]
        if not self._unread:
            self._selector.unregister(self._in)

    def _read(self, pipe: int) -> None:
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(pipe)
            self._silent |= pipe == self._out
        elif pipe == self._out:
            self._heard += data
        else:
            self._noise += len(data)
            self._tail = (self._tail + data)[-_TAIL:]

    # ------------------------------------------------------------------ ends

    def _fault(self, cause: Cause, text: str) -> ProcessFault:
        """A fault, with the program's last words; it is ended."""
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        # Of a Python traceback also where it happened.
        words = [line.strip() for line in lines if line.strip().startswith('File "')][-1:]
        words += lines[-1:]
        return self.fault(
            cause, text + (f" (last words: {one_line(': '.join(words))})" if words else "")
        )

    def _has_ended(self) -> bool:
        return _status(self._program) is not None

    def _how_it_ended(self) -> str:
        deadline = time.monotonic() + _GRACE
        while not self._has_ended() and time.monotonic() < deadline:
            self._pump(0.01)
        while self._pump(0):  # its last words
            if self._noise > MOST_NOISE or len(self._heard) > MOST_ANSWER:
                break
        status = _status(self._program)
        middle = " in the middle of an answer" if self._heard else ""
        if status is None:
            return f"it closed its output{middle}"
        if status >= 0:
            return f"it exited{middle} with status {status}"
        with suppress(ValueError):
            return f"it was killed{middle} by {signal.Signals(-status).name}"
        return f"it was killed{middle} by signal {-status}"


def _status(program: subprocess.Popen[bytes]) -> int | None:
    """The exit status of a program, negative for a signal, None while it runs.

    It is looked at without being collected: till then nobody else gets the number of its process
    group, which `_end` kills.
    """
    if program.returncode is not None:
        return program.returncode
    with suppress(ChildProcessError):
        ended = os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    return None


def _end(program: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> None:
    """Kill a program with its process group, and collect it so that no zombie stays."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    selector.close()
    for pipe in (program.stdin, program.stdout, program.stderr):
        if pipe is not None:
            pipe.close()


class LineProcess:
    """A program that reads and writes one line of UTF-8 a message.

    Parameters as those of `Process`; `most` is the longest line that it may write, in bytes. All
    methods raise `ProcessFault` as `Process` does, and end the program then.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        most: int = MOST_ANSWER,
    ) -> None:
        self.process = Process(command, cwd=cwd, env=env)
        self.most = most

    def send(self, line: str) -> None:
        """Write a line, given without its end, to the program."""
        if "\n" in line or "\r" in line:
            raise ValueError("a message is one line")
        self.process.send(line.encode("utf-8") + b"\n")

    def receive(self, seconds: float | None = None) -> str:
        """The next line of the program, without its end; waits for it, at most so long."""
        looked = 0

        def end_of(heard: bytearray) -> int | None:
            nonlocal looked
            end = heard.find(b"\n", looked)
            looked = len(heard)
            return None if end < 0 else end + 1

        line = self.process.receive(end_of, seconds, self.most)
        try:
            return line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            text = f"it answered with garbage: {one_line(error)}"
            raise self.process.fault(Cause.ERROR, text) from error

    def ask(self, line: str, seconds: float | None = None) -> str:
        """Send a line and wait for the next one that it answers."""
        self.send(line)
        return self.receive(seconds)

    def stop(self, grace: float = 1.0) -> None:
        """End the program with its children; see `Process.stop`."""
        self.process.stop(grace)
