"""Who may look, and from when on: on this machine the pages of the server, from elsewhere whoever gives the token."""

from __future__ import annotations

import asyncio
import hmac
import http
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

ALONE = ("127.0.0.1", "localhost", "::1")
REFUSED = "This window asks for a token: open the address that was printed when it began.\n"
PATIENCE = 8.0  # s that a browser waits for the scene; websockets gives it up after 10
_one = threading.Lock()


class Door:
    """Answers requests before viser does: refuses them, or gives out ``page``.

    The token comes with the address; the page gets it as a cookie, which its socket shows. Without a token sockets are
    for pages of this server: other pages of the same browser could steer it else. Sockets wait until the scene is
    there: a browser without a graphics card takes long to draw nothing.
    """

    def __init__(self, page: str, token: str | None = None) -> None:
        self.page, self.token = page.encode("utf-8"), token
        self.behind: Any = None
        self.scene_is_there = threading.Event()

    def __call__(self, connection: Any, request: Any) -> Any:
        """viser's way to answer a request of websockets: None opens a socket."""
        path = urlsplit(request.path)
        socket = request.headers.get("Upgrade", "").lower() == "websocket"
        given = parse_qs(path.query).get("token", [""])[-1]
        if self.token is None:
            origin = request.headers.get("Origin")  # of the page that asks; programs that are no browsers say none
            if socket and origin is not None and urlsplit(origin).netloc != request.headers.get("Host"):
                return response(http.HTTPStatus.FORBIDDEN, REFUSED)
        elif not any(hmac.compare_digest(word.encode(), self.token.encode()) for word in (given, self._shown(request))):
            return response(http.HTTPStatus.FORBIDDEN, REFUSED)
        if socket:
            return self._let_in(connection, request)
        if path.path not in ("/", "/index.html"):
            return self.behind(connection, request)
        more = {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}
        if self.token is not None:
            more["Set-Cookie"] = f"{self._name(request)}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return response(http.HTTPStatus.OK, self.page, **more)

    async def _let_in(self, connection: Any, request: Any) -> Any:
        until = time.monotonic() + PATIENCE
        while not self.scene_is_there.is_set() and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return self.behind(connection, request)

    def _name(self, request: Any) -> str:
        """Cookies are for all ports of a machine, so each has its own."""
        return f"whippletree-{urlsplit('//' + request.headers.get('Host', '')).port or 80}"

    def _shown(self, request: Any) -> str:
        try:
            found = SimpleCookie(", ".join(request.headers.get_all("Cookie"))).get(self._name(request))
        except (CookieError, ValueError):
            return ""
        return found.value if found else ""


def response(status: http.HTTPStatus, body: str | bytes, **headers: str) -> Any:
    """An answer of websockets."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    content = body.encode() if isinstance(body, str) else body
    told = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close"} | headers
    return Response(status, status.phrase, Headers({**told, "Content-Length": str(len(content))}), content)


@contextmanager
def at(door: Door) -> Iterator[None]:
    """The server that viser begins meanwhile has this door: viser has no way to be told."""
    from websockets.asyncio import server

    begin: Any = server.serve

    def guarded(*given: Any, process_request: Any, **options: Any) -> Any:
        door.behind = process_request
        return begin(*given, process_request=door, **options)

    with _one:
        server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            server.serve = begin  # type: ignore[misc]
