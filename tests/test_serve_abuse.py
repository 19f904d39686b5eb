"""Strangers who send garbage, too much or nothing: running games do not notice."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random

import pytest
from serving import SHORT, first, old_bot, run, serving, terms
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from eval.serving.peer import Peer
from eval.serving.terms import Limits

STRANGERS = 200
# The game waits for its own bots alone; strangers get short shrift.
LIMITS = Limits(wait=0.3, lobby_time=2, return_within=2, rooms=8)
GARBAGE = (
    "", "null", "{}", "[]", "0", "\x00", "{" * 1000, "[" * 30_000, "掼蛋", '{"type": 5}',
    '{"actIndex": 1e400}',
    '{"type": "PLAY", "data": {"act": ["PASS", "PASS", "PASS"]}}',
    '{"type": "JOIN_ROOM", "data": {"userId": "x", "roomId": 1, "seatNum": 0}}',
    '{"type": "CREATE_ROOM", "data": {"userId": "x", "round": 1000, "seatNum": 2}}',
    json.dumps({"type": "CREATE_ROOM", "data": {"userId": "x" * 10_000}}),
)  # fmt: skip


async def talks_garbage(url: str, rng: random.Random) -> None:
    """Sends texts and bytes that mean nothing, at any of the server's addresses."""
    path = rng.choice(["", "/game/x", "/watch/1", "/watch/99", "/game/", "/../..", "/game/client0"])
    with contextlib.suppress(WebSocketException, OSError, TimeoutError):
        async with connect(url + path, proxy=None) as connection:
            for _ in range(rng.randrange(1, 30)):
                if rng.random() < 0.3:
                    await connection.send(rng.randbytes(rng.randrange(200)))
                else:
                    await connection.send(rng.choice(GARBAGE))


async def floods(url: str, rng: random.Random) -> None:
    """Sends as fast as it can and reads nothing."""
    with contextlib.suppress(WebSocketException, OSError, TimeoutError):
        async with connect(url + rng.choice(["", "/watch/1"]), proxy=None) as connection:
            for _ in range(2000):
                await connection.send('{"type": "PLAY"}')


async def sends_too_much(url: str, rng: random.Random) -> None:
    """One message far above what is allowed."""
    with contextlib.suppress(WebSocketException, OSError, TimeoutError):
        async with connect(url, proxy=None) as connection:
            await connection.send("x" * 1_000_000)
            await connection.recv()


async def stays_half_open(port: int, rng: random.Random) -> None:
    """Opens a socket and says nothing, or half a request, or random bytes."""
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        said = rng.choice(
            [
                b"",
                b"GET /game/client0 HTTP/1.1\r\nHost: x\r\n",
                b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000,
                rng.randbytes(5000),
                b"\r\n\r\n",
            ]
        )
        writer.write(said)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await writer.drain()
                await reader.read()
        writer.close()


async def strangers(served, seed: int) -> None:
    rng = random.Random(seed)
    await asyncio.gather(
        *(
            rng.choice(
                [
                    lambda r: talks_garbage(served.url, r),
                    lambda r: floods(served.url, r),
                    lambda r: sends_too_much(served.url, r),
                    lambda r: stays_half_open(served.port, r),
                ]
            )(random.Random(seed + number))
            for number in range(STRANGERS)
        )
    )


async def a_game(abused: bool) -> list[list[dict]]:
    """What two bots hear in a game, among strangers or not."""
    async with serving(terms(SHORT, LIMITS, open_seats=(0, 1))) as served:
        began = asyncio.Event()

        def answer(message):
            began.set()
            return first(message)

        bots = [asyncio.create_task(old_bot(served.url, f"client{i}", answer)) for i in range(2)]
        if abused:
            await began.wait()
            await strangers(served, seed=1)
        heard = await asyncio.gather(*bots)
        while served.games.sockets and abused:  # nobody stays for ever
            await asyncio.sleep(0.05)
        return heard


def test_two_hundred_strangers_change_nothing_in_a_running_game():
    quiet = run(lambda: a_game(abused=False))
    abused = run(lambda: a_game(abused=True))
    assert quiet == abused
    assert quiet[0][-1]["stage"] == "gameResult"


def test_after_strangers_the_server_serves_as_before():
    async def play():
        async with serving(terms(SHORT, LIMITS)) as served:
            await strangers(served, seed=7)
            while served.games.rooms:  # those that strangers opened end by themselves
                await asyncio.sleep(0.05)
            return await old_bot(served.url, "client0")

    assert run(play)[-1]["stage"] == "gameResult"


def test_a_flood_is_cut_off():
    async def play():
        async with serving(terms(limits=Limits(burst=10, messages=1))) as served:
            connection = await connect(served.url, proxy=None)
            with pytest.raises(ConnectionClosed):
                await flood(connection)

    async def flood(connection):
        for _ in range(10_000):
            await connection.send('{"type": "PLAY", "data": {}}')
            await connection.recv()

    run(play)


def test_answers_to_questions_are_no_flood():
    async def play():
        limits = Limits(wait=0.3, burst=5, messages=0.001)
        async with serving(terms(SHORT, limits)) as served:
            return await old_bot(served.url, "client0")

    heard = run(play)
    assert heard[-1]["stage"] == "gameResult"
    assert sum(m["type"] == "act" for m in heard) > 20


def test_who_asks_for_no_seat_is_sent_away():
    async def play():
        async with serving(terms(limits=Limits(lobby_time=0.2))) as served:
            connection = await connect(served.url, proxy=None)
            with pytest.raises(ConnectionClosed):
                await connection.recv()

    run(play)


def test_sockets_beyond_the_limit_are_refused_and_those_inside_go_on():
    async def play():
        limits = Limits(wait=0.3, sockets=4)
        async with serving(terms(SHORT, limits)) as served:
            bot = asyncio.create_task(old_bot(served.url, "client0"))
            while not served.games.rooms:
                await asyncio.sleep(0.01)
            refused = 0
            sockets = []
            for _ in range(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
                sockets.append((reader, writer))
            await asyncio.sleep(0.2)
            for reader, writer in sockets:
                with contextlib.suppress(TimeoutError, OSError):
                    async with asyncio.timeout(0.05):
                        refused += await reader.read() == b""
                writer.close()
            return await bot, refused

    heard, refused = run(play)
    assert heard[-1]["stage"] == "gameResult"
    assert refused >= 16


def test_rooms_are_limited():
    async def play():
        async with serving(terms(limits=Limits(wait=30, rooms=2))) as served:
            told = []
            async with contextlib.AsyncExitStack() as stack:
                for number in range(3):
                    connection = await stack.enter_async_context(connect(served.url, proxy=None))
                    asked = {"userId": f"u{number}", "round": 1, "seatNum": 0}
                    await connection.send(json.dumps({"type": "CREATE_ROOM", "data": asked}))
                    told.append(json.loads(await connection.recv())["code"])
            return told

    assert run(play) == [200, 200, 503]


class Deaf:
    """A connection whose other end reads nothing."""

    def __init__(self) -> None:
        self.transport = self
        self.aborted = False

    async def send(self, text: str) -> None:
        await asyncio.Event().wait()

    def abort(self) -> None:
        self.aborted = True


def test_who_does_not_read_is_cut_off_and_nobody_waits():
    async def play():
        connection = Deaf()
        peer = Peer(connection, Limits(unsent=10))
        for number in range(12):
            await asyncio.sleep(0)
            peer.send({"number": number})
            if number < 10:
                assert not connection.aborted
        assert connection.aborted

    run(play)


def test_a_bot_that_drops_and_returns_for_ever_does_not_stop_the_game():
    async def play():
        limits = Limits(wait=0.3, returns=3, return_within=5, move_time=5)
        async with serving(terms(SHORT, limits)) as served:
            await old_bot(served.url, "client0", leave_after=1)
            room = served.games.rooms[1]
            comes = 0
            while not room.over and comes < 50:
                comes += 1
                await old_bot(served.url, "client0", lambda message: None, leave_after=1)
            while not room.over:
                await asyncio.sleep(0.05)
            return room

    room = run(play)
    assert room.seats[0].agent
    assert room.seats[0].returns == 3
