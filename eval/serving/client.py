"""One of our agents at a seat of a server of the platform: what `guandan join` does."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.sync.client import ClientConnection, connect

from agents.answers import require
from agents.njupt.actions import Form
from agents.njupt.incoming import MOST_TOLD, Told, parse_told
from agents.njupt.reader import Reader, chosen_index
from eval.serving.terms import is_here
from guandan_env.decisions import Agent
from guandan_env.errors import GuandanError, one_line
from guandan_env.rules import RuleSet

_REQUESTS = {"play": "PLAY", "tribute": "TRIBUTE", "back": "PAYTRIBUTE"}
_OPEN_TIME = 10.0  # seconds to connect
_PAUSE = 1.0  # seconds between two tries
_MOST_REFUSED = 3  # times that the same answer is given to the same question


class JoinError(GuandanError):
    """A server that cannot be reached, or that refuses us."""


@dataclass
class Place:
    """Where to sit. For OpenGuanDan: the room to join, or None to create one for `games` games."""

    user: str = "guandan"
    room: int | None = None
    seat: int | None = None
    games: int = 1


class Player:
    """An agent at a server, from the first message to the last.

    Parameters: `url`; a path `/game/NAME` means the old platform, any other OpenGuanDan. `agent`.
    `rules`, by which the server is thought to play. `place`, for OpenGuanDan. `retry`, seconds
    in which a connection that breaks is tried again. `tell` is given every note.
    """

    def __init__(
        self,
        url: str,
        agent: Agent,
        rules: RuleSet,
        *,
        place: Place | None = None,
        seed: int = 0,
        retry: float = 30.0,
        tell: Callable[[Told], None] = lambda told: None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname:
            raise JoinError(f"{one_line(url)!r} is no address such as ws://localhost:23456/game/me")
        self.url, self.agent, self.tell, self.retry = url, agent, tell, retry
        self.form = Form.OLD if parts.path.startswith("/game/") else Form.OPEN
        self.place = place or Place()
        # What a proxy of the environment is for is not this machine.
        self._proxy: Literal[True] | None = None if is_here(parts.hostname) else True
        self._reader = Reader(rules, self.form, seed)
        self._room = self.place.room
        self._seat: int | None = None
        self._refused = 0

    def play(self) -> dict[str, Any]:
        """Play until the result of all games, which is returned as the server sent it."""
        broken: float | None = None
        while True:
            try:
                with connect(
                    self.url,
                    open_timeout=_OPEN_TIME,
                    max_size=MOST_TOLD,
                    compression=None,
                    proxy=self._proxy,
                ) as connection:
                    if self.form is Form.OPEN:
                        self._ask_for_seat(connection)
                    for data in connection:
                        broken = None
                        told = parse_told(data)
                        self._take(connection, told)
                        if told.stage == "gameResult":
                            return dict(json.loads(data))
                    why = "the server closed the connection before the result"
            except (OSError, InvalidHandshake, InvalidURI, ConnectionClosed, TimeoutError) as error:
                why = one_line(error) or type(error).__name__
            now = time.monotonic()
            broken = now if broken is None else broken
            if self._seat is None or now - broken > self.retry:
                raise JoinError(f"{self.url}: {why}")
            print(f"{why}; trying again", file=sys.stderr)
            time.sleep(_PAUSE)

    # ------------------------------------------------------------------ messages

    def _ask_for_seat(self, connection: ClientConnection) -> None:
        place = self.place
        if self._room is None:
            asked = {"userId": place.user, "round": place.games, "seatNum": place.seat or 0}
            _send(connection, {"type": "CREATE_ROOM", "data": asked})
        else:
            asked = {"userId": place.user, "roomId": self._room}
            seat = place.seat if self._seat is None else self._seat
            if seat is not None:
                asked["seatNum"] = seat
            _send(connection, {"type": "JOIN_ROOM", "data": asked})

    def _take(self, connection: ClientConnection, told: Told) -> None:
        if told.type == "act":
            self._act(connection, told)
        elif told.type == "notify":
            if told.stage == "beginning" and told.myPos is not None:
                self._seat = told.myPos
            self._reader.hear(told)
            self.tell(told)
        elif told.type in ("CREATE_ROOM", "JOIN_ROOM") and told.code == 200:
            room = (told.data or {}).get("roomId")
            if not isinstance(room, int):
                raise JoinError(f"the server names no room: {one_line(told.data)}")
            self._room = room
            self.tell(told)
        elif told.type == "error" or told.code not in (None, 200):
            self._complain(told)

    def _complain(self, told: Told) -> None:
        """The server refuses what was said."""
        print(f"the server says: {one_line(told.message)}", file=sys.stderr)
        self._refused += 1
        if self._seat is None or self._refused > _MOST_REFUSED:
            raise JoinError(f"the server refuses: {one_line(told.message)}")

    def _act(self, connection: ClientConnection, told: Told) -> None:
        seat = self._seat
        if seat is None:
            raise JoinError("the server asks before it has said where we sit")
        decisions, actions = self._reader.question(told, seat)
        rows, cards = require(self.agent, decisions)
        index = chosen_index(decisions, actions, int(rows[0]), cards[0])
        _send(connection, self._message(told, seat, index))

    def _message(self, told: Told, seat: int, index: int) -> dict[str, Any]:
        if self.form is Form.OLD:
            return {"actIndex": index}
        data = {"roomId": self._room, "player": seat, "act": list(told.actionList[index])}
        if told.stage == "back":
            data |= {"tributePos": told.tributePos, "tribute": told.tribute}
        return {"type": _REQUESTS[told.stage], "data": data}


def _send(connection: ClientConnection, message: dict[str, Any]) -> None:
    connection.send(json.dumps(message, separators=(",", ":")))
