"""Constraints of a model as the flat arrays that kernels take: joints that close loops, couplings, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..joints import KINDS
from ..joints.kind import ALL
from ..layout import constraints as kernels
from ..layout import constraints as layout
from ..model import Joint
from ..model.constraints import (
    Constraint,
    Distance,
    Gear,
    KnifeEdge,
    Latch,
    PointOnLine,
    PointOnPlane,
    Rack,
    Relative,
    Roll,
    Speed,
)
from ..model.forces import Motion
from ..model.functions import Function
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
SURFACES = {"plane": kernels.PLANE, "line": kernels.LINE, "sphere": kernels.SPHERE}
SLIPS = {"none": kernels.SLIP_NONE, "side": kernels.SLIP_SIDE, "all": kernels.SLIP_ALL}
INTEGERS = ("kind", "turn", "shift", "drive", "body", "to", "signal")


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
        for c in system.model.couplings.values():
            table.append(self._couple(system, c.joint, (c.joint, 0), (c.of, 0), c.ratio, c.offset))
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
        row = _blank(kernels.JOINT) | {"turn": turn, "numbers": np.zeros(kernels.NUMBERS)}
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

    def _couple(
        self,
        system: System,
        name: str,
        first: tuple[str, int],
        second: tuple[str, int] | None,
        ratio: float,
        offset: float,
    ) -> dict[str, Any]:
        """q(first) - ratio q(second) = offset"""
        row = _blank(kernels.COUPLE) | {"numbers": np.zeros(kernels.NUMBERS)}
        row["numbers"][kernels.FIRST : kernels.LENGTH + 1] = 1.0, -ratio if second else 0.0, offset
        ends = [_dof(system, name, *end) for end in (first, second or first)]
        row["body"], row["to"] = ends[0][0], ends[1][0]
        row["dof"], row["coordinate"] = [e[1] for e in ends], [e[2] for e in ends]
        reported = f"'{first[0]}' against '{second[0]}'" if second else f"'{first[0]}' against time"
        return row | {"count": self._named(name, reported)}

    def _element(self, system: System, c: Constraint) -> dict[str, Any]:
        match c:
            case Gear():
                ends = (c.joint, c.dof), (c.of, c.of_dof)
                return self._couple(system, c.name, *ends, c.ratio, c.offset)
            case Rack():
                return self._couple(system, c.name, (c.joint, 0), (c.of, 0), c.radius, c.offset)
            case Relative():
                of = (c.of, c.of_dof) if c.of else None
                row = self._couple(system, c.name, (c.joint, c.dof), of, 1.0, 0.0)
                return row | {"signal": self._functions[id(c.position)]}
            case Speed():
                of = (c.of, c.of_dof) if c.of else None
                row = self._couple(system, c.name, (c.joint, c.dof), of, c.ratio, 0.0)
                self.what[-1] = "speed of " + self.what[-1]
                return row | {"signal": self._functions[id(c.speed)], "turn": kernels.VELOCITIES}
            case Latch():
                like = Joint(c.name, c.joint, c.to, c.body, c.axis, c.axis2, c.to_at, c.at)
                return self._cut(system, like, None)
            case Roll():
                return self._roll(system, c)
            case KnifeEdge():
                row = _blank(kernels.BLADE) | {"numbers": np.zeros(kernels.NUMBERS)}
                row["body"] = put_end(system, c.to, (0.0, 0.0, 0.0), np.eye(3), row["numbers"], 0)
                row["to"] = put_end(system, c.body, c.at.position, c.at.rotation(), row["numbers"], 1)
                return row | {"count": self._named(c.name, "slip aside")}
            case Distance():
                row = _blank(kernels.DISTANCE) | {"numbers": np.zeros(kernels.NUMBERS)}
                row["body"] = put_end(system, c.to, c.to_at, np.eye(3), row["numbers"], 0)
                row["to"] = put_end(system, c.body, c.at, np.eye(3), row["numbers"], 1)
                row["numbers"][kernels.LENGTH] = c.length
                return row | {"count": self._named(c.name, "distance")}
            case PointOnPlane() if has_friction(system, c.name):  # a ball of no radius that may slip
                return self._roll(system, Roll(c.name, c.body, 0.0, to=c.to, at=c.at, to_at=c.to_at))
            case PointOnLine() | PointOnPlane():
                row = _blank(kernels.JOINT) | {"numbers": np.zeros(kernels.NUMBERS)}
                row["body"] = put_end(system, c.to, c.to_at.position, c.to_at.rotation(), row["numbers"], 0)
                row["to"] = put_end(system, c.body, c.at, np.eye(3), row["numbers"], 1)
                line = isinstance(c, PointOnLine)
                row["shift"] = layout.SHIFT_Y | layout.SHIFT_Z if line else layout.SHIFT_Z
                return row | {
                    "count": self._named(c.name, *(f"displacement along {axis}" for axis in ("yz" if line else "z")))
                }

    def _roll(self, system: System, c: Roll) -> dict[str, Any]:
        row = _blank(kernels.ROLL) | {"numbers": np.zeros(kernels.NUMBERS)}
        axle = np.eye(3) if c.axis is None else in_plane_axes(c.axis)
        row["body"] = put_end(system, c.to, c.to_at.position, c.to_at.rotation(), row["numbers"], 0)
        row["to"] = put_end(system, c.body, c.at, axle, row["numbers"], 1)
        tyre = c.radius if c.axis is None else c.tyre
        row["numbers"][kernels.FIRST : kernels.LENGTH + 1] = c.radius - tyre, tyre, c.to_radius
        slip = "all" if c.name in system.sliding else c.slip
        row["shift"], row["turn"] = SURFACES[c.on], SLIPS[slip] | (0 if c.pivots else kernels.PIVOT_HELD)
        what = ["displacement along the normal"] + ["displacement along y"] * (c.on == "line")
        what += ["slip along"] * (slip != "all") + ["slip aside"] * (slip == "none" and c.on != "line")
        what += [] if c.pivots else ["turning about the normal"]
        return row | {"count": self._named(c.name, *what)}

    def _slide(self, system: System, c: Constraint, row: dict[str, Any]) -> dict[str, Any]:
        """The last row becomes friction, toward where it slides; what couples velocities has no other row."""
        x, toward, numbers = system.model.temporaries[c.name], system.sliding[c.name], row["numbers"]
        if isinstance(c, Speed):
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
    given = (c for c in system.held.values() if isinstance(c, Relative | Speed))
    rows = [c.position if isinstance(c, Relative) else c.speed for c in given]
    return rows + [f.position for f in motions_of_cuts(system)]


def motions_of_cuts(system: System) -> list[Motion]:
    """Motions given to joints that close loops."""
    return [f for f in system.model.forces.values() if isinstance(f, Motion) and f.joint in system.cut_joints]


def _blank(kind: int) -> dict[str, Any]:
    return dict.fromkeys(INTEGERS, 0) | {"kind": kind, "signal": -1, "dof": [0, 0], "coordinate": [0, 0]}


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
