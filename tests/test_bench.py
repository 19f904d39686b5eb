from __future__ import annotations

import json
import re

import pytest

from guandan_env.cli import main


@pytest.mark.parametrize("what", ["engine", "observe", "aec"])
def test_bench_prints_one_object_a_line(what, capsys):
    assert main(["bench", what, "--tables", "2", "3", "--seconds", "0.01", "--json"]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(results) == 2
    keys = {"name", "num_tables", "steps", "seconds", "steps_per_second", "version"}
    for result in results:
        assert keys <= set(result)
        assert result["steps"] > 0
    if what != "aec":
        assert [r["num_tables"] for r in results] == [2, 3]


def test_import_time(capsys):
    assert main(["bench", "import", "--json"]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["name"] for r in results] == ["import", "import-all"]
    assert all(0 < r["seconds"] for r in results)


def test_results_for_people(capsys):
    assert main(["bench", "engine", "--tables", "2", "--seconds", "0.01"]) == 0
    text = capsys.readouterr().out
    assert re.fullmatch(r"engine +B = 2 +[\d,]+ steps/s +[\d,]+ bytes a table\n", text)
    assert main(["bench", "import"]) == 0
    assert re.match(r"import guandan_env +\d\.\d{3} s\n", capsys.readouterr().out)


@pytest.mark.parametrize("words", [["--tables", "0"], ["--seconds", "0"]])
def test_bench_refuses_what_cannot_be_measured(words, capsys):
    assert main(["bench", "engine", *words]) == 2
    assert "allowed" in capsys.readouterr().err
