"""States as the user gives them, checked and made into what kernels take; and the words when they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..joints import QUATERNIONS
from ..system.system import System

UNIT_START = 1e-6  # how far from 1 a given quaternion's length may be before it is taken for a mistake


def one_state(system: System, q: Any, u: Any, tau: Any, who: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u and tau of one state as new arrays; each may be None (neutral, zero), an array or a dict by joint."""
    q = system.q0 if q is None else _by_joint(q, system.q0, system.q_index)
    u, tau = (_by_joint(x, np.zeros(system.nu), system.u_index) for x in (u, tau))
    arrays = states(system, ("q", q, system.nq), ("u", u, system.nu), ("tau", tau, system.nu))
    if arrays[0].ndim > 1:
        shape = arrays[0].shape
        raise ModelError(f"{who} takes one state", expected=f"q of shape ({system.nq},)", got=f"a batch {shape}")
    require_finite(system, arrays, ("q", "u", "tau"))
    require_unit(system, arrays[0], UNIT_START)
    Q, U, T = (a.copy() for a in arrays)
    return Q, U, T


def _by_joint(given: Any, neutral: np.ndarray, index: Callable[[str], slice]) -> Any:
    """An array from a dict of joint names; anything else is left as it is."""
    if not isinstance(given, Mapping):
        return given
    values = np.array(neutral)
    for joint, value in given.items():
        rows = index(joint)
        part = np.atleast_1d(np.asarray(value, float))
        if part.shape != (rows.stop - rows.start,):
            raise ModelError(f"joint '{joint}': wrong number of values", expected=rows.stop - rows.start, got=part.size)
        values[rows] = part
    return values


def states(system: System, *given: tuple[str, Any, int]) -> list[np.ndarray]:
    """Inputs (name, value, length) as contiguous doubles, all (n,) or all (B, n); complains by name."""
    arrays = [_array(system, name, value, length) for name, value, length in given]
    counts = {a.shape[0] for a in arrays if a.ndim == 2}
    if len(counts) > 1:
        got = ", ".join(f"{name} {a.shape}" for (name, _, _), a in zip(given, arrays, strict=True))
        raise ModelError("batches differ in their number of states", expected="the same first length", got=got)
    if counts:
        (count,) = counts
        arrays = [a if a.ndim == 2 else np.tile(a, (count, 1)) for a in arrays]
    return arrays


def _array(system: System, name: str, value: Any, length: int) -> np.ndarray:
    if value is None:
        return np.zeros(length)
    try:
        array = np.require(value, float, ["C", "W"])
    except (TypeError, ValueError):
        raise ModelError(
            f"{name} is not an array of numbers", expected=f"({length},) or (B, {length})", got=repr(value)[:80]
        ) from None
    if array.ndim not in (1, 2) or array.shape[-1] != length:
        raise ModelError(
            f"{name} has the wrong shape for '{system.name}'",
            expected=f"({length},) or (B, {length}): {_holds(system, name)}",
            got=str(array.shape),
        )
    return array


_none: dict[int, np.ndarray] = {}


def none_of(count: int) -> np.ndarray:
    """So many zeros, for kernels that read them: no velocities, accelerations or forces."""
    zeros = _none.get(count)
    if zeros is None:
        zeros = _none[count] = np.zeros(count)
    return zeros


def time_of(t: Any) -> Any:
    """A time as kernels of one state take it."""
    if t.__class__ is float and t == 0.0:
        return none_of(1)
    return np.array((t,), float)


def fits_out(out: Any, shape: tuple[int, ...]) -> bool:
    """Whether a result can be written to an array."""
    fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == float
    return fits and out.flags.c_contiguous and out.flags.writeable


def require_out(out: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """An array that a result can be written to, or a complaint."""
    if not fits_out(out, shape):
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ModelError(f"out does not fit {what}", expected=f"writable contiguous doubles {shape}", got=got)
    return out


def require_finite(system: System, arrays: Sequence[np.ndarray], names: Sequence[str]) -> None:
    """Complains about the first number that is none. Kernels call for this only when a result is not finite."""
    for name, array in zip(names, arrays, strict=False):
        if not np.isfinite(array).all():
            place = np.argwhere(~np.isfinite(array))[0]
            at = ", ".join(str(i) for i in place)
            owner = system.mechanical(body_of(system, name, int(place[-1])))
            raise ModelError(
                f"{name} is not finite",
                expected="finite numbers",
                got=f"{array[tuple(place)]} at {name}[{at}], {owner}",
                hint="nan and inf come from a division by zero, an overflow or a value never set: see what made it",
            )


def _rows(system: System, name: str) -> np.ndarray:
    return system.arrays["position" if name == "q" else "dof"]


def require_unit(system: System, q: np.ndarray, tolerance: float) -> None:
    """Complains about the first quaternion whose length is not 1."""
    for edge in system.topology.edges:
        if edge.joint.kind in QUATERNIONS:
            quaternions = np.atleast_2d(q)[:, system.q_index(edge.joint.name)][:, -4:]
            with np.errstate(over="ignore"):
                lengths = np.linalg.norm(quaternions, axis=1)
            bad = np.flatnonzero(np.abs(lengths - 1.0) > tolerance)
            if bad.size:
                which = f" in state {bad[0]} of the batch" if q.ndim > 1 else ""
                raise ModelError(
                    f"joint '{edge.joint.name}': the quaternion in q is not unit{which}",
                    expected="[w, x, y, z] of length 1",
                    got=f"{quaternions[bad[0]].tolist()} of length {lengths[bad[0]]:.9g}",
                )


def body_of(system: System, name: str, row: int) -> int:
    """The system body that a row of q, or of u, tau and udot, belongs to."""
    return int(np.searchsorted(_rows(system, name), row, side="right")) - 1


def _holds(system: System, name: str) -> str:
    """Which joints a vector holds, with their lengths, shortened for large systems."""
    lengths = np.diff(_rows(system, name))[1:]
    parts = [f"{joint} {n}" for joint, n in zip(system.joints[:8], lengths[lengths > 0], strict=False)]
    return ", ".join(parts) + (f", ... ({len(system.joints)} joints)" if len(system.joints) > 8 else "")


def with_wrenches(system: System, x: np.ndarray, wrenches: Mapping[str, Any] | None, q: np.ndarray) -> np.ndarray:
    """tau or udot, followed by the wrenches on bodies as kernels take them: about each component's point."""
    if wrenches is None:
        return x
    from .kinematics import kinematics

    if not isinstance(wrenches, Mapping):
        raise ModelError("wrenches is not a mapping", expected="{body name: [torque; force]}", got=repr(wrenches)[:80])
    k = kinematics(system, q)
    total = np.zeros((*x.shape[:-1], system.nb, 6))
    for name, value in wrenches.items():
        array = np.asarray(value, float)
        if array.shape not in {(6,), (*x.shape[:-1], 6)} or not np.isfinite(array).all():
            raise ModelError(
                f"the wrench on '{name}' is invalid",
                expected="6 finite numbers [torque; force]",
                got=repr(value)[:80],
            )
        body = system.place(name)[0]
        torque, force = array[..., :3], array[..., 3:]
        total[..., body, :3] += torque + np.cross(k.lever(name), force)
        total[..., body, 3:] += force
    total[..., 0, :] = 0.0  # what acts on ground moves nothing
    return np.concatenate([x, total.reshape(*x.shape[:-1], -1)], axis=-1)
