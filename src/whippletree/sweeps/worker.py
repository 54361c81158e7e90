"""A process that computes runs for a sweep on this machine: local.py starts ``python -m whippletree.sweeps.worker``.

It reads messages from its standard input and writes answers to its standard output: a length, then a pickle.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import warnings
from typing import IO, Any

from ..errors import ModelWarning

LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], message: bytes) -> None:
    stream.write(LENGTH.pack(len(message)) + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """The next message; EOFError if the other side has gone."""
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the sweep, which then ends its workers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what functions of the user print must not get in between
    warnings.simplefilter("ignore", ModelWarning)  # the sweep has said it once
    requests = sys.stdin.buffer
    try:
        runner = _runner(requests, answers)
        while runner:
            outcome = runner.attempt(pickle.loads(receive(requests)))
            send(answers, pickle.dumps(outcome))
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _runner(requests: IO[bytes], answers: IO[bytes]) -> Any:
    """What the first message says to compute; the answer is what prevents that, or nothing."""
    message = receive(requests)
    try:
        from .single import Runner

        sys.path += sys.argv[1:]  # the user's, after all that is ours has been imported
        runner = Runner(pickle.loads(message))
    except Exception as e:
        send(answers, f"{type(e).__name__}: {e}".encode())
        return None
    send(answers, b"")
    return runner


if __name__ == "__main__":
    main()
