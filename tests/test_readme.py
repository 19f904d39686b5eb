"""What the README shows works as it stands, its long commands at reduced size."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

from guandan_env.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", README, flags=re.S)
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)
IN_SHELL = [
    [line.partition("#")[0].strip().removeprefix(".venv/bin/") for line in block.splitlines()]
    for block in re.findall(r"```sh\n(.*?)```", README, re.S)
]
SHELL = [line for block in IN_SHELL for line in block]
# The commands of a block belong together, those in prose stand alone.
COMMANDS_TOGETHER = [[line for line in block if line.startswith("guandan ")] for block in IN_SHELL]
COMMANDS_TOGETHER += [
    [line] for line in re.findall(r"`(guandan [^`]*)`", PROSE) if line not in SHELL
]
COMMANDS_TOGETHER = [lines for lines in COMMANDS_TOGETHER if lines]
COMMAND_LINES = [line for lines in COMMANDS_TOGETHER for line in lines]
BOT = next(block for block in BLOCKS if block.startswith("# my_bot.py\n"))
# Options that make a command short; the last of an option given twice counts.
REDUCED = {
    "demo": ["--deals", "4", "--minutes", "0"],
    "match": ["--deals", "4"],
    "eval": ["--deals", "4"],
    "leaderboard": ["--deals", "4"],
    "bench": ["--tables", "2", "--seconds", "0.01"],
    "play": ["--seed", "1"],
    "train": [
        word
        for setting in (
            "moves=400",
            "bc_moves=100",
            "tables=4",
            "steps=24",
            "eval_deals=2",
            "width=16",
        )
        for word in ("--set", setting)
    ],
}
WAITS_FOR_OTHERS = {"serve", "join"}  # tests of their own run them
EXTRAS = re.compile(r"^\[project.optional-dependencies\]\n(.*?)\n\n", re.M | re.S)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the README's bot in it; whoever plays leaves at once."""
    (tmp_path / "my_bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))


@pytest.mark.parametrize("block", BLOCKS)
def test_python_of_the_readme_runs(block):
    exec(compile(block, "README.md", "exec"), {})


def test_the_readme_shows_the_commands_for_people():
    named = {line.split()[1] for line in COMMAND_LINES}
    assert {"demo", "match", "play", "rules", "actions", "bench"} <= named <= set(COMMANDS)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("lines", COMMANDS_TOGETHER, ids=lambda lines: lines[0])
def test_commands_of_the_readme_run(lines, capsys):
    for line in lines:
        command, _, written = line.partition(" > ")
        words = shlex.split(command)[1:]
        if words[0] in WAITS_FOR_OTHERS:
            with pytest.raises(SystemExit) as ended:
                main([words[0], "--help"])
            assert ended.value.code == 0
        else:
            assert main(words + REDUCED.get(words[0], [])) == 0
        out, told = capsys.readouterr()  # the second for people only, such as progress
        assert out or told
        if written:
            Path(written).write_text(out, encoding="utf-8")


@pytest.mark.usefixtures("here")
def test_options_that_the_readme_names_exist(capsys):
    found = re.findall(r"`(--(?:rules|level|seed|json|games|workers)[^`]*)`", PROSE)
    assert len(set(found)) == 6
    for options in found:
        shorter = options.replace("--games 100", "--games 2")
        words = ["match", "greedy", "random", "--deals", "4", *shorter.split()]
        assert main(words) == 0
        assert capsys.readouterr().out


def test_the_bot_of_the_readme_is_short():
    assert len(BOT.splitlines()) < 25


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_rates_in_the_readme_are_those_of_its_matches(capsys):
    matches = [
        line for line in SHELL if line.startswith("guandan match") and "--deals 2000" in line
    ]
    rates = re.findall(r"wins ([\d.]+%)", PROSE)
    assert len(matches) == len(rates)
    for line, rate in zip(matches, rates, strict=True):
        assert main(shlex.split(line)[1:]) == 0
        assert f" {rate} " in capsys.readouterr().out


def test_speeds_of_the_readme_are_those_of_their_page():
    speeds = re.findall(r"^\| .* \| ([\d,]+) \| `guandan bench \w+` \|$", README, re.M)
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert len(speeds) == 3
    assert all(f" {speed} |" in page for speed in speeds)


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [words.split()[1] for words in [*SHELL, *re.findall(r"`([^`]*)`", PROSE)]
               if words.startswith("make ")]  # fmt: skip
    assert {"demo", "test", "test-all"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_links_of_the_readme_lead_to_files():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_scripts_of_the_readme_exist():
    for script in re.findall(r"python (\S+\.py)", README):
        assert (ROOT / script).is_file(), script


def test_extras_of_the_readme_exist():
    project = EXTRAS.search((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
    defined = set(re.findall(r"^(\w+) = ", project, re.M))
    named = README.partition("The extras are\n")[2].partition("\nAfter")[0]
    assert set(re.findall(r"`(\w+)`", named)) == defined
    for extras in re.findall(r"\.\[([\w,]+)\]", README):
        assert set(extras.split(",")) <= defined


def test_the_number_of_test_vectors_is_right():
    with (ROOT / "tests" / "data" / "legal_moves.jsonl").open(encoding="utf-8") as vectors:
        assert f"{sum(1 for _ in vectors)} test vectors" in README


def test_the_readme_stays_short():
    assert len(README.splitlines()) < 250
