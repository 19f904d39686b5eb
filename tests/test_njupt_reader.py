"""A server's messages read as decisions: the same as the engine's own, and no nonsense believed."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import fields

import numpy as np
import pytest

from agents import make
from agents.answers import require
from agents.njupt.actions import Form
from agents.njupt.incoming import parse_told
from agents.njupt.reader import Reader, chosen_index
from agents.njupt.seat_talk import SeatTalk
from guandan_env.cards import to_counts
from guandan_env.engine import Engine
from guandan_env.errors import GuandanError
from guandan_env.suits import choose_cards


def game(seed: int, spec: str, steps: int, form: Form = Form.OLD):
    """Decisions of a game with the messages that the acting seat got since it was asked last."""
    engine = Engine(1, "njupt", seed=seed, episode="game")
    agent = make(spec)
    talks = [SeatTalk(form) for _ in range(4)]
    for _ in range(steps):
        d = engine.decisions()
        seat = int(d.seat[0])
        notes = talks[seat].hear(d, 0)
        question, actions = talks[seat].question(d, 0)
        yield d, seat, notes, question, actions
        engine.step(*require(agent, d))
        if engine.state.over[0]:
            return


def told(message: dict):
    return parse_told(json.dumps(message))


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("seed", "spec"), [(3, "random"), (4, "greedy")])
def test_decisions_come_out_as_they_went_in(form, seed, spec):
    readers = [Reader(Engine(1, "njupt").rules, form, seed) for _ in range(4)]
    phases = set()
    for d, seat, notes, question, actions in game(seed, spec, 500, form):
        for note in notes:
            readers[seat].hear(told(note))
        read, listed = readers[seat].question(told(question), seat)
        assert listed == actions
        phases.add(int(d.phase[0]))
        for field in fields(d):
            if field.name != "rules":
                ours, theirs = getattr(d, field.name), getattr(read, field.name)
                assert np.array_equal(ours, theirs), field.name
    assert len(phases) == 3


def test_an_answer_is_found_in_the_list_with_and_without_cards():
    for d, _, _, _, actions in game(2, "greedy", 40):
        for index, action in list(enumerate(actions))[::7]:
            cards = action.counts() if action.stage == "play" else np.zeros(54, np.uint8)
            if action.cards or action.row == 0:
                assert chosen_index(d, actions, action.row, cards) == index
        row = np.array([actions[-1].row])
        own = chosen_index(d, actions, int(row[0]), np.zeros(54, np.uint8))
        assert actions[own].row == row[0]
        if actions[own].cards:
            chosen = to_counts(choose_cards(d.hand_bits, row, d.level.astype(np.int64)))[0]
            assert (actions[own].counts() == chosen).all()


def spoilt(message: dict, rng: random.Random) -> dict:
    """A message in which some values are another's, or gone."""
    message = copy.deepcopy(message)
    values = [
        -1, 0, 3, 7, None, "", "A", "S3", "HR", "PASS", [], ["S3"], [[0, 0, "S3"]], {}, 10**9, True,
        ["Single", "3", ["S3"]], ["Bomb", "JOKER", ["SB", "SB", "HR", "HR"]],
    ]  # fmt: skip
    for _ in range(rng.randrange(1, 4)):
        key = rng.choice(list(message))
        if isinstance(message[key], list) and message[key] and rng.random() < 0.5:
            message[key][rng.randrange(len(message[key]))] = rng.choice(values)
        else:
            message[key] = rng.choice(values)
    return message


def test_nonsense_from_a_server_is_refused_with_an_error_of_ours():
    rng = random.Random(1)
    refused = read = 0
    for form in Form:
        for _, seat, notes, question, _ in list(game(5, "greedy", 200, form))[::3]:
            reader = Reader(Engine(1, "njupt").rules, form)
            try:
                for note in notes:
                    reader.hear(told(spoilt(note, rng) if rng.random() < 0.3 else note))
                reader.question(told(spoilt(question, rng) if refused % 2 else question), seat)
                read += 1
            except GuandanError:
                refused += 1
    assert refused > 20
    assert read > 5
