"""Jain and Rodriguez 1992: the operation counts of section VII, figure 2, and the factors of the mass matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whippletree.dynamics.auto import flexible_operations as flexible_cost
from whippletree.dynamics.functions import (
    bias_force,
    forward_dynamics,
    inverse_dynamics,
    mass_factors,
    mass_matrix,
    mass_matrix_inverse,
)

from ..bench import run as bench
from ..bench.flexible import COMPOSITE, growth
from ..bench.flexible_families import chain, state, strip
from ..bench.measure import difference
from ..bench.result import OURS, BenchResult, Statement
from ..report.picture import plain
from .page import Page, microseconds, small, whole
from .validate_flexible import turning_frequencies

TITLE = "Recursive flexible multibody dynamics with spatial operators (Jain and Rodriguez 1992)"
BODIES = 10  # of figure 2
MODES = range(1, 21)
CHECKED = (BODIES, 5)  # bodies and modes on which lemmas are checked
MORE_BODIES = (5, 10, 20, 50)


def ratio(modes: int, bodies: int = BODIES) -> float:
    """Operations of composite over articulated, as section VII counts them."""
    return flexible_cost.composite([modes] * bodies) / flexible_cost.articulated([modes] * bodies)


def lemmas() -> dict[str, float]:
    """What the paper's identities leave over, relative, on ten bodies of five modes at a random state."""
    system = chain(CHECKED[0], strip(CHECKED[1], "ruthless")).compile()
    q, u, tau = state(system)
    M, (factor, D) = mass_matrix(system, q), mass_factors(system, q)
    inverse, eye = mass_matrix_inverse(system, q), np.eye(system.nu)
    scale = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    articulated, composite = (forward_dynamics(system, q, u, tau, algorithm=a) for a in ("articulated", "composite"))
    again = inverse_dynamics(system, q, u, articulated)
    size = np.abs(M) @ np.abs(articulated) + np.abs(bias_force(system, q, u)) + np.abs(tau)
    return {
        "lemma 1": float(np.abs(M - M.T).max() / np.abs(M).max()),
        "lemma 2": float((np.abs(factor @ np.diag(D) @ factor.T - M) / scale).max()),
        "lemma 4": float(np.abs(inverse @ M - eye).max()),
        "agreement": difference(composite, articulated),
        "inverse": float((np.abs(again - tau) / size).max()),
        "condition": float(np.linalg.cond(M)),
    }


def statements(left: dict[str, float]) -> list[Statement]:
    """What the paper says, beside what comes out."""
    better = [n for n in range(1, 40) if flexible_cost.explicit(n) < flexible_cost.indirect(n)]
    many = [ratio(10, n) for n in MORE_BODIES]
    rounding = left["condition"] * 1e-15
    soft, _ = turning_frequencies(4.0, "ruthless", "bending_z", 5)
    right, _ = turning_frequencies(4.0, "stiffened", "bending_z")
    return [
        Statement(
            "sec. VII, fig. 2",
            "with 10 bodies the articulated-body algorithm is faster by over a factor of 3 for 5 modes",
            f"{ratio(5):.2f} by its counts",
            "yes" if ratio(5) > 3 else "no",
        ),
        Statement(
            "sec. VII, fig. 2",
            "by over a factor of 7 for 10 modes",
            f"{ratio(10):.2f} by its counts",
            "yes" if ratio(10) > 7 else "no",
        ),
        Statement(
            "sec. VII",
            "the divergence becomes more rapid as the number of bodies is increased",
            "10 modes: " + ", ".join(f"{r:.1f} for {n} bodies" for n, r in zip(MORE_BODIES, many, strict=True)),
            "yes" if many == sorted(many) else "no",
        ),
        Statement(
            "sec. VII B 1)",
            "inverting D_f is more efficient for n_m ≤ 7, the indirect way (B3) above",
            f"by the two counts for n_m ≤ {better[-1]}",
            "yes" if better == list(range(1, 8)) else "no",
        ),
        Statement(
            "sec. VII A 1)",
            "the count of R(k) has N_m²",
            "read as n_m²",
            "in part",
            "a slip of print: N_m is nowhere defined",
        ),
        Statement(
            "eq. (54), lemma 2",
            "M = [1 + HΦK] D [1 + HΦK]*",
            f"holds to {small(left['lemma 2'])}, entries relative to the diagonal ({CHECKED[0]} bodies of {CHECKED[1]} "
            "modes)",
            "yes" if left["lemma 2"] < 1e-12 else "no",
        ),
        Statement(
            "eq. (56), lemma 4",
            "M⁻¹ = [1 - HΨK]* D⁻¹ [1 - HΨK]",
            f"M⁻¹ M differs from 1 by {small(left['lemma 4'])}; M has the condition {small(left['condition'])}",
            "yes" if left["lemma 4"] < rounding else "no",
        ),
        Statement(
            "eqs (45), (46), (64)",
            "the same accelerations by both forward algorithms, and forces back by inverse dynamics",
            f"accelerations differ by {small(left['agreement'])}; forces come back to {small(left['inverse'])}",
            "yes" if left["inverse"] < 1e-12 and left["agreement"] < rounding else "no",
        ),
        Statement(
            "sec. VI B",
            "DARTS agrees with a standard flexible multibody package",
            "beside Exudyn's floating-frame bodies: see the [validation](../validation.md)",
        ),
        Statement(
            "appendix B",
            "modes linearize too early: geometric stiffening is missing and has to be recovered",
            f"a beam turning at 4, first flap frequency: {soft[0]:.3f} ruthless, {right[0]:.3f} stiffened, 5.585 "
            "published (P10)",
        ),
    ]


def write(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    """The page."""
    tell("counts and lemmas")
    page.text(
        "[jain1992] writes the dynamics of flexible bodies with the spatial operators of rigid ones, and so gets an "
        "inverse, a composite-body and an articulated-body algorithm. Modes are eliminated before the hinge of their "
        "body. Here it is `dynamics/flexible/elimination.py` and "
        "`dynamics/tree/innovations.py` ([concept](../concepts/flexible.md)).",
    )
    page.statements(statements(lemmas()))
    measured = None
    if not quick:
        measured = bench("flexible", sizes=(BODIES,), modes="1:20", against=(), rounds=10, progress=tell)
    _figure_2(page, measured)
    _counts(page)
    if measured is not None:
        _measured(page, measured)


def _figure_2(page: Page, measured: BenchResult | None) -> None:
    page.text(
        "## Figure 2: cost of 10 flexible bodies against the modes of each",
        "The figure itself is not in the text we have: its curves follow from the polynomials of section VII."
        + (" On the right the same chains, timed." if measured else ""),
    )
    caption = "Figure 2: operations by section VII" + (", and measured times" if measured else "")
    with page.figure("flexible_figure_2", caption, (8.6 if measured else 4.6, 3.8)) as figure:
        panels = figure.subplots(1, 2 if measured else 1, squeeze=False)[0]
        rows = measured.asked("modes") if measured else []
        for count, engine, colour, name in (
            (flexible_cost.articulated, OURS, "#D55E00", "articulated body"),
            (flexible_cost.composite, COMPOSITE, "#0072B2", "composite body"),
        ):
            panels[0].plot(MODES, [count([n] * BODIES) / 1e3 for n in MODES], color=colour, label=name)
            if measured:
                times = [r.seconds[engine] * 1e6 for r in rows]
                panels[1].plot([r.modes for r in rows], times, ".-", color=colour, label=name)
        for panel, what in zip(panels, ("thousands of operations", "time (µs)"), strict=False):
            panel.set(xlabel="modes of each body", ylabel=what, ylim=(0, None))
            plain(panel, key=8, xticks=[1, 5, 10, 15, 20])


def _counts(page: Page) -> None:
    shown = (1, 2, 5, 7, 8, 10, 15, 20)
    page.text("Counts of section VII, multiplications and additions together:")
    page.table(
        ["modes of each body", "articulated", "composite", "ratio", "D_f inverted, a body", "by (B3), a body"],
        [
            [str(n), whole(flexible_cost.articulated([n] * BODIES)), whole(flexible_cost.composite([n] * BODIES)),
             f"{ratio(n):.2f}", whole(flexible_cost.explicit(n)), whole(flexible_cost.indirect(n))]
            for n in shown
        ],
    )  # fmt: skip


def _measured(page: Page, result: BenchResult) -> None:
    rows = {r.modes: r for r in result.asked("modes")}
    page.text("## Measured", f"Microseconds of one evaluation (`{result.command}`). {page.measured()}")
    table = []
    for n in (1, 2, 5, 10, 15, 20):
        r = rows[n]
        took, measured = microseconds(r, (OURS, COMPOSITE)), r.seconds[COMPOSITE] / r.seconds[OURS]
        table.append([str(n), *took, f"{measured:.2f}", f"{ratio(n):.2f}"])
    page.table(["modes", "articulated", "composite", "measured ratio", "counted ratio"], table)
    grown = [(q, growth(result, q)) for q in ("growth with modes", "growth with bodies")]
    words = "; ".join(f"{name}: power {s[2]:.2f}, from {s[0]:g} to {s[1]:g}" for name, s in grown if s)
    page.text(
        f"Time of the articulated-body algorithm grows as follows. {words}. The paper says O(N n_m²): sizes are still "
        "small enough for lower powers to count. Measured ratios need not be those counted: operations of the two do "
        "not run at the same rate."
    )
