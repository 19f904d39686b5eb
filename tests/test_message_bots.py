"""Bots that speak the platform's messages as agents: what they hear, answer and do wrong."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from agents import make, parse
from agents.answers import Cause, ask, require
from agents.process_agent import close, make_under
from eval.duplicate import Terms, play_pairs
from guandan_env.cli import main
from guandan_env.conduct import Conduct
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.rules import RuleSet
from guandan_env.state import Phase

# Checks what it is told, and plays the last action that it may.
CAREFUL = """
class Bot:
    def __init__(self):
        self.seat = None
        self.plays = 0

    def notify(self, message):
        if message["stage"] == "beginning":
            assert self.seat in (None, message["myPos"]), "another seat's messages"
            self.seat = message["myPos"]
            self.hand = sorted(message["handCards"])
            assert len(self.hand) == 27
        elif message["stage"] in ("tribute", "back"):
            for giver, taker, card in message["result"]:
                if giver == self.seat and card in self.hand:
                    self.hand.remove(card)
                if taker == self.seat:
                    self.hand.append(card)
        elif message["stage"] == "play" and message["curPos"] == self.seat:
            if message["curAction"][0] != "PASS":
                for card in message["curAction"][2]:
                    self.hand.remove(card)

    def act(self, message):
        print("words that are no answer")
        assert sorted(self.hand) == sorted(message["handCards"]), "the hand is another"
        assert message["indexRange"] == len(message["actionList"]) - 1
        return message["indexRange"]
"""
FIRST = "def act(message):\n    return 0\n"


@pytest.fixture
def bot(tmp_path):
    """Writes a bot's folder, returns its path."""

    def write(source: str, name: str = "bot.py") -> Path:
        (tmp_path / name).write_text(source, encoding="utf-8")
        return tmp_path

    return write


def program(tmp_path: Path, source: str, *words: str) -> str:
    """The command of a program in Python."""
    path = tmp_path / "program.py"
    path.write_text(source, encoding="utf-8")
    return shlex.join([sys.executable, str(path), *words])


def fault_of(spec: str, seconds: float = 20.0):
    """What is wrong with an agent's first answer."""
    agent = make_under(spec, Conduct(move_time=seconds, start_time=20, illegal_play="pass"))
    try:
        return ask(agent, Engine(1, seed=1, previous=None).decisions()).wrong[0]
    finally:
        close(agent)


def test_a_bot_hears_what_concerns_its_seat_and_plays_legally(bot):
    folder = bot(CAREFUL)
    agents = [make(f"njupt:{folder}?tables=1"), make("greedy")]
    terms = Terms(rules=RuleSet.preset("njupt"), seed=3)
    try:
        pairs = play_pairs(agents[0], agents[1], 0, 3, terms)
    finally:
        close(agents[0])
    assert not pairs.failures.any(), pairs.faults[:1]
    assert len(pairs) == 3


def test_it_hears_tribute_over_a_game(bot):
    agent = make(f"njupt:{bot(CAREFUL)}")
    engine = Engine(1, "njupt", seed=5, episode="game")
    stages = set()
    try:
        for _ in range(500):
            d = engine.decisions()
            stages.add(int(d.phase[0]))
            engine.step(*require(agent, d))
            if engine.state.over[0] or engine.state.deal[0] > 2:
                break
    finally:
        close(agent)
    assert {Phase.PLAY, Phase.RETURN, Phase.PAY} <= stages


def test_cards_and_not_only_rows_are_played(bot):
    agent = make(f"njupt:{bot(FIRST)}")
    d = Engine(1, seed=4, previous=None).decisions()
    rows, cards = require(agent, d)
    close(agent)
    assert cards[0].sum() == 1
    assert d.hand[0, cards[0].argmax()] > 0
    assert d.mask[0, rows[0]]


ENTRIES = {
    "my_bot:choose": "def choose(message):\n    return message['indexRange']\n",
    "my_bot:Mine": "class Mine:\n    def __call__(self, _):\n        return {'actIndex': 0}\n",
    "my_bot": "class Bot:\n    def act(self, message):\n        return message['actionList'][0]\n",
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_entries_of_all_kinds(bot, entry):
    agent = make(f"njupt:{bot(ENTRIES[entry], 'my_bot.py')}?entry={entry}")
    answer = ask(agent, Engine(1, seed=1, previous=None).decisions())
    close(agent)
    assert not answer.wrong


def test_modules_of_a_bot_may_be_called_like_ours(bot):
    folder = bot("VALUE = 0\n", "actions.py")
    bot("import actions, messages\ndef act(message):\n    return actions.VALUE\n")
    bot("", "messages.py")
    agent = make(f"njupt:{folder}")
    assert not ask(agent, Engine(1, seed=1, previous=None).decisions()).wrong
    close(agent)


def test_more_tables_than_programs_take_turns(bot):
    agent = make(f"njupt:{bot(FIRST)}?tables=1")
    engine = Engine(6, seed=1, previous=None)
    for _ in range(3):
        d = engine.decisions()
        answer = ask(agent, d)
        assert not answer.wrong
        engine.step(answer.rows, answer.cards)
        running = [seat for seat in agent._seats.values() if seat.keeper.running]
        assert len(running) <= 4
    close(agent)


SAYS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "act":
        {answer}
        sys.stdout.flush()
"""


@pytest.mark.parametrize(
    "answer",
    [
        "print(0)",
        "print(json.dumps({'actIndex': message['indexRange']}))",
        "print(json.dumps({'act': message['actionList'][-1]}))",
        "print(json.dumps({'type': 'PLAY', 'data': {'act': message['actionList'][0]}}))",
        "print(json.dumps({'text': message['text'].split('Allowed: ')[1].split(';')[0]}))",
    ],
)  # fmt: skip
def test_programs_may_answer_in_several_ways(tmp_path, answer):
    command = program(tmp_path, SAYS.format(answer=answer))
    agent = make(f"exec:{command}?text=true&form=open")
    engine = Engine(2, "njupt", seed=2, previous=None)
    for _ in range(4):
        reply = ask(agent, engine.decisions())
        assert not reply.wrong
        engine.step(reply.rows, reply.cards)
    close(agent)


@pytest.mark.parametrize(
    ("answer", "cause", "text"),
    [
        ("print('no idea')", Cause.ERROR, "garbage"),
        ("print(json.dumps({'actIndex': 99999}))", Cause.ILLEGAL, "none of the"),
        ("print(json.dumps({'act': ['Single', '2', ['XX']]}))", Cause.ILLEGAL, "none of the"),
        ("print(json.dumps({'text': 'fly'}))", Cause.ILLEGAL, "no name of a row"),
        ("print('{}')", Cause.ERROR, "is wanted"),
        ("print('[' * 70000)", Cause.CRASH, "flooded"),
        ("sys.exit(3)", Cause.CRASH, "status 3"),
        ("raise RuntimeError('lost')", Cause.CRASH, "lost"),
    ],
)
def test_wrong_answers_are_faults_with_their_cause(tmp_path, answer, cause, text):
    wrong = fault_of(f"exec:{program(tmp_path, SAYS.format(answer=answer))}")
    assert (wrong.cause, text in wrong.text) == (cause, True), wrong


def test_a_silent_bot_is_late_and_ended(bot):
    folder = bot("import time\ndef act(message):\n    time.sleep(1000)\n")
    assert fault_of(f"njupt:{folder}", seconds=0.3).cause is Cause.LATE


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import nothing_like_this\n", "nothing_like_this"),
        ("x = 1\n", "neither a class Bot nor a function act"),
        ("class Bot:\n    def __init__(self):\n        1 / 0\n", "division by zero"),
    ],
)
def test_a_bot_that_does_not_start_is_absent(bot, source, text):
    wrong = fault_of(f"njupt:{bot(source)}")
    assert wrong.cause is Cause.ABSENT
    assert text in wrong.text


def test_after_a_crash_it_is_begun_anew_and_told_again(bot):
    folder = bot(
        CAREFUL.replace(
            'return message["indexRange"]',
            'self.plays += 1\n        return 1 / (self.plays < 3) and message["indexRange"]',
        )
    )
    agent = make(f"njupt:{folder}")
    engine = Engine(1, seed=1, previous=None)
    greedy = make("greedy")
    failed, answered_after = 0, 0
    for _ in range(40):
        d = engine.decisions()
        if engine.state.seat[0] == 0:
            answer = ask(agent, d)
            failed += bool(answer.wrong)
            answered_after += bool(failed and not answer.wrong)
            rows, cards = (require(greedy, d)) if answer.wrong else (answer.rows, answer.cards)
        else:
            rows, cards = require(greedy, d)
        engine.step(rows, cards)
        if engine.state.over[0]:
            break
    close(agent)
    assert failed
    assert answered_after


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("njupt:no/such/folder", "no folder"),
        ("njupt:.?entry=nothing_here:Bot", "no nothing_here.py"),
        ("njupt:.?entry=setup&time=0", "no setup.py|seconds above 0"),
        ("exec:'never closed", "quotation"),
        ("exec:true?time=-1", "seconds above 0"),
        ("exec:true?form=new", "old, open"),
        ("exec:true?tables=0", "tables"),
        ("exec:true?text=maybe", "text"),
        ("njupt", "lacks a target"),
    ],
)  # fmt: skip
def test_specs_that_name_no_bot(spec, why):
    with pytest.raises(GuandanError, match=why):
        make(spec)


def test_a_spec_goes_there_and_back():
    for text in ("njupt:a/b", "exec:python3 bot.py --deep 3?text=true&time=2"):
        assert str(parse(text)) == text
        assert parse(str(parse(text))) == parse(text)


def test_the_command_line_takes_them(bot, capsys, tmp_path):
    folder = bot(FIRST)
    command = program(tmp_path, SAYS.format(answer="print(0)"))
    status = main(
        ["match", f"njupt:{folder}?tables=2", f"exec:{command}?tables=2", "--deals", "2",
         "--rules", "njupt", "--json"]
    )  # fmt: skip
    result = json.loads(capsys.readouterr().out)
    assert status == 0
    assert sum(result["failures"].values()) == 0
    # Both play the first action of the list: the agents are one, and every pair comes out even.
    assert result["deal_win_rate"] == 0.5
    assert np.isclose(result["level_gain"], 0)
