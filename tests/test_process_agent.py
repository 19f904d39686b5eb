"""Programs in processes of their own: every way to fail has a name, and nothing is left behind.

No test says how long anything takes: a limit is either far too long to be met, or is met by a
program that does nothing for ever.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest

from agents import AgentError
from agents.answers import Answer, Cause, Wrong, ask
from agents.greedy import Greedy
from agents.process import MOST_NOISE, LineProcess, ProcessFault
from agents.process_agent import MOST_RESTARTS, Isolated, Keeper, close, first_leads, make_under
from agents.process_frames import (
    HEADER,
    FrameError,
    frame,
    most_answer,
    pack_answer,
    pack_decisions,
    unpack_answer,
    unpack_decisions,
)
from eval.duplicate import Terms, play_duplicate, play_pairs
from eval.faults import AgentFaultError
from eval.match import Match
from guandan_env.actions import PASS
from guandan_env.conduct import Conduct
from guandan_env.engine import Engine
from guandan_env.state import Phase

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs as players need POSIX")

LONG = 600.0  # seconds, far more than any answer takes
SHORT = 0.3  # for programs that never answer

BOTS = '''
import os
import signal
import subprocess
import sys
import time

import numpy as np

from agents.greedy import Greedy


class Sound(Greedy):
    name = "sound"

    def act(self, decisions):
        print("thinking aloud")
        return super().act(decisions)


class Memory(Greedy):
    """Fails in every deal but the first after a reset."""

    name = "memory"

    def __init__(self):
        self.seen = None

    def reset(self):
        self.seen = None

    def act(self, decisions):
        self.seen = int(decisions.table[0]) if self.seen is None else self.seen
        return np.where(decisions.table == self.seen, super().act(decisions), 9999)


class Bad(Greedy):
    """Fails at one move of every deal."""

    def __init__(self, how, pids=""):
        self.how, self.pids, self.name = how, pids, f"bad at {how}"

    def act(self, decisions):
        if (decisions.length == 20).any():
            self.fail(len(decisions))
            if self.how == "shape":
                return np.zeros((2, 2))
            if self.how == "illegal":
                return np.full(len(decisions), 2242)
        return super().act(decisions)

    def fail(self, n):
        if self.how == "child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with open(self.pids, "a") as file:
                file.write(f"{os.getpid()} {child.pid}\\n")
        if self.how in ("hang", "child"):
            time.sleep(600)
        if self.how == "loop":
            while True:
                pass
        if self.how == "exit":
            os._exit(3)
        if self.how == "sys.exit":
            sys.exit(3)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "abort":
            os.abort()
        if self.how == "flood":
            while True:
                print("x" * 100_000)
        if self.how == "raise":
            raise ValueError("no idea")


class Slow(Greedy):
    name = "slow"

    def __init__(self):
        time.sleep(600)


class Dies(Greedy):
    name = "dies"

    def __init__(self):
        os._exit(5)


class Numbered(Greedy):
    name = 7


class Leaves(Greedy):
    def __init__(self):
        sys.exit(4)


class NoReset(Greedy):
    name = "no reset"

    def reset(self):
        raise RuntimeError("never again")


class Speaks(Greedy):
    """Writes where only its process should."""

    name = "speaks"

    def act(self, decisions):
        for pipe in range(3, 10):
            try:
                os.write(pipe, b"no frame at all, but quite some bytes of it")
            except OSError:
                pass
        return super().act(decisions)
'''


HANGING = '''
import time

from agents.greedy import Greedy


class Hangs(Greedy):
    """Hangs at first leads, or at all other moves."""

    name = "hangs"

    def __init__(self, late):
        self.late = late

    def act(self, decisions):
        first = not decisions.played_bits.any()
        if first == (self.late == "first"):
            time.sleep(600)
        return super().act(decisions)
'''


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """The current folder, with the bots in it, forgotten afterwards."""
    (tmp_path / "some_bots.py").write_text(BOTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("some_bots", None)


@pytest.fixture(autouse=True)
def _nothing_left():
    """No test leaves a child of ours behind, running or as a zombie."""
    resource_tracker.ensure_running()  # multiprocessing's own; it stays as long as we do
    before = children()
    yield
    assert children() <= before


def children() -> set[int]:
    """Numbers of our child processes, zombies too, as the kernel tells them (Linux)."""
    try:
        tasks = Path("/proc/self/task").iterdir()
        return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    except OSError:
        pytest.skip("the kernel does not list children")


def is_gone(pid: int) -> bool:
    """Whether a process runs no more; who collects the child of another is not ours to say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pid: int) -> None:
    while not is_gone(pid):
        time.sleep(0.01)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def fault_of(code: str, seconds: float | None = LONG, **options) -> Wrong:
    """What is wrong with a program that is asked "hello"; it must have been ended."""
    program = LineProcess(python(code), **options)
    with pytest.raises(ProcessFault) as info:
        program.ask("hello", seconds)
    assert not program.process.alive
    with pytest.raises(ProcessFault, match="has been ended"):
        program.ask("hello", seconds)
    return info.value.wrong


# ---------------------------------------------------------------------- lines


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
        ("raise ValueError('boom')", r"status 1 \(last words: ValueError: boom\)"),
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


# ---------------------------------------------------------------------- frames


def decisions_of(n: int = 20):
    engine = Engine(n, seed=2)
    for _ in range(9):
        rows = np.zeros(n, dtype=np.int64)
        pending = engine.decisions()
        rows[pending.index] = Greedy().act(pending)
        engine.step(rows)
    return engine.decisions()


def test_decisions_travel_whole():
    sent = decisions_of()
    got = unpack_decisions(pack_decisions(sent)[HEADER.size :])
    assert got.rules == sent.rules
    for name in sent.__dataclass_fields__:
        if name != "rules":
            one, other = getattr(sent, name), getattr(got, name)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    got.hand_bits[:] = 0  # agents may write into what they are given
    np.testing.assert_array_equal(got.key, sent.key)


def test_answers_travel_whole():
    wrong = {1: Wrong(Cause.ILLEGAL, "掼" * 999), 3: Wrong(Cause.ERROR, "no\nidea")}
    sent = Answer(np.arange(5) - 1, np.full((5, 54), 2, dtype=np.uint8), wrong)
    packed = pack_answer(sent)
    assert len(packed) <= most_answer(5)
    got = unpack_answer(packed[HEADER.size :], 5)
    np.testing.assert_array_equal(got.rows, sent.rows)
    np.testing.assert_array_equal(got.cards, sent.cards)
    assert got.wrong[3] == Wrong(Cause.ERROR, "no idea")
    assert got.wrong[1].text == "掼" * 299 + "…"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"not json\n" + bytes(62),
        b"[" * 100_000 + b"\n",
        b"[]\n" + bytes(61),
        b"[]\n" + bytes(63),
        b"{}\n" + bytes(62),
        b"[[1, 2]]\n" + bytes(62),
        b'[[1, "error", "text"]]\n' + bytes(62),
        b'[[-1, "error", "text"]]\n' + bytes(62),
        b'[[0, "late", "text"]]\n' + bytes(62),
        b'[[0, "error", 7]]\n' + bytes(62),
        b'[[0, "error", "a"], [0, "error", "b"]]\n' + bytes(62),
    ],
)
def test_an_answer_of_another_form_is_refused(body):
    with pytest.raises(FrameError):
        unpack_answer(body, 1)
    assert unpack_answer(b'[[0, "error", "text"]]\n' + bytes(62), 1).wrong


# ---------------------------------------------------------------------- agents


def isolated(how: str, move_time: float = LONG, **options) -> Isolated:
    words = "".join(f"&{name}={value}" for name, value in options.items())
    return Isolated(f"some_bots:Bad?how={how}{words}", Conduct(move_time=move_time))


@pytest.mark.usefixtures("folder")
def test_a_process_plays_as_the_agent_itself():
    agent = Isolated("some_bots:Sound", Conduct(move_time=LONG))
    assert agent.name == "sound"
    here = play_duplicate(Greedy(), Greedy(), 12, seed=4)
    there = play_duplicate(agent, Greedy(), 12, seed=4)
    np.testing.assert_array_equal(there.gain, here.gain)
    assert not there.failures.any()
    agent.close()


FAILURES = {
    "hang": (Cause.LATE, "no answer within"),
    "loop": (Cause.LATE, "no answer within"),
    "exit": (Cause.CRASH, "exited with status 3"),
    "sys.exit": (Cause.ERROR, "SystemExit: 3"),
    "kill": (Cause.CRASH, "SIGKILL"),
    "abort": (Cause.CRASH, "SIGABRT"),
    "flood": (Cause.CRASH, "flooded standard error"),
    "raise": (Cause.ERROR, "ValueError: no idea"),
    "shape": (Cause.ERROR, r"shape (2, 2)"),
    "illegal": (Cause.ILLEGAL, "illegal action 2242"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("how", FAILURES)
def test_every_failure_is_told_and_stops_nobody(how):
    cause, text = FAILURES[how]
    agent = isolated(how, SHORT if cause is Cause.LATE else LONG)
    played = play_pairs(agent, Greedy(), 0, 2, Terms(conduct=Conduct(illegal_play="pass")))
    agent.close()
    assert len(played) == 2
    assert played.failures[0] == len(played.faults) > 0
    assert played.failures[1] == 0
    for fault in played.faults:
        assert fault.agent == f"bad at {how}"
        assert fault.move == 20
        assert fault.wrong.cause is cause
        assert text in fault.wrong.text
        assert fault.record["fault"]["cause"] == cause.value


@pytest.mark.usefixtures("folder")
def test_only_what_fails_alone_is_a_fault():
    """The decisions that were asked about together with a fatal one are asked again."""
    agent = isolated("exit")
    conduct = Conduct(illegal_play="pass")
    together = play_pairs(agent, Greedy(), 0, 3, Terms(conduct=conduct))
    alone = play_pairs(agent, Greedy(), 0, 3, Terms(conduct=conduct, num_tables=1))
    agent.close()
    np.testing.assert_array_equal(together.gain, alone.gain)
    assert [str(f) for f in together.faults] == [str(f) for f in alone.faults]
    assert {f.move for f in together.faults} == {20}


@pytest.mark.usefixtures("folder")
def test_an_error_stops_the_match_with_the_cause():
    agent = isolated("kill")
    with pytest.raises(AgentFaultError, match=r"'bad at kill' failed at .*SIGKILL"):
        play_duplicate(agent, Greedy(), 3)
    agent.close()


def test_children_of_an_agent_are_ended(folder):
    agent = isolated("child", SHORT, pids=folder / "pids")
    played = play_pairs(agent, Greedy(), 0, 1, Terms(conduct=Conduct(illegal_play="pass")))
    agent.close()
    assert played.failures[0]
    pids = [int(pid) for pid in (folder / "pids").read_text().split()]
    assert len(pids) >= 2
    for pid in pids:
        wait_until_gone(pid)


@pytest.mark.usefixtures("folder")
def test_a_new_match_begins_with_a_reset():
    agent = Isolated("some_bots:Memory", Conduct(move_time=LONG))
    conduct = Conduct(illegal_play="pass")
    for first in (0, 5):
        assert not play_pairs(agent, Greedy(), first, 1, Terms(conduct=conduct)).failures.any()
    engine = Engine(1, tables=np.array([9]), previous=None)
    assert ask(agent, engine.decisions()).wrong
    agent.reset()
    assert not ask(agent, engine.decisions()).wrong
    agent.close()


@pytest.mark.usefixtures("folder")
def test_a_failing_reset_is_told():
    agent = Isolated("some_bots:NoReset", Conduct(move_time=LONG))
    with pytest.raises(AgentError, match=r"'no reset' failed to reset.*never again"):
        play_duplicate(agent, Greedy(), 2)
    agent.close()


@pytest.mark.usefixtures("folder")
def test_garbage_between_frames_is_found():
    agent = Isolated("some_bots:Speaks", Conduct(move_time=LONG))
    answer = ask(agent, Engine(3, previous=None).decisions())
    agent.close()
    assert len(answer.wrong) == 3
    assert all(wrong.cause is Cause.ERROR for wrong in answer.wrong.values())
    assert "garbage" in answer.wrong[0].text


@pytest.mark.rule("7.6")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "start", "text"), [("Slow", SHORT, "within"), ("Dies", None, "status 5")]
)
def test_a_program_that_does_not_start_forfeits(name, start, text):
    agent = Isolated(f"some_bots:{name}", Conduct(move_time=LONG, start_time=start))
    assert agent.name == f"some_bots:{name}"
    conduct = Conduct(illegal_play="pass")
    played = play_pairs(agent, Greedy(), 0, 3, Terms(conduct=conduct))
    assert (played.won == 0).all()
    assert (played.gain == -3).all()
    assert (played.first == -1).all()
    assert played.failures.tolist() == [6, 0]
    for fault in played.faults:
        assert fault.wrong.cause is Cause.ABSENT
        assert "did not start" in fault.wrong.text
        assert text in fault.wrong.text
    with pytest.raises(AgentFaultError, match="did not start"):
        play_duplicate(agent, Greedy(), 2)
    agent.close()


@pytest.mark.rule("7.6")
@pytest.mark.usefixtures("folder")
def test_a_program_that_always_crashes_forfeits_in_the_end(monkeypatch):
    monkeypatch.setattr("agents.process_agent.MOST_RESTARTS", 1)
    agent = isolated("exit")
    played = play_pairs(
        agent, Greedy(), 0, 3, Terms(conduct=Conduct(illegal_play="pass"), num_tables=1)
    )
    agent.close()
    causes = {fault.wrong.cause for fault in played.faults}
    assert causes == {Cause.CRASH, Cause.ABSENT}
    assert (played.first == -1).any()


@pytest.mark.usefixtures("folder")
def test_a_wrong_spec_is_no_fault_of_a_match():
    conduct = Conduct(move_time=LONG)
    for spec, text in [
        ("some_bots:Sund", "did you mean 'Sound'"),
        ("no_such_bots:Bot", "no module 'no_such_bots'"),
        ("some_bots:Bad", "cannot be made"),
        ("some_bots:Sound?depth=3", "unknown option 'depth'"),
        ("some_bots:Numbered", "its name is 7"),
        ("some_bots:Leaves", "SystemExit: 4"),
    ]:
        for held_to in (conduct, Conduct()):
            with pytest.raises(AgentError, match=text):
                make_under(spec, held_to)


@pytest.mark.usefixtures("folder")
def test_only_agents_of_ones_own_with_a_time_get_a_process():
    assert type(make_under("greedy", Conduct(move_time=1))) is Greedy
    assert type(make_under("some_bots:Sound", Conduct())).__name__ == "Sound"
    for conduct in (Conduct(move_time=LONG), Conduct(first_lead_time=LONG)):
        agent = make_under("some_bots:Sound", conduct)
        assert isinstance(agent, Isolated)
        close(agent)
    close(Greedy())  # has nothing to close


@pytest.mark.rule("7.3")
def test_the_first_lead_has_a_time_of_its_own():
    engine = Engine(64, seed=5, previous="random")
    seen = np.zeros(64, dtype=int)
    while (engine.state.seat >= 0).all():
        decisions = engine.decisions()
        first = first_leads(decisions)
        seen += first
        assert (decisions.phase[first] == Phase.PLAY).all()
        assert (decisions.lead[first] == PASS).all()
        assert (decisions.counts[first].sum(axis=1) == 108).all()
        engine.step(Greedy().act(decisions))
    assert (seen == 1).all()


@pytest.mark.rule("7.3")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("late", ["move", "first"])
def test_times_of_moves_and_first_leads_are_kept_apart(late):
    conduct = Conduct(
        move_time=SHORT if late == "move" else LONG,
        first_lead_time=SHORT if late == "first" else LONG,
    )
    Path("hanging_bot.py").write_text(HANGING)
    agent = Isolated("hanging_bot:Hangs?late=" + late, conduct)
    engine = Engine(1, seed=1, previous=None)
    wrong = ask(agent, engine.decisions()).wrong
    assert [w.cause for w in wrong.values()] == ([Cause.LATE] if late == "first" else [])
    engine.step(Greedy().act(engine.decisions()))
    wrong = ask(agent, engine.decisions()).wrong
    assert [w.cause for w in wrong.values()] == ([Cause.LATE] if late == "move" else [])
    agent.close()


@pytest.mark.usefixtures("folder")
def test_failing_programs_in_worker_processes():
    terms = Terms(conduct=Conduct(illegal_play="pass", move_time=LONG))
    spec = "some_bots:Bad?how=exit"
    alone = Match(spec, "greedy", 6, terms).play()
    workers = Match(spec, "greedy", 6, terms, workers=2).play()
    np.testing.assert_array_equal(workers.gain, alone.gain)
    assert [str(f) for f in workers.faults] == [str(f) for f in alone.faults]
    assert alone.failures[0] > 0


def test_a_process_that_nobody_asks_any_more_ends_itself(folder):
    """Also in the middle of a decision: its asker may have been killed."""
    code = (
        "import os\n"
        "from agents.process_agent import Isolated\n"
        "from guandan_env.conduct import Conduct\n"
        "from guandan_env.engine import Engine\n"
        "agent = Isolated('some_bots:Bad?how=child&pids=pids', Conduct(move_time=600))\n"
        "engine = Engine(1, previous=None)\n"
        "decisions = engine.decisions()\n"
        "decisions.length[:] = 20\n"
        "agent.act(decisions)\n"
    )
    asker = subprocess.Popen(python(code))
    pids = folder / "pids"
    while not (pids.exists() and pids.read_text().endswith("\n")):
        assert asker.poll() is None
        time.sleep(0.01)
    os.kill(asker.pid, signal.SIGKILL)
    asker.wait()
    for pid in pids.read_text().split():
        wait_until_gone(int(pid))


def test_frames_hold_what_they_say():
    word, length = HEADER.unpack_from(frame(b"said", [1], b"xyz"))
    assert (word, length) == (b"said", len(b"[1]\nxyz"))
