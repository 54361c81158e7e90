"""Matrices of Nastran's output4 files (``.op4``): text or binary, full columns or strings of them.

Read here: a reader that trusts the counts in a file does not end on some that are wrong. All is taken from the bytes
that are there, so time and memory grow with the file and not with what it announces.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

SINGLE, DOUBLE = 1, 2  # types of real numbers; 3 and 4 are complex


class Stored(NamedTuple):
    """One matrix of a file, as entries."""

    shape: tuple[int, int]
    kind: int
    rows: list[np.ndarray]
    columns: list[np.ndarray]
    values: list[np.ndarray]

    def matrix(self) -> scipy.sparse.csr_array:
        if self.kind not in (SINGLE, DOUBLE):
            raise ValueError("a matrix of complex numbers")
        rows, columns, values = (np.concatenate(x) if x else np.zeros(0) for x in self[2:])
        return scipy.sparse.csr_array((values, (rows.astype(int), columns.astype(int))), shape=self.shape)

    def add(self, row: int, column: int, values: np.ndarray) -> None:
        """A piece of a column, from ``row`` on; both count from 0."""
        if row < 0 or column < 0 or row + len(values) > self.shape[0] or column >= self.shape[1]:
            raise ValueError(f"an entry at row {row + 1}, column {column + 1} of {self.shape}")
        self.rows.append(np.arange(row, row + len(values)))
        self.columns.append(np.full(len(values), column))
        self.values.append(values)


def op4(path: str | Path) -> dict[str, Stored]:
    """The matrices of a file by their names, in capitals; raises ValueError where it is no such file."""
    data = Path(path).read_bytes()
    if len(data) < 16:
        raise ValueError("the file is too short")
    try:
        return dict(_text(data.decode("ascii")) if min(data[:4]) else _binary(data))
    except (struct.error, IndexError, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"not in output4 form: {error}") from None


def stored(rows: int, columns: int, kind: int) -> Stored:
    if columns < 0 or kind not in range(1, 5):
        raise ValueError(f"a matrix {rows} x {columns} of type {kind}")
    return Stored((abs(rows), columns), kind, [], [], [])


def _string(head: int) -> tuple[int, int]:
    """Words and first row of a string whose head is row + 65536 (words + 1)."""
    words = (head >> 16) - 1
    return words, head - ((words + 1) << 16) - 1


def _text(text: str) -> Iterator[tuple[str, Stored]]:
    lines, at = text.splitlines(), 0
    while at < len(lines) and lines[at].strip():
        head, at = lines[at], at + 1
        w = 16 if head.rstrip().endswith("|I16") else 8
        columns, rows, kind = int(head[:w]), int(head[w : 2 * w]), int(head[2 * w + 8 : 2 * w + 16])
        name, form = head[2 * w + 16 : 2 * w + 24], head[2 * w + 24 :].upper().removesuffix("|I16").replace("D", "E")
        each, _, rest = form.strip().removeprefix("1P,").partition("E")
        per_line, width = (int(each), int(rest.partition(".")[0])) if each and rest else (5, 16)
        if not (1 <= per_line <= 100 and 1 <= width <= 100):
            raise ValueError(f"numbers of the form '{form.strip()[:40]}'")
        made, words_each = stored(rows, columns, kind), 1 if kind in (1, 3) else 2

        def values(count: int, start: int, per_line: int = per_line, width: int = width) -> tuple[np.ndarray, int]:
            end = start + max(0, -(-count // per_line))
            if count < 0 or end > len(lines):
                raise ValueError(f"{count} numbers where the file ends")
            joined = "".join(line[: per_line * width].ljust(per_line * width) for line in lines[start:end])
            pieces = [joined[k * width : (k + 1) * width] for k in range(count)]
            return np.array([float(piece.replace("D", "E")) for piece in pieces]), end

        while True:
            column, row, count = (int(word) for word in lines[at].split())
            at += 1
            if column > columns:
                at += 1  # one number ends the matrix
                break
            if row > 0:
                found, at = values(count, at)
                made.add(row - 1, column - 1, found)
            while row == 0 and count > 0:
                words = [int(word) for word in lines[at].split()]
                long, first = (words[0] - 1, words[1] - 1) if len(words) > 1 else _string(words[0])
                if long < 1:
                    raise ValueError(f"a string of {long} words")
                count -= long + len(words)
                found, at = values(long // words_each, at + 1)
                made.add(first, column - 1, found)
        yield name.strip().upper(), made


def records(data: bytes, order: str) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(order + "i", data, at)
        if size < 0 or data[at : at + 4] != data[at + 4 + size : at + 8 + size]:
            raise ValueError("a record without its end")
        yield data[at + 4 : at + 4 + size]
        at += 8 + size


def _binary(data: bytes) -> Iterator[tuple[str, Stored]]:
    order = "<" if struct.unpack("<I", data[:4])[0] <= 48 else ">"
    long = struct.unpack(order + "I", data[:4])[0] != 24  # integers of 8 bytes
    word, letter = (8, "q") if long else (4, "i")
    found = records(data, order)
    for head in found:
        columns, rows, _, kind = struct.unpack_from(f"{order}4{letter}", head)
        name = head[4 * word :].decode("ascii").strip(" \0").upper()
        made = stored(rows, columns, kind)
        real = np.dtype(order + ("f4" if kind in (1, 3) and not long else "f8"))
        for body in found:
            column, row, count = struct.unpack_from(f"{order}3{letter}", body)
            if column > columns:
                break
            at, end = 3 * word, (3 + count) * word
            if count < 0 or end > len(body):
                raise ValueError(f"a column of {count} words")
            if row > 0:
                made.add(row - 1, column - 1, np.frombuffer(body[at:end], real).astype(float))
            while row == 0 and at < end:
                heads = 2 if rows < 0 else 1
                given = struct.unpack_from(f"{order}{heads}{letter}", body, at)
                words, first = (given[0] - 1, given[1] - 1) if heads == 2 else _string(given[0])
                stop = at + (heads + words) * word
                if words < 1 or stop > end:
                    raise ValueError(f"a string of {words} words")
                made.add(first, column - 1, np.frombuffer(body[at + heads * word : stop], real).astype(float))
                at = stop
        yield name, made
