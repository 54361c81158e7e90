"""Constraints of a model as the flat arrays that kernels take: joints that close loops, couplings, and the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..joints import KINDS
from ..joints.kind import ALL
from ..layout import constraints as kernels
from ..layout import constraints as layout
from ..layout.forces import code
from ..model import Constraint, Joint, Motion, Pose, constraint_kind
from ..model.functions import Function
from ..model.kinds import Element, annotated
from .joint_frames import in_plane_axes, put_end, put_joint_ends

if TYPE_CHECKING:
    from .system import System

TURNS = {
    layout.TURN_CROSS: "z",
    layout.TURN_TWIST: "z",
    layout.TURN_AXIS: "xy",
    layout.TURN_ALL: "xyz",
    layout.TURN_NONE: "",
}
SPEED_WORDS = ("speed of", "slip", "turning about", "friction")  # what rows that bound velocities alone hold
ANOTHER_CUT = "write this joint before the others of its loop, so that another one is cut"
INTEGERS = ("kind", "turn", "shift", "drive", "body", "to", "signal", "slips")


class SystemConstraints:
    """The constraints of a System.

    Attributes
    ----------
    arrays, packed : the flat arrays by name, and what kernels unpack.
    count : number of rows.
    owner : (count) name of the joint or constraint that each row is of; a coupling goes by its joint.
    what : (count) what the row holds, as "displacement along x" or "rotation about y", in the joint's frame.
    of_poses : (count, bool) whether the row bounds poses, and not only velocities.
    size : a length of the mechanism (m).
    body, to, kind, row : (elements) the two system bodies of each, its kind, and its first row; a last row follows.
    driven : for each motion of a joint that closes a loop, its row, and the rate of the row for a unit of its speed.
    follows, share : (count) for a row of friction the row whose multiplier its own follows, itself if it is constant,
        else -1; and the coefficient, or the constant load.
    """

    def __init__(self, system: System) -> None:
        self.owner: list[str] = []
        self.what: list[str] = []
        self.driven: dict[str, tuple[int, float]] = {}
        self._functions = {id(f): n for n, f in enumerate(functions_of(system))}
        driven = {f.joint: f for f in motions_of_cuts(system)}
        table = [self._cut(system, joint, driven.get(joint.name)) for joint in system.topology.cuts]
        table += [self._tie(system, c, c.joint) for c in system.model.couplings.values()]
        for name, held in system.held.items():
            row = self._element(system, held)
            table.append(self._slide(system, held, row) if name in system.sliding else row)
        counts = [row.pop("count") for row in table]
        self.count = sum(counts)
        self.of_poses = np.array([not what.startswith(SPEED_WORDS) for what in self.what], bool)
        self.size = _size(system)
        arrays = {name: np.array([row[name] for row in table], int) for name in INTEGERS}
        for name in ("dof", "coordinate"):
            arrays[name] = np.array([row[name] for row in table], int).reshape(len(table), 2)
        arrays["row"] = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        arrays["element"] = np.repeat(np.arange(len(table)), counts).astype(int)
        arrays["numbers"] = np.array([row["numbers"] for row in table], float).reshape(len(table), kernels.NUMBERS)
        self.body, self.to, self.kind, self.row = (arrays[name] for name in ("body", "to", "kind", "row"))
        self.arrays, self.packed = arrays, kernels.pack_constraints(arrays, self.size)
        self.follows, self.share = np.full(self.count, -1), np.zeros(self.count)
        for e in np.flatnonzero(arrays["drive"] == kernels.SLIDES):
            last = self.row[e + 1] - 1
            self.follows[last], self.share[last] = self.row[e], arrays["numbers"][e, kernels.FRICTION]

    def _named(self, owner: str, *what: str) -> int:
        self.owner += [owner] * len(what)
        self.what += what
        return len(what)

    def _cut(self, system: System, joint: Joint, motion: Motion | None) -> dict[str, Any]:
        """A joint that closes a loop; a motion given to it is a row more."""
        kind, pitch = KINDS[joint.kind], joint.pitch
        assert kind.holds is not None  # topology.py cuts no other joints
        turn, shift = kind.holds
        if "pitch" in kind.parameters and pitch == 0.0:
            shift = ALL  # as a revolute one
        row = _blank(kernels.JOINT) | {"turn": turn}
        row |= put_joint_ends(system, joint, row["numbers"])
        row["numbers"][kernels.LENGTH] = pitch
        if motion:
            row["drive"] = _drive(joint, motion)
            row["signal"] = self._functions[id(motion.position)]
            if row["drive"] == kernels.DRIVE_SHIFT:
                shift |= layout.SHIFT_Z
        what = [f"rotation about {axis}" for axis in TURNS[turn]]
        what += [f"displacement along {axis}" for n, axis in enumerate("xyz") if shift & (1 << n)]
        what += ["angle for its displacement"] if pitch else []
        what += ["angle given"] if row["drive"] == kernels.DRIVE_TURN else []
        count = self._named(joint.name, *what)
        if motion:  # its row is the last, but for a screw's angle
            self.driven[motion.name] = (len(self.owner) - (2 if pitch else 1), pitch or 1.0)
        return row | {"shift": shift, "count": count}

    def _element(self, system: System, c: Any) -> dict[str, Any]:
        kind = constraint_kind(c)
        if has_friction(system, c.name) and kind.sticks:
            c = kind.sticks(c)
            c = replace(c, slip="all") if c.name in system.sliding else c
            kind = constraint_kind(c)
        if kind.element is None:
            return self._tie(system, c, c.name, kind.ratio, kind.velocities)
        found = kind.element(c)
        return self._cut(system, found, None) if isinstance(found, Joint) else self._between(system, c, found)

    def _tie(self, system: System, c: Any, name: str, ratio: str = "ratio", velocities: bool = False) -> dict[str, Any]:
        """q(joint) - ratio q(of) = offset, less a function of time; or of their velocities alone."""
        row, against = _blank(kernels.COUPLE), f"'{c.of}'" if c.of else "time"
        factors = 1.0, -getattr(c, ratio, 1.0) if c.of else 0.0, getattr(c, "offset", 0.0)
        row["numbers"][kernels.FIRST : kernels.LENGTH + 1] = factors
        first, second = (c.joint, getattr(c, "dof", 0)), (c.of, getattr(c, "of_dof", 0))
        ends = [_dof(system, name, *end) for end in (first, second if c.of else first)]
        row["body"], row["to"] = ends[0][0], ends[1][0]
        row["dof"], row["coordinate"] = [e[1] for e in ends], [e[2] for e in ends]
        for key in annotated(c, "Function"):
            row["signal"] = self._functions[id(getattr(c, key))]
        if velocities:
            row |= {"turn": kernels.VELOCITIES, "slips": 1}
        return row | {"count": self._named(name, "speed of " * velocities + f"'{c.joint}' against {against}")}

    def _between(self, system: System, c: Any, x: Element) -> dict[str, Any]:
        """What holds a frame on the second body to one on the first."""
        row, axle = _blank(code(x.formula)), None if x.axle is None else in_plane_axes(x.axle)
        row["body"] = put_end(system, c.to, getattr(c, "to_at", Pose()), row["numbers"], 0)
        row["to"] = put_end(system, c.body, c.at, row["numbers"], 1, axle)
        row["numbers"][kernels.FIRST : kernels.FIRST + len(x.numbers)] = x.numbers
        return row | {"shift": x.shift, "turn": x.turn, "slips": x.slips, "count": self._named(c.name, *x.what)}

    def _slide(self, system: System, c: Constraint, row: dict[str, Any]) -> dict[str, Any]:
        """The last row becomes friction, toward where it slides; what couples velocities has no other row."""
        x, toward, numbers = system.model.temporaries[c.name], system.sliding[c.name], row["numbers"]
        if constraint_kind(c).velocities:
            numbers[kernels.FRICTION] = -toward[0] * (x.slips_at or 0.0)
            self.what[-1] = "friction"
        else:
            numbers[kernels.FRICTION], numbers[kernels.TOWARD : kernels.TOWARD + 3] = x.friction, toward
            row["count"] += self._named(c.name, "friction")
        return row | {"drive": kernels.SLIDES}


def has_friction(system: System, name: str) -> bool:
    """Whether a contact sticks only as far as its friction goes."""
    x = system.model.temporaries.get(name)
    return x is not None and x.friction is not None


def functions_of(system: System) -> list[Function]:
    """Functions of time in the rows: the first of all signals."""
    rows = [getattr(c, key) for c in system.held.values() for key in annotated(c, "Function")]
    return rows + [f.position for f in motions_of_cuts(system)]


def motions_of_cuts(system: System) -> list[Motion]:
    """Motions given to joints that close loops."""
    return [f for f in system.model.forces.values() if isinstance(f, Motion) and f.joint in system.cut_joints]


def _blank(kind: int) -> dict[str, Any]:
    blank = dict.fromkeys(INTEGERS, 0) | {"kind": kind, "signal": -1, "dof": [0, 0], "coordinate": [0, 0]}
    return blank | {"numbers": np.zeros(kernels.NUMBERS)}


def _dof(system: System, name: str, joint: str, dof: int) -> tuple[int, int, int]:
    """Body, and rows of u and q, of one DOF of a joint of the tree."""
    if joint in system.cut_joints:
        raise ModelError(
            f"constraint '{name}': joint '{joint}' ({system.model.joints[joint].kind}) closes a loop",
            expected="joints of the tree, whose turns are counted",
            hint=ANOTHER_CUT,
        )
    body = system.joint_body(joint)
    if body == 0:
        raise ModelError(f"constraint '{name}': joint '{joint}' does not move")
    return body, system.u_index(joint).start + dof, system.q_index(joint).start + dof


def _drive(joint: Joint, motion: Motion) -> int:
    """Along which DOF the motion of a joint that closes a loop is given."""
    code = KINDS[joint.kind].drive(motion.dof)
    if code == layout.DRIVE_NONE:
        raise ModelError(
            f"motion '{motion.name}': joint '{joint.name}' ({joint.kind}) closes a loop",
            expected=f"a joint of the tree, or one of kind {', '.join(k.name for k in KINDS.values() if k.drives)}",
            hint=ANOTHER_CUT,
            where=motion.where,
        )
    return layout.DRIVE_SHIFT if joint.pitch else code


def _size(system: System) -> float:
    """The mean distance from joint to joint, or 1 m where all are at one point."""
    steps = np.linalg.norm(system.arrays["pt"][1:], axis=1)
    steps = steps[steps > 0]
    return float(steps.mean()) if steps.size else 1.0
