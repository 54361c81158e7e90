"""The loop's side of its front: another process that serves windows and ports, so that nothing of them can stop a step.

Messages are lines of JSON over a pair of sockets; the state goes through memory that both have open. The System is
handed over once, when the front begins.
"""

from __future__ import annotations

import copy
import json
import pickle
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import ModelError, SimulationError
from ..model.kinds import annotated
from ..sweeps.python import environment, python
from ..system.system import System
from .memory import Memory

START = 120.0  # s that a front may take to begin
MOST = 1 << 20  # bytes of lines that may wait to be read


class Front:
    """The other process; ``about`` is what it says of itself: url, port, websocket and token."""

    def __init__(self, system: System, memory: Memory, options: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        fds = theirs.fileno(), memory.file.fileno()
        command = python("-m", "whippletree.realtime.front", *map(str, fds))
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, pass_fds=fds, start_new_session=True, env=environment()
        )
        theirs.close()
        assert self.process.stdin is not None
        self.socket, self.rest, self.lost = ours, b"", 0
        with self.process.stdin as pipe:
            pickle.dump((_without_functions(system), memory.rows, len(memory.inputs), options), pipe)
        self.about = self._ready()
        ours.setblocking(False)

    def _ready(self) -> dict[str, Any]:
        self.socket.settimeout(START)
        line = b""
        with (
            suppress(TimeoutError),
            self.socket.makefile("rb", buffering=0) as lines,
        ):  # what follows stays in the socket
            line = lines.readline()
        if not line.endswith(b"\n"):
            self.process.kill()
            raise SimulationError("the process for windows and ports did not begin")
        about = json.loads(line)
        if "error" in about:
            self.process.wait(10)
            raise ModelError(about["error"], hint=about.get("hint"))
        return about

    def poll(self) -> Sequence[dict[str, Any]]:
        """Messages that have come."""
        try:
            data = self.socket.recv(65536)
        except (BlockingIOError, ConnectionError):
            return ()
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        return [json.loads(line) for line in lines if line]

    def send(self, message: dict[str, Any]) -> None:
        """What the front has no room for is lost: it must not hold up the loop."""
        data = json.dumps(message).encode() + b"\n"
        try:
            sent = self.socket.send(data)
            if sent < len(data):
                self.socket.settimeout(0.05)
                self.socket.sendall(data[sent:])
                self.socket.setblocking(False)
        except (BlockingIOError, TimeoutError, OSError):
            self.lost += 1
            self.socket.setblocking(False)

    def close(self) -> None:
        """The front ends when its socket does."""
        self.socket.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _without_functions(system: System) -> System:
    """Those who only look need no functions of the user, which may not be there in another process."""
    model = system.model
    if not any(annotated(f, "PythonFunction") for f in model.forces.values()):
        return system
    plain = copy.copy(model)
    plain.forces = {name: f for name, f in model.forces.items() if not annotated(f, "PythonFunction")}
    return plain.compile()
