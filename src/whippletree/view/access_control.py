"""Access control of a window: who gives the token may look, from when on there is something to see."""

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
from urllib.parse import parse_qs, quote, unquote, urlsplit

ALONE = ("127.0.0.1", "localhost", "::1")
REFUSED = "This window asks for a token: open the address that was printed when it began.\n"
PATIENCE = 8.0  # s that a browser waits for the scene; websockets gives it up after 10
_one = threading.Lock()


class AccessControl:
    """Answers requests before viser does: refuses them, or gives out ``page``.

    The token comes with the address; the page gets it as a cookie, which its socket shows. Other users and programs of
    this machine reach the port as well, so they are asked for it too. Sockets are for pages of this server: other pages
    of the same browser could steer it else, also under a name that they let lead here, so that with ``alone`` the names
    of this machine are the only ones. Sockets wait until the scene is there: a browser without a graphics card takes
    long to draw nothing.
    """

    def __init__(self, page: str, token: str, alone: bool) -> None:
        self.page, self.token, self.alone = page.encode("utf-8"), token, alone
        self.behind: Any = None
        self.scene_is_there = threading.Event()

    def __call__(self, connection: Any, request: Any) -> Any:
        """viser's way to answer a request of websockets: None opens a socket."""
        try:
            path, socket = urlsplit(request.path), request.headers.get("Upgrade", "").lower() == "websocket"
            allowed = self._allows(path.query, request.headers, socket)
        except (LookupError, ValueError, CookieError):  # headers that are defined twice, addresses that are none
            allowed = False
        if not allowed:
            return response(http.HTTPStatus.FORBIDDEN, REFUSED)
        if socket:
            return self._let_in(connection, request)
        if path.path not in ("/", "/index.html"):
            return self.behind(connection, request)
        more = {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}
        more |= {"Referrer-Policy": "no-referrer"}  # the address has the token
        more["Set-Cookie"] = f"{_cookie(request.headers)}={quote(self.token)}; Path=/; HttpOnly; SameSite=Strict"
        return response(http.HTTPStatus.OK, self.page, **more)

    def _allows(self, query: str, headers: Any, socket: bool) -> bool:
        host, origin = headers["Host"], headers.get("Origin")  # programs that are no browsers say no origin
        if self.alone and urlsplit(f"//{host}").hostname not in ALONE:
            return False
        if socket and origin is not None and urlsplit(origin).netloc != host:
            return False
        shown = SimpleCookie(", ".join(headers.get_all("Cookie"))).get(_cookie(headers))
        words = [*parse_qs(query).get("token", ())[-1:], *([unquote(shown.value)] if shown else ())]
        return any(same(word, self.token) for word in words)

    async def _let_in(self, connection: Any, request: Any) -> Any:
        until = time.monotonic() + PATIENCE
        while not self.scene_is_there.is_set() and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return self.behind(connection, request)


def _cookie(headers: Any) -> str:
    """Cookies are for all ports of a machine, so each has its own."""
    return f"whippletree-{urlsplit('//' + headers['Host']).port or 80}"


def same(word: str, token: str) -> bool:
    """Whether a token is the right one, in a time that does not tell how much of it is."""
    return hmac.compare_digest(word.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass"))


def response(status: http.HTTPStatus, body: str | bytes, **headers: str) -> Any:
    """An answer of websockets."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    content = body.encode() if isinstance(body, str) else body
    reported = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close"} | headers
    return Response(status, status.phrase, Headers({**reported, "Content-Length": str(len(content))}), content)


@contextmanager
def at(access: AccessControl) -> Iterator[None]:
    """The server that viser begins meanwhile has this door: viser has no way to be reported."""
    from websockets.asyncio import server

    begin: Any = server.serve

    def guarded(*given: Any, process_request: Any, **options: Any) -> Any:
        access.behind = process_request
        return begin(*given, process_request=access, **options)

    with _one:
        server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            server.serve = begin  # type: ignore[misc]
