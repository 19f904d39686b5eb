"""Settings of training runs: what is read, and what is refused before anything starts."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from train.commands.train import LEARNERS, main
from train.config import ConfigError, described, load
from train.ppo import PPOConfig

FOLDER = Path(__file__).parent.parent / "configs"
CONFIGS = [*sorted(FOLDER.glob("ppo*.yaml")), FOLDER / "exploit.yaml"]


def test_defaults_pass_their_own_checks():
    config = PPOConfig()
    assert load(PPOConfig, None, []) == config
    for key, value in config.as_dict().items():
        assert PPOConfig.__dataclass_fields__[key].metadata["check"](value) == value, key


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_settings_that_are_printed_are_a_file_of_the_defaults(kind, tmp_path, capsys):
    module, settings, _ = LEARNERS[kind]
    config = getattr(importlib.import_module(module), settings)
    assert main([kind, "--settings"]) == 0
    printed = capsys.readouterr().out
    assert printed == described(config) + "\n"
    path = tmp_path / "all.yaml"
    path.write_text(printed, encoding="utf-8")
    assert load(config, path, []) == config()
    lines = printed.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(config().as_dict())
    assert all(re.search(r"  # \S.* \(\S.*\)$", line) for line in lines)
    assert not list(tmp_path.glob("runs"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_the_configs_of_the_repository_are_read(path):
    assert load(PPOConfig, path, []).moves > 0


def test_a_file_is_read_and_changed_by_set(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("lr: 0.001\ntables: 16\nopponents: {greedy: 0.25}\n")
    config = load(PPOConfig, path, ["lr=1e-4", "bc=planner", "opponents={pool: 0.5}"])
    assert config.lr == 1e-4
    assert config.tables == 16
    assert config.bc == "planner"
    assert config.opponents == {"pool": 0.5}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("tabels=4", r"unknown setting 'tabels' \(did you mean 'tables'\?\)"),
        ("tables=many", "tables is 'many'; allowed is a whole number from 1 to 65,536"),
        ("tables=0", "tables is 0; allowed is a whole number from 1"),
        ("tables=2.5", r"tables is 2\.5; allowed is a whole number"),
        ("tables=true", "tables is True; allowed is a whole number"),
        ("clip=-1", r"clip is -1; allowed is a number from 0\.01 to 1"),
        ("clip=.nan", "clip is nan; allowed is a number"),
        ("clip=true", "clip is True; allowed is a number"),
        ("bc=3", "bc is 3; allowed is a text"),
        ("reward=wins", r"allowed is one of gain, win, equity \(did you mean 'win'\?\)"),
        ("opponents={greedy: 2}", "together at most 0.9"),
        ("opponents={greedy: 0.5, pool: 0.5}", "together at most 0.9"),
        ("opponents=greedy", "a mapping from agents"),
        ("eval_against=greedy", "a list of texts"),
        ("rules=house", "house"),
        ("lr", "settings are written key=value"),
        ("lr={", "--set 'lr={'"),
    ],
)
def test_what_is_wrong_is_named(item, words):
    with pytest.raises(ValueError, match=words):
        load(PPOConfig, None, [item])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n", "a mapping of settings is allowed"),
        ("", "a mapping of settings is allowed"),
        ("lr: [", "cannot be read"),
        ("3: 4\n", "unknown setting 3"),
        ("a: !!python/object/apply:os.getcwd []\n", "cannot be read"),
    ],
)
def test_files_that_hold_no_settings_are_refused(tmp_path, text, words):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load(PPOConfig, path, [])
    with pytest.raises(ConfigError, match="cannot be read"):
        load(PPOConfig, tmp_path / "b.yaml", [])


def test_nothing_is_begun_when_something_is_wrong(tmp_path):
    out = tmp_path / "run"
    for wrong in (
        ["pqo"],
        ["ppo", "--set", "tabels=3"],
        ["ppo", "--set", "bc=planer"],
        ["ppo", "--set", "opponents={gredy: 0.1}"],
        ["ppo", "--set", "eval_against=[gredy]"],
        ["ppo", "--set", "reward=equity"],
        ["ppo", "--resume"],
    ):
        with pytest.raises(ValueError, match=r"did you mean|needs the table|no checkpoint"):
            main([*wrong, "--out", str(out), "--set", "width=16", "--set", "tables=4"])
    assert not out.exists()
