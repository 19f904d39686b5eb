from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import guandan_env
from guandan_env import cli, packages
from guandan_env.errors import GuandanError

ROOT = Path(guandan_env.__file__).parent.parent
OURS = ("guandan_env", *packages.LAYERS)


def guandan(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "guandan_env", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )


@pytest.fixture
def command(monkeypatch):
    """Put a function in the place of the subcommand `guandan rules`."""

    def put(function):
        monkeypatch.setattr(cli, "_load", lambda target: function)

    return put


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_lists_every_command(words):
    answer = guandan(*words)
    assert (answer.returncode, answer.stderr) == (0, "")
    for name, entry in cli.COMMANDS.items():
        assert f"  {name} " in answer.stdout
        assert entry.summary in answer.stdout


def test_version():
    answer = guandan("--version")
    assert (answer.returncode, answer.stdout) == (0, f"guandan {guandan_env.__version__}\n")


def test_help_waits_for_no_heavy_import():
    code = (
        "import sys; from guandan_env.cli import main; main(['--help'])\n"
        "heavy = {'torch', 'numpy', 'gymnasium', 'pettingzoo', 'rich', 'scipy', 'agents', 'eval'}\n"
        "print('imported:', sorted(heavy & sys.modules.keys()))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert answer.stdout.endswith("imported: []\n")


def test_help_survives_a_terminal_without_chinese():
    answer = subprocess.run(
        [sys.executable, "-m", "guandan_env", "--help"],
        cwd=ROOT,
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert b"Guandan (??)" in answer.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_listed_command_answers_help(name):
    answer = guandan(name, "--help")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith(f"usage: guandan {name}")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_waits_for_no_slow_import(name):
    code = (
        "import atexit, sys; from guandan_env.cli import main\n"
        "slow = {'torch', 'scipy.stats', 'matplotlib', 'pandas', 'onnxruntime'}\n"
        "atexit.register(lambda: print('imported:', sorted(slow & sys.modules.keys())))\n"
        f"main([{name!r}, '--help'])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert answer.stdout.endswith("imported: []\n")


def test_unknown_command_names_the_nearest():
    answer = guandan("ruels")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(
        "guandan: error: unknown command 'ruels' (did you mean 'rules'?)"
    )
    assert "Traceback" not in answer.stderr
    assert all(name in answer.stderr for name in cli.COMMANDS)


def test_unknown_option_names_the_nearest(capsys):
    assert cli.main(["--versoin"]) == 2
    assert "unknown option '--versoin' (did you mean '--version'?)" in capsys.readouterr().err


def test_words_and_status_pass_through(command):
    seen = []
    command(lambda words: seen.append(words) or 7)
    assert cli.main(["rules", "a", "--b"]) == 7
    assert seen == [["a", "--b"]]


def test_error_is_one_line_without_traceback(command, capsys):
    def fail(words):
        raise GuandanError("no such preset")

    command(fail)
    assert cli.main(["rules"]) == 2
    assert capsys.readouterr() == ("", "guandan: error: no such preset\n")


def test_interrupt(command):
    def interrupt(words):
        raise KeyboardInterrupt

    command(interrupt)
    assert cli.main(["rules"]) == 130


def test_reader_that_went_away_is_no_error():
    code = (
        "import sys; from guandan_env import cli\n"
        "cli._load = lambda target: lambda words: print('x\\n' * 10**6) or 0\n"
        "sys.exit(cli.main(['rules']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_missing_extra_says_how_to_install_it(command, capsys):
    def need(words):
        raise ModuleNotFoundError("No module named 'rich.table'", name="rich.table")

    command(need)
    assert cli.main(["rules"]) == 2
    assert capsys.readouterr().err == (
        "guandan: error: 'guandan rules' needs rich: pip install 'guandan[eval]'\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["rules"],
        ["rules", "njupt"],
        ["rules", "--markdown"],
        ["actions"],
        ["actions", "tube"],
        ["bench", "aec", "--seconds", "0.01"],
    ],
)
def test_commands_of_the_environment_need_no_extra(words):
    code = (
        "import sys; from guandan_env import cli\n"
        "sys.modules |= dict.fromkeys(cli._EXTRA_OF)\n"  # to import one of these fails now
        f"sys.exit(cli.main({words}))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout


def test_other_missing_modules_are_bugs_and_show(command):
    def broken(words):
        importlib.import_module("guandan_env.no_such_module")

    command(broken)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["rules"])


# Whose `agents`, `eval`, `train`?


def packages_here() -> list[str]:
    return [name for name in OURS if (ROOT / name / "__init__.py").exists()]


@pytest.mark.parametrize("name", [name for name in packages_here() if name in packages.LAYERS])
def test_our_own_packages_are_recognised(name):
    packages.require_ours(name)


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A foreign package `agents`, found before ours; importing it fails."""
    origin = tmp_path / "agents" / "__init__.py"
    origin.parent.mkdir()
    origin.write_text("raise RuntimeError('a stranger was imported')\n", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return origin


def test_clash_of_a_package_elsewhere(stranger):
    with pytest.raises(packages.PackageClashError) as error:
        packages.require_ours("eval")
    assert "the name 'agents' belongs to another package" in str(error.value)
    assert str(stranger) in str(error.value)
    assert str(ROOT / "agents") in str(error.value)


def test_clash_of_a_package_written_over_ours(stranger, monkeypatch):
    monkeypatch.setattr(packages, "_HOME", stranger.parent.parent)
    with pytest.raises(packages.PackageClashError, match="belongs to another package"):
        packages.require_ours("agents")
    stranger.write_text('"""Ours."""\n\n__part_of__ = "guandan"\n', encoding="utf-8")
    packages.require_ours("agents")


def test_folder_without_init_is_a_clash(stranger, monkeypatch):
    stranger.unlink()
    monkeypatch.setattr(sys, "path", [str(stranger.parent.parent)])
    monkeypatch.setattr(sys, "meta_path", [importlib.machinery.PathFinder])
    with pytest.raises(packages.PackageClashError, match="belongs to another package"):
        packages.require_ours("agents")


def test_missing_package(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(packages.PackageClashError, match="'agents' of guandan is not installed"):
        packages.require_ours("agents")


def test_command_reports_the_clash(stranger, capsys):
    assert cli.main(["match"]) == 2
    assert capsys.readouterr().err.startswith("guandan: error: the name 'agents' belongs to")


# What is written down twice agrees.


def test_import_contracts_cover_every_package():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert config["importlinter"]["root_packages"] == packages_here()
    assert config["mypy"]["files"] == packages_here()


def test_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {guandan_env.__version__}\n" in citation


def test_wheels_hold_all_that_lies_beside_the_code():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    listed = config["setuptools"]["package-data"]
    for package in packages_here():
        home = ROOT / package
        there = {path for path in home.rglob("*") if path.is_file() and path.suffix != ".py"}
        there = {path for path in there if "__pycache__" not in path.parts}
        taken = {path for pattern in listed.get(package, []) for path in home.glob(pattern)}
        assert there <= taken, "add them to package-data in pyproject.toml"
