"""A server for tests, and bots that connect to it as strangers do: with nothing but websockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from eval.serving.server import GameServer
from eval.serving.terms import Limits, Terms
from guandan_env.record_file import RecordWriter
from guandan_env.rules import RuleSet

ONE_DEAL = RuleSet.preset("njupt").replace(max_deals=1)  # a game is over after one deal
SHORT = RuleSet.preset("njupt").replace(max_deals=3)
PATIENCE = 120.0  # seconds in which a test ends, on a machine with much else to do


def terms(rules: RuleSet = ONE_DEAL, limits: Limits | None = None, **options: Any) -> Terms:
    """What a test server plays: seats that are left are filled at once."""
    return Terms(rules, seed=5, limits=limits or Limits(wait=0.3), **options)


class Served:
    """A running server and its address."""

    def __init__(self, games: GameServer, port: int) -> None:
        self.games, self.port = games, port
        self.url = f"ws://127.0.0.1:{port}"


@asynccontextmanager
async def serving(given: Terms, writer: RecordWriter | None = None) -> AsyncIterator[Served]:
    """A server at a free port."""
    games = GameServer(given, writer)
    async with games.listening("127.0.0.1", 0) as server:
        yield Served(games, next(iter(server.sockets)).getsockname()[1])


def run(test: Callable[[], Any]) -> Any:
    """Run a test that is a coroutine."""

    async def within() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await test()

    return asyncio.run(within())


def first(message: dict[str, Any]) -> Any:
    """The answer of a bot of the old platform that plays the first action that is no pass."""
    return {"actIndex": min(1, message["indexRange"]) if message["curAction"] else 0}


async def old_bot(
    url: str,
    name: str,
    answer: Callable[[dict[str, Any]], Any] = first,
    leave_after: int | None = None,
) -> list[dict[str, Any]]:
    """A bot of the old platform; returns all messages it got, till the server closes."""
    heard: list[dict[str, Any]] = []
    asked = 0
    async with connect(f"{url}/game/{name}", proxy=None) as connection:
        async for data in connection:
            message = json.loads(data)
            heard.append(message)
            if message["type"] == "act":
                asked += 1
                reply = answer(message)
                if reply is not None:
                    await connection.send(reply if isinstance(reply, str) else json.dumps(reply))
                if asked == leave_after:
                    break
    return heard


async def say(connection: ClientConnection, kind: str, **data: Any) -> dict[str, Any]:
    """Send a request of OpenGuanDan and wait for the next message."""
    await connection.send(json.dumps({"type": kind, "data": data}))
    return json.loads(await connection.recv())


REQUESTS = {"play": "PLAY", "tribute": "TRIBUTE", "back": "PAYTRIBUTE"}


async def play_open(connection: ClientConnection, room: int) -> list[dict[str, Any]]:
    """Play on as a bot of OpenGuanDan that answers with the first action, to the letter."""
    heard = []
    async for data in connection:
        message = json.loads(data)
        heard.append(message)
        if message["type"] == "act":
            said = {"roomId": room, "player": 0, "act": message["actionList"][0]}
            if message["stage"] == "back":
                said |= {"tributePos": message["tributePos"], "tribute": message["tribute"]}
            await connection.send(json.dumps({"type": REQUESTS[message["stage"]], "data": said}))
    return heard


def stages(heard: list[dict[str, Any]]) -> list[str]:
    """Stages of the messages to all."""
    return [m["stage"] for m in heard if m["type"] == "notify"]
