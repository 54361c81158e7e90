"""What the papers on parallel algorithms predict: operations in turn against processors, by formula and by schedule.

Figures 3 to 8 of Critchley, Anderson and Binani 2007, and table 3 and figure 6 of Anderson and Duan 1999; counts are in
dynamics/auto/chain_operations.py. Beside a formula stands the same algorithm as tasks on a simulated computer, where
bodies and processors are whole numbers and no processor goes on before what it needs is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from whippletree.dynamics.auto import chain_operations as costs

from .families import powers
from .result import BenchResult, Row, Statement

INWARD = 0.5  # of a join, and of a leaf: done on the way in; only the sum counts where the tree is even
MOST = 4096  # processors
# operations for a body by O(n), by DCA and with two handles, and for joining two subsystems
BODY, DCA_BODY, DCAE_BODY, LEVEL = (x.total for x in (costs.BODY, costs.DCA_BODY, costs.DCAE_BODY, costs.LEVEL))
LEAF = DCA_BODY - LEVEL  # of a body that is a leaf of DCA: the rest of its sequential cost is joining
SHARED, SHARERS = (128, 256, 1024), (2, 4)  # bodies and processors of figure 7
SHARES = tuple(n / 100 for n in range(10, 100, 5))
FEW = (1, 2, 3, 4, 5, 6, 7, 8)  # processors of figures 4 and 6
HYBRID = (4, 16, 64)  # processors of the hybrid algorithm in figure 6
GROWING = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)  # bodies there
ALPHA, BETA = 1000.0, 10.0  # operations in the time that a message is set up, and that a number of it takes
QUASI = 1.12  # power of the method with all joints cut: its factor is not told, and is taken from one body's O(n)


class Task(NamedTuple):
    """What it costs, and which earlier tasks it needs, each with the time that a message from there takes."""

    cost: float
    needs: tuple[tuple[int, float], ...] = ()


def makespan(tasks: Sequence[Task], processors: int) -> float:
    """Time until the last task is done.

    A processor that is free takes, of the tasks whose inputs have come, the one with the longest way still to go.
    """
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
    return tasks + [Task((1.0 - INWARD) * cost, ((back[n], 0.0),)) for n, cost in enumerate(leaves)]


def simulated_dca(n: int, p: int) -> float:
    """Every body a leaf."""
    return makespan(binary_assembly([LEAF] * n, LEVEL), p)


def simulated_dcat(n: int, p: int) -> float:
    """The same with an O(n) subsystem at the tip, of the length that suits the formula."""
    if p == 1:
        return BODY * n
    ratio = DCA_BODY / BODY
    tip = min(n - 1, max(1, round(n * ratio / (p - 1 + ratio))))
    return makespan(binary_assembly([LEAF] * (n - tip) + [BODY * tip], LEVEL), p)


def simulated_dcae(n: int, p: int, share: float | None = None) -> float:
    """A subsystem for each processor; the terminal one has this share of the bodies, or what keeps all busy."""
    if p == 1:
        return BODY * n
    ratio = DCAE_BODY / BODY
    tip = min(n - p + 1, max(1, round(n * (share or ratio / (p - 1 + ratio)))))
    cuts = [(n - tip) * k // (p - 1) for k in range(p)]
    lengths = [b - a for a, b in pairwise(cuts)]
    return makespan(binary_assembly([DCAE_BODY * k for k in lengths] + [BODY * tip], LEVEL), p)


def simulated_hybrid(N: int, p: int, alpha: float = 0.0, beta: float = 0.0) -> float:
    """A subchain on each processor: steps II to VI, a word with the neighbour, three sums over all, and step IX."""
    if p == 1:
        return costs.uncut(N).total
    each, body = N / p, costs.HYBRID_BODY.total
    tasks = [Task((body - costs.BASE_CUT.total) * each)] + [Task(body * each + costs.CUT.total)] * (p - 1)
    before = list(range(p))
    for _ in range(3):
        step = 1
        while step < p:  # everybody adds what somebody twice as far away has
            latest = []
            for i in range(p):
                other = i ^ step if i ^ step < p else i
                tasks.append(Task(1.0, ((before[i], 0.0), (before[other], alpha + 2 * beta))))
                latest.append(len(tasks) - 1)
            before, step = latest, 2 * step
    rest = costs.ITERATION.total + costs.ANSWER_BODY.total * each + costs.ANSWER_CUT.total
    tasks += [Task(rest, ((before[i], 2 * alpha + (6 + 70 + 10) * beta),)) for i in range(p)]
    return makespan(tasks, p)


def measure(result: BenchResult, sizes: tuple[int, ...], progress: Callable[[str], None]) -> None:
    """All curves, and what the papers say of them beside what comes out here."""
    result.note("operations that are done one after the other; 'simulated' is the time of a schedule on p processors")
    result.note(f"setting up a message takes {ALPHA:g} operations, each number in it {BETA:g}; hybrid: one iteration")
    for n in sizes:
        progress(f"chain of {n}")
        few = [p for p in FEW if p <= n == sizes[0]]
        result.rows += [_processors(n, p) for p in sorted({*powers(min(n, MOST)), *few})]
    progress("terminal shares")
    for n in SHARED:
        for p in SHARERS:
            for share in SHARES:
                counted = {"DCAe simulated": simulated_dcae(n, p, share)}
                result.rows.append(Row("share", f"{n}, {share:.0%}", n, n, threads=p, operations=counted))
    progress("hybrid")
    result.rows += map(_hybrid, GROWING)
    for words in (*divide_statements(), *hybrid_statements()):
        result.note(f"{words.paper}; here: {words.here}")


def _processors(n: int, p: int) -> Row:
    sent = costs.hybrid_messages(n, p)
    counted = {
        "O(n)": costs.linear(n).total,
        "DCA": costs.dca(n, p).total,
        "DCA simulated": simulated_dca(n, p),
        "DCAt": costs.dcat(n, p).total,
        "DCAt simulated": simulated_dcat(n, p),
        "DCAe": costs.dcae_balanced(n, p).total,
        "DCAe simulated": simulated_dcae(n, p),
        "hybrid": costs.hybrid(n, p).total,
        "hybrid simulated": simulated_hybrid(n, p),
        "hybrid with messages": costs.hybrid(n, p).total + ALPHA * sent.alpha + BETA * sent.beta,
        "hybrid with messages simulated": simulated_hybrid(n, p, ALPHA, BETA),
    }
    return Row("processors", f"{n}, p = {p}", n, n, threads=p, operations=counted)


def _hybrid(n: int) -> Row:
    row = Row("bodies", str(n), n, n)
    row.operations = {
        "O(n^3)": costs.cubic(n),
        "O(n)": costs.linear(n).total,
        f"O(n^{QUASI})": BODY * n**QUASI,
        "O(log n), n processors": costs.logarithmic(n).total,
    }
    for p in (p for p in HYBRID if p <= n):
        row.operations[f"hybrid, {p} processors"] = simulated_hybrid(n, p)
        row.operations[f"hybrid, {p} processors, with messages"] = simulated_hybrid(n, p, ALPHA, BETA)
    return row


def fewest(cost: Callable[[int, int], float], n: int) -> int:
    """Processors from which on an algorithm is faster than O(n) on one."""
    return next(p for p in range(2, n + 1) if cost(n, p) < costs.linear(n).total)


def best_share(p: int, n: int) -> float:
    """Of the terminal subsystem, by simulation."""
    return min((k / 100 for k in range(5, 96)), key=lambda share: simulated_dcae(n, p, share))


def divide_statements() -> list[Statement]:
    """What Critchley, Anderson and Binani state, and what comes out here."""
    n = 1024
    line = costs.linear(n).total
    dca = fewest(lambda n, p: costs.dca(n, p).total, n), fewest(simulated_dca, n)
    dcae = fewest(lambda n, p: costs.dcae_balanced(n, p).total, n), fewest(simulated_dcae, n)
    four = line / costs.dca(n, 4).total, line / simulated_dca(n, 4)
    handles, alone = DCAE_BODY / BODY, DCA_BODY / BODY
    return [
        Statement(
            "theoretical DCA performance",
            "the least number of processors with which DCA gains over O(n), 1024 bodies: 4",
            "formula {}, simulated {}".format(*dca),
            "yes" if dca == (4, 4) else "no",
        ),
        Statement(
            "terminal subsystems, fig. 6",
            "the same of DCAe: 2",
            "formula {}, simulated {}".format(*dcae),
            "yes" if dcae == (2, 2) else "no",
        ),
        Statement(
            "fig. 6",
            "DCAe on two processors is faster than O(n)",
            f"{line / costs.dcae_balanced(n, 2).total:.2f} times as fast by the formula, "
            f"{line / simulated_dcae(n, 2):.2f} times simulated",
        ),
        Statement(
            "fig. 8",
            "four processors bring the traditional DCA no benefit",
            "{:.2f} times as fast as O(n) by the formula, {:.2f} simulated".format(*four),
            "in part",
            "the program of the paper treats all quantities as full matrices: it gains less than its counts",
        ),
        Statement(
            "theoretical performance; fig. 7",
            "a body with two handles costs 2 to 1 over O(n) by counts, 3 to 1 measured",
            f"{handles:.2f} by the same counts",
        ),
        Statement(
            "fig. 7",
            "terminal share that serves best on two and four processors: 75% and 50%, measured",
            f"simulated by counts {best_share(2, n):.0%} and {best_share(4, n):.0%}",
            "in part",
            "shares follow from the cost of two handles: 3 to 1 in the paper's program, 2 to 1 by its counts",
        ),
        Statement(
            "implementation and results",
            "DCA takes slightly more than four times as long as O(n) on one processor",
            f"{alone:.2f} times by counts",
            "in part",
            "counts are of optimized code, the program was not",
        ),
    ]


def hybrid_statements() -> list[Statement]:
    """What Anderson and Duan state of costs, and what comes out here."""
    alone, reported = (_between(*message) for message in ((0.0, 0.0), (ALPHA, BETA)))
    return [
        Statement(
            "fig. 6",
            "the curve of the hybrid algorithm lies between sequential O(n) and O(log n) on n processors",
            f"on 64 processors from {alone} bodies on; with messages from {reported} on",
            "in part",
            "of fewer bodies, table 3 with one iteration and no messages counts even less than O(log n) does",
        ),
    ]


def _between(alpha: float, beta: float, p: int = 64) -> int:
    """Bodies from which on the hybrid algorithm costs less than O(n) on one processor, more than O(log n) on n."""
    inside = [costs.logarithmic(m).total < simulated_hybrid(m, p, alpha, beta) < costs.linear(m).total for m in GROWING]
    outside = [m for m, within in zip(GROWING, inside, strict=True) if m >= p and not within]
    return next(m for m in GROWING if m >= p and m > max(outside, default=0))
