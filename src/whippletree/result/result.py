"""Result: a run as labelled arrays over time. What computes them is imported when asked for: a window needs none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, nearest
from ..joints import WELD
from ..model import Force, Motion, force_kind
from ..model.check import shown
from ..model.renamed import RESULT, attribute
from . import columns, records, spans

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from ..dynamics.constraints.forces import Held
    from ..dynamics.kinematics import Kinematics
    from ..system.system import System

BODIES_AT_ONCE = 1_000_000  # bodies x times held as kinematics at one time, some 250 bytes each


class Result:
    """What a run left: times (T,), q (T, nq), u (T, nu), and all that follows from them, by name.

    ``run["hinge.q"]``, ``.u``, ``.udot``, ``.reaction`` of a joint; ``run["arm.position"]``, ``.rotation``,
    ``.velocity`` of a body or named frame, in world axes; ``run["strut.force"]``, ``.power`` of a force;
    ``run["energy"]``, ``["energy.balance"]``, ``["momentum"]``, ``["time"]``, and with loops ``["closure"]``;
    ``run["residual"]`` bounds the relative error of the accelerations at each output time and at the worst step since
    the one before, by their certificates.
    ``names()`` lists them all; one number of a vector is ``run["arm.position.z"]``. Angles are radians, the rest is SI.
    ``events`` happened, in ``changes`` temporary constraints came and went, in ``switches`` reduction chose anew.
    """

    def __init__(
        self,
        system: System,
        t: Any,
        q: Any,
        u: Any,
        work: Any = None,
        *,
        udot: Any = None,
        attrs: Mapping[str, Any] | None = None,
        events: Iterable[records.Occurrence] = (),
        samples: spans.Samples | None = None,
    ) -> None:
        self.system = system
        self.t = np.asarray(t, float)
        try:
            nq, nu = system.nq, system.nu
        except AttributeError:
            from ..system.system import require_system

            require_system(system)
            raise
        self.q = columns.shaped(q, (len(self), nq), "q", system)
        self.u = columns.shaped(u, (len(self), nu), "u", system)
        self._work = None if work is None else columns.shaped(work, (len(self),), "work", system)
        self.given_udot = None if udot is None else columns.shaped(udot, (len(self), nu), "udot", system)
        self.attrs: dict[str, Any] = dict(attrs or {})
        self.events = tuple(events)
        self.switches = tuple(records.Switch.parse(self.attrs.get("switches", "[]")))
        self.changes = tuple(records.Change.parse(self.attrs.get("changes", "[]"), system.model))
        self._kept: dict[str, np.ndarray] = {"time": self.t}
        self._piece: Kinematics | None = None
        self.samples = samples  # evaluations that lost most digits

    def names(self) -> list[str]:
        """Every name this result answers to."""
        joints = [f"{joint}.{letter}" for joint, letters in self._joints.items() for letter in letters]
        reactions = [f"{owner}.reaction" for owner in self._holders]
        places = [f"{place}.{quantity}" for place in self.places for quantity in columns.PLACES]
        forces = [f"{name}.{what}" for name, force in self._forces.items() for what in self._outputs(force)]
        return [*self._totals, *joints, *places, *forces, *reactions]

    @property
    def _totals(self) -> dict[str, columns.Quantity]:
        held = self.system.constraints.count or self.system.model.temporaries
        return columns.TOTALS | columns.CLOSURE if held else columns.TOTALS

    @property
    def _forces(self) -> Mapping[str, Any]:
        return self.system.forces.elements

    def _outputs(self, force: Force) -> dict[str, columns.Quantity]:
        return columns.force_quantities(force, self.system.model)

    @cached_property
    def places(self) -> dict[str, None]:
        """Bodies (without ground) and named frames, in order."""
        return dict.fromkeys([*self.system.bodies[1:], *self.system.model.frames])

    @cached_property
    def _joints(self) -> dict[str, tuple[str, ...]]:
        """Joints that move and what is known of each; the tree's come first."""
        cuts = [joint.name for joint in self.system.topology.cuts if joint.kind != WELD]
        return dict.fromkeys(self.system.joints, columns.JOINT_LETTERS) | dict.fromkeys(cuts, columns.CUT_LETTERS)

    @cached_property
    def _holders(self) -> dict[str, None]:
        """What has a reaction: joints, couplings and constraints."""
        model = self.system.model
        couplings = [f"{joint}.coupling" for joint in model.couplings]
        return dict.fromkeys([*model.joints, *couplings, *model.constraints])

    def quantity(self, name: str) -> columns.Quantity:
        """Labels, units and meaning of a name."""
        if not isinstance(name, str):
            raise ModelError("an output is named by a text", expected="as 'hinge.q'", got=shown(name))
        if name in self._totals:
            return self._totals[name]
        if name in columns.RESIDUAL:  # computed when asked for: not among names(), which files hold
            return columns.RESIDUAL[name]
        owner, _, what = name.rpartition(".")
        if what in self._joints.get(owner, ()):
            return columns.joint_quantity(self.system, owner, what)
        if what in columns.PLACES and owner in self.places:
            return columns.PLACES[what]
        if what == "reaction" and owner in self._holders:
            return columns.REACTION
        if owner in self._forces and what in (known := self._outputs(self._forces[owner])):
            return known[what]
        if owner and what and owner in self and what in (whole := self.quantity(owner)).labels:
            n = whole.labels.index(what)
            return columns.Quantity(("",), (whole.units[n],), f"{what} of {whole.long_name}")
        raise ModelError(
            f"result of '{self.system.name}' has no '{name}'",
            expected="a joint with .q, .u, .udot or .reaction; a body or frame with .position, .rotation or .velocity; "
            + ("a force with .force or .power; " if self._forces else "")
            + ", ".join(self._totals),
            hint=self._hint(name),
        )

    def _hint(self, name: str) -> str:
        for whole, ending in ((self._joints, "q"), (self.places, "position"), (self._forces, "force")):
            if name in whole:
                return f"did you mean '{name}.{ending}'?"
        return nearest(name, self.names()) or "names() lists them all"

    def __getitem__(self, name: str) -> np.ndarray:
        """The array behind a name: (T,) for a number, (T, n) for a vector, (T, 3, 3) for a rotation."""
        if not isinstance(name, str) or name not in self._kept:
            self.quantity(name)
            self._kept[name] = self._compute(name)
        return self._kept[name]

    def __contains__(self, name: str) -> bool:
        try:
            return bool(self.quantity(name))
        except ModelError:
            return False

    def __len__(self) -> int:
        return self.t.size

    def _compute(self, name: str) -> np.ndarray:
        owner, _, what = name.rpartition(".")
        if what in columns.PLACES and owner in self.places:
            return np.concatenate([getattr(k, what)(owner) for k in self.kinematics()])
        if owner in self._forces and what in self._outputs(self._forces[owner]):
            return self._force(owner, what)
        if what == "reaction" and owner in self._holders:
            return self._reactions.get(owner, np.zeros((len(self), 6)))
        if what in self._joints.get(owner, ()):
            if owner in self.system.cut_joints:
                from ..dynamics.constraints.cut_joints import cut_coordinates, cut_velocities

                derive = cut_coordinates if what == "q" else cut_velocities
                return columns.column(
                    np.concatenate([derive(k, self.system.model.joints[owner]) for k in self.kinematics()])
                )
            index = self.system.q_index(owner) if what == "q" else self.system.u_index(owner)
            return columns.column(getattr(self, what)[:, index])
        if name == "closure" and name in self._totals:
            return spans.closure(self)
        if name in columns.RESIDUAL:
            return spans.certificates_along(self)
        if name not in columns.TOTALS:
            return self[owner][:, self.quantity(owner).labels.index(what)]
        from ..dynamics.kinematics import energy, momentum

        if name == "momentum":
            return np.concatenate([momentum(self.system, q, u) for q, u in self._pieces()])
        if name == "energy.work":
            return self.work
        if name == "energy.balance":
            total = self["energy"]
            return total - total[:1] - (self.work - self.work[:1])
        parts = [energy(self.system, q, u) for q, u in self._pieces()]
        self._kept |= {key: np.concatenate([getattr(e, part) for e in parts]) for key, part in columns.ENERGIES.items()}
        return self._kept[name]

    @property
    def work(self) -> np.ndarray:
        """Work of all forces that store no energy, (T,), J; integrated along with the motion."""
        if self._work is not None:
            return self._work
        if not self.has_work:
            what = f"result of '{self.system.name}' does not know the work of its forces"
            raise ModelError(what, hint="simulate integrates it; give it to Result as work")
        return np.zeros(self.t.size)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return attribute(self, name, RESULT)

    @property
    def has_work(self) -> bool:
        """Whether the work of forces that store no energy is known."""
        return self._work is not None or not self.system.forces.any

    @cached_property
    def _loads(self) -> np.ndarray:
        """Load, energy and power of each force, (T, rows, 8)."""
        from ..dynamics.loads.applied import loads

        return loads(self.system, self.q, self.u, self.t).ledger

    def _force(self, name: str, what: str) -> np.ndarray:
        """An output of a force; that of a prescribed motion is what is needed beside all other forces."""
        n, force = list(self._forces).index(name), self._forces[name]
        if isinstance(force, Motion):
            return spans.motion_along(self, force, what == "power")
        return self._loads[:, n, force_kind(force).outputs[what].place]

    @cached_property
    def spans(self) -> list[spans.Span]:
        """Its parts, in each of which the same constraints hold."""
        return spans.spans_of(self)

    @cached_property
    def held(self) -> list[Held]:
        """Forces of constraints, in each part."""
        return spans.held_along(self)

    @cached_property
    def _reactions(self) -> dict[str, np.ndarray]:
        return spans.reactions_along(self)

    @property
    def algorithm(self) -> str:
        """What solves a state of the run: its algorithm, or "auto" where parts of it were solved by several."""
        return "auto" if len(self.spans) > 1 or self.changes else str(self.attrs.get("algorithm", "auto"))

    @cached_property
    def udot(self) -> np.ndarray:
        """Accelerations (T, nu)."""
        if self.given_udot is not None:
            return self.given_udot
        from ..dynamics.functions import forward_dynamics

        name = self.algorithm
        return spans.along(self, lambda s, n: forward_dynamics(s, self.q[n], self.u[n], t=self.t[n], algorithm=name))

    def _pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """q and u of all times, in pieces whose kinematics fits in memory."""
        size = max(1, BODIES_AT_ONCE // self.system.nb)
        for i in range(0, self.t.size, size):
            yield self.q[i : i + size], self.u[i : i + size]

    def kinematics(self) -> Iterator[Kinematics]:
        """Kinematics of all times, piece by piece; when one piece holds them all, it is kept."""
        if self._piece is not None:
            yield self._piece
            return
        from ..dynamics.kinematics import kinematics

        for q, u in self._pieces():
            k = kinematics(self.system, q, u)
            if len(q) == len(self):
                self._piece = k
            yield k

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The run as xarray: q, u, udot, position (of bodies and frames), energies; units in the attributes."""
        from .netcdf import dataset

        return dataset(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run and its model to a file (.nc or .h5, both NetCDF 4), which is there whole or not at all.

        A name that ends in .csv gets the columns alone, time, coordinates and velocities: :func:`load_result` does not
        read it, since it has no model.
        """
        from .netcdf import save

        save(self, path)

    def displacements(self, body: str) -> np.ndarray:
        """(T, nodes, 3) What the nodes of a flexible body, as ``modes.nodes`` has them, move by in its frame."""
        from .deformation import modes_of

        modes, eta = modes_of(self, body)
        return modes.displacements(eta)

    def node_positions(self, body: str) -> np.ndarray:
        """(T, nodes, 3) Where all nodes of a flexible body are in the world, also those that nothing names."""
        from .deformation import node_positions

        return node_positions(self, body)

    def stresses(self, body: str, at: Any = None) -> dict[str, np.ndarray]:
        """(T, places) each: loads and stresses of a beam ``at`` m along it, as :meth:`Modes.stresses` has them."""
        from .deformation import modes_of

        modes, eta = modes_of(self, body)
        return modes.stresses(eta, at)

    def plot(self, *names: str, path: str | os.PathLike[str] | None = None, scale: float = 1.0) -> Figure:
        """Draw names over time, one axes per unit; without names the mechanism, its coordinates and energies.

        ``path`` (.svg, .png or .pdf) writes the picture. Without it the figure is one of pyplot,
        so a notebook shows it. Flexible bodies are drawn deformed ``scale`` times as much as they are.
        """
        from .pictures.plot import plot

        return plot(self, names, path, scale=scale)

    def animate(
        self, path: str | os.PathLike[str], *, scale: float = 1.0, progress: Callable[[float], None] | None = None
    ) -> None:
        """Write the mechanism in motion: as one HTML page that needs no server and no network, or as a .gif.

        ``scale`` is as in :meth:`plot`. ``progress`` is called with the share that is done.
        """
        from .pictures.animation import animate

        animate(self, path, progress, scale)

    def view(self, **options: Any) -> Any:
        """Show the run in the browser until Ctrl-C: see :func:`whippletree.view.window.view` for the options."""
        from ..view.window import view

        return view(self, **options)

    def report(self, path: str | os.PathLike[str], *, scale: float = 1.0) -> None:
        """Write one HTML page: motion (deformed ``scale`` times), energy balance, model, tree, method, references."""
        from .report import report

        report(self, path, scale)

    def __repr__(self) -> str:
        span = f"{self.t.size} times from {self.t[0]:g} to {self.t[-1]:g} s" if self.t.size else "no times"
        how = ", ".join(f"{key} {self.attrs[key]}" for key in ("algorithm", "integrator", "step") if key in self.attrs)
        names = self.names()
        examples = [*[n for n in names if n.endswith((".q", ".position"))][:3], "energy"]
        asked = ", ".join(f'["{n}"]' for n in examples)
        return (
            f"<Result of '{self.system.name}': {span}" + (f"; {how}" if how else "") + "\n  "
            f"{len(self.system.joints)} joints, {len(self.system.bodies) - 1} bodies; {asked} ... "
            f"names() lists all {len(names)}>"
        )


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a file that :meth:`Result.save` wrote; the model stored in it is compiled again."""
    from .netcdf import load

    return load(path)
