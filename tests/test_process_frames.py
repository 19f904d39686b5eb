"""Frames between an agent in a process of its own and who asks it."""

from __future__ import annotations

import numpy as np
import pytest

from agents.answers import Answer, Cause, Wrong
from agents.greedy import Greedy
from agents.process_frames import (
    HEADER,
    FrameError,
    frame,
    most_answer,
    pack_answer,
    pack_decisions,
    unpack_answer,
    unpack_decisions,
)
from guandan_env.engine import Engine


def decisions_of(n: int = 20):
    engine = Engine(n, seed=2)
    for _ in range(9):
        rows = np.zeros(n, dtype=np.int64)
        pending = engine.decisions()
        rows[pending.index] = Greedy().act(pending)
        engine.step(rows)
    return engine.decisions()


def test_decisions_travel_whole():
    sent = decisions_of()
    got = unpack_decisions(pack_decisions(sent)[HEADER.size :])
    assert got.rules == sent.rules
    for name in sent.__dataclass_fields__:
        if name != "rules":
            one, other = getattr(sent, name), getattr(got, name)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    got.hand_bits[:] = 0  # agents may write into what they are given
    np.testing.assert_array_equal(got.key, sent.key)


def test_answers_travel_whole():
    wrong = {1: Wrong(Cause.ILLEGAL, "掼" * 999), 3: Wrong(Cause.ERROR, "no\nidea")}
    sent = Answer(np.arange(5) - 1, np.full((5, 54), 2, dtype=np.uint8), wrong)
    packed = pack_answer(sent)
    assert len(packed) <= most_answer(5)
    got = unpack_answer(packed[HEADER.size :], 5)
    np.testing.assert_array_equal(got.rows, sent.rows)
    np.testing.assert_array_equal(got.cards, sent.cards)
    assert got.wrong[3] == Wrong(Cause.ERROR, "no idea")
    assert got.wrong[1].text == "掼" * 299 + "…"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"not json\n" + bytes(62),
        b"[" * 100_000 + b"\n",
        b"[]\n" + bytes(61),
        b"[]\n" + bytes(63),
        b"{}\n" + bytes(62),
        b"[[1, 2]]\n" + bytes(62),
        b'[[1, "error", "text"]]\n' + bytes(62),
        b'[[-1, "error", "text"]]\n' + bytes(62),
        b'[[0, "late", "text"]]\n' + bytes(62),
        b'[[0, "error", 7]]\n' + bytes(62),
        b'[[0, "error", "a"], [0, "error", "b"]]\n' + bytes(62),
    ],
)
def test_an_answer_of_another_form_is_refused(body):
    with pytest.raises(FrameError):
        unpack_answer(body, 1)
    assert unpack_answer(b'[[0, "error", "text"]]\n' + bytes(62), 1).wrong


def test_frames_hold_what_they_say():
    word, length = HEADER.unpack_from(frame(b"said", [1], b"xyz"))
    assert (word, length) == (b"said", len(b"[1]\nxyz"))
