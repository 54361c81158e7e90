"""A parallel computer in small: tasks that need each other, on so many processors, and when all is done.

Whenever a processor is free it takes, of the tasks whose inputs have come, the one with the longest way still to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

INWARD = 0.5  # of a join, and of a leaf: done on the way in; only the sum counts where the tree is even


class Task(NamedTuple):
    """What it costs, and which earlier tasks it needs, each with the time that a message from there takes."""

    cost: float
    needs: tuple[tuple[int, float], ...] = ()


def makespan(tasks: Sequence[Task], processors: int) -> float:
    """Time until the last task is done."""
    followers: list[list[tuple[int, float]]] = [[] for _ in tasks]
    for n, task in enumerate(tasks):
        for needed, message in task.needs:
            followers[needed].append((n, message))
    way = [0.0] * len(tasks)
    for n in range(len(tasks) - 1, -1, -1):
        way[n] = tasks[n].cost + max((way[f] + message for f, message in followers[n]), default=0.0)
    missing, arrival = [len(t.needs) for t in tasks], [0.0] * len(tasks)
    coming = [(0.0, n) for n, count in enumerate(missing) if count == 0]
    ready: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    now, free = 0.0, processors
    while coming or ready or running:
        while coming and coming[0][0] <= now:
            n = heappop(coming)[1]
            heappush(ready, (-way[n], n))
        while ready and free:
            n = heappop(ready)[1]
            heappush(running, (now + tasks[n].cost, n))
            free -= 1
        now = min(x[0][0] for x in (running, coming if free else []) if x)
        while running and running[0][0] <= now:
            n, free = heappop(running)[1], free + 1
            for f, message in followers[n]:
                missing[f] -= 1
                arrival[f] = max(arrival[f], now + message)
                if not missing[f]:
                    heappush(coming, (arrival[f], f))
    return now


def binary_assembly(leaves: Sequence[float], join: float) -> list[Task]:
    """Leaves, joined two by two inward, and handed back outward; the last join is at ground and costs nothing."""
    tasks = [Task(INWARD * cost) for cost in leaves]
    joins: list[tuple[int, int, int]] = []  # the task, and those of its two parts

    def whole(first: int, last: int) -> int:
        if last - first == 1:
            return first
        middle = (first + last) // 2
        a, b = whole(first, middle), whole(middle, last)
        cost = 0.0 if last - first == len(leaves) else INWARD * join
        tasks.append(Task(cost, ((a, 0.0), (b, 0.0))))
        joins.append((len(tasks) - 1, a, b))
        return len(tasks) - 1

    back = {whole(0, len(leaves)): len(tasks) - 1}  # what hands its result to a subsystem
    for joined, a, b in reversed(joins):
        if joined != len(leaves) + len(joins) - 1:
            tasks.append(Task((1.0 - INWARD) * join, ((back[joined], 0.0),)))
            back[joined] = len(tasks) - 1
        back[a] = back[b] = back[joined]
    for n, cost in enumerate(leaves):
        tasks.append(Task((1.0 - INWARD) * cost, ((back[n], 0.0),)))
    return tasks
