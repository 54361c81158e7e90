"""A live run in a thread, and a program that talks to its port."""

import contextlib
import json
import queue
import socket
import threading
from unittest import mock

import whippletree as wt
from waiting import eventually


class Client:
    def __init__(self, port, token, **hello):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.file = self.socket.makefile("rb")
        self.send({"do": "hello", "token": token, "stream": 0} | hello)

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.socket.sendall(text + b"\n")

    def get(self, key="answer"):
        while line := self.file.readline():
            message = json.loads(line)
            if key in message:
                return message
        return None

    def ask(self, message):
        self.send(message)
        return self.get()

    def state(self):
        """The state there is now."""
        self.send({"do": "stream", "rate": 200})
        found = self.get("state")["state"]
        self.ask({"do": "stream", "rate": 0})
        return found

    def close(self):
        self.file.close()
        self.socket.close()


@contextlib.contextmanager
def going(system, folder, **options):
    """A run with a window and both kinds of ports; paced slowly, since many tests run beside it."""
    reported, ended = queue.Queue(), queue.Queue()

    def go():
        try:
            serving = {"port": 0, "websocket": 0, "viewer": True, "folder": folder, "ready": reported.put}
            # not before others: they work here too
            with mock.patch("whippletree.realtime.priority._in_real_time", contextlib.nullcontext):
                ended.put(wt.live(system, **{"rate": 200.0, "integrator": "rk4"} | serving | options))
        except BaseException as e:
            reported.put(e)
            raise

    thread = threading.Thread(target=go)
    thread.start()
    about = reported.get(timeout=120)
    if isinstance(about, BaseException):
        raise about
    yield about | {"folder": folder, "ended": ended}
    with contextlib.suppress(OSError):
        last = Client(about["port"], about["token"])
        last.get()
        eventually(lambda: last.ask({"do": "stop"})["ok"])
    thread.join(20)
    assert ended.get(timeout=5).ended == "stopped"
