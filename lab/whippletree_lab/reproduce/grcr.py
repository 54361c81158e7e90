"""Critchley and Anderson 2003: the five-bar of section 6, and what reduction costs beside the traditional technique."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from whippletree.analysis.mobility import mobility
from whippletree.dynamics.kinematics import jacobian
from whippletree.integrate.simulate import simulate
from whippletree.result.result import Result

from ..bench import run as bench
from ..bench.loop_families import LOOPS, start
from ..bench.loops import growth as measured_growth
from ..bench.result import OURS, Statement
from ..report.picture import legend, plain
from .loop_problems import five_bar
from .page import Page, digits, microseconds, small, whole
from .problems import table

TITLE = "Generalized recursive coordinate reduction (Critchley and Anderson 2003)"
UNTIL, APART = 3.0, 0.05  # s
FINE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}
COARSE: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8}  # what a run in a hurry takes
WAYS: dict[str, dict[str, Any]] = {
    "reduction": {"algorithm": "reduction"},
    "multipliers, projected": {"algorithm": "multipliers"},
    "multipliers, Baumgarte": {"algorithm": "multipliers", "stabilization": "baumgarte"},
    "multipliers alone": {"algorithm": "multipliers", "stabilization": "none"},
}
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
GROWING: dict[str, tuple[int, ...]] = {
    "ladder": (1, 4, 16, 64, 256),
    "tower": (4, 16, 64, 256),
    "lattice": (2, 4, 8),
    "stewart": (1, 4, 16),
}
ALGORITHMS = ("reduction", "multipliers", "nullspace")
SINGULAR = 1e-9  # of a loop's columns


def dependent_sets(variant: str) -> dict[tuple[int, ...], float]:
    """For any three of the five coordinates, the smallest singular value of their columns in the loop's equations.

    Where it is zero they cannot be the dependent ones.
    """
    system, q, _ = five_bar(variant)
    columns = jacobian(system, q, "bar4")[2:5]  # turn about z, shift along x and y
    c, s = np.cos(np.pi / 4), np.sin(np.pi / 4)
    J = np.column_stack([columns, [0.0, c, s] if variant == "A" else [0.0, -s, c]])
    sets = combinations(range(1, 6), 3)
    return {s: float(np.linalg.svd(J[:, [k - 1 for k in s]], compute_uv=False)[-1]) for s in sets}


def five_bar_runs(variant: str, tolerances: dict[str, Any]) -> dict[str, Result]:
    """The same start by every way to keep the loop closed."""
    system, q, u = five_bar(variant)
    return {
        name: simulate(system, UNTIL, q=q, u=u, output_step=APART, **tolerances, **how) for name, how in WAYS.items()
    }


def operations(family: str, sizes: tuple[int, ...]) -> list[tuple[int, dict[str, int], tuple[int, float]]]:
    """Loops, operations of forward dynamics by algorithm, and keys of a body (most, mean), for each size."""
    found = []
    for size in sizes:
        posed = LOOPS[family](size)
        system = posed.model.compile()
        at = mobility(system, start(system, posed.q)[0])
        found.append((len(system.cut_joints), at.operations, at.keys or (0, 0.0)))
    return found


def growth(counts: list[tuple[int, dict[str, int], Any]], algorithm: str) -> float:
    """Power of the number of loops, between the two largest sizes."""
    (m, few, _), (n, many, _) = counts[-2:]
    return float(np.log(many[algorithm] / few[algorithm]) / np.log(n / m))


def statements(
    counts: dict[str, list[tuple[int, dict[str, int], Any]]], apart: float, hurried: dict[str, dict[str, Result]]
) -> list[Statement]:
    """What the paper says, beside what the five-bar and the counts show."""
    invalid = [dependent_sets(v)[3, 4, 5] for v in "AB"]
    paper_set = {v: dependent_sets(v)[2, 3, 5] for v in "AB"}
    wins = min(n for n, c, _ in counts["ladder"] if c["reduction"] < c["multipliers"])
    open_by = {way: max(float(hurried[v][way]["closure"].max()) for v in "AB") for way in WAYS}
    fast, slow = growth(counts["ladder"], "reduction"), growth(counts["ladder"], "multipliers")
    deep, net = growth(counts["tower"], "reduction"), growth(counts["lattice"], "reduction")
    return [
        Statement(
            "sec. 6, fig. 6",
            "the dependent set (3, 4, 5) is invalid",
            f"its columns have the singular value {small(max(invalid))} in both variants",
        ),
        Statement(
            "sec. 6",
            "q2, q3 and q5 are the dependent coordinates at the start",
            f"singular value {small(paper_set['A'])} in variant A, {digits(paper_set['B'])} in variant B",
            "in part",
            "figure 6 is not in the text we have: with slides along bar 3 (A) that set is singular at the start, with "
            "slides along bar 2 (B) it is good; ours chooses by pivoting and switches on the way",
        ),
        Statement(
            "sec. 6, fig. 7",
            "ACS and GCL give the motion that AUTOLEV gives",
            f"reduction and multipliers end within {small(apart)} of each other, at rtol 1e-10",
        ),
        Statement(
            "fig. 7",
            "curves of q1 and q4",
            "drawn below for both variants",
            "not comparable",
            "the figure is not in the text, so shapes are compared with an independent computation (P01)",
        ),
        Statement(
            "abstract, sec. 6",
            "reduction is O(n + m), the traditional technique O(n + n m² + m³)",
            f"ladder: powers {fast:.2f} and {slow:.2f} of the number of loops; tower, with bases that move: {deep:.2f}",
        ),
        Statement(
            "sec. 6",
            "reduction may be less efficient only for very lightly constrained systems",
            f"fewer operations from {wins} loop{'s' * (wins > 1)} on",
        ),
        Statement(
            "sec. 6",
            "in lattices the complexity is unclear, perhaps O(n + n_b m)",
            f"power {net:.2f} of the number of loops; {counts['lattice'][-1][2][0]} keys at most for "
            f"{counts['lattice'][-1][0]} loops",
            "in part",
            "n x n loops have fronts of up to n keys, and a DOF costs the square of its front: n² bodies of n² "
            "each tend to the power 2; sizes here are too small to be there",
        ),
        Statement(
            "sec. 1",
            "constraints of reduction are more stable than traditional ones",
            f"at rtol {COARSE['rtol']:g} the loop is open by {small(open_by['reduction'])} at most, with multipliers "
            f"alone by {small(open_by['multipliers alone'])}",
            "in part",
            "our reduction is projected onto its loops after every step, and so are multipliers unless asked not to: "
            "what holds the loop is the projection",
        ),
    ]


def write(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    """The page."""
    tell("five-bar: runs")
    runs = {v: five_bar_runs(v, FINE) for v in "AB"}
    apart = max(float(np.abs(r.q - of["reduction"].q).max()) for of in runs.values() for r in of.values())
    hurried = {v: five_bar_runs(v, COARSE) for v in "AB"}
    tell("operations of ladders, towers, lattices and platforms")
    counts = {family: operations(family, sizes[: 3 if quick else None]) for family, sizes in GROWING.items()}
    page.text(
        "[critchley2003] extends recursive coordinate reduction to all mechanisms: loops are folded into the recursion "
        "of articulated bodies, by arbitrary dependent coordinates (ACS, sec. 4) or coupled loops (GCL, sec. 5). "
        "Here both are one recursion over fronts ([concept](../concepts/loops.md), `dynamics/reduction/passes.py`). "
        "The traditional technique, which cuts joints and solves for multipliers, is "
        "`dynamics/constraints/multipliers.py`.",
    )
    page.statements(statements(counts, apart, hurried))
    _five_bar(page, runs, hurried)
    _counts(page, counts)
    if not quick:
        _measured(page, tell)


def _five_bar(page: Page, runs: dict[str, dict[str, Result]], hurried: dict[str, dict[str, Result]]) -> None:
    page.text(
        "## The five-bar (section 6, figures 6 and 7)",
        "Three hinges and two slides, unit bars released from rest. The text does not say along what the slides go: "
        "along bar 3 (variant A) or across it, which is along bar 2 at the start (variant B). Reference dots are of a "
        "computation that shares no line with ours (case P01 of the [validation](../validation.md)).",
    )
    with page.figure("grcr_fivebar", "The paper's independent coordinates q1 and q4, both ways", (8.6, 3.6)) as figure:
        panels = figure.subplots(1, 2)
        for panel, variant in zip(panels, "AB", strict=True):
            rows, twin = table(f"p01_fivebar_{variant}"), panel.twinx()
            for axes, name, colour in ((panel, "q1", COLOURS[0]), (twin, "q4", COLOURS[1])):
                first, other = runs[variant]["reduction"], runs[variant]["multipliers, projected"]
                axes.plot(first.t, first[f"{name}.q"], color=colour, linewidth=1.4)
                axes.plot(other.t[::2], other[f"{name}.q"][::2], "x", color=colour, markersize=4)
                axes.plot(rows["t"][::3], rows[name][::3], "o", color=colour, markersize=5, fillstyle="none")
            panel.set_ylabel("q1 (rad)", color=COLOURS[0])
            twin.set_ylabel("q4 (m)", color=COLOURS[1])
            plain(panel, xlabel="t (s)", title=f"variant {variant}")
            twin.spines[["top"]].set_visible(False)
        handles = [
            panels[0].plot([], [], style, color="#444444", fillstyle="none", label=label)[0]
            for style, label in (("-", "reduction"), ("x", "multipliers"), ("o", "reference P01"))
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    rows = []
    for variant in "AB":
        good = {s: value for s, value in dependent_sets(variant).items() if value > SINGULAR}
        switches = runs[variant]["reduction"].switches
        words = ", ".join(f"{s.t:.2f} s: {'+'.join(s.was)} → {'+'.join(s.now)}" for s in switches)
        rows.append([variant, " ".join(f"({','.join(map(str, s))})" for s in good), words])
    page.table(["variant", "good dependent sets at the start", "dependents that were exchanged"], rows, 3)
    page.text(
        "q5 is cut, and always dependent; the others are exchanged before they are singular, which ACS makes possible.",
        f"Constraint error at rtol {COARSE['rtol']:g}, where a run is in a hurry:",
    )
    with page.figure("grcr_drift", "How far the loop opens", (8.6, 3.2)) as figure:
        for panel, variant in zip(figure.subplots(1, 2, sharey=True), "AB", strict=True):
            for (name, run), colour in zip(hurried[variant].items(), COLOURS, strict=True):
                panel.plot(run.t[1:], np.maximum(run["closure"][1:], 1e-17), color=colour, label=name, linewidth=1.2)
            plain(panel, yscale="log", xlabel="t (s)", title=f"variant {variant}")
        figure.axes[0].set_ylabel("closure (m or rad)")
        legend(figure, figure.axes[:1], 4)


def _counts(page: Page, counts: dict[str, list[tuple[int, dict[str, int], Any]]]) -> None:
    page.text(
        "## O(n + m) against O(n + n m² + m³)",
        "Additions and multiplications of one evaluation behind kinematics and rows, counted step by step of the plan "
        "that reduction makes (`dynamics/auto/loop_operations.py`; a test runs the source and counts it).",
    )
    rows = []
    for family, found in counts.items():
        for loops, took, keys in found:
            rows.append([f"{family}, {loops} loops", *(whole(took[a]) for a in ALGORITHMS), str(keys[0])])
        rows.append([f"*{family}: power of loops*", *(f"*{growth(found, a):.2f}*" for a in ALGORITHMS), ""])
    page.table(["mechanism", *ALGORITHMS, "most keys"], rows)
    with page.figure("grcr_growth", "Operations of one evaluation against the number of loops", (8.6, 3.6)) as figure:
        for panel, algorithm in zip(figure.subplots(1, 3, sharey=True), ALGORITHMS, strict=True):
            for (family, found), colour, marker in zip(counts.items(), COLOURS, "os^v", strict=True):
                label = f"{family}: {growth(found, algorithm):.2f}"
                n, count = [f[0] for f in found], [f[1][algorithm] for f in found]
                panel.plot(n, count, color=colour, marker=marker, markersize=4, label=label)
            plain(panel, xscale="log", yscale="log", xlabel="loops", title=algorithm)
            panel.legend(frameon=False, fontsize=8, title="power", loc="upper left")
        figure.axes[0].set_ylabel("operations")


def _measured(page: Page, tell: Callable[[str], None]) -> None:
    result = bench("ladder", sizes="4:256", against=(), rounds=10, progress=tell)
    engines = [OURS, f"{OURS} multipliers"]
    rows = [[str(r.loops), *microseconds(r, engines)] for r in result.rows]
    powers = [measured_growth(result, e, 16) for e in engines]
    rows.append(["*power*", *(f"*{p[2]:.2f}*" if p else "-" for p in powers)])
    page.text(
        "### Measured",
        f"Ladders, microseconds of one evaluation, best of {result.rounds} (`{result.command}`). {page.measured()}",
    )
    page.table(["loops", "reduction", "multipliers"], rows)
