"""Kelly 1987: its equations on the system of its figures 2 and 3, and what it says of costs and constraints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from whippletree.analysis.mobility import mobility
from whippletree.analysis.reactions import reactions
from whippletree.dynamics.auto.tree_operations import of_articulated, of_composite
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.constraints.nullspace import scaled_rows, split_space
from whippletree.dynamics.functions import bias_force, forward_dynamics, mass_matrix
from whippletree.dynamics.kinematics import jacobian
from whippletree.integrate.simulate import simulate
from whippletree.model import Model
from whippletree.model.constraints import Latch
from whippletree.model.shapes import box, rod
from whippletree.result.result import Result

from ..bench import families
from ..bench.measure import took
from ..bench.result import Statement
from ..report.picture import plain
from .checks import Outcome
from .loop_problems import n_four_bar
from .page import Page, digits, small
from .problems import sleigh, sleigh_solution
from .validate_trees import docked

TITLE = "Real-time simulation of constrained motion (Kelly 1987)"
L = (0, 1, 2, 3, 1, 5)  # the body connection array of figure 2: two arms on a body that floats
MADE, BROKEN, UNTIL = 1.0, 3.0, 4.0  # s: of the temporary constraint of figure 3
AT = 2.0  # s: where its equations are looked at
CROSSING = 12  # DOF below which the paper finds O(n^3) faster
LONGEST = 30
START = {"hinge2": 0.35, "hinge3": -0.3, "hinge4": 0.4, "hinge5": -0.35, "hinge6": 0.3}


def arms(latch: str | None = None) -> Model:
    """Figure 2: bodies B1 to B6 in space; ``latch`` joins B4 and B6 by a ball joint, "temporary" or "permanent"."""
    model = Model("two arms", gravity=(0, 0, 0))
    model.body("B1", **box(mass=40.0, size=(1.0, 1.5, 0.6)))
    model.joint("flight", "free", "ground", "B1")
    for k in range(2, 7):
        on, side = f"B{L[k - 1]}", 1.0 if k < 5 else -1.0
        root = on == "B1"
        model.body(f"B{k}", **rod(mass=4.0, length=0.8, axis="x", radius=0.05))
        at = (0.5, 0.6 * side, 0.0) if root else (0.8, 0.0, 0.0)
        model.joint(f"hinge{k}", "revolute", on, f"B{k}", axis="z" if root else "yzx"[k % 3], at=at)
    if latch:
        model.constraint("grasp", "latch", body="B6", to="B4", joint="spherical", at=(0.8, 0, 0), to_at=(0.8, 0, 0))
    if latch == "temporary":
        model.temporary("grasp", activate_at=MADE, release_at=BROKEN, here=True)
    return model


def motion() -> Result:
    """Figure 3: the hands grasp each other as they are, hold, and let go."""
    return simulate(arms("temporary").compile(), UNTIL, u=START, rtol=1e-10, atol=1e-12, output_step=0.02)


class Equations(NamedTuple):
    """Kelly's equations at one moment while the hands hold: what each leaves over, relative to the forces there."""

    rows: int
    dofs: int
    null: float  # eq. (10): B Z = 0
    by_singular_values: float  # the same space, by SVD and by QR: the two ways to Z that it names
    motion: float  # eq. (8) differentiated: B u' = gamma
    balance: float  # eq. (23): B' lam + f + f* = 0
    reduced: float  # eq. (24): beta' f + beta' f* = 0, by multipliers' accelerations
    apart: float  # accelerations by multipliers and in the null space
    loads: float  # B' lam, by back substitution into (23), against what the load of the grasp does to all joints
    power: float  # eq. (20): lam' B u, W


def equations(run: Result) -> Equations:
    """Of the moment AT of a run."""
    holding, here = arms("permanent"), run.changes[0].here
    assert isinstance(here, Latch)
    holding.constraints["grasp"] = here
    system, row = holding.compile(), round(AT / float(run.t[1]))
    q, u = run.q[row], run.u[row]
    rows = rows_of(system, q, u)
    B = rows.C
    Z, _ = split_space(B / scaled_rows(B)[:, None], 1e-9)
    other, _ = split_space(B / scaled_rows(B)[:, None], 1e-9, "svd")
    udot = forward_dynamics(system, q, u, algorithm="multipliers")
    reduced = forward_dynamics(system, q, u, algorithm="nullspace")
    M, f = mass_matrix(system, q), -bias_force(system, q, u)
    rest = M @ udot - f  # = B' lam
    lam = np.linalg.lstsq(B.T, rest, rcond=None)[0]
    size = float(np.abs(rest).max())
    load = reactions(system, q, u)["grasp"][3:]  # on the hand B6, by the hand B4
    hands = jacobian(system, q, "B6", here.at.position)[3:] - jacobian(system, q, "B4", here.to_at.position)[3:]
    return Equations(
        len(B), Z.shape[1], float(np.abs(B @ Z).max()), float(np.abs(Z @ Z.T - other @ other.T).max()),
        float(np.abs(B @ udot - rows.gamma).max()), float(np.abs(rest - B.T @ lam).max() / size),
        float(np.abs(Z.T @ rest).max() / size), float(np.abs(udot - reduced).max() / np.abs(udot).max()),
        float(np.abs(hands.T @ load - B.T @ lam).max() / size), float(lam @ B @ u),
    )  # fmt: skip


def crossing() -> int:
    """DOF of a chain from which on the articulated recursion takes fewer operations than the mass matrix."""
    systems = ((n, families.chain(n).compile()) for n in range(2, LONGEST))
    return next(n for n, s in systems if of_articulated(s) < of_composite(s))


def blade_force() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """t, the force across the blade of the sleigh (P09), and what the closed form says: m I / (I + m a^2) v w."""
    system, q, u = sleigh()
    run = simulate(system, 4.0, q=q, u=u, rtol=1e-10, atol=1e-12, output_step=0.05)
    v, w = sleigh_solution(run.t)
    force = run["blade.reaction"][:, 3:5]
    across = np.column_stack([-np.sin(run.q[:, 2]), np.cos(run.q[:, 2])])
    return run.t, (force * across).sum(axis=1), 2.0 * 0.5 / (0.5 + 2.0 * 0.3**2) * v * w


def _small_enough(*left: float) -> str:
    """Rounding of some ten thousand operations, relative."""
    return "yes" if max(map(abs, left)) < 1e-11 else "no"


def statements(run: Result, at: Equations, docking: Outcome) -> list[Statement]:
    """What the paper says, beside what comes out."""
    n, momentum = crossing(), float(np.abs(run["momentum"] - run["momentum"][0]).max())
    regular, flat = (mobility(*n_four_bar(2, angle)[:2]) for angle in (0.4, np.pi / 2))
    _, force, known = blade_force()
    return [
        Statement(
            "equations of motion, after [9]",
            f"the O(n³) method of Walker and Orin is more efficient than the articulated-body one for n < {CROSSING}",
            f"by operations of our kernels for n < {n}",
            "yes" if n == CROSSING else "in part",
            "our recursion needs no transforms between frames, so it wins a little earlier",
        ),
        Statement(
            "eqs (8)-(15)",
            "columns of Z that span the null space of B, by singular values or otherwise",
            f"{at.rows} rows leave {at.dofs} velocities; B Z = {small(at.null)}; the spaces by QR and by SVD differ by "
            f"{small(at.by_singular_values)}",
            _small_enough(at.null, at.by_singular_values),
        ),
        Statement(
            "eqs (8) and (23)",
            "n + m equations for the motion and the multipliers",
            f"multipliers leave {small(at.balance)} of the forces, and {small(at.motion)} of B u' = γ",
            _small_enough(at.balance, at.motion),
        ),
        Statement(
            "eqs (24) and (25)",
            "premultiplying by βᵀ eliminates the constraint forces: the equations of a constrained system",
            f"accelerations by `multipliers` fulfil them to {small(at.reduced)}; those by `nullspace` are "
            f"{small(at.apart)} apart, relative",
            _small_enough(at.reduced, at.apart),
        ),
        Statement(
            "after eq. (25)",
            "λ follows by back substitution into (23)",
            f"it does to all joints what the force that `reactions` gives does, to {small(at.loads)}, relative",
            _small_enough(at.loads),
        ),
        Statement(
            "eqs (19)-(21)",
            "power of the constraint forces λᵀ B q̇, zero where nothing is prescribed",
            f"{small(abs(at.power))} W",
            _small_enough(at.power),
        ),
        Statement(
            "sec. incorporating constraints",
            "simple nonholonomic constraints are accommodated directly",
            f"force on the blade of Chaplygin's sleigh (P09) differs from the closed form by "
            f"{small(float(np.abs(force - known).max()))} N of {digits(float(known.max()))} N",
        ),
        Statement(
            "after eq. (8)",
            "the rank of B may fall below its rows as the configuration changes: singularities",
            f"two four-bars: {regular.rows} rows of rank {regular.rank}, of rank {flat.rank} where all bars are level; "
            "the run passes there a hundred times (P04 of the [validation](../validation.md))",
        ),
        Statement(
            "fig. 3",
            "temporary constraints are activated and released as the motion progresses",
            f"drawn below: momentum stays to {small(momentum)}; docking P11: {sum(c.holds for c in docking.checks)} of "
            f"{len(docking.checks)} comparisons with its analytic solution hold",
        ),
        Statement(
            "conclusions",
            "no forward dynamics algorithm efficiently computes constraint forces of even permanent constraints",
            "one inward pass behind the accelerations gives the loads of all joints (`reactions`), O(n)",
            "no",
            "what was open in 1987",
        ),
    ]


def write(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    """The page."""
    tell("two arms: a run")
    run = motion()
    at = equations(run)
    page.text(
        "[kelly1987] is a survey for the simulation of berthing and docking: how constraints enter Kane's equations, "
        "by undetermined multipliers or by the null space of their matrix, and why some are temporary. It has no "
        "numbers but one; its equations are checked here on the system of its figures 2 and 3. The code is "
        "`dynamics/constraints/multipliers.py`, `dynamics/constraints/nullspace.py` and `integrate/contacts/run.py` "
        "([concept](../concepts/constraints.md)).",
    )
    page.statements(statements(run, at, docked()))
    _arms(page, run)
    _sleigh(page)
    if not quick:
        _measured(page, tell)


def _arms(page: Page, run: Result) -> None:
    made = run.changes[0]
    page.text(
        "## Figures 2 and 3: a tree, and a temporary constraint between bodies 4 and 6",
        f"The figures are not in the text we have. The body connection array is taken as L = {L}: B1 floats, B2 to B4 "
        f"are one arm on it and B5, B6 the other. The hands, B4 and B6, grasp each other as they are at {MADE:g} s by "
        f"a ball joint, and let go at {BROKEN:g} s. The grasp takes an impulse of "
        f"{digits(float(np.linalg.norm(made.impulse[3:])))} N s and {digits(made.lost)} J of "
        f"{digits(float(run['energy'][0]))} J.",
    )
    with page.figure("constrained_arms", "Joint velocities, energy, and the force of the grasp", (8.6, 3.4)) as figure:
        velocities, energy, force = figure.subplots(1, 3)
        for k in range(2, 7):
            velocities.plot(run.t, run[f"hinge{k}.u"], linewidth=1.1, label=f"B{k}")
        figure.legend(*velocities.get_legend_handles_labels(), loc="outside lower left", ncols=5, frameon=False)
        velocities.set(ylabel="hinge velocities (rad/s)")
        energy.plot(run.t, run["energy"], color="#D55E00")
        energy.set(ylabel="energy (J)", ylim=(0, None))
        force.plot(run.t, np.linalg.norm(run["grasp.reaction"][:, 3:], axis=1), color="#0072B2")
        force.set(ylabel="force of the grasp (N)")
        for panel in (velocities, energy, force):
            panel.axvspan(MADE, BROKEN, color="#f0f0f0")
            plain(panel, xlabel="t (s)")


def _sleigh(page: Page) -> None:
    t, force, known = blade_force()
    page.text(
        "## A nonholonomic constraint and its force",
        "Kane's equations with multipliers give the force on the blade of Chaplygin's sleigh, beside the closed form.",
    )
    with page.figure("constrained_blade", "The force across the blade: line by multipliers, dots by the closed form",
                     (5.2, 3.0)) as figure:  # fmt: skip
        panel = figure.subplots()
        panel.plot(t, force, color="#D55E00")
        panel.plot(t[::4], known[::4], "o", color="#000000", fillstyle="none", markersize=5)
        plain(panel, xlabel="t (s)", ylabel="force (N)")


def _measured(page: Page, tell: Callable[[str], None]) -> None:
    tell("real time")
    system = arms("temporary").compile()
    rows = []
    for step in (0.01, 0.001):
        run = partial(simulate, system, UNTIL, u=START, integrator="rk4", step=step, output_step=UNTIL)
        best = min(took(run) for _ in range(3))
        rows.append([f"{step * 1e3:g} ms", digits(best), digits(UNTIL / best, 2)])
    page.text(
        "## Real time",
        f"The paper asks for real time with a man in the loop: {UNTIL:g} s of the two arms by `rk4`, with the grasp "
        f"and the release, best of three. {page.measured()}",
    )
    page.table(["step", "wall time (s)", "times real time"], rows)
