"""Where a disk is full, or a place is taken: a clear error, and nothing that looks whole."""

import os
import resource
import subprocess
import sys

import pytest

from eval.competition.store import FILE
from guandan_env.cli import main
from guandan_env.record_file import RecordWriter, read_records
from guandan_env.record_shape import RecordError


def guandan(*words, stdout=subprocess.PIPE, limit=None, cwd=None):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "guandan_env", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        check=False,
        preexec_fn=None if limit is None else limited,
    )


def test_a_file_of_records_that_meets_a_full_disk(tmp_path):
    words = ["match", "greedy", "random", "--deals", "12", "--json", "--record", "d.jsonl"]
    done = guandan(*words, limit=40_000, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "d.jsonl" in done.stderr
    assert done.stdout == ""
    with RecordWriter(tmp_path / "d.jsonl", resume=True) as writer:
        assert writer.count >= 1
    assert len(list(read_records(tmp_path / "d.jsonl"))) == writer.count


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["rules"], ["actions", "pair 55"], ["--help"]])
def test_output_that_nobody_takes(words):
    with open("/dev/full", "w") as full:
        done = guandan(*words, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "guandan: error: standard output: no space left\n"


def test_a_name_that_is_there_twice_is_no_record(tmp_path):
    path = tmp_path / "d.jsonl"
    words = ["match", "greedy", "random", "--deals", "2", "--json", "--record", str(path)]
    assert main(words) == 0
    text = path.read_text().replace('"seed":0', '"seed":5,"seed":0', 1)
    path.write_text(text)
    with pytest.raises(RecordError, match="'seed' is there twice"):
        list(read_records(path))


def test_places_that_are_taken_are_refused_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes").write_text("x")
    for words, message in (
        (["train", "ppo", "--out", "file"], "file is no folder to write to"),
        (["train", "ppo", "--out", "file/run"], "is no folder to write to"),
        (["train", "ppo", "--out", "used"], "used is not empty"),
        (["equity", "greedy", "--out", "used"], "--out is used"),
        (["equity", "greedy", "--out", "none/x.json"], "--out is none/x.json"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err
    assert (tmp_path / "used" / "notes").read_text() == "x"


def test_results_of_a_competition_that_were_emptied(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cup.yaml").write_text(
        "name: cup\nmatch: {options: {max_deals: 1}}\n"
        "entrants: [{name: a, agents: greedy}, {name: b, agents: random}]\n"
        "stages: [{format: elimination}]\n"
    )
    assert main(["tournament", "cup.yaml", "--workers", "1", "--json"]) == 0
    (tmp_path / "cup-results" / FILE).write_bytes(b"")
    capsys.readouterr()
    assert main(["tournament", "cup.yaml", "--workers", "1", "--json"]) == 2
    assert "damaged: it is empty" in capsys.readouterr().err
