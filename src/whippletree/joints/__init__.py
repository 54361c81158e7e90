"""The joint table: one file for each joint kind, and this list of them. Other rooms ask the table and name no kind.

A new kind is a file with a :class:`JointKind` and its name in ``TABLE``. The list is sorted by ``JointKind.group``:
kernels know a kind by its code, the place among the kinds that move, and codes of a group are neighbours.
"""

from .curve import CURVE
from .cylindrical import CYLINDRICAL
from .fixed import FIXED
from .free import FREE
from .homokinetic import HOMOKINETIC
from .kind import CARRIED, QUATERNION, Formulas, JointKind
from .planar import PLANAR
from .prismatic import PRISMATIC
from .revolute import REVOLUTE
from .screw import SCREW
from .spherical import SPHERICAL
from .universal import UNIVERSAL

TABLE = (FIXED, REVOLUTE, PRISMATIC, SCREW, CYLINDRICAL, UNIVERSAL, PLANAR, HOMOKINETIC, CURVE, SPHERICAL, FREE)
KINDS: dict[str, JointKind] = {kind.name: kind for kind in TABLE}
MOVING = [kind for kind in TABLE if kind.kernels is not None]
CODES: dict[str, int] = {kind.name: code for code, kind in enumerate(MOVING)}
FIRST_CARRIED = sum(kind.group < CARRIED for kind in MOVING)  # codes from here on: their formula looks at m.sign
FIRST_QUATERNION = sum(kind.group < QUATERNION for kind in MOVING)
QUATERNIONS = tuple(kind.name for kind in MOVING if kind.quaternion)
WELD, HINGE, SLIDE, FLOAT = FIXED.name, REVOLUTE.name, PRISMATIC.name, FREE.name  # kinds that have a role of their own


def listed(kinds: list[str]) -> str:
    """Names for a message: "a revolute, prismatic or screw joint"."""
    return f"a {', '.join(kinds[:-1])} or {kinds[-1]} joint"


__all__ = [
    "CODES",
    "FLOAT",
    "HINGE",
    "KINDS",
    "MOVING",
    "QUATERNIONS",
    "SLIDE",
    "WELD",
    "Formulas",
    "JointKind",
    "listed",
]
