"""Matrices of Nastran's output2 files (``.op2``): records between their lengths, most of them one integer, a key.

Read here, as :mod:`.op4` is: every step takes a record that is there, so a file that is wrong comes to an end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .op4 import DOUBLE, SINGLE, Stored, records, stored


def op2(path: str | Path) -> dict[str, Stored]:
    """The matrices of a file by their names, the last of each; raises ValueError where it is no such file."""
    try:
        return dict(_Blocks(Path(path).read_bytes()))
    except (struct.error, StopIteration, RuntimeError) as error:
        raise ValueError(f"not in output2 form: {error}") from None


class _Blocks:
    """Data blocks one after the other: names and matrices; tables are passed over."""

    def __init__(self, data: bytes) -> None:
        self.order = next((o for o in "<>" if struct.unpack_from(o + "i", data)[0] in (4, 8)), "")
        if not self.order:
            raise ValueError("the first integer of the file is neither 4 nor 8")
        self.word = struct.unpack_from(self.order + "i", data)[0]
        self.records = records(data, self.order)

    def __iter__(self) -> Iterator[tuple[str, Stored]]:
        key = self._key()
        if key == 3:  # date, header and label
            for keys in (1, 1, 2):
                next(self.records)
                self._keys(keys)
            key = self._key()
        while key:
            name = next(self.records).decode("ascii", "replace").strip(" \0").upper()
            self._keys(2)
            trailer = self._integers(next(self.records))
            self._keys(4)
            next(self.records)  # the name again
            self._keys(2)
            if self._key():
                yield name, self._matrix(trailer)
            else:
                self._table()
            key = self._key_or_end()

    def _matrix(self, trailer: tuple[int, ...]) -> Stored:
        if len(trailer) < 5:
            raise ValueError(f"a trailer of {len(trailer)} words")
        columns, rows, kind = trailer[1], trailer[2], trailer[4]
        made, column, more = stored(rows, columns, kind), 0, 1
        real = np.dtype(self.order + ("f4" if kind in (1, 3) and self.word == 4 else "f8"))
        while more > 0:
            while self._key() > 0:
                body = next(self.records)
                (row,) = self._integers(body[: self.word])
                if kind in (SINGLE, DOUBLE):
                    made.add(row - 1, column, np.frombuffer(body[self.word :], real).astype(float))
            column += 1
            self._key()
            more = self._key()
        self._key_or_end()
        return made

    def _table(self) -> None:
        key = self._key_or_end()
        while key:
            while key > 0:
                next(self.records)
                key = self._key()
            self._keys(2)
            key = self._key_or_end()

    def _integers(self, body: bytes) -> tuple[int, ...]:
        return struct.unpack(f"{self.order}{len(body) // self.word}{'i' if self.word == 4 else 'q'}", body)

    def _key(self) -> int:
        found = self._integers(next(self.records))
        if len(found) != 1:
            raise ValueError(f"{len(found)} integers where one is due")
        return found[0]

    def _keys(self, count: int) -> None:
        for _ in range(count):
            self._key()

    def _key_or_end(self) -> int:
        """The next key, or 0 where the file ends."""
        try:
            return self._key()
        except StopIteration:
            return 0
