"""What comes over a wire, checked: JSON of bounded size into structs, or a `WireError`.

The structs say what is allowed; fields that they do not name are ignored, as bots and servers of
several years send some.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from guandan_env.errors import GuandanError, one_line

MOST_REQUEST = 1 << 16  # bytes of a message from a bot
MOST_TOLD = 1 << 23  # bytes of a message from a server: the longest lists of actions take 1 MB
_MOST_ACTIONS = 100_000

Seat = Annotated[int, Meta(ge=0, le=3)]
SeatOrNone = Annotated[int, Meta(ge=-1, le=3)]
Word = Annotated[str, Meta(max_length=16)]
Card = Annotated[str, Meta(min_length=2, max_length=2)]
Cards = Annotated[list[Card], Meta(max_length=28)]
Wire = tuple[Word, Word, Word | Cards]
Name = Annotated[str, Meta(min_length=1, max_length=64)]
Rank = Annotated[str, Meta(pattern="^[2-9TJQKA]$")]
Gift = tuple[Seat, Seat, Card]
Whole = Annotated[int, Meta(ge=-(2**53), le=2**53)]


class WireError(GuandanError):
    """A message that is none; the text may be sent back to whoever sent it."""


# ---------------------------------------------------------------------- from bots


class Index(Struct):
    """The old platform's answer: which of the actions listed."""

    actIndex: Annotated[int, Meta(ge=0, lt=_MOST_ACTIONS)]


class CreateData(Struct):
    """Who opens a room, for how many games, and at which seat it sits."""

    userId: Name | Whole
    round: Annotated[int, Meta(ge=1, le=1000)] = 1
    seatNum: Seat = 0


class JoinData(Struct):
    """Who sits down, in which room and where; without a seat, at the first that is free."""

    userId: Name | Whole
    roomId: Annotated[int, Meta(ge=0, le=2**53)]
    seatNum: Seat | None = None


class ActData(Struct):
    """An action; the room and the player are those of the connection, whatever is said here."""

    act: Wire


class Create(Struct, tag="CREATE_ROOM"):
    """Open a room."""

    data: CreateData


class Join(Struct, tag="JOIN_ROOM"):
    """Sit down in a room."""

    data: JoinData


class Play(Struct, tag="PLAY"):
    """Play or pass."""

    data: ActData


class Tribute(Struct, tag="TRIBUTE"):
    """Pay tribute."""

    data: ActData


class PayTribute(Struct, tag="PAYTRIBUTE"):
    """Return a card."""

    data: ActData


Request = Create | Join | Play | Tribute | PayTribute
REQUEST_STAGES: dict[type, str] = {Play: "play", Tribute: "tribute", PayTribute: "back"}


class Said(Struct):
    """What a program that reads and writes lines may answer, in any of these ways."""

    actIndex: Annotated[int, Meta(ge=0, lt=_MOST_ACTIONS)] | None = None
    act: Wire | None = None
    data: ActData | None = None
    text: Annotated[str, Meta(max_length=10_000)] | None = None


# ---------------------------------------------------------------------- from servers


class Public(Struct):
    """What everybody sees of a seat."""

    rest: Annotated[int, Meta(ge=0, le=29)]
    playArea: Wire | None = None


class Told(Struct):
    """A message of a server; which fields there are hangs on type and stage."""

    type: Word
    stage: Word = ""
    code: Whole | None = None
    message: Annotated[str, Meta(max_length=1000)] = ""
    data: dict[Word, Any] | None = None
    handCards: Cards = []
    myPos: Seat | None = None
    curPos: SeatOrNone = -1
    curAction: Wire | None = None
    greaterPos: SeatOrNone = -1
    greaterAction: Wire | None = None
    result: Annotated[list[Gift], Meta(max_length=2)] = []
    antiPos: Annotated[list[Seat], Meta(max_length=4)] = []
    order: Annotated[list[Seat], Meta(max_length=4)] = []
    curRank: Rank = "2"
    selfRank: Rank = "2"
    oppoRank: Rank = "2"
    publicInfo: Annotated[list[Public], Meta(max_length=4)] = []
    actionList: Annotated[list[Wire], Meta(max_length=_MOST_ACTIONS)] = []
    tributePos: SeatOrNone = -1
    tribute: Any = None  # in stage back, sent back as it came
    curTimes: Whole = 0
    settingTimes: Whole = 0


_T = TypeVar("_T")
_INDEX = msgspec.json.Decoder(Index)
_REQUEST: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_SAID = msgspec.json.Decoder(Said | int | Wire)
_TOLD = msgspec.json.Decoder(Told)


def parse_index(data: str | bytes) -> int:
    """The index that a bot of the old platform answers; `WireError` for anything else."""
    return _parse(_INDEX, data, MOST_REQUEST).actIndex


def parse_request(data: str | bytes) -> Request:
    """What a bot of OpenGuanDan asks or plays; `WireError` for anything else."""
    return _parse(_REQUEST, data, MOST_REQUEST)


def parse_said(data: str | bytes) -> Said:
    """What a program answers to a question, or a bare index or action; else `WireError`."""
    said = _parse(_SAID, data, MOST_REQUEST)
    if isinstance(said, int):
        if not 0 <= said < _MOST_ACTIONS:
            raise WireError(f"{said} is no index")
        return Said(actIndex=said)
    if isinstance(said, tuple):
        return Said(act=said)
    return said


def parse_told(data: str | bytes) -> Told:
    """What a server says; `WireError` for anything else."""
    return _parse(_TOLD, data, MOST_TOLD)


def _parse(decoder: msgspec.json.Decoder[_T], data: str | bytes, most: int) -> _T:
    if len(data) > most:
        raise WireError(f"a message of {len(data):,} bytes; {most:,} are allowed")
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise WireError(f"this is no message that is allowed here: {one_line(error)}") from None
