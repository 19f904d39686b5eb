"""A connection held at arm's length: it can neither flood us nor make us wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from eval.serving.terms import Limits
from guandan_env.errors import one_line

POLICY = 1008  # the close code for a peer that does what is not allowed
_LAST_WORDS = 2.0  # seconds for a peer to read what it was sent before its connection is closed


class Peer:
    """Messages go into a queue that its own task sends; who does not read them is dropped."""

    def __init__(self, connection: ServerConnection, limits: Limits) -> None:
        self._connection, self._limits = connection, limits
        self._unsent: asyncio.Queue[str | None] = asyncio.Queue(limits.unsent)
        self._allowance = limits.burst
        self._counted = asyncio.get_running_loop().time()
        self._writer = asyncio.create_task(self._write())

    def send(self, message: dict[str, Any] | str) -> None:
        """Send a message, or its JSON, when the peer is ready to read; never waits."""
        text = message if isinstance(message, str) else as_text(message)
        try:
            self._unsent.put_nowait(text)
        except asyncio.QueueFull:
            self.cut()

    def ask(self, message: dict[str, Any]) -> None:
        """Send a question; its answer is one message that the peer may say at any speed."""
        self._allowance = min(self._limits.burst, self._allowance + 1)
        self.send(message)

    def refuse(self, text: str, kind: str = "error", code: int = 400) -> None:
        """Say what was wrong with what it sent."""
        self.send({"type": kind, "code": code, "message": one_line(text)})

    async def messages(self) -> AsyncIterator[str | bytes]:
        """What it says, until it goes; it is cut off if it says too much."""
        with suppress(ConnectionClosed):
            async for message in self._connection:
                if not self.may_speak():
                    await self._connection.close(POLICY, "too many messages")
                    return
                yield message

    async def receive(self, seconds: float) -> str | bytes | None:
        """One message within some time, else None."""
        with suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._connection.recv()
        return None

    async def close(self) -> None:
        """Say goodbye once everything is sent, within a little time."""
        with suppress(TimeoutError, asyncio.QueueFull):
            self._unsent.put_nowait(None)
            async with asyncio.timeout(_LAST_WORDS):
                await asyncio.shield(self._writer)
        self._writer.cancel()
        await self._connection.close()

    def dismiss(self) -> None:
        """Close the connection without waiting for it."""
        self._leaving = asyncio.create_task(self.close())

    def cut(self) -> None:
        """End the connection at once."""
        self._writer.cancel()
        self._connection.transport.abort()

    def may_speak(self) -> bool:
        """Whether it has not said too much; counts one message."""
        now = asyncio.get_running_loop().time()
        more = (now - self._counted) * self._limits.messages
        self._allowance = min(self._limits.burst, self._allowance + more) - 1
        self._counted = now
        return self._allowance >= 0

    async def _write(self) -> None:
        with suppress(ConnectionClosed):
            while (text := await self._unsent.get()) is not None:
                await self._connection.send(text)


def as_text(message: dict[str, Any]) -> str:
    """A message as JSON."""
    return json.dumps(message, separators=(",", ":"))
