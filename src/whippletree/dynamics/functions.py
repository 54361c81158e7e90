"""The public functions of dynamics: forward, inverse, mass matrix and its kin.

All take one state, ``q (nq,)``, ``u (nu,)``, or a batch ``(B, nq)``, ``(B, nu)``; a batch runs in SIMD
lanes and, with ``threads``, on cores. SI units, radians; see docs/notation.md for q and u of each joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, SimulationError
from ..system.system import System, require_system
from .accuracy.certificate import LEAST, Certificate, Problem
from .accuracy.trust import Solved, certified, near_balance, trusted
from .auto.choose import choose, require_algorithm_name, use_of
from .constraints.actuation import joint_forces
from .dispatch import evaluate, of_copies, prepare, quick
from .inputs import none_of, require_finite, states, time_of, with_wrenches
from .loads.applied import loads, quick_loads, signals, tiled_signals
from .registry import ALGORITHMS, AUTO, able_to_solve
from .tree import articulated, composite, loaded, newton_euler
from .tree import innovations as operators
from .tree.interface import ARTICULATED

_accelerations, _mass_matrices = articulated.accelerations, composite.mass_matrices
SPIN = 0.1  # of the largest u^2: errors of runs are relative to no less
_LOSS = "loss", ARTICULATED.name  # where its limit is kept
_loaded, _loaded_torques, _torques = loaded.accelerations, loaded.torques, newton_euler.torques
_empty, _zeros = np.empty, np.zeros


@overload
def forward_dynamics(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    algorithm: str = "auto",
    threads: int | None = None,
    certificate: Literal[False] = False,
) -> np.ndarray: ...


@overload
def forward_dynamics(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    algorithm: str = "auto",
    threads: int | None = None,
    certificate: Literal[True],
) -> tuple[np.ndarray, Certificate]: ...


def forward_dynamics(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    algorithm: str = "auto",
    threads: int | None = None,
    certificate: bool = False,
) -> np.ndarray | tuple[np.ndarray, Certificate]:
    """Accelerations ``udot (nu,)`` or ``(B, nu)`` under generalized forces ``tau`` (N m, N) and external wrenches.

    Parameters
    ----------
    system : the compiled model.
    q, u : coordinates ``(nq,)`` and generalized velocities ``(nu,)``, or batches ``(B, nq)``, ``(B, nu)``.
    tau : generalized forces ``(nu,)`` or ``(B, nu)``; none by default. The forces of the model act too.
    wrenches : body names to [torque; force], ``(6,)`` or ``(B, 6)``, in world axes, acting at the body's origin.
    t : time (s), one or ``(B,)``, for forces and prescribed motions; a coordinate whose motion is prescribed
        accelerates as prescribed.
    algorithm : a name of ``ALGORITHMS``, or "auto": the one that is predicted to be the fastest on this host, as
        ``system.explain()`` shows.
    threads : number of cores for a batch, or for one state by "divide" (0: all).
    certificate : also return a :class:`Certificate`: a bound of the error of each acceleration, from the residuals of
        the equations. An error beyond rounding is corrected first.

    Returns
    -------
    ``udot``, or ``(udot, certificate)``.

    Raises
    ------
    SimulationError
        if the mass matrix is singular, constraints contradict each other, or the algorithm loses the answer to rounding
        and refinement does not recover it.
    """
    try:
        plain, acted_on = wrenches is None and not certificate, system.forces.any
    except AttributeError:
        require_system(system)
        raise
    if plain and threads is None:
        if tau is None:
            tau = none_of(system.nu)
        try:  # quick() of articulated, written out: worth 0.3 of 2.1 microseconds at 7 joints
            waiting = system.workspaces.ready[algorithm]
            memory = waiting.pop()
        except LookupError:
            pass
        except TypeError:  # what cannot be looked up
            require_algorithm_name(algorithm)
            raise
        else:
            udot = _empty(system.nu)
            try:
                if acted_on:
                    total = _loaded(memory, q, u, tau, time_of(t), udot, 0, 1)
                else:
                    total = _accelerations(memory, q, u, tau, udot, 0, 1)
            except (TypeError, ValueError):  # also an empty list
                entry, time = (_loaded, (time_of(t),)) if acted_on else (_accelerations, ())
                total = of_copies(entry, memory, (q, u, tau, *time), udot)
            waiting.append(memory)
            if total is not None and total <= system.workspaces.found.get(_LOSS, 0.0):
                return udot
    if plain:
        if threads is not None:
            require_algorithm_name(algorithm)
            tau = none_of(system.nu) if tau is None else tau
        call = system.workspaces.quick.get((algorithm, threads))
        found = None
        if call:
            found = call(q, u, tau, t) if acted_on else call(q, u, tau)
        if found is not None:
            return found
    require_system(system)
    Q, U, T = states(system, ("q", q, system.nq), ("u", u, system.nu), ("tau", tau, system.nu))
    name = choose(system, algorithm, use_of(Q, threads))
    if system.forces.any:
        require_finite(system, (Q, U, T), ("q", "u", "tau"))
        T = T + loads(system, Q, U, t, threads).tau
    losses: list[float] = []
    applied, times = with_wrenches(system, T, wrenches, Q), tiled_signals(system, t, Q)
    way = algorithm if ALGORITHMS[name].configured and algorithm != AUTO else name
    udot = _solve(Problem(system, Q, U, applied, times), name, way, threads, losses)
    solved = Solved(system, name, Q, U, applied, times, udot, way)
    if certificate:
        if Q.ndim == 1:
            _make_quick(system, algorithm, name, threads)
        return certified(solved, algorithm == AUTO)
    right = trusted(solved, max(losses, default=0.0), algorithm == AUTO)
    if Q.ndim == 1 and _make_quick(system, algorithm, name, threads) and plain and right is udot:
        return forward_dynamics(system, Q, U, tau, t=t, algorithm=algorithm)  # to the bit what later calls return
    return right


def _make_quick(system: System, algorithm: str, name: str, threads: int | None) -> bool:
    """After one state by the algorithm ``name``: the next call that passes ``algorithm`` goes straight to it. Whether
    that is by another entry for the first time: articulated evaluates forces inside its pass."""
    it, spaces = ALGORITHMS[name], system.workspaces
    if it is ARTICULATED and system.forces.any:
        first = _loaded not in spaces.ready
        if first:
            prepare(_loaded, 4, 1)
            spaces.ready[_loaded] = [loaded.workspace(system)]
        spaces.ready[algorithm] = spaces.ready[_loaded]
        return first
    if it is ARTICULATED:
        spaces.ready[algorithm] = spaces.ready[_accelerations]
    elif (algorithm, threads) not in spaces.quick:
        acted_on, within = system.forces.any, it.quick_loaded and not system.forces.motions
        way = it.quick_loaded if acted_on and within else it.quick
        if way and (call := way(system, algorithm, threads)):
            spaces.quick[algorithm, threads] = partial(_under_forces, call, system) if acted_on and not within else call
    return False


def _under_forces(call: Any, system: System, q: Any, u: Any, tau: Any, t: Any) -> np.ndarray | None:
    """u' of one state under forces of the model by a quick call; None if anything asks for a closer look."""
    forces = None if system.forces.motions else quick_loads(system, q, u, t)
    if forces is None:
        return None
    try:
        return call(q, u, forces[: system.nu] + tau, signals(system, t))
    except (TypeError, ValueError):
        return None


def _solve(p: Problem, name: str, way: str, threads: int | None, losses: list[float]) -> np.ndarray:
    """Accelerations by an algorithm of that name, with the options of ``way``, under all forces."""
    algorithm: Any = ALGORITHMS[name]
    system, forces, motions = p.system, p.forces, p.system.forces.motions
    if motions:
        given = np.zeros_like(p.u)
        for row, function in motions.items():
            given[..., row] = p.signals[..., 3 + 3 * function]
        forces = forces.copy()
        forces[..., : system.nu] += needed_forces(system, p.q, p.u, np.zeros_like(p.u)) - needed_forces(
            system, p.q, p.u, given
        )
    inputs, names = [p.q, p.u, forces], ["q", "u", "tau"]
    if algorithm.handles_loops:
        inputs, names = [*inputs, p.signals], [*names, "time"]
    if algorithm.configured:
        algorithm, threads = algorithm.configured(system, way, threads, p.q.ndim == 1)
    udot = evaluate(algorithm.accelerations, algorithm.workspace, system, inputs, system.nu, threads, names, losses)
    if motions:
        rows = list(motions)
        udot[..., rows] = given[..., rows]
    return udot


def solve_again(p: Problem, name: str, way: str) -> np.ndarray | None:
    """Accelerations of one state by an algorithm, with the options of ``way``; None if it cannot or fails."""
    if name not in able_to_solve(p.system):
        return None
    try:
        return _solve(p, name, way, None, [])
    except SimulationError:
        return None


def loss_of(solved: Solved) -> float:
    """The largest loss among states of a batch."""
    losses: list[float] = []
    _solve(Problem(solved.system, *solved[2:6]), solved.algorithm, solved.way, None, losses)
    return max(losses)


def accuracy_of(
    system: System, q: np.ndarray, u: np.ndarray, t: np.ndarray, algorithm: str, udot: np.ndarray | None = None
) -> np.ndarray:
    """(B,) Bounds of the relative error of what an algorithm finds by itself, uncorrected, in B checked states.

    Under the forces of the model, or under those that give ``udot``. inf where it is lost to rounding.
    """
    name = choose(system, algorithm)
    found = np.full(len(q), np.inf)
    forces = None if udot is None else needed_forces(system, q, u, udot)
    for n, p in enumerate(problems(system, q, u, t, forces)):
        raw = _solve(p, name, name if algorithm == AUTO else algorithm, None, [])
        with suppress(SimulationError):
            if ALGORITHMS[name].lends_bodies(system):  # what bodies were lent, a run returns
                raw = certified(Solved(system, name, *p[1:], raw, name), False)[0]
            found[n] = errors_of(p, raw, name).max(initial=0.0)
    return found


def problems(
    system: System, q: np.ndarray, u: np.ndarray, t: np.ndarray, forces: np.ndarray | None = None
) -> list[Problem]:
    """Of B checked states, under generalized forces (B, nu) in all; without them those of the model."""
    if forces is None:
        forces = loads(system, q, u, t).tau if system.forces.any else np.zeros_like(u)
    return [Problem(system, *state) for state in zip(q, u, forces, tiled_signals(system, t, q), strict=True)]


def errors_of(p: Problem, udot: np.ndarray, algorithm: str) -> np.ndarray:
    """(nu) Bounds of the errors of accelerations that an algorithm has found, relative to the largest or to gravity;
    0 where nothing accelerates.

    Raises
    ------
    SimulationError
        if they are lost to rounding, or constraints contradict each other.
    """
    right, proof = certified(Solved(p.system, algorithm, *p[1:], udot, algorithm), False)
    spin = SPIN * float(np.square(p.u).max(initial=0.0))  # where centrifugal terms cancel, all of u' may be rounding
    error = np.abs(udot - right) + proof.error
    if max(np.abs(right).max(initial=0.0), error.max(initial=0.0)) < LEAST:
        return np.zeros(error.size)
    return error / max(near_balance(p, right), spin)


def inverse_dynamics(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    actuated: Iterable[str] | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """Joint forces ``tau`` (nu,) or (B, nu), N m or N, that give ``udot`` beside the forces of the model at ``t`` (s).

    With loops and constraints, many do: those of least norm are given. The state must be closed, and ``udot`` must keep
    it so. ``actuated`` names the joints that have a drive; the others get none, and a motion that these cannot make is
    refused.
    """
    try:
        tree = actuated is None and not system.constraints.count
    except AttributeError:
        require_system(system)
        raise
    if tree and wrenches is None and threads is None:
        found = _quick_forces(system, q, u, udot, t)
        if found is not None:
            return found
    if tree:
        return tree_forces(system, q, u, udot, wrenches=wrenches, t=t, threads=threads)
    require_system(system)
    Q, U, A = states(system, ("q", q, system.nq), ("u", u, system.nu), ("udot", udot, system.nu))
    require_finite(system, (Q, U, A), ("q", "u", "udot"))
    needed = tree_forces(system, Q, U, A, wrenches=wrenches, t=t, threads=threads)
    return joint_forces(system, Q, U, A, needed, np.asarray(t, float), actuated)


def tree_forces(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike | None,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    threads: int | None = None,
) -> np.ndarray:
    """Joint forces of the spanning tree, as if its loops were cut and nothing but joints held it: M u' + bias."""
    try:
        plain = wrenches is None and threads is None
        found = _quick_forces(system, q, u, none_of(system.nu) if udot is None else udot, t) if plain else None
    except AttributeError:
        require_system(system)
        raise
    if found is not None:
        return found
    Q, U, A = states(system, ("q", q, system.nq), ("u", u, system.nu), ("udot", udot, system.nu))
    if not system.forces.any:
        return needed_forces(system, Q, U, A, wrenches, threads)
    require_finite(system, (Q, U, A), ("q", "u", "udot"))
    if Q.ndim == 1 and plain:
        prepare(_loaded_torques, 4, 1)
        system.workspaces.ready.setdefault(_loaded_torques, [loaded.workspace(system)])
        found = _quick_forces(system, Q, U, A, t)
        if found is not None:
            return found
    return needed_forces(system, Q, U, A, wrenches, threads) - loads(system, Q, U, t, threads).tau


def _quick_forces(system: System, q: Any, u: Any, udot: Any, t: Any) -> np.ndarray | None:
    """Generalized forces of one state of the spanning tree; None if anything asks for a closer look."""
    acted_on = system.forces.any
    entry = _loaded_torques if acted_on else _torques
    try:
        waiting = system.workspaces.ready[entry]
        memory = waiting.pop()
    except LookupError:  # not yet compiled and checked
        return None
    tau = _empty(system.nu)
    try:
        time = (time_of(t),) if acted_on else ()
        total = entry(memory, q, u, udot, *time, tau, 0, 1)
    except (TypeError, ValueError):  # also an empty list
        total = of_copies(entry, memory, (q, u, udot, *time), tau)
    waiting.append(memory)
    return tau if total == 0.0 else None


def needed_forces(
    system: System, Q: np.ndarray, U: np.ndarray, A: np.ndarray, wrenches: Any = None, threads: int | None = None
) -> np.ndarray:
    """Joint forces of all kinds together that the accelerations take."""
    motion = with_wrenches(system, A, wrenches, Q)
    names = ("q", "u", "udot")
    return evaluate(newton_euler.torques, newton_euler.workspace, system, [Q, U, motion], system.nu, threads, names)


def bias_force(
    system: System, q: ArrayLike, u: ArrayLike, *, t: ArrayLike = 0.0, threads: int | None = None
) -> np.ndarray:
    """Joint forces that hold ``udot = 0``: gravity, Coriolis and centrifugal terms, less the forces of the model.

    (nu,) or (B, nu), N m or N. They are those of the spanning tree: loops and constraints do not help to hold it.
    """
    try:
        found = _quick_forces(system, q, u, none_of(system.nu), t) if threads is None else None
    except AttributeError:
        require_system(system)
        raise
    return tree_forces(system, q, u, None, t=t, threads=threads) if found is None else found


def applied_force(
    system: System, q: ArrayLike, u: ArrayLike, *, t: ArrayLike = 0.0, threads: int | None = None
) -> np.ndarray:
    """What springs, motors, drag ... of the model do along each DOF at time ``t`` (s): (nu,) or (B, nu), N m or N.

    Gravity, prescribed motions and the forces of loops and constraints are not among them.
    """
    require_system(system)
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    require_finite(system, (Q, U), ("q", "u"))
    return loads(system, Q, U, t, threads).tau if system.forces.any else np.zeros_like(U)


def mass_matrix(system: System, q: ArrayLike, *, threads: int | None = None) -> np.ndarray:
    """The mass matrix of the spanning tree, ``(nu, nu)`` or ``(B, nu, nu)``; kg m^2 of turns, kg of slides."""
    try:  # quick(), written out: worth 0.3 of 3.6 microseconds at 30 joints
        waiting = system.workspaces.ready[_mass_matrices]
        memory = waiting.pop()
    except (LookupError, AttributeError):  # the latter of what is no System
        pass
    else:
        nu = system.nu
        M = _zeros(nu * nu)
        try:
            total = _mass_matrices(memory, q, M, 0, 1)
        except (TypeError, ValueError):  # also an empty list
            total = of_copies(_mass_matrices, memory, (q,), M)
        waiting.append(memory)
        if total == 0.0:
            return M.reshape(nu, nu)
    return _matrix(composite.mass_matrices, composite.workspace, system, q, threads)


def mass_matrix_inverse(system: System, q: ArrayLike, *, threads: int | None = None) -> np.ndarray:
    """Its inverse, ``(nu, nu)`` or ``(B, nu, nu)``, from the innovations factors."""
    try:
        nu = system.nu
        M = _empty(nu * nu)
        if threads is None and quick(operators.inverses, system, M, q):
            return M.reshape(nu, nu)
    except AttributeError:
        require_system(system)
        raise
    return _matrix(operators.inverses, operators.inverse_workspace, system, q, threads)


def solve_mass(system: System, q: ArrayLike, rhs: ArrayLike, *, threads: int | None = None) -> np.ndarray:
    """``M(q)^-1 rhs``, O(n) for each right-hand side: ``rhs`` is (nu,) or (nu, k), in a batch (B, nu) or (B, nu, k)."""
    require_system(system)
    Q = states(system, ("q", q, system.nq))[0]
    R = np.asarray(rhs, float)
    if R.ndim not in (Q.ndim, Q.ndim + 1) or R.shape[Q.ndim - 1] != system.nu or R.shape[: Q.ndim - 1] != Q.shape[:-1]:
        one = f"({system.nu},) or ({system.nu}, k)"
        raise ModelError(
            "rhs has the wrong shape", expected=one if Q.ndim == 1 else f"(B, ...) of {one}", got=str(R.shape)
        )
    if not np.isfinite(R).all():
        raise ModelError("rhs is not finite", expected="finite numbers", got=f"{R[~np.isfinite(R)][0]}")
    columns = R.shape[-1] if R.ndim > Q.ndim else 1
    flat = np.require(R.reshape(*Q.shape[:-1], -1), float, ["C", "W"])
    if columns == 0:
        return R.copy()
    out = evaluate(operators.solutions, _operator_workspace(columns), system, [Q, flat], flat.shape[-1], threads)
    return out.reshape(R.shape)


def mass_factors(system: System, q: ArrayLike, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Innovations factors ``L (nu, nu), D (nu,)`` or ``(B, ...)``: ``M = L diag(D) L'``, L unit upper triangular."""
    require_system(system)
    nu = system.nu
    Q = states(system, ("q", q, system.nq))[0]
    out = evaluate(operators.innovations, _operator_workspace(nu + 1), system, [Q], nu * nu + nu, threads)
    return out[..., : nu * nu].reshape(*Q.shape[:-1], nu, nu), out[..., nu * nu :]


def _operator_workspace(columns: int) -> Any:
    def workspace(system: System, lanes: int) -> np.ndarray:
        return operators.workspace(system, lanes, columns)

    return workspace


def _matrix(entry: Any, workspace: Any, system: System, q: ArrayLike, threads: int | None) -> np.ndarray:
    require_system(system)
    Q = states(system, ("q", q, system.nq))[0]
    return evaluate(entry, workspace, system, [Q], system.nu**2, threads).reshape(*Q.shape[:-1], system.nu, system.nu)
