"""How a system is to be cut, as a user writes it: "subchains", "subchains(pieces=16, solver='pcg', rtol=1e-10)"."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ...errors import ModelError, nearest
from ..divide.options import read_options

NAMES = ("subchains", "hybrid")
SOLVERS = ("thomas", "cyclic", "pcg", "gmres")
OPTIONS = {
    "pieces": "a whole number of subchains, 1 or more",
    "lanes": "True or False",
    "solver": "one of " + ", ".join(f"'{s}'" for s in SOLVERS),
    "rtol": "a number between 0 and 1",
    "iterations": "a whole number, 1 or more",
}


class Cutting(NamedTuple):
    """How to cut a system, and how to find the loads at the cuts.

    ``pieces`` is the number of subchains, by default one on ground and one for each lane. Without ``lanes`` they are
    swept one by one.
    ``rtol`` is the residual that iterative solvers leave, as a share of the right-hand side; ``iterations`` is how many
    they may take, by default four times as many as there are loads, and 20 more.
    """

    pieces: int | None = None
    lanes: bool = True
    solver: str = "thomas"
    rtol: float = 1e-10
    iterations: int | None = None


def is_cutting(algorithm: str) -> bool:
    """Whether this names the algorithm that cuts joints."""
    return algorithm.partition("(")[0] in NAMES


@cache
def cutting(algorithm: str) -> Cutting:
    """The Cutting that a name with options asks for."""
    name = algorithm.partition("(")[0]
    given = read_options(algorithm, f"{NAMES[0]}(pieces=16, solver='pcg')") if name != algorithm else {}
    for option, value in given.items():
        if option not in OPTIONS:
            raise ModelError(f"option '{option}' of '{name}' is not known", hint=nearest(option, OPTIONS))
        if not _fits(option, value):
            raise ModelError(f"option '{option}' of '{name}' is invalid", expected=OPTIONS[option], got=repr(value))
    return Cutting(**given)


def _fits(option: str, value: Any) -> bool:
    if option == "lanes":
        return isinstance(value, bool)
    if option == "solver":
        return value in SOLVERS
    if isinstance(value, bool):
        return False
    return isinstance(value, float) and 0 < value < 1 if option == "rtol" else isinstance(value, int) and value >= 1
