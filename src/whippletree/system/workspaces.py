"""What calls leave behind for the next call of the same System: memory, and what takes a while to find out.

A System is immutable; this is the one object beside it that changes. Dictionaries and lists change by single operations
(``setdefault``, ``append``, ``pop``), each of them atomic, so threads share it without a lock: memory that one thread
has taken from a list is its own until it puts it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Workspaces:
    """Memory that waits for its next use, and facts that are found once.

    Attributes
    ----------
    ready : memory of one state, by compiled entry or by the name that a call passes.
    pool : memory of batches, by compiled entry and number of columns.
    quick : calls of one state without forces of the model, by algorithm as it was passed and threads.
    found : facts about the System, by name.
    of_tree : facts about its spanning tree, the same whatever constraints and forces it has.
    """

    __slots__ = ("found", "of_tree", "pool", "quick", "ready")

    def __init__(self, of_tree: dict[str, Any] | None = None, found: dict[Any, Any] | None = None) -> None:
        self.ready: dict[Any, list[Any]] = {}
        self.pool: dict[Any, list[Any]] = {}
        self.quick: dict[tuple[str, int | None], Callable[..., Any]] = {}
        self.found: dict[Any, Any] = {} if found is None else found
        self.of_tree: dict[str, Any] = {} if of_tree is None else of_tree
