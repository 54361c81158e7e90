"""Cards of a Nastran bulk file, and the matrices of its DMIG cards.

A card is a name and fields: 8 characters each, 16 if the name ends with ``*``, or between commas. Lines that begin with
a blank, ``+``, ``*`` or a comma go on with the card above; ``$`` begins a comment. Files that a card includes are not
followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from ...errors import ModelError
from .market import MOST_COORDINATES

# the letter of an exponent may be D, or left out: 1.5-3 is 0.0015
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[EeDd]([+-]?\d+)|([+-]\d+))?")
WHOLE = re.compile(r"[+-]?\d{1,9}")
SQUARE, SYMMETRIC = 1, 6  # forms of DMIG


class Card(NamedTuple):
    name: str
    fields: list[str]
    where: str  # file and line

    def text(self, k: int) -> str:
        """Field k, counted from 0 behind the name; blank where the card has ended."""
        return self.fields[k] if k < len(self.fields) else ""

    def whole(self, k: int, blank: int | None = None) -> int:
        field = self.text(k)
        if not field and blank is not None:
            return blank
        if not WHOLE.fullmatch(field):
            raise self.refusal(k, "a whole number")
        return int(field)

    def number(self, k: int, blank: float | None = 0.0) -> float:
        field = self.text(k)
        if not field and blank is not None:
            return blank
        found = NUMBER.fullmatch(field)
        if not found:
            raise self.refusal(k, "a number")
        return float(f"{found[1]}e{found[2] or found[3] or 0}")

    def refusal(self, k: int, expected: str) -> ModelError:
        what = f"nastran: field {k + 2} of a card {self.name} is wrong"
        return ModelError(what, expected=expected, got=f"'{self.text(k)[:40]}'", where=self.where)


def cards(path: Path, names: Iterable[str]) -> Iterator[Card]:
    """Cards of these names, in the order of the file."""
    wanted, card = frozenset(names), None
    for n, raw in enumerate(path.read_text("utf-8", "replace").split("\n"), 1):
        line = raw.partition("$")[0].rstrip()
        if not line:
            continue
        first, fields = _fields(line)
        if line[0] in " \t+*,":
            if card is not None:
                card.fields.extend(fields)
            continue
        if card is not None:
            yield card
        name = first.rstrip("*").upper()
        if name == "ENDDATA":
            return
        card = Card(name, fields, f"{path}, line {n}") if name in wanted else None
    if card is not None:
        yield card


def _fields(line: str) -> tuple[str, list[str]]:
    """The first field of a line, and the four or eight that follow."""
    if "," in line:
        first, *rest = (field.strip() for field in line.split(","))
        count = 4 if "*" in first else 8
    else:
        line = line.expandtabs(8)
        first = line[:8].strip()
        width = 16 if "*" in first else 8
        rest, count = [line[k : k + width].strip() for k in range(8, 72, width)], 64 // width
    return first, (rest + [""] * count)[:count]


Entries = dict[tuple[tuple[int, int], tuple[int, int]], float]  # by grid point and component of row and column


def dmig(path: Path) -> dict[str, Entries]:
    """The square matrices of real numbers in a file, by their names in capitals."""
    found: dict[str, Entries] = {}
    for card in cards(path, ["DMIG"]):
        name = card.text(0).upper()
        if card.text(1) == "0":
            form, kind = card.whole(2), card.whole(3)
            if form not in (SQUARE, SYMMETRIC):
                raise card.refusal(2, f"{SQUARE} or {SYMMETRIC}: a square matrix")
            if kind not in (1, 2):
                raise card.refusal(3, "1 or 2: real numbers")
            found[name] = {}
        elif name not in found:
            raise ModelError(f"nastran: DMIG '{name[:8]}' has no card that says its form", where=card.where)
        else:
            _column(card, found[name])
    return found


def _column(card: Card, values: Entries) -> None:
    column = card.whole(1), card.whole(2, 0)
    for k in range(4, len(card.fields), 4):
        if card.text(k):
            values[(card.whole(k), card.whole(k + 1, 0)), column] = card.number(k + 2)


def matrices_of(entries: Iterable[Entries], where: str) -> tuple[list[scipy.sparse.csr_array], np.ndarray]:
    """Matrices over the rows that any of them has, and grid point and component of each row (n, 2).

    Either half of a symmetric matrix may be there, or both.
    """
    given = list(entries)
    rows = sorted({row for values in given for pair in values for row in pair})
    if not 0 < len(rows) <= MOST_COORDINATES:
        expected = f"1 to {MOST_COORDINATES}"
        raise ModelError("nastran: too few or too many rows of DMIG", expected=expected, got=len(rows), where=where)
    place = {row: k for k, row in enumerate(rows)}
    made = []
    for values in given:
        some = {at: value for at, value in values.items() if value != 0.0}
        whole = {(column, row): value for (row, column), value in some.items()} | some
        i, j = np.array([(place[row], place[column]) for row, column in whole], int).reshape(-1, 2).T
        made.append(scipy.sparse.csr_array((list(whole.values()), (i, j)), shape=(len(rows), len(rows)), dtype=float))
    return made, np.array(rows, float)
