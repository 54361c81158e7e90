"""The port: lines of JSON over TCP, or messages over WebSocket. A connection that does not read is dropped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import MissingExtra
from .memory import ENDED, FAILED, ON_TIME, PAUSED, SCALE, TICKS, WORST, Memory, Now
from .messages import LONGEST, Catalogue
from .session import GREETING, Controls, Guests, Session

PATIENCE = 2.0  # s that a connection may take to read what waits for it
WAITING = 256  # messages that may wait for a connection
MOST_CONNECTIONS = 32  # that have given the token
QUIET = logging.getLogger("whippletree.port")  # who connects and goes is no error of ours
QUIET.setLevel(logging.CRITICAL + 1)
Send = Callable[[str], Awaitable[None]]


def state_of(now: Now, temporaries: tuple[str, ...]) -> dict[str, Any]:
    """A state as a message."""
    head = now.head
    return {
        "state": {
            "t": now.t,
            "tick": int(head[TICKS]),
            "q": now.q.tolist(),
            "u": now.u.tolist(),
            "held": [name for name, on in zip(temporaries, now.held, strict=True) if on],
            "paused": bool(head[PAUSED]),
            "failed": bool(head[FAILED]),
            "time_scale": float(head[SCALE]),
            "on_time": float(head[ON_TIME]),
            "worst_lateness": float(head[WORST]),
        }
    }


class Port:
    """Connections of both kinds. ``forward(message, tell)`` takes a message to the loop; ``tell`` hears the answer."""

    def __init__(
        self,
        memory: Memory,
        catalogue: Catalogue,
        about: dict[str, Any],
        token: str,
        controls: Controls,
        forward: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], None],
    ) -> None:
        self.memory, self.catalogue, self.about, self.token = memory, catalogue, about, token
        self.controls, self.forward, self.count, self.guests = controls, forward, 0, Guests()
        self.outboxes: dict[asyncio.Queue[dict[str, Any]], Session] = {}

    async def start(self, host: str, port: int | None, websocket: int | None) -> dict[str, int]:
        """Listen; returns the ports, which are chosen where 0 is asked for."""
        found: dict[str, int] = {}
        self.loop = asyncio.get_running_loop()
        if port is not None:
            self.server = await asyncio.start_server(self._tcp, host, port, limit=LONGEST + 2)
            found["port"] = self.server.sockets[0].getsockname()[1]
        if websocket is not None:
            try:
                from websockets.asyncio.server import serve
            except ImportError:
                raise MissingExtra("websockets", "view", "a WebSocket port") from None
            options: dict[str, Any] = {"max_size": LONGEST + 1, "compression": None, "write_limit": LONGEST}
            options |= {"create_connection": _guest_of(self), "open_timeout": GREETING, "logger": QUIET}
            self.sockets = await serve(self._websocket, host, websocket, **options)
            found["websocket"] = self.sockets.sockets[0].getsockname()[1]
        return found

    def notify(self, message: dict[str, Any]) -> None:
        """Tell all who have given the token, from another thread."""

        def tell() -> None:
            for box, session in self.outboxes.items():
                if session.greeted:
                    _put(box, message)

        self.loop.call_soon_threadsafe(tell)

    def enter(self, who: Any, transport: Any) -> None:
        """A new connection, of either kind."""
        peer = transport.get_extra_info("peername") or ("",)
        self.guests.enter(who, str(peer[0]), transport.abort, time.monotonic())

    # ---------------------------------------------------------------- two kinds of connection

    async def _tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.enter(writer, writer.transport)
        writer.transport.set_write_buffer_limits(high=LONGEST)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST)

        async def send(text: str) -> None:
            writer.write(text.encode() + b"\n")
            await writer.drain()

        async def receive() -> bytes | None:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                return b" " * (LONGEST + 1)
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            return line.strip()

        await self._serve("TCP", writer, receive, send)
        with contextlib.suppress(Exception):
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()
            writer.close()

    async def _websocket(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        async def receive() -> bytes | str | None:
            try:
                return await connection.recv()
            except ConnectionClosed:
                return None

        await self._serve("WebSocket", connection, receive, connection.send)
        if connection.transport is not None and connection.transport.get_write_buffer_size():
            connection.transport.abort()

    # ---------------------------------------------------------------- what both do

    def _full(self) -> bool:
        return sum(session.greeted for session in self.outboxes.values()) >= MOST_CONNECTIONS

    async def _serve(self, kind: str, who: Any, receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        self.count += 1
        facts = self.token, self.controls, self.catalogue, self.about
        session = Session(f"{kind} {self.count}", *facts, time.monotonic(), self._full)
        box: asyncio.Queue[dict[str, Any]] = asyncio.Queue(WAITING)
        self.outboxes[box] = session
        tasks = [
            asyncio.ensure_future(x)
            for x in (self._listen(session, who, receive, box), self._speak(session, send, box))
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            session.over = True
            await asyncio.wait(tasks[1:], timeout=PATIENCE)  # last words
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.outboxes.pop(box, None)
            session.end()
            self.guests.leave(who)

    async def _listen(
        self, session: Session, who: Any, receive: Callable[[], Awaitable[Any]], box: asyncio.Queue[dict[str, Any]]
    ) -> None:
        def tell(answer: dict[str, Any]) -> None:
            self.loop.call_soon_threadsafe(_put, box, answer)

        while True:
            guest = self.guests.waiting.get(who)
            if guest is None and not session.greeted:  # it was dropped
                return
            try:
                data = await asyncio.wait_for(receive(), None if guest is None else guest.until - time.monotonic())
            except TimeoutError:
                return
            if data is None:
                return
            outcome = session.receive(data, time.monotonic())
            for reply in outcome.replies:
                if not _put(box, reply):
                    return
            if session.greeted:
                self.guests.leave(who)
            if outcome.forward is not None:
                self.forward(outcome.forward, tell)
            if outcome.close:
                return

    async def _speak(self, session: Session, send: Send, box: asyncio.Queue[dict[str, Any]]) -> None:
        """Answers as they come, and the state so many times a second: the one that is then, and none twice."""
        last, tick = 0.0, -1.0
        while not (session.over and box.empty()):
            pause = 1.0 / session.stream if session.greeted and session.stream > 0.0 else 0.1
            try:  # what waits goes first: without time left, wait_for would not even look
                left = max(0.0, last + pause - time.monotonic())
                message = await asyncio.wait_for(box.get(), left) if box.empty() else box.get_nowait()
            except TimeoutError:
                message = None
            if message is not None:
                await asyncio.wait_for(send(_text(message)), PATIENCE)
                continue
            if not box.empty():  # since the time was up: the answer to hello goes before the first state
                continue
            last = time.monotonic()
            if not session.greeted or session.stream <= 0.0:
                continue
            now = self.memory.read()
            if now.head[ENDED]:
                await asyncio.sleep(0.1)  # for the answer to what has ended it
                session.over = True
                continue
            if now.head[0] != tick:
                tick = now.head[0]
                await asyncio.wait_for(send(_text(state_of(now, self.catalogue.temporaries))), PATIENCE)


def _guest_of(port: Port) -> type:
    """Connections of websockets that are guests before their handshake, which may never come."""
    from websockets.asyncio.server import ServerConnection

    class Connection(ServerConnection):
        def connection_made(self, transport: Any) -> None:
            port.enter(self, transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            port.guests.leave(self)
            super().connection_lost(exc)

    return Connection


def _put(box: asyncio.Queue[dict[str, Any]], message: dict[str, Any]) -> bool:
    """What does not fit is left out: its reader is about to be dropped."""
    with contextlib.suppress(asyncio.QueueFull):
        box.put_nowait(message)
        return True
    return False


def _text(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))
