"""Records that are declared once: a kernel reads by name what Python wrote by name."""

from __future__ import annotations

from typing import Any

from .lanes import inline


def reader(record: type[tuple[Any, ...]]) -> Any:
    """A kernel that reads the integers of a record, a NamedTuple, from where they start in an array of integers."""
    values = ", ".join(f"integers[start + {n}]" for n in range(len(record._fields)))  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"record": record}
    exec(f"def read(integers, start): return record({values})", scope)
    return inline(scope["read"])
