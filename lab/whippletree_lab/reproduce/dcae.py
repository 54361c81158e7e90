"""Critchley, Anderson and Binani 2007: figures 3 to 8 by their counts, by schedules, and measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whippletree.dynamics.auto import chain_operations as costs
from whippletree.dynamics.auto.loop_operations import OF_BODY, OF_DOF
from whippletree.dynamics.auto.tree_operations import ASIDE, OF_KINEMATICS, TIP
from whippletree.joints import CODES

from ..bench import run as bench
from ..bench import theory
from ..bench.divided import BALANCED, PLAIN
from ..bench.result import OURS, BenchResult, Row, Statement
from ..report.parallel_plots import curves, shares
from ..report.picture import plain
from .page import Page, digits, microseconds, small, whole

TITLE = "An efficient divide and conquer algorithm (Critchley, Anderson and Binani 2007)"
BODIES = 1024  # of figures 3 to 6
LENGTHS = (128, 256, 1024)  # of figures 7 and 8
# figure: panel's title, its algorithms, and whether it shows few processors only
FIGURES: dict[str, tuple[tuple[str, ...], bool]] = {
    "figure 3: DCA": (("O(n)", "DCA"), False),
    "figure 4: O(n) terminal subsystems": (("O(n)", "DCA", "DCAt"), True),
    "figure 5: DCAe": (("O(n)", "DCA", "DCAe"), False),
    "figure 6: DCAe, few processors": (("O(n)", "DCA", "DCAt", "DCAe"), True),
}
NAMES = {  # of the ways that are measured
    OURS: "O(n), articulated", "2 threads": "DCAe, 2 threads", "lanes": "DCAe, lanes",
    "lanes, 2 threads": "DCAe, lanes and 2 threads", "dcat": "DCAt, one thread", "dca": "DCA, one thread",
}  # fmt: skip


def two_handles() -> float:
    """What a body of a subchain with two handles costs here, over the plain recursion, by operations of our kernels."""
    plain_body = OF_KINEMATICS[CODES["revolute"]] + OF_BODY + OF_DOF
    return (plain_body + ASIDE + TIP) / plain_body


def statements() -> list[Statement]:
    """What the paper says of counts, beside what comes out."""
    own = Statement(
        "non-terminal subsystems, eqs (53)-(71)",
        "handle 2 takes a second, backward pass: twice the cost",
        f"one pass gives both handles, at {two_handles():.2f} times the plain one by operations of our kernels",
        "no",
        "the acceleration of handle 2 follows from what the inward pass leaves ([concept](../concepts/divide.md))",
    )
    unknown = Statement(
        "figs 3 and 5",
        "curves of RCRP",
        "not drawn",
        "not comparable",
        "the paper gives no count of RCRP",
    )
    return [*theory.divide_statements(), own, unknown]


def write(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    """The page."""
    tell("counts and schedules")
    result = bench("theory", sizes=(BODIES,), against=(), progress=tell)
    page.text(
        "[critchley2007] gives the subsystems of Featherstone's divide and conquer algorithm to a sequential O(n) "
        "algorithm. Lines are its counts (eqs 43 and 72), dots the same algorithm as tasks on a simulated computer "
        "whose bodies and processors are whole numbers (`lab/bench/theory.py`). Here it is `divide` "
        "([concept](../concepts/divide.md), `dynamics/divide/algorithm.py`).",
    )
    page.statements(statements())
    _counts(page, result)
    _figure_8(page)
    if not quick:
        _measured(page, bench("divide", sizes=LENGTHS, against=(), rounds=30, progress=tell))


def _counts(page: Page, result: BenchResult) -> None:
    rows = result.asked("processors")
    many = [r for r in rows if r.threads & (r.threads - 1) == 0]
    few = sorted((r for r in rows if r.threads in theory.FEW), key=lambda r: r.threads)
    page.text("## Figures 3 to 6: operations one after the other, a chain of 1024")
    with page.figure("dcae_counts", "Figures 3 to 6: formulas as lines, schedules as dots", (8.6, 6.4)) as figure:
        for panel, (title, (names, is_few)) in zip(figure.subplots(2, 2).ravel(), FIGURES.items(), strict=True):
            curves(panel, few if is_few else many, names)
            scale: dict[str, Any] = {"ylim": (0, 1.25e6)} if is_few else {"xscale": "log", "yscale": "log"}
            plain(panel, title, 8, xlabel="processors", ylabel="operations in turn", **scale)
    head = ["processors", "O(n)", "DCA, eq. (43)", "DCAt", "DCAe, eq. (72)", "DCAe balanced", "DCAe, schedule"]
    page.table(head, [_row(r) for r in many])
    page.text(
        "DCAt has no formula in the paper: it is DCA on p - 1 processors and O(n) on the one that has the tip. "
        "*Balanced* has twice as many bodies in the terminal subsystem, as the paper advises.",
        "## Figure 7: the share of the terminal subsystem",
    )
    with page.figure(
        "dcae_shares", "Figure 7 by schedules; grey: the optima that the paper measured", (6.4, 3.6)
    ) as figure:
        panel = figure.subplots()
        for share, p, top in ((50, 4, 1090), (75, 2, 770)):
            panel.axvline(share, color="#cccccc", linewidth=3)
            panel.text(share - 1, top, f"paper, p = {p}", rotation=90, ha="right", va="top", color="#666666")
        shares(panel, result.asked("share"))


def _row(row: Row) -> list[str]:
    p, n = row.threads, row.bodies
    found = [costs.linear(n), costs.dca(n, p), costs.dcat(n, p), costs.dcae(n, p), costs.dcae_balanced(n, p)]
    return [str(p), *(whole(c.total) for c in found), whole(theory.simulated_dcae(n, p))]


def _figure_8(page: Page) -> None:
    page.text(
        "## Figure 8: the algorithms on two and four processors",
        "Operations in turn for the lengths that the paper timed, by schedules, and in brackets how many times as fast "
        "as O(n). The paper's figure shows seconds of a machine of its time as curves: what can be compared is the "
        "order, which is the same except for DCA on four processors (above).",
    )
    ways: dict[str, Callable[[int], float]] = {
        "O(n)": lambda n: costs.linear(n).total,
        "DCA, 4 processors": lambda n: theory.simulated_dca(n, 4),
        "DCAe, 2 processors": lambda n: theory.simulated_dcae(n, 2),
        "DCAe, 4 processors": lambda n: theory.simulated_dcae(n, 4),
    }
    rows = []
    for n in LENGTHS:
        found = [cost(n) for cost in ways.values()]
        rows.append([str(n), *(f"{whole(c)} ({found[0] / c:.2f})" for c in found)])
    page.table(["bodies", *ways], rows)


def _measured(page: Page, result: BenchResult) -> None:
    rows = result.asked("forward")
    page.text(
        "## Measured",
        f"Microseconds of one evaluation, best single call (`{result.command}`). {page.measured()} Two threads share "
        "two cores; lanes let one core solve several subchains at once, which the paper does not have.",
    )
    page.table(["bodies", *NAMES.values()], [[r.label, *microseconds(r, NAMES)] for r in rows])
    longest = rows[-1]
    page.text(
        "Errors of accelerations against extended precision, relative to the largest. The paper says that the accuracy "
        f"of DCA is significantly worse than that of O(n) in chains above 1000. Here, at {longest.label}, it is "
        f"{digits(longest.differences[PLAIN] / longest.differences[OURS], 2)} times that of our O(n) recursion. That "
        "one refers all quantities to one point at the base, and so rounds the more the longer the chain; handles "
        "stay near their bodies."
    )
    ways = (OURS, "lanes", "dca", PLAIN)
    head = ["bodies", "articulated", "divide (DCAe)", "DCA, pivoted", "DCA as the paper writes it"]
    page.table(head, [[r.label, *(small(r.differences[w]) if w in r.differences else "-" for w in ways)] for r in rows])
    for r in result.asked("share"):
        found = {float(w.split()[1].removesuffix("%")): s for w, s in r.seconds.items() if w != OURS}
        best = min(found, key=found.__getitem__)
        page.text(
            f"Figure 7 measured: two threads without lanes, {r.bodies} bodies, are fastest with {best:.0f}% of the "
            f"bodies in the terminal subchain ({digits(found[best] * 1e6)} µs; the default, {BALANCED:.0%}, takes "
            f"{digits(found[round(BALANCED * 100)] * 1e6)} µs; the whole chain on one thread "
            f"{digits(r.seconds[OURS] * 1e6)} µs). The smaller it is, the less two handles cost over one."
        )
        with page.figure("dcae_measured", "Figure 7 measured on two threads", (5.2, 3.2)) as figure:
            panel = figure.subplots()
            panel.plot(list(found), [s * 1e6 for s in found.values()], "o-", color="#0072B2", label="two threads")
            panel.axhline(r.seconds[OURS] * 1e6, color="#000000", linewidth=1, label="O(n), one thread")
            plain(panel, key=9, xlabel="share of the terminal subchain (%)", ylabel="time (µs)", ylim=(0, None))
