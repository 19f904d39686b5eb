"""Programs that are asked in lines: every way to fail has a name, and nothing is left behind.

No test says how long anything takes: a limit is either far too long to be met, or is met by a
program that does nothing for ever.
"""

from __future__ import annotations

import os
import re

import pytest
from process_helpers import (
    LONG,
    NEEDS_POSIX,
    SHORT,
    children,
    nothing_left,
    python,
    wait_until_gone,
)

from agents.answers import Cause, Wrong
from agents.process import MOST_NOISE, LineProcess, ProcessFault
from agents.process_agent import MOST_RESTARTS, Keeper

__all__ = ["nothing_left"]
pytestmark = [NEEDS_POSIX, pytest.mark.usefixtures("nothing_left")]


def fault_of(code: str, seconds: float | None = LONG, **options) -> Wrong:
    """What is wrong with a program that is asked "hello"; it must have been ended."""
    program = LineProcess(python(code), **options)
    with pytest.raises(ProcessFault) as info:
        program.ask("hello", seconds)
    assert not program.process.alive
    with pytest.raises(ProcessFault, match="has been ended"):
        program.ask("hello", seconds)
    return info.value.wrong


def test_lines_go_there_and_back():
    program = LineProcess(python("while True: print(input()[::-1], flush=True)"))
    assert program.ask("掼蛋 abc", LONG) == "cba 蛋掼"
    program.send("one")
    program.send("two")
    assert [program.receive(LONG), program.receive()] == ["eno", "owt"]
    long = "x" * 300_000  # more than pipes hold
    assert program.ask(long, LONG) == long
    with pytest.raises(ValueError, match="one line"):
        program.send("one\ntwo")
    program.stop()
    program.stop()
    assert not program.process.alive


def test_a_program_may_end_in_peace(tmp_path):
    code = (
        f"import sys; print('hi', flush=True); sys.stdin.read(); open({str(tmp_path / 'x')!r}, 'w')"
    )
    program = LineProcess(python(code))
    assert program.receive(LONG) == "hi"
    program.stop(grace=LONG)
    assert (tmp_path / "x").exists()


def test_a_program_gets_folder_and_environment(tmp_path):
    code = "import os; print(os.getcwd(), os.environ['ANSWER'])"
    program = LineProcess(python(code), cwd=tmp_path, env={**os.environ, "ANSWER": "42"})
    assert program.receive(LONG) == f"{tmp_path} 42"
    program.stop()


@pytest.mark.parametrize("seconds", [0.0, SHORT])
def test_a_hanging_program_is_late(seconds):
    wrong = fault_of("import time; time.sleep(600)", seconds)
    assert wrong == Wrong(Cause.LATE, f"it gave no answer within {seconds:g} s")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import sys; sys.exit(3)", "exited with status 3"),
        ("pass", "exited with status 0"),
        (
            "raise ValueError('boom')",
            r"status 1 \(last words: File .*, line 1, .*: ValueError: boom\)",
        ),
        ("import sys; sys.stdout.write('half')", "exited in the middle of an answer"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        ("import os, time; os.close(1); time.sleep(600)", "closed its output"),
        ("import os, time; os.close(0); os.close(1); os.close(2); time.sleep(600)", "closed its"),
    ],
)
def test_a_program_that_ends_has_crashed(code, text):
    wrong = fault_of(code)
    assert wrong.cause is Cause.CRASH
    assert re.search(text, wrong.text)


@pytest.mark.parametrize("seconds", [LONG, None])
@pytest.mark.parametrize(("name", "text"), [("stdout", "its output"), ("stderr", "standard error")])
def test_a_flood_is_cut_off(name, text, seconds):
    wrong = fault_of(f"import sys\nwhile True: sys.{name}.write('x' * 99_999)", seconds)
    assert wrong.cause is Cause.CRASH
    assert f"flooded {text}" in wrong.text
    assert len(wrong.text) < 1000


def test_the_longest_line_is_a_choice():
    code = "print('x' * 50, flush=True); input(); input()"
    program = LineProcess(python(code), most=51)
    assert program.receive(LONG) == "x" * 50
    program.stop(0)
    assert "more than 50 bytes" in fault_of(code, most=50).text


def test_chatter_on_standard_error_is_no_fault():
    size = MOST_NOISE // 100
    code = (
        "import sys\n"
        f"for line in sys.stdin: sys.stderr.write('x' * {size}); print(line, end='', flush=True)"
    )
    program = LineProcess(python(code))
    for number in range(5):
        assert program.ask(str(number), LONG) == str(number)
    program.stop()


def test_bytes_that_are_no_text_are_garbage():
    wrong = fault_of(r"import sys; sys.stdout.buffer.write(b'\xff\xfe\n')")
    assert wrong.cause is Cause.ERROR
    assert "garbage" in wrong.text


def test_what_cannot_be_started_is_absent(tmp_path):
    for command in (["/no/such/program"], [str(tmp_path)], ["a\0b"]):
        with pytest.raises(ProcessFault, match="cannot be started") as info:
            LineProcess(command)
        assert info.value.wrong.cause is Cause.ABSENT


def test_a_program_that_never_reads_is_found():
    program = LineProcess(python("import time; time.sleep(600)"))
    lines = ["x" * 1_000_000] * 1000

    def send_all() -> None:
        for line in lines:
            program.send(line)

    with pytest.raises(ProcessFault, match="unread"):
        send_all()


def test_children_are_ended_too():
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
    )
    program = LineProcess(python(code + "time.sleep(600)"))
    pid = int(program.receive(LONG))
    with pytest.raises(ProcessFault) as info:
        program.receive(SHORT)
    assert info.value.wrong.cause is Cause.LATE
    wait_until_gone(pid)
    # A child that holds the pipes open does not hide that its parent is gone.
    program = LineProcess(python(code))
    pid = int(program.receive(LONG))
    with pytest.raises(ProcessFault, match="exited with status 0"):
        program.receive(LONG)
    wait_until_gone(pid)


def test_a_forgotten_program_is_ended():
    program = LineProcess(python("import time; print(flush=True); time.sleep(600)"))
    program.receive(LONG)
    assert children()
    del program


def test_many_at_once():
    programs = [LineProcess(python(f"input(); print({n}, flush=True); input()")) for n in range(12)]
    hanging = [LineProcess(python("import time; time.sleep(600)")) for _ in range(4)]
    for program in programs + hanging:
        program.send("go")
    for program in hanging:
        with pytest.raises(ProcessFault):
            program.receive(SHORT)
    assert [int(program.receive(LONG)) for program in programs] == list(range(12))
    for program in programs:
        program.stop(0)


def test_a_keeper_gives_up():
    class Program:
        stopped = 0

        def stop(self) -> None:
            Program.stopped += 1

    keeper = Keeper(Program)
    for _ in range(MOST_RESTARTS + 1):
        assert keeper.program is keeper.program
        keeper.drop()
    assert Program.stopped == MOST_RESTARTS + 1
    with pytest.raises(ProcessFault, match="enough") as info:
        keeper.program  # noqa: B018
    assert info.value.wrong.cause is Cause.ABSENT
    keeper.reset()
    assert keeper.program
