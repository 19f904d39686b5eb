"""Agents in processes of their own: every way to fail has a name, and stops nobody else.

No test says how long anything takes, see test_process.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from process_helpers import LONG, NEEDS_POSIX, SHORT, nothing_left, python, wait_until_gone

from agents import AgentError
from agents.answers import Cause, ask
from agents.greedy import Greedy
from agents.process_agent import Isolated, close, first_leads, make_under
from eval.duplicate import Terms, play_duplicate, play_pairs
from eval.faults import AgentFaultError
from eval.match import Match
from guandan_env.actions import PASS
from guandan_env.conduct import Conduct
from guandan_env.engine import Engine
from guandan_env.state import Phase

__all__ = ["nothing_left"]
pytestmark = [NEEDS_POSIX, pytest.mark.usefixtures("nothing_left")]

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
