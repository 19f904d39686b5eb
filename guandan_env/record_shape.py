"""Whether a value read from outside has the shape of a record, before anything is done with it.

The same shape as `data/record-v1.schema.json` describes. What the values mean together is checked
by `record_replay`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from guandan_env.actions import ACTION_TABLE_VERSION
from guandan_env.cards import HAND_SIZE, RANKS
from guandan_env.errors import GuandanError, nearest, shown
from guandan_env.record import FORMAT, LONGEST_NAME

MOST_MOVES = 512
MOST_SEED = 2**64 - 1
MOST_TABLE = 2**63 - 1
MOST_VALUE = 1e9  # of a choice; nothing infinite
MOST_CHOICES = 10
MOST_PLAY_CARDS = 10
MOST_COUNT = 30_000  # the engine counts in 16 bits
LONGEST_TEXT = 2000
DEEPEST = 8
LONGEST_CLAIM = 100

Check = Callable[[Any, str], None]


class RecordError(GuandanError):
    """A record that cannot be read, or that contradicts the rules.

    deal: number of the record in its file, from 1. move: number in `moves`, from 1. None where
    the fault belongs to none.
    """

    def __init__(self, reason: str, *, deal: int | None = None, move: int | None = None) -> None:
        self.reason, self.deal, self.move = reason, deal, move
        parts = [f"{name} {n}" for name, n in (("deal", deal), ("move", move)) if n is not None]
        super().__init__(f"{', '.join(parts)}: {reason}" if parts else reason)


def check_shape(record: object) -> dict[str, Any]:
    """`record` if it has the shape of a record, else `RecordError` says where it has not."""
    if not isinstance(record, dict):
        raise RecordError(f"this is {shown(record)}; a record is a JSON object")
    version = record.get("format")
    if version != FORMAT:
        raise RecordError(f"format is {shown(version)}; this version reads {FORMAT!r}")
    _RECORD(record, "")
    for number, move in enumerate(record["moves"], start=1):
        try:
            _check_move(move)
        except RecordError as error:
            raise RecordError(error.reason, move=number) from None
    return record


def _check_move(move: Any) -> None:
    if not isinstance(move, dict):
        raise RecordError(f"a move is {shown(move)}; an object is allowed")
    kind = move.get("move")
    if not isinstance(kind, str) or kind not in _MOVES:
        allowed = ", ".join(_MOVES)
        raise RecordError(f"move is {shown(kind)}{nearest(kind, _MOVES)}; allowed are {allowed}")
    _MOVES[kind](move, "")


def _fail(path: str, value: object, allowed: str) -> RecordError:
    return RecordError(f"{path or 'the record'} is {shown(value)}; {allowed}")


def _whole(low: int, high: int) -> Check:
    def check(value: Any, path: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise _fail(path, value, f"a whole number from {low} to {high} is allowed")

    return check


def _one_of(*allowed: object) -> Check:
    words = ", ".join(map(repr, allowed))

    def check(value: Any, path: str) -> None:
        if not any(type(value) is type(a) and value == a for a in allowed):
            raise _fail(path, value, f"allowed: {words}")

    return check


def _text(longest: int, *, printable: bool = False) -> Check:
    def check(value: Any, path: str) -> None:
        if not isinstance(value, str) or len(value) > longest:
            raise _fail(path, value, f"a text of at most {longest} characters is allowed")
        if printable and not value.isprintable():
            raise _fail(path, value, "a text without control characters is allowed")

    return check


def _pattern(regex: str, allowed: str) -> Check:
    compiled = re.compile(regex)

    def check(value: Any, path: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise _fail(path, value, f"{allowed} is allowed")

    return check


def _number(value: Any, path: str) -> None:
    if type(value) not in (int, float) or not -MOST_VALUE <= value <= MOST_VALUE:
        raise _fail(path, value, f"a number from {-MOST_VALUE:.0f} to {MOST_VALUE:.0f} is allowed")


def _any_object(value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise _fail(path, value, "an object is allowed")
    if not _is_flat(value, DEEPEST):
        raise RecordError(f"{path} is nested more than {DEEPEST} deep")


def _is_flat(value: Any, depth: int) -> bool:
    """Whether a value of JSON is nested at most `depth` deep."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return depth > 0 and all(_is_flat(entry, depth - 1) for entry in value)


def _optional(check: Check) -> Check:
    def check_optional(value: Any, path: str) -> None:
        if value is not None:
            check(value, path)

    return check_optional


def _list(item: Check, low: int, high: int, *, different: bool = False) -> Check:
    size = str(low) if low == high else f"{low} to {high}"

    def check(value: Any, path: str) -> None:
        if not isinstance(value, list) or not low <= len(value) <= high:
            raise _fail(path, value, f"a list of {size} items is allowed")
        for number, entry in enumerate(value):
            item(entry, f"{path}[{number}]")
        if different and len(set(value)) < len(value):
            raise _fail(path, value, "items that all differ are allowed")

    return check


def _object(
    required: dict[str, Check], optional: dict[str, Check] | None = None, *, open: bool = False
) -> Check:
    known = required | (optional or {})

    def check(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise _fail(path, value, "an object is allowed")
        for name in required:
            if name not in value:
                raise RecordError(f"{path or 'the record'} lacks {name!r}")
        for name, entry in value.items():
            if name in known:
                known[name](entry, f"{path}.{name}" if path else name)
            elif open:
                if not _is_flat(entry, DEEPEST):
                    raise RecordError(f"{path}.{name} is nested more than {DEEPEST} deep")
            else:
                raise RecordError(
                    f"{path or 'the record'} has {shown(name)}{nearest(name, known)}; "
                    f"allowed are {', '.join(known)}"
                )

    return check


_CARD = r"(?:[SHCD][2-9TJQKA]|SB|HR)"
_SEAT, _SIDE, _COUNT = _whole(0, 3), _whole(0, 1), _whole(0, MOST_COUNT)
_LEVEL = _one_of(*RANKS)
_ROW = _whole(0, 2243)
_ORDER = _list(_SEAT, 4, 4, different=True)
_FLAG = _one_of(True, False)
_HAND = _pattern(rf"{_CARD}(?: {_CARD}){{{HAND_SIZE - 1}}}", f"a text of {HAND_SIZE} cards")
_PLAYED = _pattern(
    rf"{_CARD}(?: {_CARD}){{0,{MOST_PLAY_CARDS - 1}}}", f"a text of 1 to {MOST_PLAY_CARDS} cards"
)
_STANDING: dict[str, Check] = {
    "levels": _list(_LEVEL, 2, 2),
    "steps": _list(_COUNT, 2, 2),
    "attempts": _list(_COUNT, 2, 2),
    "debt": _list(_COUNT, 2, 2),
    "last_run": _list(_COUNT, 4, 4),
    "first_run": _list(_COUNT, 4, 4),
    "deals": _COUNT,
    "sudden_death": _FLAG,
}
_START = _object(
    {
        "hands": _list(_HAND, 4, 4),
        "level": _LEVEL,
        "declarer": _optional(_SIDE),
        "previous": _optional(_ORDER),
        "leader": _SEAT,
        **_STANDING,
    }
)
_FAULT = _object(
    {"seat": _SEAT, "text": _text(LONGEST_TEXT)},
    {"agent": _text(LONGEST_NAME), "cause": _text(LONGEST_NAME)},
    open=True,
)
_RESULT = _object(
    {
        "order": _list(_SEAT, 1, 4, different=True),
        "side": _SIDE,
        "gain": _whole(1, 5),
        "after": _optional(_object(_STANDING)),
        "winner": _optional(_one_of(0, 1, "draw")),
    }
)
_CHOICES = _list(_object({"claim": _text(LONGEST_CLAIM), "value": _number}), 0, MOST_CHOICES)
_DECISION: dict[str, Check] = {
    "seat": _SEAT,
    "move": _text(LONGEST_CLAIM),
    "claim": _text(LONGEST_CLAIM),
    "row": _ROW,
}
_MOVES: dict[str, Check] = {
    **{
        kind: _object(
            _DECISION | {"cards": _PLAYED} | ({"to": _optional(_SEAT)} if gives else {}),
            {"choices": _CHOICES},
        )
        for kind, gives in (("pay", True), ("choose", False), ("return", True), ("play", False))
    },
    **{kind: _object(_DECISION, {"choices": _CHOICES}) for kind in ("resist", "decline", "pass")},
    "yield": _object({"seat": _SEAT, "move": _text(LONGEST_CLAIM)}),
}
_RECORD = _object(
    {
        "format": _one_of(FORMAT),
        "actions": _one_of(ACTION_TABLE_VERSION),
        "rules": _any_object,
        "episode": _one_of("deal", "game"),
        "seed": _optional(_whole(0, MOST_SEED)),
        "table": _optional(_whole(0, MOST_TABLE)),
        "deal": _optional(_whole(0, 2**31 - 1)),
        "dealt": _FLAG,
        "players": _list(_text(LONGEST_NAME, printable=True), 4, 4),
        "context": _any_object,
        "start": _START,
        "moves": _list(lambda value, path: None, 0, MOST_MOVES),
        "fault": _optional(_FAULT),
        "result": _optional(_RESULT),
    }
)


def first_difference(told: Any, played: Any, path: str) -> str:
    """Where two values of JSON first differ, in words; empty if they are the same."""
    if told == played:
        return ""
    if isinstance(told, dict) and isinstance(played, dict) and told.keys() == played.keys():
        parts = [(told[name], played[name], f"{path}.{name}") for name in told]
    elif isinstance(told, list) and isinstance(played, list) and len(told) == len(played):
        parts = [(*pair, f"{path}[{i}]") for i, pair in enumerate(zip(told, played, strict=True))]
    else:
        return f"{path} is {shown(told)}; by the rules it is {shown(played)}"
    return next(filter(None, (first_difference(*part) for part in parts)), "")
