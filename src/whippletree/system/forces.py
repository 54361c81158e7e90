"""Forces of a model as the flat arrays that kernels take, and functions of time as pieces of polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..joints import KINDS, QUATERNIONS
from ..layout import forces as kernels
from ..model import Drive, Motor, force_kind
from ..model import functions as curves
from ..model.kinds import annotated
from .constraints import functions_of, motions_of_cuts
from .joint_dofs import cut_ball, cut_dof, cut_passive, of_dof, passive_numbers
from .joint_frames import put_end

if TYPE_CHECKING:
    from .callbacks import Callback
    from .system import System

Pieces = list[tuple[float, list[float]]]  # where each begins (s), and its polynomial in the time since then


class SystemForces:
    """The forces of a System.

    Attributes
    ----------
    arrays, packed : the arrays of :class:`whippletree.layout.forces.Forces` by name, and as kernels unpack them.
    elements : the model's forces by name, in the order of the ledger's first rows; rows for ball joints and for the
        springs, dampers, friction and limits of joints that close loops follow.
    at_cuts : for joints that close loops, rows of the ledger and the DOF each acts in (-1: the spring of a ball).
    rows : number of rows of the ledger.
    signals : number of functions of time.
    marks : moments (s) at which one of them begins another piece, in order.
    motions : rows of u whose motion is prescribed, and the function of each.
    any : whether anything acts at all.
    callbacks : of the user's functions, held while compiled code may call them.
    """

    def __init__(self, system: System) -> None:
        self.elements: dict[str, Any] = dict(system.model.forces)
        self.callbacks: dict[str, Callback] = {}
        self._functions: list[curves.Function] = functions_of(system)
        self._held = motions_of_cuts(system)
        numbers = [self._element(system, force) for force in self.elements.values()]
        passive, balls = _passive(system) if system.model.passive else ([], [])
        cuts = _passive_cuts(system) if system.model.passive else []
        table = numbers + balls + [row for _, _, row in cuts]
        self.at_cuts: dict[str, list[tuple[int, int]]] = {}
        for n, force in enumerate(self.elements.values()):
            if isinstance(force, Motor) and force.joint in system.cut_joints:
                self.at_cuts.setdefault(force.joint, []).append((n, force.dof))
        for n, (joint, dof, _) in enumerate(cuts, start=len(numbers + balls)):
            self.at_cuts.setdefault(joint, []).append((n, dof))
        driven = [(row["dof"], row["signal"][0]) for row in table if row["kind"] == kernels.MOTION]
        self.motions: dict[int, int] = dict(driven)
        self.rows, self.signals = len(table), len(self._functions)
        self.any = bool(table or passive)
        on_bodies = sum(row["kind"] not in IN_JOINTS for row in table)
        arrays: dict[str, np.ndarray] = {name: np.array([row[name] for row in table], int).ravel() for name in INTEGERS}
        arrays["numbers"] = np.array([row["numbers"] for row in table], float).reshape(len(table), kernels.NUMBERS)
        arrays["passive_dof"] = np.array([row[0] for row in passive], int)
        arrays["passive_coordinate"] = np.array([row[1] for row in passive], int)
        arrays["passive"] = np.array([row[2] for row in passive], float).reshape(len(passive), 9)
        self.arrays = arrays | _signals(self._functions)
        self.packed = kernels.pack_forces(self.arrays, len(driven), on_bodies)
        later = np.setdiff1d(np.arange(self.arrays["time"].size), self.arrays["first"])
        self.marks = np.unique(self.arrays["time"][later])

    def _signal(self, function: curves.Function | None) -> int:
        if function is None:
            return -1
        self._functions.append(function)
        return len(self._functions) - 1

    def _element(self, system: System, force: Any) -> dict[str, Any]:
        kind, numbers = force_kind(force), np.zeros(kernels.NUMBERS)
        row, numbers[:18] = _blank(kernels.code(kind.name)), np.concatenate([np.eye(3).ravel()] * 2)
        if force in self._held:
            return row | {"kind": kernels.HELD, "numbers": numbers}
        if isinstance(force, Motor) and force.joint in system.cut_joints:
            row |= cut_dof(system, system.model.joints[force.joint], force.dof, numbers)
            row["kind"] = kernels.CUT_MOTOR
        elif isinstance(force, Drive):
            row |= _dof(system, force.joint, force.dof)
        else:
            row["body"] = put_end(system, force.body, force.at, numbers, 0)
            if hasattr(force, "to"):
                row["to"] = put_end(system, force.to, force.to_at, numbers, 1)
        for n, key in enumerate(annotated(force, "Function")):
            row["signal"][n] = self._signal(getattr(force, key))
        own = kind.numbers(force)
        numbers[kernels.FRAMES : kernels.FRAMES + len(own)] = own
        for key in annotated(force, "PythonFunction"):
            from .callbacks import body_force  # which needs the compiler

            self.callbacks[force.name] = body_force(getattr(force, key), force.name)
            row["address"] = self.callbacks[force.name].address
        return row | {"numbers": numbers}


INTEGERS = ("kind", "body", "to", "dof", "coordinate", "signal", "address")
IN_JOINTS = {kernels.MOTOR, kernels.MOTION, kernels.BALL, kernels.HELD}


def _dof(system: System, joint: str, dof: int) -> dict[str, int]:
    """Body, and rows of u and q, of one DOF of a joint."""
    q, u = system.q_index(joint), system.u_index(joint)
    return {"body": system.joint_body(joint), "dof": u.start + dof, "coordinate": q.start + dof}


def _passive(system: System) -> tuple[list[tuple[int, int, list[float]]], list[dict[str, Any]]]:
    """DOF with springs, dampers, friction or joint limits; and elements for the springs of spherical joints."""
    dofs: list[tuple[int, int, list[float]]] = []
    balls: list[dict[str, Any]] = []
    for edge in system.topology.edges:
        joint = edge.joint
        q, u = system.q_index(joint.name), system.u_index(joint.name)
        quaternion = joint.kind in QUATERNIONS
        for n in range(u.stop - u.start):
            numbers = passive_numbers(joint, n)
            if numbers:
                dofs.append((u.start + n, -1 if quaternion else q.start + n, numbers))
        if joint.stiffness and KINDS[joint.kind].spring == "whole":
            spring = np.zeros(kernels.NUMBERS)
            spring[kernels.FRAMES] = of_dof(joint.stiffness, 0)
            row = _blank(kernels.BALL) | {"dof": u.start, "coordinate": q.stop - 4}
            balls.append(row | {"numbers": spring})
    return dofs, balls


def _passive_cuts(system: System) -> list[tuple[str, int, dict[str, Any]]]:
    """The same of joints that close loops: name, DOF (-1 for the spring of a spherical one) and element of each."""
    made: list[tuple[str, int, dict[str, Any]]] = []
    for joint in system.topology.cuts:
        for n in range(KINDS[joint.kind].nu):
            row = cut_passive(system, joint, n)
            if row:
                made.append((joint.name, n, _blank(kernels.CUT_PASSIVE) | row))
        if joint.stiffness and KINDS[joint.kind].spring == "whole":
            made.append((joint.name, -1, _blank(kernels.code("bushing")) | cut_ball(system, joint)))
    return made


def _blank(kind: int) -> dict[str, Any]:
    return dict.fromkeys(INTEGERS, 0) | {"kind": kind, "signal": [-1, -1, -1]}


# ---------------------------------------------------------------- functions of time


def _signals(functions: list[curves.Function]) -> dict[str, np.ndarray]:
    pieces = [pieces_of(f) for f in functions]
    waves = [
        (f.amplitude, 2 * np.pi * f.frequency, f.phase) if isinstance(f, curves.Sine) else (0.0,) * 3 for f in functions
    ]
    flat = [piece for each in pieces for piece in each]
    return {
        "first": np.concatenate([[0], np.cumsum([len(each) for each in pieces])]).astype(int),
        "time": np.array([start for start, _ in flat], float),
        "piece": np.array([c + [0.0] * (6 - len(c)) for _, c in flat], float).reshape(len(flat), 6),
        "wave": np.array(waves, float).reshape(len(functions), 3),
    }


def pieces_of(function: curves.Function) -> Pieces:
    """A function of time, less the wave of a Sine, as polynomials one after the other; the first also before it."""
    match function:
        case curves.Ramp(rate, start, value, end):
            last = [] if end is None else [(end, [value + rate * (end - start)])]
            return [(start - 1.0, [value]), (start, [value, rate]), *last]
        case curves.Step(after, start, before, rise):
            d = after - before
            smooth = [before, 0.0, 0.0, 10 * d / rise**3, -15 * d / rise**4, 6 * d / rise**5] if rise else []
            return [(start - 1.0, [before]), *([(start, smooth)] if rise else []), (start + rise, [after])]
        case curves.Sine():
            return [(0.0, [function.offset])]
        case float() | int():
            return [(0.0, [float(function)])]
    times, values = function.times, function.values
    if function.smooth:
        from scipy.interpolate import CubicSpline

        c = CubicSpline(times, values, bc_type="clamped").c[::-1].T
        inner = [(t, list(row)) for t, row in zip(times, c, strict=False)]
    else:
        inner = [(t, [v, s]) for t, v, s in zip(times, values, np.diff(values) / np.diff(times), strict=False)]
    return [(times[0] - 1.0, [values[0]]), *inner, (times[-1], [values[-1]])]
