from __future__ import annotations

import json

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


@pytest.mark.parametrize("words", [["--tables", "0"], ["--seconds", "0"]])
def test_bench_refuses_what_cannot_be_measured(words, capsys):
    assert main(["bench", "engine", *words]) == 2
    assert "allowed" in capsys.readouterr().err
