"""Every complaint about a model, in one room. Each function returns the checked value or raises ModelError."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import ModelError, nearest
from ..joints import KINDS, listed
from ..modes.check import is_list
from .check_flexible import body_names, one_place
from .check_sense import principal_moments, radians
from .pose import IDENTITY, Pose, Quaternion, Vector, quaternion_from_matrix, quaternion_from_rpy

if TYPE_CHECKING:
    from .model import Model
    from .parts import Body, Joint, Limits

LONGEST_NAME = 200
ONE_DOF = [name for name, kind in KINDS.items() if kind.nu == 1]
SMALLEST_MASS = 1e-100  # kg: its products with squares of lengths are not zero, and numbers are divided by it
LARGEST_NUMBER = 1e100  # squares and products of two such still fit in a float
UNIT_TOLERANCE = 1e-6  # written numbers of 7 digits pass; the quaternion is then normalized
UNIT_ROUNDING = 1e-15  # what normalizing leaves; such a length is 1, so that a written unit vector is read back exactly


def shown(value: Any) -> str:
    """The value as a message prints it: short, whatever it is."""
    try:
        return repr(value)[:80]
    except ValueError:  # an integer of thousands of digits
        return "an integer too long to print"


def some(words: Sequence[str], most: int = 3) -> str:
    """The first few, and how many more there are."""
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def text(value: Any, what: str, where: str | None = None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ModelError(
            f"{what} is not a name", expected="a text of at least one character", got=repr(value), where=where
        )
    if len(value) > LONGEST_NAME or not value.isprintable():
        raise ModelError(
            f"{what} cannot be used",
            expected=f"at most {LONGEST_NAME} printable characters",
            got=repr(value[:40]) + ("..." if len(value) > 40 else ""),
            where=where,
        )
    return value


def new_name(name: Any, what: str, taken: Collection[str], where: str | None = None) -> str:
    text(name, f"{what} name", where)
    if name in taken or (name == "ground" and what in ("body", "frame")):
        hint = "'ground' is the fixed world, and is always there" if name == "ground" else "give each a name of its own"
        raise ModelError(f"{what} '{name}' is defined twice", where=where, hint=hint)
    return name


def known(name: Any, names: Collection[str], what: str, where: str | None = None) -> str:
    if not isinstance(name, str) or name not in names:
        short = str(name)[:80]
        raise ModelError(f"{what} '{short}' is not known", where=where, hint=nearest(short, names))
    return name


def number(value: Any, what: str, where: str | None = None, *, low: float | None = None) -> float:
    if type(value) is float and -LARGEST_NUMBER <= value <= LARGEST_NUMBER and (low is None or value >= low):
        return value  # as nearly all are, and there may be millions
    expected = "a finite number" if low is None else f"a finite number >= {low:g}"
    if isinstance(value, bool | str | bytes):
        raise ModelError(f"{what} is not a number", expected=expected, got=repr(value), where=where)
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is not a number", expected=expected, got=shown(value), where=where) from None
    if math.isnan(x) or math.isinf(x):
        raise ModelError(f"{what} is not finite", expected=expected, got=x, where=where)
    if abs(x) > LARGEST_NUMBER:
        raise ModelError(
            f"{what} is too large to compute with", expected=f"at most {LARGEST_NUMBER:g}", got=x, where=where
        )
    if low is not None and x < low:
        raise ModelError(f"{what} is too small", expected=expected, got=x, where=where)
    return x


def numbers(value: Any, count: int, what: str, where: str | None = None) -> tuple[float, ...]:
    if not is_list(value):
        raise ModelError(f"{what} is not a list of numbers", expected=f"{count} numbers", got=shown(value), where=where)
    if len(value) != count:
        raise ModelError(f"{what} has the wrong length", expected=f"{count} numbers", got=f"{len(value)}", where=where)
    return tuple(number(x, what, where=where) for x in value)


def vector(value: Any, what: str, where: str | None = None) -> Vector:
    x, y, z = numbers(value, 3, what, where)
    return (x, y, z)


def quaternion(value: Any, what: str, where: str | None = None) -> Quaternion:
    w, x, y, z = numbers(value, 4, what, where)
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ModelError(
            f"{what} is not a unit quaternion",
            expected="[w, x, y, z] of length 1",
            got=f"{[w, x, y, z]} of length {length:.9g}",
            where=where,
            hint="the scalar part comes first" if length else "no rotation is [1, 0, 0, 0]",
        )
    if abs(length - 1.0) <= UNIT_ROUNDING:
        return (w, x, y, z)
    return (w / length, x / length, y / length, z / length)


def pose(value: Any, what: str, where: str | None = None) -> Pose:
    """A Pose from a Pose, a point, a dict, or a 4 x 4 matrix."""
    if isinstance(value, Pose):
        if value is IDENTITY:
            return value
        return Pose(vector(value.position, what, where), quaternion(value.quaternion, what, where))
    if isinstance(value, Mapping):
        for key in value:
            known(key, ("position", "quaternion", "rpy"), f"{what}: entry", where)
        if "quaternion" in value and "rpy" in value:
            raise ModelError(f"{what} has two rotations", expected="'quaternion' or 'rpy'", got="both", where=where)
        turn: Quaternion = IDENTITY.quaternion
        if "quaternion" in value:
            turn = quaternion(value["quaternion"], f"{what}: quaternion", where)
        elif "rpy" in value:
            angles = vector(value["rpy"], f"{what}: rpy", where)
            radians(angles, f"{what}: rpy", where)
            turn = quaternion_from_rpy(angles)
        return Pose(vector(value.get("position", (0.0, 0.0, 0.0)), f"{what}: position", where), turn)
    if isinstance(value, Sequence | np.ndarray) and len(value) == 4 and isinstance(value[0], Sequence | np.ndarray):
        return _pose_from_matrix(np.array([numbers(row, 4, what, where) for row in value]), what, where)
    return Pose(vector(value, what, where))


def _pose_from_matrix(matrix: np.ndarray, what: str, where: str | None) -> Pose:
    rotation = matrix[:3, :3]
    proper = np.isfinite(matrix).all() and np.linalg.det(rotation) > 0
    if not proper or not np.allclose(rotation @ rotation.T, np.eye(3), atol=UNIT_TOLERANCE):
        raise ModelError(
            f"{what} is not a rotation",
            expected="a 4 x 4 matrix with an orthonormal 3 x 3 block",
            got=rotation.tolist(),
            where=where,
        )
    return Pose(vector(matrix[:3, 3], what, where), quaternion_from_matrix(rotation))


AXES: dict[str, Vector] = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}


def axis(value: Any, what: str, where: str | None = None) -> Vector:
    if isinstance(value, str):
        if value.removeprefix("+") not in AXES:
            raise ModelError(
                f"{what} is not known", expected="x, y, z, -x, -y, -z or 3 numbers", got=repr(value), where=where
            )
        return AXES[value.removeprefix("+")]
    x, y, z = vector(value, what, where)
    length = math.hypot(x, y, z)
    if length == 0.0:
        raise ModelError(
            f"{what} has no direction", expected="3 numbers that are not all zero", got=[x, y, z], where=where
        )
    if abs(length - 1.0) <= UNIT_ROUNDING:
        return (x, y, z)
    return (x / length, y / length, z / length)


def axes(kind: str, first: Any, second: Any, label: str, where: str | None) -> tuple[Vector, Vector]:
    """Both axes of a joint, with their defaults; complains where the kind has none."""
    takes = KINDS[kind].axes
    for count, given, key in ((1, first, "axis"), (2, second, "axis2")):
        if given is not None and takes < count:
            raise ModelError(
                f"{label}: a {kind} joint takes no {key}",
                got=given,
                where=where,
                hint=f"leave {key} out, or choose another kind",
            )
    a = axis(first if first is not None else ("x" if takes == 2 else "z"), f"{label}: axis", where)
    b = axis(second if second is not None else "y", f"{label}: axis2", where)
    if takes == 2 and abs(sum(p * q for p, q in zip(a, b, strict=True))) > UNIT_TOLERANCE:
        raise ModelError(
            f"{label}: the axes of a {kind} joint must be perpendicular",
            expected="two axes at a right angle",
            got=f"axis {list(a)}, axis2 {list(b)}",
            where=where,
        )
    return a, b


def pitch(kind: str, value: Any, label: str, where: str | None) -> float:
    if "pitch" in KINDS[kind].parameters:
        if value is None:
            raise ModelError(f"{label}: a screw needs a pitch", expected="metres per radian", got="none", where=where)
        return number(value, f"{label}: pitch", where=where)
    if value is not None and value != 0:
        raise ModelError(f"{label}: a {kind} joint takes no pitch", got=value, where=where, hint="only a screw has one")
    return 0.0


def own(kind: str, given: Mapping[str, Any], label: str, where: str | None) -> dict[str, Any]:
    """The parameters that only this kind of joint takes."""
    row = KINDS[kind]
    for key in given:
        if row.check is None or key not in row.parameters:
            takers = [name for name, other in KINDS.items() if key in other.parameters]
            hint = f"only {' and '.join(takers)} joints have one" if takers else nearest(key, row.parameters)
            raise ModelError(f"{label}: a {kind} joint takes no {key}", got=shown(given[key]), where=where, hint=hint)
    return row.check(dict(given), label, where) if row.check is not None else {}


def inertia_matrix(value: Any, label: str, where: str | None = None) -> tuple[Vector, Vector, Vector]:
    what, forms = f"{label}: inertia", "3 principal moments or a symmetric 3 x 3 matrix (kg m^2)"
    if not is_list(value) or len(value) != 3:
        raise ModelError(f"{what} has the wrong shape", expected=forms, got=shown(value), where=where)
    if not is_list(value[0]):
        x, y, z = vector(value, what, where)
        return ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))
    rows = tuple(vector(row, what, where) for row in value)
    scale = max(abs(x) for row in rows for x in row)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if abs(rows[i][j] - rows[j][i]) > 1e-9 * scale:
            raise ModelError(f"{what} is not symmetric", expected=forms, got=[list(r) for r in rows], where=where)
    return (rows[0], rows[1], rows[2])


def body(b: Body) -> None:
    """Mass and inertia that a solid can have; ``idealized`` bodies need only be non-negative."""
    label = f"body '{b.name}'"
    if b.mass < 0 or (b.mass == 0 and not b.idealized):
        raise ModelError(
            f"{label}: mass must be positive",
            expected="a number > 0 (kg)",
            got=b.mass,
            where=b.where,
            hint=None if b.mass < 0 else "a body that is only a frame or an idealization takes idealized=True",
        )
    if 0.0 < b.mass < SMALLEST_MASS:
        raise ModelError(
            f"{label}: mass is too small to compute with",
            expected=f"at least {SMALLEST_MASS:g} kg",
            got=b.mass,
            where=b.where,
            hint="a body that is only a frame has mass 0 and idealized=True",
        )
    moments = principal_moments(b)
    # rounding of the eigenvalues and of printed inertias, and a radius of gyration of a micrometre, which is none
    slack = 1e-9 * max(map(abs, moments)) + 1e-12 * b.mass
    printed = "principal moments " + ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < -slack:
        raise ModelError(
            f"{label}: inertia is not positive definite",
            expected="no negative principal moment (kg m^2)",
            got=printed,
            where=b.where,
            hint="inertia is taken about the centre of mass, in body axes",
        )
    if not b.idealized and moments[2] > moments[0] + moments[1] + slack:
        raise ModelError(
            f"{label}: inertia breaks the triangle inequality",
            expected="the largest principal moment at most the sum of the other two",
            got=printed,
            where=b.where,
            hint="inertia is taken about the centre of mass; idealized=True admits it as it is",
        )


def limits(value: Limits | None, label: str, where: str | None = None) -> Limits | None:
    if value is None:
        return None
    for key, low in (("lower", None), ("upper", None), ("velocity", 0.0), ("effort", 0.0)):
        if getattr(value, key) is not None:
            setattr(value, key, number(getattr(value, key), f"{label}: limits: {key}", low=low, where=where))
    for key in ("stiffness", "damping"):
        setattr(value, key, number(getattr(value, key), f"{label}: limits: {key}", low=0.0, where=where))
    if value.lower is not None and value.upper is not None and value.lower > value.upper:
        raise ModelError(
            f"{label}: limits: lower is above upper",
            expected="lower <= upper",
            got=f"lower {value.lower:g}, upper {value.upper:g}",
            where=where,
        )
    return value


def joins_itself(j: Joint) -> NoReturn:
    raise ModelError(
        f"joint '{j.name}' joins '{j.parent}' to itself", where=j.where, hint="parent and child are two bodies"
    )


def whole(model: Model) -> None:
    """What can only be seen when all parts are there: names that refer, and bodies joined to nothing."""
    from .check_kinds import constraints, forces  # which stand on this file
    from .check_temporary import temporaries

    bodies = body_names(model)
    if len(bodies) == 1:
        raise ModelError(
            f"model '{model.name}' has no bodies",
            where=model.where,
            hint="add one with model.body(...) or a [bodies.name] table",
        )
    for j in model.joints.values():
        known(j.parent, bodies, f"joint '{j.name}': parent", j.where)
        known(j.child, bodies, f"joint '{j.name}': child", j.where)
        if one_place(model, j.parent) == one_place(model, j.child):
            joins_itself(j)
    for f in model.frames.values():
        known(f.body, bodies, f"frame '{f.name}': body", f.where)
    for c in model.couplings.values():
        if c.joint == c.of:
            raise ModelError(f"coupling of '{c.joint}' is to itself", where=c.where, hint="couple it to another joint")
        for name in (c.joint, c.of):
            known(name, model.joints, f"coupling of '{c.joint}': joint", c.where)
            if model.joints[name].kind not in ONE_DOF:
                raise ModelError(
                    f"coupling of '{c.joint}': joint '{name}' has not one degree of freedom",
                    expected=listed(ONE_DOF),
                    got=model.joints[name].kind,
                    where=c.where,
                )
    forces(model)
    constraints(model)
    temporaries(model)
    _joined_to_ground(model)


def _joined_to_ground(model: Model) -> None:
    owners = body_names(model)
    neighbours: dict[str, list[str]] = {name: [] for name in owners.values()}
    for j in model.joints.values():
        neighbours[owners[j.parent]].append(owners[j.child])
        neighbours[owners[j.child]].append(owners[j.parent])
    reached, waiting = {"ground"}, ["ground"]
    while waiting:
        for name in neighbours[waiting.pop()]:
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    for name, b in (model.bodies | model.flexibles).items():
        if name not in reached:
            alone = not neighbours[name]
            raise ModelError(
                f"body '{name}' is " + ("joined to nothing" if alone else "not joined to ground by any path of joints"),
                where=b.where,
                hint=f"let it float: joint('{name}_free', 'free', 'ground', '{name}')",
            )
