"""The System: a model compiled to flat arrays. Immutable; body 0 is ground."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import ModelError, NotCompiled, described, nearest
from ..joints import KINDS, QUATERNIONS
from ..layout.system import pack
from ..model import Constraint, Model
from ..model.check import shown
from ..model.pose import Vector
from .constraints import SystemConstraints, functions_of
from .flexible import SystemFlexible
from .forces import SystemForces
from .topology import Topology, rigid_names
from .workspaces import Workspaces

NO_FLEXIBLE = np.zeros(0), 0, 0
NONE: Mapping[str, Vector] = {}


class System:
    """What every algorithm takes. Made by :meth:`Model.compile`.

    Attributes
    ----------
    name, model : the model's name, and the model itself.
    nb, nq, nu : number of system bodies (ground included, welded bodies counted once), length of q and of u.
    bodies : names of the model's bodies, ``"ground"`` first; with flexible bodies, and nodes of them that are used.
    joints : names of the joints of the spanning tree, in the order of q and u. A flexible body is among them by its own
        name, with its modes as coordinates.
    carriers : of system bodies 1, 2, ... the joint that carries each, or the flexible body or node that it is.
    cut_joints : names of the joints that close loops.
    q0 : (nq) neutral configuration: zeros, and identity quaternions.
    gravity : (3) m/s^2, world axes.
    flexible : the flexible bodies (see :class:`whippletree.system.flexible.SystemFlexible`); None without any.
    features : what an algorithm must support: ``"trees"``, and ``"flexible"``, ``"loops"``, ``"couplings"`` or
        ``"constraints"`` where there are any; ``"loops of nodes"`` where a loop passes two nodes that hang on one body.
    arrays : the flat arrays by name (see :class:`whippletree.layout.system.Arrays`).
    packed : the same in one array, as kernels take them.
    forces : the model's forces, compiled (see :class:`whippletree.system.forces.SystemForces`).
    held : constraints that are there, by name: all but those that are temporary, and open when a run begins.
    sliding : those of them that slip against friction, and where to: see :meth:`holding`.
    constraints : loops, couplings and constraints as rows (:class:`whippletree.system.constraints.SystemConstraints`).
    workspaces : what calls leave for the next (:class:`whippletree.system.workspaces.Workspaces`): the one thing that
        changes. It is neither copied nor pickled.
    """

    def __init__(
        self,
        model: Model,
        topology: Topology,
        arrays: Mapping[str, np.ndarray],
        turn: np.ndarray,
        shift: np.ndarray,
        held: Mapping[str, Constraint] | None = None,
        sliding: Mapping[str, Vector] = NONE,
    ) -> None:
        self.model, self.name, self.topology = model, model.name, topology
        self.nb, self.nc = len(arrays["parent"]), len(arrays["base"])
        self.nq, self.nu = int(arrays["position"][-1]), int(arrays["dof"][-1])
        self.bodies: tuple[str, ...] = tuple(rigid_names(model))
        self.carriers: tuple[str, ...] = tuple(edge.joint.name for edge in topology.edges)
        self.joints: tuple[str, ...] = tuple(e.joint.name for e in topology.edges if e.joint.kind != "node")
        self.cut_joints: tuple[str, ...] = tuple(joint.name for joint in topology.cuts)
        self.flexible = SystemFlexible(topology, arrays) if model.flexibles else None
        flexible = (self.flexible.packed, self.flexible.motion, self.flexible.work) if self.flexible else NO_FLEXIBLE
        self.packed, self.arrays = pack(arrays, self.nb, self.nu, self.nq, self.nc, flexible)
        self.gravity = self.arrays["gravity"]
        self.q0 = _frozen(self._neutral())
        self._turn, self._shift = _frozen(turn), _frozen(shift)
        self._row = {name: n for n, name in enumerate(self.bodies)}
        self._carried = {name: i for i, name in enumerate(self.carriers, start=1)}
        self.workspaces = Workspaces()
        self._hold(begin_held(model) if held is None else held, sliding)
        self.forces = SystemForces(self)
        self._frozen = True

    def _hold(self, held: Mapping[str, Constraint], sliding: Mapping[str, Vector]) -> None:
        model, topology = self.model, self.topology
        self.held, self.sliding = MappingProxyType(dict(held)), MappingProxyType(dict(sliding))
        having = {"trees": True, "flexible": model.flexibles, "loops": topology.cuts, "couplings": model.couplings}
        having |= {"loops of nodes": topology.sideways, "constraints": self.held, "friction": self.sliding}
        self.features: frozenset[str] = frozenset(name for name, some in having.items() if some)
        self.constraints = SystemConstraints(self)
        self.workspaces = Workspaces(self.workspaces.of_tree)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_frozen" in self.__dict__:
            hint = "change the Model and compile it again"
            raise AttributeError(f"a System is immutable: '{name}' cannot be set; {hint}")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a System is immutable: '{name}' cannot be deleted")

    def _neutral(self) -> np.ndarray:
        q = np.zeros(self.nq)
        for edge, n in zip(self.topology.edges, self.arrays["position"][1:-1], strict=True):
            if edge.joint.kind in QUATERNIONS:
                q[n + KINDS[edge.joint.kind].nq - 4] = 1.0
        return q

    def q_index(self, joint: str) -> slice:
        """Rows of q that hold a joint's coordinates."""
        i = self.joint_body(joint)
        return slice(int(self.arrays["position"][i]), int(self.arrays["position"][i + 1])) if i else slice(0, 0)

    def u_index(self, joint: str) -> slice:
        """Rows of u, udot and tau that hold a joint's velocities, accelerations and forces."""
        i = self.joint_body(joint)
        return slice(int(self.arrays["dof"][i]), int(self.arrays["dof"][i + 1])) if i else slice(0, 0)

    def joint_body(self, joint: str) -> int:
        """The system body that a joint of the tree carries; 0 for a weld."""
        _require_text(joint, "a joint")
        if joint in self._carried:
            return self._carried[joint]
        if joint in self.cut_joints:
            raise ModelError(
                f"joint '{joint}' closes a loop: its coordinates follow from the others and have no rows in q",
                hint="tree joints are listed in system.joints",
            )
        if joint in self.model.joints:
            return 0  # welded: no rows
        raise ModelError(f"joint '{joint}' is not known", hint=nearest(joint, self.joints))

    def joint_kind(self, joint: str) -> str:
        """Its kind; that of a flexible body is ``"modes"``."""
        i = self._carried.get(joint)
        return self.topology.edges[i - 1].joint.kind if i else self.model.joints[joint].kind

    def place(self, name: str | int) -> tuple[int, np.ndarray, np.ndarray]:
        """System body that carries a model body or frame, and its rotation (3 x 3) and position (3) there.

        A body may be given by its number in ``bodies`` too.
        """
        if isinstance(name, int) and not isinstance(name, bool):
            if not 0 <= name < len(self.bodies):
                raise ModelError(
                    f"there is no body {name} in '{self.name}'", expected=f"0 to {len(self.bodies) - 1}", got=name
                )
            name = self.bodies[name]
        _require_text(name, "a body or frame")
        assert isinstance(name, str)
        if name in self._row:
            n = self._row[name]
            return self.topology.group[name], self._turn[n], self._shift[n]
        if name in self.model.frames:
            frame = self.model.frames[name]
            body, R, p = self.place(frame.body)
            return body, R @ frame.at.rotation(), R @ np.array(frame.at.position) + p
        owner, _, node = name.rpartition("/")
        if owner in self.model.flexibles:
            modes = self.model.flexibles[owner].modes
            if node == modes.inboard:
                body, R, p = self.place(owner)
                return body, R, R @ modes.r[modes.node(node)] + p
            if node in modes.nodes:
                raise ModelError(
                    f"node '{name}' is not used in '{self.name}'",
                    hint=f"give it a frame, m.frame(..., '{name}'): what nothing names is left out of the system",
                )
        known = (*self.bodies, *self.model.frames)
        raise ModelError(f"body or frame '{name}' is not known", hint=nearest(name, known))

    def mechanical(self, i: int) -> str:
        """A system body's joint and bodies, for messages."""
        edge = self.topology.edges[i - 1]
        if edge.flexible:
            return f"modes of flexible body '{edge.flexible}'"
        body = edge.joint.parent if edge.turned else edge.joint.child
        return f"joint '{edge.joint.name}' ({edge.joint.kind}) of body '{body}'"

    def explain(self, measure: bool = False) -> str:
        """Bodies, DOF, loops, and the algorithm that ``auto`` takes and why, as text.

        Every algorithm that can is listed with its operations and the time that they are predicted to take. With
        ``measure`` this host is calibrated for them, and each is timed too, which compiles it.
        """
        from .explain import explain

        return explain(self, measure)

    def __repr__(self) -> str:
        loops = f", {len(self.cut_joints)} loops" if self.cut_joints else ""
        return f"System('{self.name}': {self.model.size} bodies, nq={self.nq}, nu={self.nu}{loops})"

    def __reduce__(self) -> Any:
        held, sliding = dict(self.held), dict(self.sliding)
        return System, (self.model, self.topology, self.arrays, self._turn, self._shift, held, sliding)

    def holding(self, held: Mapping[str, Constraint], sliding: Mapping[str, Vector] = NONE) -> System:
        """The same system with these constraints in the place of its own: the rows of q and u stay.

        Those in ``sliding`` slip, with friction against the direction that is given, in axes of what they slip on; of a
        ``speed`` the first number is the sign.
        """
        other = self._twin()
        other._hold(held, sliding)
        if [*map(id, functions_of(other))] != [*map(id, functions_of(self))]:
            other.forces = SystemForces(other)
        other._frozen = True
        return other

    def acted_on(self, forces: SystemForces) -> System:
        """The same system under other forces on the same joints and bodies."""
        other = self._twin()
        other.forces = forces
        other.workspaces = Workspaces(self.workspaces.of_tree, dict(self.workspaces.found))
        other._frozen = True
        return other

    def _twin(self) -> System:
        """Another that shares everything, at no cost, and can be changed until it is frozen."""
        other = object.__new__(System)
        vars(other).update(vars(self))
        del vars(other)["_frozen"]
        return other


def begin_held(model: Model) -> dict[str, Constraint]:
    """Constraints that are there when a run begins."""
    open_ = {t.name for t in model.temporaries.values() if t.begins == "open"}
    return {name: c for name, c in model.constraints.items() if name not in open_}


def _require_text(name: Any, what: str) -> None:
    if not isinstance(name, str):
        raise ModelError(f"{what} is named by a text", expected="its name", got=shown(name))


def _frozen(array: np.ndarray) -> np.ndarray:
    frozen = np.array(array)
    frozen.setflags(write=False)
    return frozen


def require_system(given: Any) -> None:
    """Refuse what is no System: a path, a Model, a Result."""
    if isinstance(given, System):
        return
    if isinstance(given, Model):
        raise NotCompiled(given)
    hint = "model.compile() makes one"
    if isinstance(given, str | os.PathLike):
        hint = f"load and compile the file: wt.load({os.fspath(given)!r}).compile()"
    raise ModelError("this is no System", expected="a System", got=described(given), hint=hint)
