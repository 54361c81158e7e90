"""MJCF models, the tree of them. MuJoCo compiles the file: defaults, angles, frames and inertias of geoms are its own.

The zero of our coordinates is MuJoCo's reference pose ``qpos0``: a hinge or slide has q = qpos - ref, a ball the same
quaternion, and a free joint the pose relative to the one in the file. See docs/decisions/0006-mjcf-reader.md.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtra, ModelError, warn
from ..model import GROUND, Limits, Model, Pose, check
from ..model.pose import IDENTITY
from .mjcf_refusals import complaint
from .mjcf_source import Source, prepare
from .mjcf_visuals import floats, pose_of, visuals

KINDS = ("free", "spherical", "prismatic", "revolute")  # MuJoCo's free, ball, slide, hinge: 0 to 3


def loads(text: str, source: str, packages: Sequence[str | os.PathLike[str]] = ()) -> Model:
    """The model that ``text`` describes; ``source`` is the file that messages name, and its folder holds the meshes."""
    given = prepare(text, source, packages)
    if not given.bodies:
        raise ModelError(
            "the model has no bodies", expected="<body> inside <worldbody>", got="none", where=given.elements[0].where
        )
    try:
        import mujoco
    except ImportError:
        raise MissingExtra("mujoco", "robots", "reading MJCF") from None
    heard: list[str] = []
    with _quiet(mujoco, heard):
        try:
            spec = mujoco.MjSpec.from_string(given.text, assets=given.assets)
            spec.compiler.usethread = False  # warnings come back to this thread
            _without_missing_files(mujoco, spec, given, source)
            compiled = spec.compile()
        except (ValueError, RuntimeError, mujoco.FatalError) as error:
            if isinstance(error, ModelError):
                raise
            raise complaint(str(error), given, source) from None
    return _Tree(mujoco, spec, compiled, given, source, heard).model


@contextmanager
def _quiet(mujoco: Any, heard: list[str]) -> Iterator[None]:
    """MuJoCo's warnings go into ``heard``, not to the terminal and not into a file MUJOCO_LOG.TXT."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(heard.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        heard += [str(w.message) for w in caught]
    finally:
        mujoco.set_mju_user_warning(before)


def _without_missing_files(mujoco: Any, spec: Any, given: Source, source: str) -> None:
    """Mesh files may be missing where they are only drawn; where they give a body its inertia they may not."""
    how, groups = spec.compiler.inertiafromgeom, spec.compiler.inertiagrouprange
    for geom in spec.geoms if given.missing else ():
        if geom.meshname not in given.missing or geom.parent.name == "world":
            continue
        body = geom.parent
        explicit = how == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE or (
            how == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO and body.explicitinertial
        )
        massless = geom.mass == 0.0 or (np.isnan(geom.mass) and geom.density == 0.0)
        if not explicit and not massless and groups[0] <= geom.group <= groups[1]:
            raise ModelError(
                f"body '{body.name}' takes its inertia from mesh '{geom.meshname}', whose file is missing",
                expected=given.meshes[geom.meshname],
                where=given.missing[geom.meshname].where,
                hint="packages=[...] takes the folder of the mesh files; or give the body an <inertial>",
            )


class _Tree:
    """The compiled MuJoCo model, turned into ours."""

    def __init__(self, mujoco: Any, spec: Any, m: Any, given: Source, source: str, heard: list[str]) -> None:
        self.mujoco, self.spec, self.m, self.given, self.source = mujoco, spec, m, given, source
        self.notes: dict[str, list[str]] = {}
        self.left_out = given.left_out
        self.lines = {
            kind: {x.id: given.where(x.info) for x in getattr(spec, kind)}
            for kind in ("bodies", "joints", "sites", "equalities")
        }
        root = given.elements[0]
        gravity = (0.0, 0.0, 0.0) if self._off("gravity") else floats(m.opt.gravity)
        name = root.attributes.get("model", "").strip() or Path(source).stem
        self.model = Model(name, gravity, passive=False, where=root.where)
        types = mujoco.mjtObj
        self.bodies = [GROUND, *self._names(types.mjOBJ_BODY, m.nbody, "body", first=1)]
        self.joints = self._names(types.mjOBJ_JOINT, m.njnt, "joint")
        self.taken = {*self.bodies}, {*self.joints}  # names of bodies and of joints
        for i in range(1, m.nbody):
            self._body(i)
        for i in range(m.nsite):
            self._frames(i)
        for i in range(m.neq):
            self._coupling(i)
        self._count()
        self._report(heard)

    def _off(self, *flags: str) -> bool:
        """Whether the file switches one of these off. Older MuJoCo has one flag for springs and dampers."""
        bits = [getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}", 0) for flag in flags]
        return any(self.m.opt.disableflags & int(bit) for bit in bits)

    def _names(self, kind: Any, count: int, word: str, first: int = 0) -> list[str]:
        """A name for each, its own or "body3"; each only once."""
        given = [self.mujoco.mj_id2name(self.m, kind, i) or "" for i in range(first, count)]
        taken, names = {*given, GROUND}, []
        for i, name in enumerate(given, start=first):
            if name == GROUND and word == "body":
                name = _free_name("ground_body", taken)
                self._note("renamed, because 'ground' is the fixed world", name)
            names.append(name or _free_name(f"{word}{i}", taken))
        return names

    def _body(self, i: int) -> None:
        m, name, where = self.m, self.bodies[i], self.lines["bodies"][i]
        mass, moments = float(m.body_mass[i]), m.body_inertia[i]
        R = Pose(quaternion=floats(m.body_iquat[i])).rotation()
        inertia = R @ np.diag(moments) @ R.T  # from principal axes to those of the body
        inertia = 0.5 * (inertia + inertia.T)
        parent, at = self.bodies[m.body_parentid[i]], pose_of(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        for j in range(first, first + count - 1):  # all joints but the last carry a body without mass
            between = _free_name(f"{name}_{self.joints[j]}", self.taken[0])
            self.model.body(between, mass=0.0, idealized=True, where=self.lines["joints"][j])
            self._joint(j, parent, between, at)
            parent, at = between, IDENTITY
        low, middle, high = np.sort(moments)
        self.model.body(
            name,
            mass=mass,
            com=floats(m.body_ipos[i]),
            inertia=inertia.tolist(),
            idealized=mass == 0.0 or bool(high > low + middle),
            visuals=visuals(self.mujoco, self.spec, m, i, self.given, self.left_out),
            where=where,
        )
        if count:
            self._joint(first + count - 1, parent, name, at)
        else:
            self.model.joint(_free_name(f"{name}_weld", self.taken[1]), "fixed", parent, name, at=at, where=where)

    def _joint(self, j: int, parent: str, child: str, at: Pose) -> None:
        """Joint ``j`` turns about an axis through ``jnt_pos``, a point of the frame ``at`` and of the child alike."""
        m, kind = self.m, KINDS[self.m.jnt_type[j]]
        dof, start = int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])
        one = kind in ("revolute", "prismatic")
        point = m.jnt_pos[j] if kind in ("revolute", "spherical") else np.zeros(3)
        limits = None
        if m.jnt_limited[j] and one and not self._off("limit", "constraint"):
            lower, upper = (float(x) if np.isfinite(x) else None for x in m.jnt_range[j] - m.qpos0[start])
            limits = Limits(lower, upper)
        self.left_out["limits of ball joints"] += bool(m.jnt_limited[j]) and not one
        stiffness = 0.0 if self._off("spring", "passive") else float(m.jnt_stiffness[j])
        self.left_out["springs of free joints"] += kind == "free" and stiffness > 0.0
        armature = float(m.dof_armature[dof])
        if armature > 0.0 and kind == "free":
            self._note("armature of a free joint, which acts in body axes here", self.joints[j])
        self.model.joint(
            self.joints[j],
            kind,
            parent,
            child,
            axis=floats(m.jnt_axis[j]) if one else None,
            at=Pose(floats(at.position + at.rotation() @ point), at.quaternion),
            child_at=Pose(floats(point)),
            armature=armature,
            stiffness=0.0 if kind == "free" else stiffness,
            rest=float(m.qpos_spring[start] - m.qpos0[start]) if one and stiffness else 0.0,
            damping=0.0 if self._off("damper", "passive") else float(m.dof_damping[dof]),
            friction=0.0 if self._off("frictionloss", "constraint") else float(m.dof_frictionloss[dof]),
            limits=limits,
            where=self.lines["joints"][j],
        )

    def _frames(self, i: int) -> None:
        m, where = self.m, self.lines["sites"][i]
        name = self.mujoco.mj_id2name(m, self.mujoco.mjtObj.mjOBJ_SITE, i) or f"site{i}"
        known = {*self.model.bodies, *self.model.frames, GROUND}
        if name in known:
            name = _free_name(f"{name}_site", known)
            self._note("sites renamed, because a body has their name", name)
        at = pose_of(m.site_pos[i], m.site_quat[i])
        self.model.frame(name, self.bodies[m.site_bodyid[i]], at, where=where)

    def _coupling(self, i: int) -> None:
        """y - y0 = a0 + a1 (x - x0): with coordinates that are zero at the reference, q(joint) = a1 q(of) + a0."""
        m, where = self.m, self.lines["equalities"][i]
        joint, of = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        offset, ratio, *rest = map(float, m.eq_data[i][:5])
        used = m.eq_active0[i] and not self._off("equality", "constraint")
        if not used or of < 0 or any(rest) or self.joints[joint] in self.model.couplings:
            self.left_out["equality constraints"] += 1
            return
        self.model.couple(self.joints[joint], self.joints[of], ratio=ratio, offset=offset, where=where)

    def _count(self) -> None:
        """What the compiled model has and ours does not."""
        m, moving = self.m, self.left_out
        moving["nonlinear springs and dampers"] += sum(
            int(np.count_nonzero(np.any(getattr(m, key), axis=-1)))
            for key in ("jnt_stiffnesspoly", "dof_dampingpoly")
            if hasattr(m, key)
        )
        moving["bodies with gravity compensation"] += int(np.count_nonzero(m.body_gravcomp))
        moving["mocap bodies, which stand still"] += int(np.count_nonzero(m.body_mocapid >= 0))
        moving["forces of a fluid"] += bool(m.opt.density or m.opt.viscosity)
        moving["geoms of the world"] += int(m.body_geomnum[0])
        collide = np.count_nonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0))
        moving["geoms with contact"] += int(collide) * (not self._off("contact", "constraint"))

    def _note(self, what: str, name: str) -> None:
        self.notes.setdefault(what, []).append(f"'{name}'")

    def _report(self, heard: list[str]) -> None:
        """One warning that holds all notes."""
        counts = sorted((what, n) for what, n in self.left_out.items() if what and n)
        notes = ["not imported: " + ", ".join(f"{what} ({n})" for what, n in counts)] if counts else []
        notes += [f"{what}: {check.some(names)}" for what, names in self.notes.items()]
        if self.given.missing:
            files = [f"'{self.given.meshes[name]}'" for name in self.given.missing]
            notes.append(f"mesh files not found: {len(files)}, {check.some(files)}; packages=[...] takes their folder")
        notes += [f"MuJoCo says: {' '.join(reported.split())}" for reported in dict.fromkeys(heard)]
        if notes:
            warn("\n  ".join([self.source, *notes]))


def _free_name(name: str, taken: set[str]) -> str:
    """``name``, made longer until nothing has it; then it is taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
