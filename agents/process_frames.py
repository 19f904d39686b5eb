"""What an agent in a process of its own is sent and answers: frames of bytes, nothing pickled.

A frame is a word of four letters, the length of what follows as 8 bytes (little endian), one line
of JSON, and raw arrays. Decisions carry theirs with names, types and shapes; an answer's have the
sizes that the question fixes, so that a reader takes nothing else.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.answers import Answer, Cause, Wrong
from guandan_env.cards import NUM_KINDS
from guandan_env.decisions import Decisions
from guandan_env.errors import one_line, shown
from guandan_env.rules import RuleSet

MAKE, RESET, ASK = b"make", b"rset", b"ask "  # sent
DONE, SAID, FAIL = b"done", b"said", b"fail"  # answered
HEADER = struct.Struct("<4sQ")
LONGEST_TEXT = 300  # characters of a reason
LONGEST_MESSAGE = 1000  # characters of why an agent cannot be made or reset
MOST_TEXT = 1 << 14  # bytes of a frame without arrays
_ARRAYS = tuple(f.name for f in fields(Decisions) if f.name != "rules")
_ROW = 8 + NUM_KINDS


class FrameError(Exception):
    """A frame that is none, or not of the kind that belongs here."""


def frame(word: bytes, message: object, arrays: bytes = b"") -> bytes:
    """A frame of a message that JSON can hold, and bytes."""
    line = json.dumps(message).encode() + b"\n"
    return HEADER.pack(word, len(line) + len(arrays)) + line + arrays


def message_of(body: bytes) -> tuple[Any, memoryview]:
    """The JSON of a frame's body, and the bytes behind it; `FrameError` where there is none."""
    end = body.find(b"\n")
    try:
        return json.loads(body[: max(end, 0)]), memoryview(body)[end + 1 :]
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{shown(body)} is no message: {one_line(error)}") from None


def most_answer(n: int) -> int:
    """The largest size in bytes of the frame that answers n decisions."""
    # A character of JSON may take 12 bytes where it is written as two surrogates.
    return HEADER.size + MOST_TEXT + n * (_ROW + 12 * LONGEST_TEXT + 60)


def pack_decisions(decisions: Decisions) -> bytes:
    """The frame that asks about decisions."""
    arrays = [np.ascontiguousarray(getattr(decisions, name)) for name in _ARRAYS]
    told = {
        "rules": decisions.rules.to_dict(),
        "arrays": [
            (name, array.dtype.str, array.shape)
            for name, array in zip(_ARRAYS, arrays, strict=True)
        ],
    }
    return frame(ASK, told, b"".join(array.tobytes() for array in arrays))


def unpack_decisions(body: bytes) -> Decisions:
    """The decisions of a frame that our own `pack_decisions` made."""
    told, data = message_of(body)
    arrays: dict[str, NDArray[Any]] = {}
    at = 0
    for name, kind, shape in told["arrays"]:
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        size = dtype.itemsize * count
        # A copy: agents may write into what they are given, and arrays lie where they should.
        arrays[name] = np.frombuffer(data[at : at + size], dtype).reshape(shape).copy()
        at += size
    return Decisions(rules=RuleSet.from_dict(told["rules"]), **arrays)


def pack_answer(answer: Answer) -> bytes:
    """The frame of an answer."""
    wrong = [
        (index, wrong.cause.value, one_line(wrong.text, LONGEST_TEXT))
        for index, wrong in sorted(answer.wrong.items())
    ]
    arrays = answer.rows.astype("<i8").tobytes() + answer.cards.astype(np.uint8).tobytes()
    return frame(SAID, wrong, arrays)


def unpack_answer(body: bytes, n: int) -> Answer:
    """The answer to n decisions; `FrameError` for anything else, whoever wrote it."""
    told, data = message_of(body)
    if len(data) != n * _ROW:
        raise FrameError(f"{len(data):,} bytes do not answer {n} decisions")
    if not isinstance(told, list) or len(told) > n:
        raise FrameError(f"{shown(told)} is no list of faults")
    return Answer(
        rows=np.frombuffer(data[: 8 * n], "<i8").astype(np.int64),
        cards=np.frombuffer(data[8 * n :], np.uint8).reshape(n, NUM_KINDS).copy(),
        wrong=dict(_fault(entry, n) for entry in told),
    )


def _fault(entry: object, n: int) -> tuple[int, Wrong]:
    match entry:
        case [int(index), str(cause), str(text)] if 0 <= index < n and cause in (
            Cause.ILLEGAL.value,
            Cause.ERROR.value,
        ):
            return index, Wrong(Cause(cause), one_line(text, LONGEST_TEXT))
    raise FrameError(f"{shown(entry)} is no fault")
