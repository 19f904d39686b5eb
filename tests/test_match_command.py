"""`guandan match` with rules of one's own, bots of one's own that may fail, and Ctrl-C."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from agents.random_bot import Random
from eval.duplicate import Terms, play_pairs
from eval.faults import KEPT_RECORDS
from eval.parts import FIRST, Cuts
from guandan_env.cli import main
from guandan_env.conduct import Conduct
from guandan_env.errors import RulesError
from guandan_env.record_file import read_records
from guandan_env.rules import RuleSet
from guandan_env.rules_file import load_rules


def result_of(capsys, *words):
    assert main(["match", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------------- rules from files


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_rules_come_from_a_file(form, tmp_path, capsys):
    rules = RuleSet(resist="may", promotion=(5, 3, 1), tribute=False)
    path = tmp_path / f"mine.{form}"
    path.write_text(rules.to_yaml() if form == "yaml" else rules.to_json())
    result = result_of(capsys, "greedy", "random", "--deals", "6", "--rules", str(path))
    assert RuleSet.from_dict(result["rule_set"]) == rules
    assert result["rules"] == "custom"
    assert Conduct.from_dict(result["conduct"]) == Conduct()


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("preset", ["university", "graduate"])
def test_what_the_rules_command_prints_is_such_a_file(preset, form, tmp_path, capsys):
    assert main(["rules", preset, f"--{form}"]) == 0
    path = tmp_path / f"printed.{form}"
    path.write_text(capsys.readouterr().out)
    assert load_rules(str(path)) == load_rules(preset)
    assert load_rules(preset) == (RuleSet.preset(preset), Conduct.preset(preset))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resist: maybe", "resist='maybe' is not allowed"),
        ("resits: may", "did you mean 'resist'"),
        ("rules: {resist: may}\nconduct: {move_time: -1}", "move_time=-1 is not allowed"),
        ("rules: 7", "7 is not allowed"),
        ("conduct: [1]", "allowed: a mapping"),
        ("- resist", "options with their values"),
        ("", "options with their values"),
        ("{", "this is not YAML"),
        ("!!python/object:os.system {}", "this is not YAML"),
        ("resist: 'may'\n" + "#" * 100_000, "at most 100,000 bytes"),
    ],
)
def test_bad_files_of_rules_are_refused_by_name(text, message, tmp_path, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    assert main(["match", "greedy", "random", "--rules", str(path)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "bad.yaml" in err


def test_files_that_hold_no_text_are_refused_by_name(tmp_path):
    path = tmp_path / "bytes.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(RulesError, match=r"bytes\.json.*no UTF-8"):
        load_rules(str(path))
    path.write_bytes(b"[" * 90_000)
    with pytest.raises(RulesError, match=r"bytes\.json.*not JSON"):
        load_rules(str(path))
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(RulesError, match="directory"):
        load_rules(str(tmp_path / "folder.yaml"))


# ---------------------------------------------------------------------- a bot of one's own

MY_BOT = '''
import numpy as np


class MyBot:
    """Plays the first legal row that is no pass."""

    name = "my bot"

    def __init__(self, fails: bool = False):
        self.fails = fails

    def reset(self):
        pass

    def act(self, decisions):
        print("I am thinking")
        first = 1 + decisions.mask[:, 1:].argmax(axis=1)
        rows = np.where(decisions.mask[np.arange(len(first)), first], first, 0)
        return np.where(decisions.length == 9, 9999, rows) if self.fails else rows
'''


@pytest.fixture
def my_bot(tmp_path, monkeypatch):
    (tmp_path / "my_bot.py").write_text(MY_BOT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "my_bot:MyBot"
    sys.modules.pop("my_bot", None)


def test_a_bot_of_ones_own_plays_anyhow(my_bot, capsys):
    words = (my_bot, "random", "--deals", "8", "--seed", "2")
    alone = result_of(capsys, *words)
    assert alone["failures"] == {my_bot: 0, "random": 0}
    for more in (
        ("--workers", "2"),
        ("--move-time", "600"),
        ("--move-time", "600", "--workers", "2"),
    ):
        result = result_of(capsys, *words, *more)
        assert result["conduct"]["move_time"] == (600 if "--move-time" in more else None)
        for key in ("conduct", "decisions_per_second"):
            result[key] = alone[key]
        assert result == alone
    itself = result_of(capsys, my_bot, my_bot, "--deals", "8", "--move-time", "600")
    assert itself["level_gain"] == 0
    assert itself["deal_win_rate"] == 0.5


@pytest.mark.parametrize("more", [(), ("--workers", "2"), ("--move-time", "600")])
def test_failures_are_told_by_agent_and_kept(my_bot, more, capsys):
    spec = my_bot + "?fails=true"
    words = ("match", "random", spec, "--deals", "6", *more)
    assert main([*words, "--illegal-play", "pass", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    count = result["failures"][spec]
    assert count == len(result["faults"]) > 0
    assert result["failures"]["random"] == 0
    assert {fault["move"] for fault in result["faults"]} == {9}
    assert "9999" in result["faults"][0]["text"]
    kept = list(read_records("guandan-faults.jsonl"))
    assert [record["fault"]["text"] for record in kept] == [f["text"] for f in result["faults"]]
    assert main([*words, "--illegal-play", "pass"]) == 0
    out = in_one_line(capsys.readouterr().out)
    assert f"{spec} {count}" in out
    assert f"The positions are the last {count} records" in out
    assert main([*words]) == 2
    assert "'my bot' failed at deal" in capsys.readouterr().err
    assert len(list(read_records("guandan-faults.jsonl"))) == 2 * count + 1


def test_the_conduct_of_the_rules_holds_unless_said_otherwise(my_bot, capsys):
    spec = my_bot + "?fails=true"
    words = (spec, "random", "--deals", "3")
    result = result_of(capsys, *words, "--rules", "company")
    assert result["conduct"]["illegal_play"] == "pass"
    assert result["failures"][spec] > 0
    assert main(["match", *words, "--rules", "company", "--illegal-play", "error"]) == 2
    assert main(["match", *words]) == 2


def test_positions_that_cannot_be_kept_hide_nothing(my_bot, tmp_path, capsys):
    (tmp_path / "guandan-faults.jsonl").write_text("something else\n")
    assert main(["match", my_bot + "?fails=true", "random", "--deals", "3"]) == 2
    err = capsys.readouterr().err
    assert "'my bot' failed" in err
    assert "could not be kept" in err
    assert (tmp_path / "guandan-faults.jsonl").read_text() == "something else\n"


def test_records_of_very_many_faults_are_not_kept():
    class Hopeless(Random):
        def act(self, decisions):
            return np.full(len(decisions), 9999)

    conduct = Conduct(illegal_play="pass")
    played = play_pairs(Hopeless(), Random(), 0, 20, Terms(conduct=conduct))
    assert played.failures[0] == len(played.faults) > KEPT_RECORDS
    assert sum(bool(fault.record) for fault in played.faults) == KEPT_RECORDS
    half = played.head(10)
    assert half.failures[0] == len(half.faults) == played.failed[:10].sum()


# ---------------------------------------------------------------------- parts, Ctrl-C


@pytest.mark.parametrize(("most", "seconds"), [(2500, 0.0), (7, 0.0), (300, 1000.0)])
def test_parts_cover_a_match_however_long_they_take(most, seconds):
    cuts, at, largest = Cuts(10_000, most), 0, 0
    while (cut := cuts.cut()) is not None:
        assert cut[0] == at
        at += cut[1]
        largest = max(largest, cut[1])
        cuts.took(cut[1], seconds)
    assert at == 10_000
    assert largest == (FIRST if seconds else most)


IMPATIENT = """
import os
import signal

from agents.greedy import Greedy


class Impatient(Greedy):
    name = "impatient"

    def __init__(self, asker):
        self.asker = asker

    def act(self, decisions):
        # A deal of the fourth part: it is begun when the first is known.
        if decisions.table.max() > 160 and self.asker:
            os.kill(self.asker, signal.SIGINT)
            self.asker = None
        return super().act(decisions)
"""


@pytest.mark.parametrize("more", [[], ["--workers", "2"], ["--workers", "2", "--move-time", "600"]])
def test_ctrl_c_prints_what_is_known(more, tmp_path):
    (tmp_path / "impatient_bot.py").write_text(IMPATIENT)
    code = (
        "import os, signal, sys\n"
        "from guandan_env.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & ignores it\n"
        "if __name__ == '__main__':\n"
        "    bot = f'impatient_bot:Impatient?asker={os.getpid()}'\n"
        "    words = ['--deals', '2000', '--games', '2', '--json']\n"
        f"    sys.exit(main(['match', bot, 'random', *words, *{more!r}]))\n"
    )
    (tmp_path / "run.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)
    assert FIRST <= result["deals"] < 2000
    assert result["games"] is None


def test_a_worker_that_is_gone_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "deadly_bot.py").write_text(
        "import os\nfrom agents.greedy import Greedy\n"
        "class Deadly(Greedy):\n    def act(self, decisions): os._exit(3)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["match", "deadly_bot:Deadly", "random", "--deals", "9", "--workers", "2"]) == 2
    err = capsys.readouterr().err
    assert "has ended" in err
    assert "--move-time" in err
