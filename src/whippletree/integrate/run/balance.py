"""The energy balance of a run at its end: what steps that were too long have gained or lost is warned of, once.

Symbols  E total energy, W work of all forces that store none; the balance is E - E(0) - (W - W(0)), zero but for errors
         of integration. It is compared with what was exchanged: the largest kinetic energy, the range of what gravity
         and springs hold, and all work that went in and out.
Differs  a few rows are enough, since what is lost stays lost: evenly spaced ones, and those with the most unusual
         velocities, at which a motion stands that steps have jumped over. Modes that are taken without their inertia
         have kinetic energy that the motion does not know, and ruthless linearization leaves terms of the motion out
         that its energy has: with these nothing is compared.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.kinematics import energy
from ...dynamics.loads.applied import loads
from ...errors import warn
from ..quasi_static import quasi_static_rows
from .task import Task

EVEN, UNUSUAL = 16, 8  # rows
DAMPS = ("generalized_alpha",)  # fast oscillations, on purpose: a gain is wrong, a loss is not
FIXED, ADAPTIVE, PER_RTOL = 1e-2, 1e-3, 1e4  # of the energy exchanged: by steps of fixed length; at least, and per rtol
STEPS = 100.0  # whose errors in q and u, of atol each, are no loss: what is held moves by them
FAINT = 10.0  # times rtol, of the largest term of the energy: at rest nothing is exchanged, and errors stay
ROUNDING = 1e-11  # of that term, where there is no rtol


def rows_to_look_at(U: np.ndarray) -> np.ndarray:
    """Some rows of U (T, nu), ascending, the first and the last one among them."""
    usual = np.sqrt(np.square(U).mean(axis=0))
    unusual = (np.abs(U) / np.where(usual > 0.0, usual, 1.0)).max(axis=1, initial=0.0)
    even = np.linspace(0, len(U) - 1, EVEN).astype(int)
    return np.unique(np.concatenate([even, np.argsort(-unusual, kind="stable")[:UNUSUAL]]))


def look(task: Task, fixed: bool, t: np.ndarray, Q: np.ndarray, U: np.ndarray, W: np.ndarray) -> None:
    """Warn if the balance is off, in rows of a run that is over; ``fixed``: of steps of fixed length."""
    rows, system = rows_to_look_at(U), task.system
    linearized = any(x.modes.fidelity == "ruthless" for x in system.model.flexibles.values())
    if quasi_static_rows(system).size or linearized:
        return
    found = energy(system, Q[rows], U[rows])
    terms = np.array([found.kinetic, found.potential, found.elastic])
    balance = terms.sum(axis=0) - terms[:, 0].sum() - (W[rows] - W[0])
    exchanged = float(terms[0].max() + np.ptp(terms[1]) + np.ptp(terms[2]) + np.abs(np.diff(W)).sum())
    allowed = FIXED if fixed else max(ADAPTIVE, PER_RTOL * task.rtol)
    largest = max(float(np.abs(terms).max()), float(np.abs(W).max()))
    wrong = np.maximum(balance, 0.0) if task.integrator in DAMPS else np.abs(balance)
    n = int(np.argmax(wrong))
    off = float(wrong[n])
    faint = (ROUNDING if fixed else FAINT * task.rtol) * largest
    if not off > allowed * exchanged + faint:
        return
    force = np.abs(loads(system, Q[rows], U[rows], t[rows]).tau).max(axis=0) + np.abs(task.tau)
    slow = energy(system, Q[0], np.full(system.nu, task.atol)).kinetic
    if not off > allowed * exchanged + faint + STEPS * float(slow + task.atol * force.sum()):
        return
    steps = f"steps of {task.step:g} s" if fixed else f"rtol = {task.rtol:g}"
    cure = "smaller steps" if fixed else "a smaller rtol, or with 'step' no longer than the shortest pulse"
    warn(
        f"the energy balance of '{system.name}' by '{task.integrator}' with {steps} is off by {balance[n]:.3g} J at "
        f"t = {t[rows[n]]:.6g} s, {off / exchanged:.2g} of the energy exchanged ({exchanged:.3g} J), more than "
        f"{allowed:g}\n  hint: take {cure}; a joint limit, spring or damper may be too stiff for them"
    )
