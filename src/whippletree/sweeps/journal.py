"""The runs of a sweep as they come, in a file beside its output that is only appended to: a kill costs at most one.

The first record says which sweep it is. Each other one holds a run: MARK, its number, state, length and checksum, then
the numbers as doubles, or the message. A record of WARNED, with the texts, comes before a run that warned. What stands
behind the first record that is torn is not read.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, SimulationError
from ..files.whole_file import DISK_ERRORS, open_beside
from .single import DONE, FAILED, LOST, Outcome

MARK = b"WTRN"
HEAD = struct.Struct("<4sqBQI")  # MARK, run, state, length, checksum of all that
IDENTITY = -1
WARNED = 4  # beside the states of single.py
SYNC_EVERY = 5.0  # s, against a loss of power; a kill loses nothing


def journal_path(output: Path) -> Path:
    return output.with_name(output.name + ".runs")


class Journal:
    """Appends; made by :func:`begin` or :meth:`Kept.go_on`."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self.handle, self.synced = path, handle, time.monotonic()

    def add(self, run: int, outcome: Outcome) -> None:
        """Keep what came of a run. One that was lost is not kept, so that it is tried again."""
        if outcome.state == LOST:
            return
        if outcome.warnings:
            self._write(run, WARNED, json.dumps(outcome.warnings).encode())
        body = outcome.numbers.astype("<f8").tobytes() if outcome.numbers is not None else outcome.message.encode()
        self._write(run, outcome.state, body)
        if time.monotonic() - self.synced > SYNC_EVERY:
            os.fsync(self.handle)
            self.synced = time.monotonic()

    def _write(self, run: int, state: int, body: bytes) -> None:
        record = memoryview(HEAD.pack(MARK, run, state, len(body), _checksum(run, state, body)) + body)
        try:
            while record:
                record = record[os.write(self.handle, record) :]
        except OSError as e:
            kind = SimulationError if e.errno in DISK_ERRORS else ModelError
            raise kind(f"runs cannot be kept: {e.strerror or e}", where=str(self.path)) from None

    def close(self) -> None:
        os.close(self.handle)


def begin(path: Path, identity: dict[str, Any]) -> Journal:
    """An empty journal of this sweep, in the place of any other."""
    handle = open_beside(path, os.O_CREAT)
    os.ftruncate(handle, 0)
    journal = Journal(path, handle)
    journal._write(IDENTITY, 0, json.dumps(identity, allow_nan=False).encode())
    return journal


class Kept(NamedTuple):
    """What a journal holds whole."""

    identity: dict[str, Any] | None  # which sweep it is of; None if that cannot be read
    runs: dict[int, Outcome]
    end: int  # bytes

    def go_on(self, path: Path) -> Journal:
        """Append after what is whole."""
        handle = open_beside(path)
        os.ftruncate(handle, self.end)
        os.lseek(handle, self.end, os.SEEK_SET)
        return Journal(path, handle)


def read(path: Path, width: int) -> Kept:
    """The runs of a journal, of so many numbers each; the file stays as it is."""
    identity, runs, noted, end = None, dict[int, Outcome](), dict[int, tuple[str, ...]](), 0
    with os.fdopen(open_beside(path), "rb") as file:
        data = file.read()
    for run, state, body, after in _records(data):
        if run == IDENTITY:
            identity = _identity(body)
        elif run < 0:
            break
        elif state == WARNED:
            noted[run] = _texts(body)
            continue  # a run of which there is no more is made again
        elif state == DONE and len(body) == 8 * width:
            runs[run] = Outcome(DONE, np.frombuffer(body, "<f8"), warnings=noted.get(run, ()))
        elif state == FAILED:
            runs[run] = Outcome(FAILED, message=body.decode("utf-8", "replace"), warnings=noted.get(run, ()))
        else:
            break
        end = after
    return Kept(identity, runs, end)


def _checksum(run: int, state: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<qB", run, state)))


def _texts(body: bytes) -> tuple[str, ...]:
    try:
        return tuple(str(text) for text in json.loads(body))
    except (TypeError, ValueError, RecursionError):
        return ()


def _identity(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _records(data: bytes) -> Iterator[tuple[int, int, bytes, int]]:
    """Whole records: run, state, body, and where the record ends."""
    at = 0
    while at + HEAD.size <= len(data):
        mark, run, state, length, check = HEAD.unpack_from(data, at)
        body = data[at + HEAD.size : at + HEAD.size + length]
        if mark != MARK or len(body) != length or check != _checksum(run, state, body):
            return
        at += HEAD.size + length
        yield run, state, body, at
