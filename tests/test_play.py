from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest

from eval.commands import play
from eval.human_input import MAX_HINTS, Situation, list_hints, parse_move
from guandan_env.actions import FIRST_CARD, NUM_ACTIONS, PASS, RESIST
from guandan_env.cards import KIND_OF, RANKS, card_names
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.notation import find_rows, hand_counts, parse_row, row_name
from guandan_env.plays import legal_plays
from guandan_env.state import Phase

HAND = "S3 H3 C4 C5 C6 C7 D7 H7 H2 SA SB"


def situation(hand: str = HAND, level: str = "2", lead: str | None = None) -> Situation:
    """What the rules allow with a hand, on lead or against the first play of some cards."""
    plays = legal_plays(hand, level)
    mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
    to_beat = None
    if lead is not None:
        to_beat = max(legal_plays(lead, level), key=lambda play: len(play.cards))
        plays = legal_plays(hand, level, to_beat)
        mask[PASS] = 1
    for one in plays:
        mask[find_rows(one.cards, level, one.pattern, one.key)] = 1
    row = PASS
    if to_beat is not None:
        [row] = find_rows(to_beat.cards, level, to_beat.pattern, to_beat.key)
    return Situation(mask, hand_counts(hand), RANKS.index(level), row)


def tribute(phase: Phase, *rows: int) -> Situation:
    mask = np.zeros(NUM_ACTIONS, dtype=np.int8)
    mask[list(rows)] = 1
    return Situation(mask, hand_counts(HAND), 0, phase=phase)


@pytest.mark.parametrize("text", ["S3 H3", "h3 s3", " s3,H3 ", "H3,  S3"])
def test_cards_in_any_order_and_case(text):
    move = parse_move(text, situation())
    assert [row_name(row) for row in move.rows] == ["pair 33"]
    assert card_names(move.cards) == ["S3", "H3"]


def test_names_and_numbers_leave_the_suits_open():
    hints = [parse_row("single A"), parse_row("pair 33")]
    for text in ("pair 33", "Pair  33", "2"):
        move = parse_move(text, situation(), hints)
        assert (move.rows, move.cards) == ((parse_row("pair 33"),), None)


def test_cards_that_can_be_several_claims():
    move = parse_move("C4 C5 C6 C7 H2", situation())
    assert {row_name(row) for row in move.rows} == {
        "straight 34567 with wild as 3",
        "straight 45678 with wild as 8",
        "straight flush 34567 of clubs with wild as 3",
        "straight flush 45678 of clubs with wild as 8",
    }


@pytest.mark.parametrize("text", ["", "   ", "pass", "PASS"])
def test_passing(text):
    assert parse_move(text, situation(lead="S4 H4")).rows == (PASS,)
    with pytest.raises(GuandanError, match="you lead"):
        parse_move(text, situation())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("S3 SX", "'SX' is no card"),
        ("S3 S3 S3", "3 times"),
        ("S3 D3", "you do not hold D3"),
        ("S3 SA", "make no play"),
        ("S3 H3", "'pair 33' does not beat 'pair 44'"),
        ("pair 33", "does not beat"),
        ("pair KK", "cannot make"),
        ("card S3", "tribute, which is over"),
        ("resist", "tribute, which is over"),
        ("pear 33", "did you mean 'pair 33'"),
        ("0", "1 to 2"),
        ("3", "1 to 2"),
        ("55", "pair 55"),
        ("9" * 150, "1 to 2"),
        ("x" * 5000, "5000 characters"),
        ("\x00\udcff掼蛋", "no name of a row"),
        ("²", "no name of a row"),
    ],
)
def test_what_is_wrong_is_said(text, why):
    with pytest.raises(GuandanError, match=re.escape(why)):
        parse_move(text, situation(lead="S4 H4"), [PASS, parse_row("pair 77")])


def test_tribute_takes_one_allowed_card():
    rows = FIRST_CARD + KIND_OF["S3"], FIRST_CARD + KIND_OF["H3"]
    giving = tribute(Phase.RETURN, *rows)
    for text in ("s3", "card S3", "1"):
        assert parse_move(text, giving, rows).rows == (rows[0],)
    for text, why in (
        ("S3 H3", "one card"),
        ("SA", "allowed are card S3, card H3"),
        ("", "not allowed here"),
        ("S9", "do not hold"),
    ):
        with pytest.raises(GuandanError, match=why):
            parse_move(text, giving, rows)


def test_resisting():
    asked = tribute(Phase.RESIST, PASS, RESIST)
    assert parse_move("resist", asked).rows == (RESIST,)
    assert parse_move("pass", asked).rows == (PASS,)
    with pytest.raises(GuandanError, match="'resist' or 'pass'"):
        parse_move("S3", asked)


def test_hints_are_legal_distinct_and_of_every_pattern():
    position = situation("S3 H3 C3 S4 H4 C4 S5 H5 C5 S6 H6 C6 S7 H7 H2 H2 SB SB HR HR SK")
    first = parse_row("pair 77")
    hints = list_hints(position, first)
    assert hints[0] == first
    assert len(set(hints)) == len(hints) == MAX_HINTS
    assert position.mask[hints].all()
    patterns = {row_name(row).split()[0] for row in np.flatnonzero(position.mask).tolist()}
    assert {row_name(row).split()[0] for row in hints} == patterns


def run(monkeypatch, capsys, typed: str, *words: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    status = play.main(list(words))
    return status, capsys.readouterr().out


@pytest.mark.parametrize("preset", ["default", "university"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_deal_to_its_end_with_the_first_hints(monkeypatch, capsys, preset, seed):
    words = ("--seed", str(seed), "--rules", preset)
    status, out = run(monkeypatch, capsys, "1\n" * 200, *words)
    assert status == 0
    assert "Finished: 1st " in out
    assert re.search(r"win [1-9] levels?\.\n$", out)


def test_a_game_to_its_end(monkeypatch, capsys):
    words = ("--episode", "game", "--seed", "5", "--agents", "random", "--partner", "greedy")
    status, out = run(monkeypatch, capsys, "1\n" * 5000, *words)
    assert status == 0
    assert out.count("=== Deal ") == out.count("Finished: ") > 5
    assert out.endswith("win the game.\n")
    assert "pays a card" in out
    assert "You return a card" in out


def test_mistakes_are_told_and_asked_again(monkeypatch, capsys):
    typed = "nonsense\n?\nS3 S3 S3\n\x00\n99\n" + "1\n" * 200
    _, out = run(monkeypatch, capsys, typed, "--seed", "1", "--level", "7")
    assert "'nonsense' is no name of a row" in out
    assert "(greedy would)" in out
    assert "99 is no number of a hint" in out
    assert "Finished: " in out


@pytest.mark.parametrize("typed", ["", "quit\n", "?\nQ\n", "1\n"])
def test_leaving(monkeypatch, capsys, typed):
    status, out = run(monkeypatch, capsys, typed, "--seed", "1")
    assert status == 0
    assert out.endswith("Goodbye.\n")
    assert "Finished" not in out


def test_an_interrupt_says_goodbye(monkeypatch, capsys):
    class Interrupted(io.StringIO):
        def readline(self, size=-1, /):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        play.main(["--seed", "1"])
    assert capsys.readouterr().out.endswith("Goodbye.\n")


def test_one_of_several_claims_is_asked_for():
    rows = parse_row("straight 34567 with wild as 3"), parse_row("straight 45678 with wild as 8")
    engine = Engine(1, seed=0)
    bot = play.make("greedy")

    def claim(typed: str) -> tuple[int | None, str]:
        out = io.StringIO()
        game = play.Game(engine, bot, bot, io.StringIO(typed), out)
        return game._claim(play.Move(rows)), out.getvalue()

    row, told = claim("3\n2\n")
    assert row == rows[1]
    assert "'3' is none of the numbers 1 to 2" in told
    assert row_name(rows[0]) in told
    assert claim("\n")[0] is None
    with pytest.raises(play.QuitGame):
        claim("")


def test_hidden_hands_stay_hidden(monkeypatch, capsys):
    _, out = run(monkeypatch, capsys, "", "--seed", "1")
    # Before the first play: the wild of the header, and the 28 cards of who is to return one.
    assert len(re.findall("[♠♥♣♦★]", out)) == 1 + 28
    assert "▒" * 9 in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--agents", "gready"], "greedy"),
        (["--rules", "nope"], "preset"),
        (["--level", "1"], "level"),
        (["--episode", "game", "--level", "5"], "only a deal"),
    ],
)
def test_bad_options(words, why):
    with pytest.raises(GuandanError, match=why):
        play.main(words)
