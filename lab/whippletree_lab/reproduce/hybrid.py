"""Anderson and Duan 1999: tables of costs, figure 6, the coefficient matrix of figure 5, and iterations."""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import numpy as np

from whippletree.dynamics.auto import chain_operations as costs
from whippletree.dynamics.auto.chain_operations import Count, Messages
from whippletree.dynamics.functions import forward_dynamics
from whippletree.dynamics.subchains.algorithm import Pieces
from whippletree.dynamics.subchains.cut import cut_of
from whippletree.dynamics.subchains.options import Cutting

from ..bench import run as bench
from ..bench import subchains, theory
from ..bench.families import chain, one_state
from ..bench.measure import difference, slope
from ..bench.result import OURS, Statement
from ..report.parallel_plots import growth
from ..report.picture import plain, ticks
from .page import Page, digits, microseconds, small, whole

TITLE = "A hybrid parallelizable low order algorithm (Anderson and Duan 1999)"
TABLE = (1024, 16)  # N and N_sub at which table 3 is evaluated
SHOWN = (32, 8)  # bodies and subchains whose matrix is drawn
FIXED = 16  # bodies of a subchain, of ever longer chains
LENGTHS = (64, 128, 256, 512, 1024)
PIECES = (4, 8, 16, 32, 64)  # of one chain
CHAINS = (128, 1024)


def table_3(N: float, N_sub: float) -> tuple[Count, Messages]:
    """The last line of table 3 as it is printed."""
    each, cut, square, rounds = N / N_sub, (N_sub - 1) / N_sub, 1 / N_sub**2, log2(N_sub)
    found = Count(615, 489) * each + Count(484, 323) * cut + Count(-59, -35) * (N * square)
    found = found + Count(-20, -16) * square + Count(162, 150 + 3 * rounds)
    return found, Messages(2 + 3 * rounds, 6 * rounds + 86)


def gamma(bodies: int, pieces: int) -> tuple[np.ndarray, list[int]]:
    """The coefficient matrix of eq. (65), rows in units of their own, and how many loads each cut has."""
    system, q, u, tau = one_state(chain(bodies))
    choice = Cutting(pieces=pieces)
    made = Pieces(cut_of(system, choice), choice)
    made.recursion_of_tree(q, u, tau)
    solver, m = made.solver, made.cut.rows
    found = np.zeros((m + 1, m + 1))
    for s, rows in enumerate(solver.rows_of):
        found[np.ix_(rows, rows)] += solver.K[s].reshape(solver.width, -1)
    return found[:m, :m], [j.rows for j in made.cut.joints]


def outside_blocks(found: np.ndarray, loads: list[int]) -> float:
    """The largest entry off the block-tridiagonal part."""
    block = np.repeat(np.arange(len(loads)), loads)
    off = np.abs(block[:, None] - block[None, :]) > 1
    return float(np.abs(found[off]).max(initial=0.0))


def iterations(quick: bool) -> tuple[list[list[float]], dict[int, list[list[float]]]]:
    """Loads m and iterations from nothing: at one length of subchains, and for one chain in ever more pieces."""
    growing = []
    for n in LENGTHS[: 3 if quick else None]:
        system, *at = one_state(chain(n))
        pieces = n // FIXED
        growing.append([5.0 * (pieces - 1), subchains.iterations(system, pieces, *at)[1]])
    dividing: dict[int, list[list[float]]] = {}
    for n in CHAINS[: 1 if quick else None]:
        system, *at = one_state(chain(n))
        found = [[5.0 * (p - 1), *subchains.iterations(system, p, *at)] for p in PIECES]
        dividing[n] = [[m, cold, warm] for m, warm, cold in found]
    return growing, dividing


def power(points: list[list[float]]) -> float:
    """gamma of iterations = c m^gamma, fitted."""
    found = slope((m, count) for m, count, *_ in points)
    assert found is not None
    return found[2]


def agreement() -> float:
    """How far accelerations in subchains are from those of the whole chain, relative to the largest."""
    system, q, u, tau = one_state(chain(TABLE[0]))
    whole_chain = forward_dynamics(system, q, u, tau, algorithm="articulated")
    cut = forward_dynamics(system, q, u, tau, algorithm=f"subchains(pieces={TABLE[1]})")
    return difference(cut, whole_chain)


def statements(growing: list[list[float]], dividing: dict[int, list[list[float]]]) -> list[Statement]:
    """What the paper says, beside what comes out."""
    found, loads = gamma(*SHOWN)
    (printed, sent), steps, reported = table_3(*TABLE), costs.hybrid(*TABLE), costs.hybrid_messages(*TABLE)
    size = f"N = {TABLE[0]}, N_sub = {TABLE[1]}"
    least = float(np.linalg.eigvalsh(found).min())
    powers = ", ".join(f"{power(points):.2f} for {n} bodies" for n, points in dividing.items())
    return [
        Statement(
            "table 3",
            f"total of all steps, {size}: {digits(printed.m, 6)} m + {digits(printed.a, 6)} a",
            f"sum of the steps: {digits(steps.m, 6)} m + {digits(steps.a, 6)} a",
            "yes" if abs(printed.total - steps.total) < 1e-9 else "no",
            "the last line has 1/N_sub² where step VI has 1/N_sub: a slip of print, of "
            f"{digits(abs(printed.total - steps.total))} operations here",
        ),
        Statement(
            "table 3",
            f"communication: {_sent(sent)}",
            f"sum of the steps: {_sent(reported)}",
            "yes" if sent == reported else "no",
        ),
        Statement(
            "sequential costs",
            "2nd outward pass: - (35m + 25a) N / N_sub",
            "table 3 has + (35m + 25a) N / N_sub² for it",
            "no",
            "the paper contradicts itself by a sign; table 3 is taken as it is printed",
        ),
        Statement(
            "comparison of O(n)",
            "ABI: (199m + 174a) N - (198m - 173a)",
            "read as - (198m + 173a): one body then costs 1m + 1a",
            "in part",
            "as printed one body would take 347 additions, more than two of them",
        ),
        Statement(
            "fig. 5, sec. 6",
            "Γ of a chain is block tridiagonal, symmetric and positive definite",
            f"largest entry outside the blocks {small(outside_blocks(found, loads))}, asymmetry "
            f"{small(float(np.abs(found - found.T).max()))}, smallest eigenvalue {digits(least, 2)} ({SHOWN[0]} bodies "
            f"in {SHOWN[1]} subchains)",
            "yes" if least > 0 and outside_blocks(found, loads) == 0 else "no",
        ),
        Statement(
            "abstract",
            "iterations grow as m^γ with 0 < γ < 1",
            f"subchains of {FIXED} bodies, ever longer chains: γ = {power(growing):.2f}; one chain in ever more "
            f"pieces: γ = {powers}",
            "in part",
            "long subchains hardly feel each other's far ends; where a chain is cut into pieces of a few bodies, as "
            "128 into 64, iterations grow faster than the loads",
        ),
        *theory.hybrid_statements(),
        Statement(
            "fig. 1, eqs (3a) and (3b)",
            "cut subchains with their loads behave as the whole chain",
            f"accelerations of {TABLE[0]} bodies in {TABLE[1]} subchains differ by {small(agreement())}, relative",
        ),
    ]


def write(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    """The page."""
    tell("iterations")
    growing, dividing = iterations(quick)
    page.text(
        "[anderson1999] cuts a chain into subchains that float, solves each in O(n), and finds the loads at the cuts "
        "by preconditioned conjugate gradients. Here it is `subchains` ([concept](../concepts/subchains.md), "
        "`dynamics/subchains/algorithm.py`), for trees too and with elimination as the default.",
    )
    page.statements(statements(growing, dividing))
    _tables(page)
    _figure_6(page, tell)
    _matrix(page, growing, dividing)
    if not quick:
        _measured(page, tell)


def _count(count: Count) -> str:
    return f"{whole(count.m)}m {'+' if count.a >= 0 else '-'} {whole(abs(count.a))}a"


def _sent(messages: Messages) -> str:
    return f"{digits(messages.alpha)} α + {digits(messages.beta)} β"


def _tables(page: Page) -> None:
    page.text(
        "## The cost tables",
        "Table 3, one subchain on each processor, evaluated at N = {} bodies and N_sub = {} subchains:".format(*TABLE),
    )
    steps = costs.hybrid_steps(*TABLE) | {
        "sum": (costs.hybrid(*TABLE), costs.hybrid_messages(*TABLE)),
        "printed total": table_3(*TABLE),
    }
    rows = [[step, _count(c), _sent(m)] for step, (c, m) in steps.items()]
    page.table(["step", "computation", "communication"], rows)
    page.text("The tables behind its references: sequential algorithms, and O(log N) on N processors.")
    bodies = (10, 100, 1000)
    algorithms = costs.SEQUENTIAL | {
        "hybrid, not cut": costs.uncut,
        "hybrid in 4 subchains, one processor": lambda n: costs.hybrid_sequential(n, 4),
        "Newton-Euler O(log N), N processors": costs.logarithmic,
    }
    rows = [[name, *(_count(cost(n)) for n in bodies)] for name, cost in algorithms.items()]
    page.table(["algorithm", *(f"N = {n}" for n in bodies)], rows)


def _figure_6(page: Page, tell: Callable[[str], None]) -> None:
    result = bench("theory", sizes=(64,), against=(), progress=tell)
    page.text(
        "## Figure 6: comparison of approaches",
        "The paper draws curves without numbers: what can be compared is their order. O(n³) is the composite-body "
        f"count of [jain1992], O(n^{theory.QUASI}) has the power of the paper and a factor that makes it O(n) at one "
        "body, O(log n) is the last table. The hybrid algorithm is a schedule of table 3, one iteration, without "
        "messages.",
    )
    with page.figure(
        "hybrid_comparison", "Figure 6: operations in turn against the number of bodies", (6.4, 4.2)
    ) as figure:
        panel = figure.subplots()
        growth(panel, result.asked("bodies"), key=8)
        panel.legend(frameon=False, fontsize=8, ncols=2)


def _matrix(page: Page, growing: list[list[float]], dividing: dict[int, list[list[float]]]) -> None:
    page.text("## Figure 5 and the iterations")
    found, loads = gamma(*SHOWN)
    caption = "Γ of 32 bodies in 8 subchains (figure 5), and iterations of conjugate gradients to a residual of 1e-10"
    with page.figure("hybrid_gamma", caption, (8.6, 3.8)) as figure:
        matrix, counts = figure.subplots(1, 2, width_ratios=(1, 1.3))
        size = np.log10(np.maximum(np.abs(found), 1e-8))
        shown = matrix.imshow(np.where(found == 0.0, np.nan, size), cmap="viridis", vmin=-4, vmax=0)
        for edge in np.cumsum(loads)[:-1]:
            matrix.axhline(edge - 0.5, color="#dddddd", linewidth=0.5)
            matrix.axvline(edge - 0.5, color="#dddddd", linewidth=0.5)
        figure.colorbar(shown, ax=matrix, shrink=0.8, label="log₁₀ of an entry, rows scaled")
        matrix.set(xlabel="load", ylabel="row")
        label = f"subchains of {FIXED} bodies: γ = {power(growing):.2f}"
        counts.plot(*np.array(growing).T[:2], "o-", color="#D55E00", label=label)
        for (n, points), colour in zip(dividing.items(), ("#0072B2", "#009E73"), strict=False):
            counts.plot(*np.array(points).T[:2], "s-", color=colour, label=f"{n} bodies, cold: γ = {power(points):.2f}")
            counts.plot(*np.array(points).T[[0, 2]], "s:", color=colour, fillstyle="none", label=f"{n} bodies, warm")
        counts.set(xscale="log", yscale="log", xlabel="loads m at the cuts", ylabel="iterations")
        ticks(counts, [int(m) for m, *_ in next(iter(dividing.values()))])
        plain(counts, key=8)
    page.text("*Cold* starts from no loads, *warm* from those of a state 1 ms away, as a run does (step VIII).")


def _measured(page: Page, tell: Callable[[str], None]) -> None:
    result = bench("subchains", sizes=CHAINS, against=(), rounds=5, progress=tell)
    page.text(
        "## Measured",
        f"Microseconds of one evaluation on one core, best single call (`{result.command}`). {page.measured()} The "
        "paper has no times.",
    )
    rows, ways = [], (OURS, *subchains.SOLVERS)
    for r in result.asked("forward"):
        how = "whole" if r.pieces == 1 else f"{r.pieces} subchains"
        wrong = min((r.differences[way] for way in ways if way in r.differences), default=None)
        rows.append([f"{r.label}, {how}", *microseconds(r, ways), "-" if wrong is None else small(wrong)])
    page.table(["bodies", "articulated", "thomas", "cyclic", "pcg", "error of the best"], rows)
