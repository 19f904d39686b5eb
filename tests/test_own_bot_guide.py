"""The guide from nothing to one's own bot in a tournament, step by step as it is written."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from guandan_env.cli import main

GUIDE = (Path(__file__).parents[1] / "docs" / "own-bot.md").read_text(encoding="utf-8")
# So that a test does not take as long as a first evening.
REDUCED = {
    "match": ["--deals", "6"],
    "tournament": ["--workers", "1"],
    "replay": [],
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the guide's bot and its tournament."""
    monkeypatch.chdir(tmp_path)
    (bot,) = blocks("python")
    (cup,) = blocks("yaml")
    folder = tmp_path / "my_bot"
    folder.mkdir()
    (folder / "bot.py").write_text(bot, encoding="utf-8")
    # One deal instead of whole games, which take long for an instance a seat.
    short = cup.replace("  rules: njupt\n", "  rules: njupt\n  options: {max_deals: 1}\n")
    assert short != cup
    (tmp_path / "cup.yaml").write_text(short, encoding="utf-8")
    return tmp_path


def test_every_command_of_the_guide_works(here, capsys):
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("guandan ")]
    assert [words[0] for words in commands] == ["match", "match", "match", "replay", "tournament"]
    for words in commands:
        if "--record" in words:
            words = [*words[:-2], "--deals", "4", *words[-2:]]
        assert main([*words, *REDUCED[words[0]]]) == 0, words
        out = capsys.readouterr().out
        if words[0] == "tournament":
            assert "Mine" in out
    assert not (here / "guandan-faults.jsonl").exists()
    assert list((here / "cup-results").glob("*.html"))


def test_the_bot_of_the_guide_beats_random(here, capsys):
    assert main("match njupt:my_bot random --rules njupt --deals 20 --json".split()) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["deal_win_rate"] > 0.7
    assert result["failures"] == {"njupt:my_bot": 0, "random": 0}
