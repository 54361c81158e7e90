"""What the forces of a model do in given states: generalized force, stored energy, power, and the load of each.

Prescribed motions are not among them: what they need follows from the accelerations, by inverse dynamics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algebra.spatial import add, dot, load6, store6
from ...compiler.function_pointers import PUSH, call_flexible
from ...compiler.lanes import entry, get, kernel, put, scratch, take, view
from ...errors import ModelError, SimulationError
from ...kernels import blocks, kinematics
from ...kernels.forces import apply_forces
from ...kernels.signals import evaluate_signals
from ...kernels.unpack import unpack, unpack_forces
from ...layout.forces import ROW
from ...layout.system import MODES
from ...system.callbacks import raised_in
from ...system.system import System
from ..dispatch import evaluate, quick


class Loads(NamedTuple):
    """All forces of the model in one state, or in B states."""

    tau: np.ndarray  # (nu)     generalized force, N m and N
    energy: Any  # stored, J
    power: Any  # of all that does not store it, W
    ledger: np.ndarray  # (rows, 8)  for each force its load (6), energy and power


def _columns(system: System) -> int:
    return system.nu + 2 + ROW * system.forces.rows


def _workspace(system: System, lanes: int) -> np.ndarray:
    signals = 1 + 3 * system.forces.signals
    rows = (
        kinematics.kinematics_rows(system) + 6 * system.nb + 24 + system.nq + 2 * system.nu + signals + _columns(system)
    )
    return blocks.make_memory(system, rows, lanes, system.forces.packed)


@entry
def signals_at(memory, t, out, start, stop):
    """Time, and value, rate and second derivative of every function, of the rows start to stop"""
    _, n = unpack(memory)
    F, _ = unpack_forces(memory, n)
    columns = 1 + 3 * F.ns
    for s in range(start, stop):
        evaluate_signals(F, t[s], view(out, columns * s, columns))
    return 0.0


@kernel
def project(m, k, wrench, tau):
    """tau += what the wrenches on bodies do along each DOF; the wrenches are summed up towards ground"""
    if wrench.shape[0] == 0:
        return
    for i in range(m.nb - 1, 0, -1):
        if m.kind[i] < 0:
            if m.kind[i] == MODES:  # with its nodes
                call_flexible(PUSH, i, 0, m.header, k.sin, tau, wrench, tau, tau, tau)
            continue
        f, p = load6(wrench, i), m.parent[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            put(tau, j, get(tau, j) + dot(load6(k.S, j), f))
        if p > 0:
            store6(wrench, p, add(load6(wrench, p), f))


@entry
def output_forces(memory, q, u, signals, out, start, stop):
    """tau (nu), energy, power and the ledger of the states start to stop. Returns 0 if all is well."""
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    buffer = scratch(memory, end, q)
    k, n = kinematics.take_kinematics(m, buffer)
    wrench, n = take(buffer, n, 6 * m.nb if F.nbodies > 0 else 0)
    spare, n = take(buffer, n, 24)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    block, n = take(buffer, n, m.nu + 2 + ROW * F.nf)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, s, q_block), blocks.gather(u, s, u_block)
        kinematics.place_and_move(m, coordinates, velocities, k)
        result = blocks.target(out, block)
        tau, n = take(result, 0, m.nu)
        ledger, _ = take(result, n + 2, ROW * F.nf)
        for j in range(m.nu):
            put(tau, j, 0.0)
        energy, power = apply_forces(
            m, F, k, blocks.gather(signals, s, s_block), coordinates, velocities, tau, wrench, spare, ledger
        )
        project(m, k, wrench, tau)
        put(result, n, energy)
        put(result, n + 1, power)
        blocks.scatter(result, s, out)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total


def signals(system: System, t: Any) -> np.ndarray:
    """Time, and value, rate and second derivative of each function of time: (n,), or (B, n) for times (B,)."""
    if not system.forces.signals:
        return np.array(t, float)[..., None]
    times = np.atleast_1d(np.asarray(t, float))
    flat = np.empty(times.size * (1 + 3 * system.forces.signals))
    waiting = system.workspaces.ready.setdefault(signals_at, [])
    memory = waiting.pop() if waiting else blocks.make_memory(system, 0, 1, system.forces.packed)
    signals_at(memory, times, flat, 0, times.size)
    waiting.append(memory)
    out = flat.reshape(times.size, 1 + 3 * system.forces.signals)
    return out if np.ndim(t) else out[0]


def tiled_signals(system: System, t: Any, q: np.ndarray) -> np.ndarray:
    """The same, one row for each of the states q."""
    if np.ndim(t) > q.ndim - 1 or (np.ndim(t) and len(t) != len(q)):
        expected = "one time" if q.ndim == 1 else f"one time, or one for each of the {len(q)} states"
        raise ModelError("t does not fit the states", expected=expected, got=f"times of shape {np.shape(t)}")
    S = signals(system, t)
    if q.ndim == S.ndim:
        return S
    rows = np.empty((len(q), S.size))
    rows[:] = S
    return rows


def loads(system: System, q: np.ndarray, u: np.ndarray, t: Any, threads: int | None = None) -> Loads:
    """Of checked states (n,) or (B, n), at one time or at (B,) times."""
    S = tiled_signals(system, t, q)
    try:
        out = evaluate(output_forces, _workspace, system, [q, u, S], _columns(system), threads, ("q", "u", "time"))
    except SimulationError:
        for callback in system.forces.callbacks.values():
            if callback.error is not None:
                found = raised_in(callback, f"at t = {float(t):.6g} s" if np.ndim(t) == 0 else "in a batch")
                raise found from found.__cause__
        raise
    nu = system.nu
    ledger = out[..., nu + 2 :].reshape(*out.shape[:-1], system.forces.rows, ROW)
    return Loads(out[..., :nu], out[..., nu], out[..., nu + 1], ledger)


def quick_loads(system: System, q: Any, u: Any, t: Any) -> np.ndarray | None:
    """tau (nu), stored energy, power and the ledger of one state; None if anything asks for a closer look."""
    out = np.empty(_columns(system))
    try:
        return out if quick(output_forces, system, out, q, u, signals(system, t)) else None
    except (TypeError, ValueError):
        return None


def prescribed_accelerations(system: System, t: Any, u: np.ndarray) -> np.ndarray | None:
    """u' of the DOF whose motion is prescribed, zero elsewhere, in the shape of u; None if there are none."""
    if not system.forces.motions:
        return None
    S = signals(system, t)
    out = np.zeros(u.shape)
    for row, function in system.forces.motions.items():
        out[..., row] = S[..., 3 + 3 * function]
    return out


def prescribed_motion(system: System, t: float, q: np.ndarray, u: np.ndarray) -> None:
    """q and u of the DOF whose motion is prescribed, at time t, into arrays of one state."""
    if not system.forces.motions:
        return
    S = signals(system, t)
    coordinates = system.arrays["position"], system.arrays["dof"]
    for row, function in system.forces.motions.items():
        body = int(np.searchsorted(coordinates[1], row, side="right")) - 1
        q[coordinates[0][body] + row - coordinates[1][body]] = S[1 + 3 * function]
        u[row] = S[2 + 3 * function]
