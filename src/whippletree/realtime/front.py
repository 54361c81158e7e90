"""The process that serves windows and ports of a run: ``python -m whippletree.realtime.front``, begun by the loop."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ModelError, WhippletreeError
from ..system.system import System
from .keep import result_of
from .memory import Memory
from .messages import Catalogue, answer, refusal
from .port import Port
from .session import Controls

LAST_WORDS = 0.3  # s for answers to reach those who asked
Tell = Callable[[dict[str, Any]], None]


class Relay:
    """Messages to the loop and their answers; notices go to all who listen."""

    def __init__(self, line: socket.socket) -> None:
        self.line, self.numbers, self.lock = line, itertools.count(), threading.Lock()
        self.waiting: dict[int, Tell] = {}
        self.listeners: list[Tell] = []

    def ask(self, message: dict[str, Any], tell: Tell) -> None:
        """Send a message; ``tell`` is called with the answer, in another thread."""
        number = next(self.numbers)
        self.waiting[number] = tell
        with self.lock:
            self.line.sendall(json.dumps(message | {"from": number}).encode() + b"\n")

    def read(self) -> None:
        """Until the loop ends."""
        for line in self.line.makefile("rb"):
            message = json.loads(line)
            if "notice" in message:
                for listener in self.listeners:
                    listener(message)
            elif (tell := self.waiting.pop(message.pop("from", -1), None)) is not None:
                tell(message)


class Saver:
    """Writes the rows there are to new files in a folder."""

    def __init__(self, relay: Relay, memory: Memory, system: System, folder: str) -> None:
        self.relay, self.memory, self.system, self.folder = relay, memory, system, Path(folder)

    def save(self, message: dict[str, Any], tell: Tell) -> None:
        def write(found: dict[str, Any]) -> None:
            try:
                path = self._free()
                result = result_of(self.system, self.memory.recent(), found["attrs"])
                result.save(path)
            except (WhippletreeError, OSError, KeyError) as e:
                error = e if isinstance(e, ModelError) else ModelError("the file was not written", got=str(e))
                tell(refusal(error, "save", message.get("id")))
                return
            span = {"rows": int(result.t.size), "from": float(result.t[0]), "to": float(result.t[-1])}
            tell(answer("save", message.get("id"), True, file=str(path), **span))

        self.relay.ask({"do": "journal"}, lambda found: threading.Thread(target=write, args=(found,)).start())

    def _free(self) -> Path:
        stem = "".join(c if c.isalnum() else "_" for c in self.system.name) or "live"
        paths = (self.folder / f"{stem}-{n:03d}.nc" for n in itertools.count(1))
        return next(path for path in paths if not path.exists())


def about(system: System, catalogue: Catalogue, rate: float) -> dict[str, Any]:
    """What a client needs to know of the model."""
    joints = {}
    for joint in system.joints:
        q, u = system.q_index(joint), system.u_index(joint)
        joints[joint] = {"kind": system.joint_kind(joint), "q": [q.start, q.stop], "u": [u.start, u.stop]}
    inputs = {"motors": catalogue.motors, "motions": list(catalogue.motions)}
    names = {"bodies": list(catalogue.bodies), "temporaries": list(catalogue.temporaries)}
    return {"model": system.name, "rate": rate, "joints": joints} | inputs | names


def main() -> None:
    line, memory_fd = (int(x) for x in sys.argv[1:3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    system, rows, inputs, options = pickle.load(sys.stdin.buffer)
    relay = Relay(socket.socket(fileno=line))
    memory = Memory(system, inputs, rows, os.fdopen(memory_fd, "r+b"))
    catalogue, controls = Catalogue(system), Controls()
    saver = Saver(relay, memory, system, options["folder"])

    def forward(message: dict[str, Any], tell: Tell) -> None:
        if message.get("do") == "save":
            saver.save(message, tell)
        else:
            relay.ask(message, tell)

    facts = about(system, catalogue, options["rate"])
    port = Port(memory, catalogue, facts, options["token"], controls, forward)
    try:
        found = serve(port, options)
        relay.listeners.append(port.notify)
        if options["window"]:
            from .window import Window

            window = Window(system, memory, catalogue, controls, forward, options)
            relay.listeners.append(window.notice)
            found["url"] = window.url
    except (WhippletreeError, OSError) as e:
        hint = getattr(e, "hint", None)
        relay.line.sendall(json.dumps({"error": getattr(e, "what", str(e)), "hint": hint}).encode() + b"\n")
        return
    relay.line.sendall(json.dumps(found).encode() + b"\n")
    relay.read()
    time.sleep(LAST_WORDS)
    os._exit(0)


def serve(port: Port, options: dict[str, Any]) -> dict[str, Any]:
    """Listen in a thread of its own; returns the ports."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    start = port.start(options["host"], options["port"], options["websocket"])
    return dict(asyncio.run_coroutine_threadsafe(start, loop).result(30))


if __name__ == "__main__":
    main()
