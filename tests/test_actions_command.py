"""`guandan actions`: rows by number, name, pattern and cards."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from guandan_env.cli import main
from guandan_env.notation import row_name


def lines_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["actions", *words]) == 0
    return capsys.readouterr().out.splitlines()


def objects_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(capsys, *words, "--json")]


def test_summary_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    table = objects_of(capsys)
    assert sum(entry["rows"] for entry in table) == 2244
    assert all(entry["last"] - entry["first"] + 1 == entry["rows"] for entry in table)
    assert any(line.split()[:2] == ["FullHouse", "871"] for line in lines_of(capsys))


def test_number_and_name_find_the_same_row(capsys: pytest.CaptureFixture[str]) -> None:
    (by_number,) = objects_of(capsys, "1047")
    (by_name,) = objects_of(capsys, row_name(1047))
    assert by_number == by_name
    assert (by_name["row"], by_name["pattern"], by_name["key"]) == (1047, "Straight", "6")
    assert row_name(1047) in lines_of(capsys, "1047")[1]


def test_all_rows_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    rows = objects_of(capsys, *map(str, range(2244)))
    assert [entry["row"] for entry in rows] == list(range(2244))
    assert rows[16]["key"] == "level"
    assert rows[0]["key"] == "-"


@pytest.mark.parametrize("text", ["full house", "FullHouse", "full_house", "Full houses"])
def test_pattern_lists_its_rows(capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert len(lines_of(capsys, text)) == 1 + 871


def test_cards(capsys: pytest.CaptureFixture[str]) -> None:
    cards = ("--cards", "S3 C3 C4 D4 H2 H2", "--level", "2")
    assert [entry["pattern"] for entry in objects_of(capsys, *cards)] == ["Tube", "Tube", "Plate"]
    assert [entry["key"] for entry in objects_of(capsys, *cards, "tube")] == ["2", "3"]
    (entry,) = objects_of(capsys, *cards, "tube", "--key", "3")
    assert entry["wild_as"] == {"5": 2}
    small = ("--cards", "ha sa", "--level", "a", "--key", "a")
    assert [entry["name"] for entry in objects_of(capsys, *small)] == ["pair AA with wild as A"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["2244"], "allowed are 0 to 2243"),
        (["9" * 5000], "allowed are 0 to 2243"),
        (["strait 34567"], "did you mean 'straight 34567'"),
        (["--level", "2"], "belong to --cards"),
        (["--cards", "S3"], "needs --level"),
        (["--cards", "S3", "--level", "1"], "no rank or level"),
        (["--cards", "S3 S4", "--level", "2"], "make no play"),
        (["--cards", "S3 S3", "--level", "2", "tuba"], "no pattern .*did you mean"),
        (["--cards", "S3 S3", "--level", "2", "pair", "tube"], "one pattern at most"),
        (["--cards", "S3 S3", "--level", "2", "pair", "--key", "10"], "no key of a Pair"),
    ],
)
def test_bad_words_are_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["actions", *words]) == 2
    output = capsys.readouterr()
    assert re.fullmatch(rf"guandan: error: [^\n]*{message}[^\n]*\n", output.err)
    assert not output.out
