"""`guandan demo`: training before the reader's eyes, and without what training needs."""

import csv
import io
import re
import subprocess
import sys

import pytest
from rich.console import Console

from guandan_env.cli import main
from train import live
from train.commands import demo
from train.config import from_mapping
from train.live import BAR, Line, View, bar
from train.ppo import PPO, PPOConfig

TINY = {
    "tables": 8, "steps": 12, "width": 16, "candidate_width": 8, "row_width": 4,
    "critic_width": 16, "eval_deals": 2, "eval_every": 2,
}  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(demo, "SETTINGS", demo.SETTINGS | TINY)


@pytest.mark.usefixtures("tiny")
def test_it_trains_and_says_how_to_go_on(tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["demo", "--deals", "2", "--minutes", "0.01", "--out", str(run)]) == 0
    out = capsys.readouterr().out
    assert "greedy against random" in out
    assert "Finished: 1st" in out
    # What is shown is what the run has written, after the network as it began.
    with (run / "curve.csv").open(encoding="utf-8") as file:
        moves = [int(row["moves"]) for row in csv.DictReader(file) if row["against"] == "greedy"]
    shown = re.findall(r"^ +\d+ s +([\d,]+) moves", out, re.M)
    assert [int(number.replace(",", "")) for number in shown] == [0, *moves]
    # Each of the commands works.
    commands = re.findall(r"guandan (train|play|curves) (.*)", out)
    assert [name for name, _ in commands] == ["train", "play", "curves"]
    more = {"train": ["--set", f"moves={moves[-1] + 1}"], "play": ["--help"], "curves": []}
    for name, words in commands:
        words = [str(tmp_path / word) if word == "curve.svg" else word for word in words.split()]
        if name == "play":
            assert main(["match", words[-1], "random", "--deals", "2"]) == 0
        else:
            assert main([name, *words, *more[name]]) == 0
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.usefixtures("tiny")
def test_its_own_folder_is_a_new_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["demo", "--deals", "2", "--minutes", "0.001"]) == 0
    (run,) = tmp_path.glob("guandan-demo-*")
    assert f"--out {run} --resume" in capsys.readouterr().out
    assert list(run.glob("checkpoint-*"))


@pytest.mark.parametrize("package", ["torch", "tensorboard"])
def test_without_torch_there_is_still_a_match(package):
    program = f"""
import sys
from guandan_env.cli import main

class Lacks:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Lacks)
sys.exit(main(["demo", "--deals", "2"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Finished: 1st" in done.stdout
    assert f"needs {package}, which is not installed: pip install 'guandan[train]'" in done.stdout
    assert "Now 2 minutes" not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--deals", "1"], "--deals is 1; 2 or more"),
        (["--minutes", "-1"], "--minutes is -1; a number from 0"),
        (["--minutes", "nan"], "--minutes is nan; a number from 0"),
        (["--seed", "-1"], "from 0 to"),
        (["--out", "."], "--out is .; a new or an empty folder"),
        (["--out", "file"], "--out is file; a new or an empty folder"),
    ],
)
def test_bad_input_is_refused_before_anything_is_played(
    words, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["demo", *words]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert not out


def test_the_settings_are_settings_of_ppo():
    config = from_mapping(PPOConfig, demo.SETTINGS, "the demo")
    assert not config.bc
    assert not config.opponents
    assert config.eval_against == [demo.FIRST]


def test_a_bar_shows_rate_and_interval():
    full = Line(0, 0, won=1.0, low=0.5, high=1.0)
    assert bar(full) == "█" * (BAR // 2) + "▓" * (BAR // 2)
    assert bar(Line(0, 0, 0.0, 0.0, 0.25), ascii_only=True).rstrip() == "." * (BAR // 4)


def test_in_a_terminal_a_table_grows():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=40)
    with View(console, "greedy", 60.0) as view:
        view.add(Line(0, 0, 0.0, 0.0, 0.06))
        view.advance(30.0, "5 moves")
        view.add(Line(30, 12345, 0.5, 0.4, 0.6))
        view.tell("the disk is full")
    text = console.file.getvalue()
    last = text[text.rindex("Deals won against greedy") :]
    assert "12,345" in last
    assert "40% … 60%" in last
    assert "training" in text
    assert "training" not in last
    assert "the disk is full" in text
    assert max(map(len, re.sub(r"\x1b\[[\d;?]*[a-z]", "", last, flags=re.I).splitlines())) <= 80


def test_what_a_run_says_beside_its_scores_is_shown(tmp_path, monkeypatch):
    class Warns(live.Run):
        def save(self):
            super().save()
            self.said("the disk is nearly full")

    monkeypatch.setattr(live, "Run", Warns)
    console = Console(file=io.StringIO(), width=80)
    learner = PPO(from_mapping(PPOConfig, demo.SETTINGS | TINY, "test"), tmp_path)
    view = live.watch(learner, "greedy", 0.001, console)
    assert len(view.lines) == 2
    assert view.lines[-1].moves == learner.moves == 192
    assert console.file.getvalue().count("the disk is nearly full") == 1
