"""The wheel, which people install: what is in it, and that it plays without the checkout."""

import json
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("guandan_env", "agents", "eval", "train")
SOURCE = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")
LARGEST = 8 << 20  # bytes of a file


def quiet(words, **options):
    """What a command prints; its complaints are shown where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def pip(*words):
    return quiet([sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, words)])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that nothing of earlier builds gets into it, and nothing is left."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCE:
        if (ROOT / name).is_dir():
            no_caches = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=no_caches)
        else:
            shutil.copy(ROOT / name, source / name)
    # What stands beside the packages in a checkout where somebody works.
    for name in ("tests", "runs", "configs", "docs"):
        (source / name).mkdir()
        (source / name / "__init__.py").touch()
    # By the setuptools that is installed here: nothing is downloaded.
    pip("wheel", source, "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the wheel in it, and all but guandan lent by the one that runs here."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    bin = home / ("Scripts" if os.name == "nt" else "bin")
    pip("--python", bin / "python", "install", "--quiet", "--no-deps", "--no-index", wheel)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(quiet([bin / "python", "-c", ask]).strip())
    # Places that a .pth names go behind the environment's own, and the .pth files in them are
    # not read: an editable guandan there does not lead back to the checkout.
    lent = site.getsitepackages() + [site.getusersitepackages()] * bool(site.ENABLE_USER_SITE)
    (own / "lent.pth").write_text("\n".join(lent) + "\n", encoding="utf-8")
    return bin


@pytest.fixture
def run(installed, tmp_path):
    """Runs a program of that environment, in a folder with nothing in it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return lambda program, *words: quiet([installed / program, *words], cwd=tmp_path, env=clean)


def test_the_wheel_holds_the_packages_and_nothing_else(wheel):
    entries = zipfile.ZipFile(wheel).infolist()
    tops = {entry.filename.partition("/")[0] for entry in entries}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert [e.filename for e in entries if e.file_size > LARGEST] == []


def test_the_wheel_holds_every_file_of_the_packages(wheel):
    """All but what is left lying about: data that `package-data` forgets would be missing."""
    held = set(zipfile.ZipFile(wheel).namelist())
    files = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    assert files - held == set()


@pytest.mark.parametrize("kind", ["ppo", "dqn", "dmc"])
def test_the_wheel_holds_each_shipped_agent(wheel, kind):
    archive = zipfile.ZipFile(wheel)
    for name in (f"{kind}.safetensors", f"{kind}.json", f"{kind}-curve.csv"):
        entry = f"agents/pretrained/{name}"
        assert archive.read(entry) == (ROOT / entry).read_bytes()


def test_what_is_imported_is_the_wheel(run, installed):
    ask = "import sys; [print(__import__(name).__file__) for name in sys.argv[1:]]"
    places = [Path(line) for line in run("python", "-c", ask, *PACKAGES).splitlines()]
    assert [place.parent.name for place in places] == list(PACKAGES)
    assert all(installed.parent in place.parents for place in places)
    assert not any(ROOT in place.parents for place in places)


def test_the_wheel_plays_a_match_with_a_shipped_agent(run):
    words = ["match", "ppo:pretrained", "greedy", "--deals", "4", "--json"]
    result = json.loads(run("guandan", *words))
    assert (result["a"], result["b"]) == ("ppo:pretrained", "greedy")
    assert result["deals"] == 4
    assert 0.5 < result["deal_win_rate"] <= 1
