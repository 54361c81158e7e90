"""The server behind a window: on this machine alone unless told otherwise, and silent on stdout."""

from __future__ import annotations

import errno
import logging
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..errors import MissingExtra, ModelError, SimulationError
from .access_control import ALONE, AccessControl, at
from .client import client_page

if TYPE_CHECKING:
    import viser

HOST = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8080, 8180  # tried in turn where none is asked for


def serve(
    host: str = HOST, port: int | None = None, title: str = "whippletree", token: str | None = None
) -> viser.ViserServer:
    """A running server. Without a port it takes the first free one from 8080 on; one that is taken is refused.

    Its window asks for the ``token``, which is made up if none is given. Browsers see something from :func:`show` on.
    """
    try:
        import viser
    except ImportError:
        raise MissingExtra("viser", "view", "the view in the browser") from None
    chosen = free_port(host, port)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a browser that turns back is no error
    access = AccessControl(client_page(title), token or secrets.token_urlsafe(12), host in ALONE)
    with redirect_stdout(StringIO()), at(access):  # viser greets on stdout, which is for data
        server = viser.ViserServer(host=host, port=chosen, verbose=False, label=title)
    if access.behind is None:
        stop(server)
        raise SimulationError("viser began its server in another way", hint="pip install 'viser==1.1.*'")
    server.access = access
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(31, 78, 121))
    return server


def address(server: viser.ViserServer) -> str:
    """What to type into a browser."""
    host, token = server.get_host(), _door(server).token
    name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{server.get_port()}/?token={quote(token)}"


def show(server: viser.ViserServer) -> None:
    """What is there now is a scene worth drawing."""
    _door(server).scene_is_there.set()


def _door(server: Any) -> AccessControl:
    found: AccessControl = server.access
    return found


@contextmanager
def served(title: str = "whippletree") -> Iterator[viser.ViserServer]:
    """A server that is stopped in the end."""
    server = serve(title=title)
    show(server)
    try:
        yield server
    finally:
        stop(server)


def stop(server: viser.ViserServer) -> None:
    """End it, silently; its windows say that they have lost it."""
    with redirect_stdout(StringIO()):
        server.stop()


def free_port(host: str, port: int | None) -> int:
    """The port, if it can be had; the first free one if none is given."""
    if port is not None:
        if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
            raise ModelError(f"port {port!r} is no port", expected="a number from 1 to 65535")
        _try(host, port)
        return port
    for candidate in range(FIRST_PORT, LAST_PORT + 1):
        try:
            _try(host, candidate)
        except _Taken:
            continue
        return candidate
    raise ModelError(f"all ports from {FIRST_PORT} to {LAST_PORT} are in use", hint="--port names another")


class _Taken(ModelError):
    """Something else listens there."""


def _try(host: str, port: int) -> None:
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ModelError(f"host '{host}' is not known", expected="an address of this machine, as 127.0.0.1") from None
    with socket.socket(family, kind) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(place)
        except PermissionError:
            raise ModelError(f"port {port} may not be used by this user", hint="take one from 1024 on") from None
        except OSError as e:
            if e.errno == errno.EADDRINUSE:
                hint = "take another, or leave --port out"
                raise _Taken(f"port {port} of {host} is in use by another program", hint=hint) from None
            raise ModelError(f"host '{host}' is no address of this machine", got=e.strerror) from None
