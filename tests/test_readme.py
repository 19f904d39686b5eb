"""What the README shows works as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from guandan_env.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)
COMMAND_LINES = re.findall(r"`(guandan [^`]*)`", README)


@pytest.mark.parametrize("block", BLOCKS)
def test_python_of_the_readme_runs(block):
    exec(compile(block, "README.md", "exec"), {})


def test_commands_of_the_readme_exist():
    named = set(re.findall(r"\bguandan ([a-z]+)\b", README))
    assert named <= set(COMMANDS)


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_short_commands_of_the_readme_run(line, capsys):
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)", README):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_readme_stays_short():
    assert len(README.splitlines()) < 250
