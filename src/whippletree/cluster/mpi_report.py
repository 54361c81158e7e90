"""What crossed between ranks, by step of the algorithm, beside what its paper counts.

Paper    [anderson1999] table 3: one processor for each subchain; VIII is for one iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from .mpi_messages import RESULTS

STEPS = {
    "II": "from global to local",
    "VII": "assembling",
    "VIII": "solving",
    "X": "errors of steps, cuts closed",
    RESULTS: "rows and states",
}
HEAD = ("step", "", "calls", "messages", "(table 3)", "numbers", "(table 3)")


def table_3(step: str, ranks: int) -> tuple[float, float] | None:
    """Messages and numbers that the paper counts for an evaluation; None where it counts nothing."""
    rounds = log2(ranks)
    return {"II": (1.0, 6.0), "VII": (1.0, 70.0), "VIII": (3 * rounds, 6 * rounds + 10)}.get(step) if rounds else None


def most(counts: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    """Of all ranks, each count of each step that is largest."""
    names = [name for name in STEPS if any(name in c for c in counts)]
    return {name: [max(c.get(name, (0, 0, 0))[n] for c in counts) for n in range(3)] for name in names}


def table(counts: Mapping[str, Sequence[int]], evaluations: int, ranks: int) -> str:
    """Lines for a person: what an evaluation needs of the rank that sends most, and the results in all."""
    rows = [HEAD]
    for step, count in counts.items():
        share = 1 if step == RESULTS else max(1, evaluations)
        calls, messages, numbers = (f"{n / share:.4g}" for n in count)
        known = table_3(step, ranks)
        paper = [f"({n:.4g})" for n in known] if known else ["", ""]
        rows.append((step, STEPS[step], calls, messages, paper[0], numbers, paper[1]))
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.ljust(w) if n < 2 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([f"messages of {ranks} ranks for one of {evaluations} evaluations; results in all", *lines])
