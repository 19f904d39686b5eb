"""The server: lets connections in, within its limits, and leads them to their seats.

- `/game/NAME` is the old platform: seats by order of connection.
- `/watch/ROOM` shows a room's public messages.
- `/rooms`, over plain HTTP, lists the rooms.
- Any other path is OpenGuanDan: rooms are created and joined by message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import urlsplit

from websockets.asyncio.server import Server as WebSockets
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from agents.njupt.actions import Form
from agents.njupt.incoming import MOST_REQUEST, Create, Join, WireError, parse_request
from eval.serving.peer import Peer
from eval.serving.room import Room
from eval.serving.terms import MOST_GAMES, Terms, is_here
from guandan_env.record_file import RecordWriter

_NAME = re.compile(r"/game/([\w.-]{1,64})")
_WATCH = re.compile(r"/watch/(\d{1,9})")
_THINKERS = 4  # threads in which agents think
_HANDSHAKE = 10.0  # seconds to open a connection
_PING = 10.0  # seconds between pings, and for their answers


class GameServer:
    """All rooms of a server, and the connections to them."""

    def __init__(self, terms: Terms, writer: RecordWriter | None = None) -> None:
        self.terms, self.limits, self._writer = terms, terms.limits, writer
        self.rooms: dict[int, Room] = {}
        self.sockets = 0
        self._pool = ThreadPoolExecutor(_THINKERS, thread_name_prefix="agent")
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened = 0
        self._local = True

    @asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[WebSockets]:
        """Take connections while the context lasts; then all rooms end."""
        self._local = is_here(host)
        quiet = logging.getLogger("guandan.serve")  # what strangers send is no news
        quiet.setLevel(logging.CRITICAL)
        try:
            async with serve(
                self._meet,
                host,
                port,
                create_connection=self._connection_class(),
                process_request=self._check_request,
                compression=None,
                max_size=MOST_REQUEST,
                max_queue=16,
                open_timeout=_HANDSHAKE,
                ping_interval=_PING,
                ping_timeout=_PING,
                close_timeout=2,
                logger=quiet,
            ) as server:
                yield server
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._pool.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------------ letting in

    def _connection_class(self) -> type[ServerConnection]:
        """Connections that are counted from the first byte on, those half open too."""
        server = self

        class Counted(ServerConnection):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                server.sockets += 1
                super().connection_made(transport)
                if server.sockets > server.limits.sockets:
                    self.transport.abort()

            def connection_lost(self, exc: Exception | None) -> None:
                server.sockets -= 1
                super().connection_lost(exc)

        return Counted

    def _check_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse pages of other sites; answer a plain request for the list of rooms."""
        origin, host = request.headers.get("Origin"), request.headers.get("Host")
        if origin is not None and not self._is_own(origin, host):
            return connection.respond(HTTPStatus.FORBIDDEN, "Other sites may not connect.\n")
        if urlsplit(request.path).path == "/rooms":
            return connection.respond(HTTPStatus.OK, json.dumps(self._listed()) + "\n")
        return None

    def _is_own(self, origin: str, host: str | None) -> bool:
        """Whether what a page or a bot says of where it comes from is this server."""
        try:
            parts = urlsplit(origin)
            name = parts.hostname or ""
        except ValueError:
            return False
        # At this machine only: a stranger's name may be made to lead here.
        return parts.netloc == host and (not self._local or is_here(name))

    def _listed(self) -> list[dict[str, object]]:
        return [
            {
                "roomId": room.number,
                "form": room.form.value,
                "running": room.running,
                "free": room.free_seats(),
            }
            for room in self.rooms.values()
        ]

    async def _meet(self, connection: ServerConnection) -> None:
        """A connection from its beginning to its end."""
        assert connection.request is not None
        path = urlsplit(connection.request.path).path
        peer = Peer(connection, self.limits)
        try:
            if match := _NAME.fullmatch(path):
                await self._play_old(peer, match[1])
            elif match := _WATCH.fullmatch(path):
                await self._show(peer, int(match[1]))
            else:
                await self._play_open(peer)
        finally:
            await peer.close()

    # ------------------------------------------------------------------ finding seats

    async def _play_old(self, peer: Peer, name: str) -> None:
        rooms = [room for room in self.rooms.values() if room.form is Form.OLD]
        for left in rooms:
            if (back := left.away(name)) is not None:
                left.come_back(back, peer)
                await self._listen(peer, left, back)
                return
        waiting = next((room for room in rooms if room.free_seats()), None)
        if waiting is not None and any(seat.name == name and seat.peer for seat in waiting.seats):
            peer.refuse(f"the name {name} is taken in the room that is waiting for players")
            return
        room = waiting or self._open(Form.OLD, self.terms.games, peer)
        if room is not None:
            seat = room.free_seats()[0]
            room.sit(seat, peer, name)
            await self._listen(peer, room, seat)

    async def _play_open(self, peer: Peer) -> None:
        """Wait for a request that leads to a seat, for a while."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.limits.lobby_time
        while (data := await peer.receive(end - loop.time())) is not None:
            if not peer.may_speak():
                return
            try:
                request = parse_request(data)
            except WireError as error:
                peer.refuse(str(error))
                continue
            seated = None
            if isinstance(request, Create):
                seated = self._create(peer, request)
            elif isinstance(request, Join):
                seated = self._join(peer, request)
            else:
                peer.refuse("create or join a room first")
            if seated is not None:
                await self._listen(peer, *seated)
                return

    def _create(self, peer: Peer, request: Create) -> tuple[Room, int] | None:
        asked = request.data
        if asked.seatNum not in self.terms.open_seats:
            peer.refuse(f"seat {asked.seatNum} is an agent's", "CREATE_ROOM", 409)
            return None
        room = self._open(Form.OPEN, min(asked.round, MOST_GAMES), peer)
        if room is None:
            return None
        self._seat(peer, "CREATE_ROOM", room, asked.seatNum, str(asked.userId))
        return room, asked.seatNum

    def _join(self, peer: Peer, request: Join) -> tuple[Room, int] | None:
        asked, name = request.data, str(request.data.userId)
        room = self.rooms.get(asked.roomId)
        if room is None or room.form is not Form.OPEN:
            peer.refuse(f"there is no room {asked.roomId}", "JOIN_ROOM", 404)
            return None
        back = room.away(name)
        if back is not None and asked.seatNum in (back, None):
            peer.send(_seated("JOIN_ROOM", room, back))
            room.come_back(back, peer)
            return room, back
        free = room.free_seats()
        seat = asked.seatNum if asked.seatNum is not None else next(iter(free), None)
        if seat is None or seat not in free:
            taken = "no seat is free" if seat is None else f"seat {seat} is taken"
            peer.refuse(f"{taken} in room {room.number}", "JOIN_ROOM", 409)
            return None
        if any(s.name == name and s.peer for s in room.seats):
            peer.refuse(f"user {name} sits in room {room.number}", "JOIN_ROOM", 409)
            return None
        self._seat(peer, "JOIN_ROOM", room, seat, name)
        return room, seat

    def _seat(self, peer: Peer, kind: str, room: Room, seat: int, name: str) -> None:
        peer.send(_seated(kind, room, seat))
        room.sit(seat, peer, name)

    def _open(self, form: Form, games: int, peer: Peer) -> Room | None:
        """A new room, which begins to wait for players."""
        if len(self.rooms) >= self.limits.rooms:
            peer.refuse(f"all {self.limits.rooms} rooms are taken", code=503)
            return None
        self._opened += 1
        room = Room(self._opened, form, games, self.terms, self._pool, self._writer)
        self.rooms[room.number] = room
        task = asyncio.create_task(room.run())
        self._tasks.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            del self.rooms[room.number]

        task.add_done_callback(ended)
        return room

    # ------------------------------------------------------------------ at a seat

    async def _listen(self, peer: Peer, room: Room, seat: int) -> None:
        try:
            async for data in peer.messages():
                room.heard(seat, peer, data)
        finally:
            room.leave(seat, peer)

    async def _show(self, peer: Peer, number: int) -> None:
        room = self.rooms.get(number)
        if room is None or not room.watch(peer):
            peer.refuse(f"there is no room {number}, or too many watch it", code=404)
            return
        try:
            async for _ in peer.messages():
                peer.refuse("who watches says nothing")
        finally:
            room.watchers.discard(peer)


def _seated(kind: str, room: Room, seat: int) -> dict[str, object]:
    return {"type": kind, "code": 200, "data": {"roomId": room.number, "userNum": seat}}
