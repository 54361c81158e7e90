"""How a system is to be divided, as a user writes it: "divide", "dcae", "divide(pieces=8, lanes=False)"."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any, NamedTuple

from ...errors import ModelError, nearest

NAME = "divide"
LEAVES = {NAME: "subchains", "dcae": "subchains", "dcat": "terminal", "dca": "bodies"}
EXAMPLE = "divide(pieces=8, lanes=False)"
OPTIONS = {
    "efficient": "True, or False for every body a leaf",
    "pieces": "a whole number of subchains, 1 or more",
    "terminal": "the share of the last subchain, between 0 and 1",
    "lanes": "True or False",
    "threads": "a whole number of threads, 0 for all cores",
}


class Division(NamedTuple):
    """How to divide a system.

    ``leaves`` are what the papers assemble: "bodies" (DCA), "terminal" (bodies, and an O(n) subchain at the tip: DCAt)
    or "subchains" (DCAe). ``pieces`` is the number of subchains, by default one for each lane of each thread.
    ``terminal`` is the last one's share of the work. Without ``lanes`` subchains are solved one by one.
    """

    leaves: str = "subchains"
    pieces: int | None = None
    terminal: float | None = None
    lanes: bool = True
    threads: int = 1


@cache
def division(algorithm: str, threads: int = 1) -> Division:
    """The Division that a name with options asks for."""
    name = algorithm.partition("(")[0]
    given = read_options(algorithm, EXAMPLE) if name != algorithm else {}
    leaves = LEAVES[name]
    given.pop("threads", None)
    for option, value in given.items():
        if option not in OPTIONS:
            raise ModelError(f"option '{option}' of '{name}' is not known", hint=nearest(option, OPTIONS))
        if not _fits(option, value):
            raise ModelError(f"option '{option}' of '{name}' is invalid", expected=OPTIONS[option], got=repr(value))
    if "efficient" in given:
        leaves = "subchains" if given.pop("efficient") else "bodies"
    return Division(leaves, threads=threads, **given)


def threads_of(algorithm: str, threads: int | None) -> int | None:
    """Threads as an argument or as an option of the name."""
    asked = read_options(algorithm, EXAMPLE).get("threads") if "(" in algorithm else None
    if asked is None:
        return threads
    if not _fits("threads", asked):
        raise ModelError("option 'threads' is invalid", expected=OPTIONS["threads"], got=repr(asked))
    if threads is not None:
        raise ModelError(
            "threads are given twice", expected="as an option of the algorithm, or as an argument",
            got=f"'{algorithm}' and threads = {threads}",
        )  # fmt: skip
    return int(asked)


def read_options(algorithm: str, example: str) -> dict[str, Any]:
    """The options in the brackets behind a name."""
    try:
        call = ast.parse(algorithm, mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError):
        raise ModelError(
            "the options of the algorithm cannot be read", expected=f"as {example}", got=algorithm
        ) from None


def _fits(option: str, value: Any) -> bool:
    if option in ("efficient", "lanes"):
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if option in ("pieces", "threads"):
        return isinstance(value, int) and value >= (1 if option == "pieces" else 0)
    return isinstance(value, float) and 0 < value < 1
