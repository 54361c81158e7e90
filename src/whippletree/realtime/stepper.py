"""A run without an end, of steps of equal length: it goes on a few steps at a time, and takes commands in between.

Rows of a run are made for so many steps (WINDOW) and filled again and again. All that a command changes begins with the
next step; temporary constraints are activated and released by their conditions as in any run, and by command.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numpy.typing import ArrayLike

from ..dynamics.auto.choose import choose
from ..dynamics.inputs import one_state
from ..dynamics.kinematics import kinematics
from ..dynamics.loads.applied import prescribed_motion
from ..dynamics.stepping.mechanism import derivative
from ..errors import ModelError, SimulationError, WhippletreeError
from ..integrate.assemble import consistent_start
from ..integrate.contacts.run import Switching
from ..integrate.march import stopped
from ..integrate.methods.fixed_step import HEAD, Run
from ..integrate.methods.registry import INTEGRATORS
from ..integrate.names import require_integrator
from ..integrate.run.task import Failure, Task, make_task
from ..integrate.simulate import A_RUN
from ..model.check import shown
from ..result.records import Change
from ..system.callbacks import function_name, joint_forces, raised_in, user_error
from ..system.system import System
from .inputs import PARTS, Inputs
from .messages import Command

WINDOW = 1024  # steps
PULLED = 4.0  # rad/s: how fast a body alone would swing on the spring that pulls it
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Stepper:
    """``keep(rows)`` is called with every ``spacing``-th row: t (n), q (n, nq), u (n, nu), work (n), udot (n, nu)."""

    def __init__(
        self,
        system: System,
        q: ArrayLike | Mapping[str, Any] | None,
        u: ArrayLike | Mapping[str, Any] | None,
        step: float,
        integrator: str = "rk4",
        algorithm: str = "auto",
        controller: Callable[..., Any] | None = None,
        every: int | None = None,
        spacing: int = 10,
        keep: Callable[[Rows], None] = lambda rows: None,
    ) -> None:
        require_integrator(integrator, ("rk4", "euler"), " to live runs, which take steps of equal length")
        self.system, self.step, self.spacing, self.keep = system, step, spacing, keep
        self.begin, self.integrator, self.algorithm = INTEGRATORS[integrator].begin, integrator, algorithm
        self.control = Control(controller, every, system.nu)
        self.inputs = Inputs(system)
        self.q0, self.u0, _ = one_state(system, q, u, None, "live")
        prescribed_motion(system, 0.0, self.q0, self.u0)
        some = u if isinstance(u, Mapping) else {}
        consistent_start(system, self.q0, self.u0, u is None or isinstance(u, Mapping), some)
        self.reset()

    def reset(self) -> None:
        """To the start, with the inputs that the model has."""
        self.base, self.pulls = 0, {}  # type: int, dict[str, tuple[Any, ...]]
        self.inputs.clear()
        self.forces = np.zeros(self.system.nu)  # asked for by commands
        self.steered = self.control.call is not None or self.control.sampled is not None
        t = np.arange(WINDOW + 1) * self.step
        name = choose(self.inputs.on(self.system), self.algorithm, A_RUN)
        options = {"tau": np.zeros(self.system.nu), "call": self.control.address, "step": self.step}
        self.task = make_task(self.system, name, self.integrator, t, self.q0, self.u0, **options)
        self.run: Any = self._run(self.task)
        self._keep(self.marcher, 0)

    def _run(self, task: Task) -> Any:
        if not self.system.model.temporaries:
            return self._begun(task)
        return Switching(task, self._begun, self.control.call, (), self.algorithm, A_RUN, self.inputs.on)

    def _begun(self, task: Task) -> Run:
        return self.begin(task._replace(system=self.inputs.on(task.system)))

    # ---------------------------------------------------------------- where it is

    @property
    def marcher(self) -> Run:
        return self.run.watch.run if isinstance(self.run, Switching) else self.run

    @property
    def ticks(self) -> int:
        """Steps from the start."""
        return self.base + self.run.row - 1

    @property
    def time(self) -> float:
        return self.run.time

    @property
    def y(self) -> np.ndarray:
        """(q, u, work) now."""
        return self.marcher.state[HEAD : HEAD + self.task.y.size]

    @property
    def changes(self) -> list[Change]:
        """Temporary constraints that came and went."""
        return self.run.changes if isinstance(self.run, Switching) else []

    @property
    def held(self) -> tuple[str, ...]:
        """Temporary constraints that hold."""
        return tuple(n for n in self.system.model.temporaries if n in self.run.constraint_state.system.held)

    # ---------------------------------------------------------------- on

    def advance(self, ticks: int) -> None:
        """So many steps; a SimulationError if the motion cannot go on."""
        end = self.ticks + ticks
        while self.ticks < end:
            if self.run.row == self.task.t.size:
                self._shift()
            some = min(end - self.ticks, self.task.t.size - self.run.row)
            if self.control.sampled is not None:
                some = min(some, self.control.every - self.ticks % self.control.every)
                if self.ticks % self.control.every == 0:
                    self._ask()
            if self.pulls:
                some = 1
                self._pull()
            run, row = self.marcher, self.run.row
            failure = self.run.proceed(some)
            for callback in (*self.system.forces.callbacks.values(), self.control.callback):
                if callback is not None and callback.error is not None:
                    raise raised_in(callback, f"near t = {self.time:.6g} s")
            if failure:
                raise self._failed(failure)
            self._keep(run, row)

    def _shift(self) -> None:
        """Rows to come take the place of those that are filled."""
        y, t, run = self.y.copy(), self.run.time, self.marcher
        self.base += WINDOW
        self.task.t[:] = (self.base + np.arange(WINDOW + 1)) * self.step
        nq = self.system.nq
        self.task.Q[0], self.task.U[0], self.task.W[0] = y[:nq], y[nq:-1], y[-1]
        run.restart(t, y, 1)
        if isinstance(self.run, Switching):
            self.run.watch.seen = 1

    def _keep(self, run: Run, row: int) -> None:
        """Hand on the rows from this one on that are due."""
        rows = np.arange(row - (self.base + row) % -self.spacing, self.run.row, self.spacing)
        if not rows.size:
            return
        t, Q, U, W = (x[rows] for x in (self.task.t, self.task.Q, self.task.U, self.task.W))
        udot = np.full(U.shape, np.nan)
        if self.steered:
            y, out = np.column_stack([Q, U, W]), np.empty(self.task.y.size)
            run.plans.memory(run.state[run.tail :])  # of the pose that it is at
            memory, task = run.plans.aside(), run.task
            with run.plans.at_work():
                for n in range(len(rows)):
                    derivative(memory, task.tau, task.call, run.plans.code, float(t[n]), y[n], out)
                    udot[n] = out[self.system.nq : -1]
        self.keep((t, Q, U, W, udot))

    def _ask(self) -> None:
        """Joint forces by a controller that is asked now and then, on top of those of commands."""
        y, nq, tau = self.y, self.system.nq, self.forces.copy()
        self.control.ask(self.time, y[:nq].copy(), y[nq:-1].copy(), tau)
        self.task.tau[:] = tau

    def _failed(self, failure: Failure) -> SimulationError:
        return failure.error or stopped(self.system, failure, None, failure.hint)

    # ---------------------------------------------------------------- commands

    def apply(self, command: Command) -> dict[str, Any]:
        """Do what a command about the motion says; a ModelError refuses it, and nothing has changed then."""
        do, given = command.do, command.given
        if do in ("activate", "release"):
            return self._switch(given["name"], do)
        self.steered = True
        if do == "motor":
            for part in PARTS:
                if given[part] is not None:
                    self.inputs.move(given["name"], part, given[part], self.time, given["rise"])
        elif do == "motion":
            self.inputs.move(given["name"], "position", given["position"], self.time, given["rise"])
        elif do == "force":
            self.forces[self.system.u_index(given["joint"])] = given["values"]
            self.task.tau[:] = self.forces
        elif do == "wrench":
            wrench = np.array([*given["torque"], *given["force"]])
            self._push(given["body"], wrench if wrench.any() else None, np.array(given["at"]))
            self.pulls.pop(given["body"], None)
        else:
            self._hold_on(given)
        run = self.marcher
        run.plans.take_forces(self.inputs.on(run.task.system))  # as they are now, from the next step on
        if isinstance(self.run, Switching):
            self.run.constraint_state.system = self.inputs.on(self.run.constraint_state.system)
        return {}

    def _push(self, body: str, wrench: np.ndarray | None, at: np.ndarray) -> None:
        if self.inputs.wrench(body, wrench, at):  # room for wrenches: other memory
            if isinstance(self.run, Switching):
                self.run.constraint_state.system = self.inputs.on(self.run.constraint_state.system)
                self.run.again(self.time, self.y.copy())
            else:
                row = int(np.searchsorted(self.task.t, self.time, side="right"))
                self.run = self._begun(self.task._replace(start=self.time, y=self.y.copy(), first=row))

    def _hold_on(self, given: dict[str, Any]) -> None:
        """A spring from a point of a body to a place in the world, or no more."""
        body, at = given["body"], np.array(given["at"])
        if given["to"] is None:
            self.pulls.pop(body, None)
            self._push(body, None, at)
            return
        mass = self.system.arrays["mass"][self.system.place(body)[0]] or 1.0
        k = given["stiffness"] if given["stiffness"] is not None else mass * PULLED**2
        d = given["damping"] if given["damping"] is not None else 2.0 * np.sqrt(mass * k)
        self._push(body, np.zeros(6), at)
        self.pulls[body] = at, np.array(given["to"]), k, d

    def _pull(self) -> None:
        """The forces of springs that pull, from where their bodies are."""
        nq, y = self.system.nq, self.y
        k = kinematics(self.system, y[:nq], y[nq:-1])
        for body, (at, to, stiffness, damping) in self.pulls.items():
            arm = k.rotation(body) @ at
            v = k.velocity(body)
            speed = v[3:] + np.cross(v[:3], arm)
            force = stiffness * (to - k.position(body) - arm) - damping * speed
            self.inputs.wrench(body, np.concatenate([np.zeros(3), force]), at)
            self.marcher.plans.put(self.inputs.place_of(body), force)

    def _switch(self, name: str, action: str) -> dict[str, Any]:
        """Activate or release a temporary constraint; what is refused leaves all as it is."""
        constraint_state, y = self.run.constraint_state, self.y.copy()
        if (action == "activate") == (name in self.held):
            raise ModelError(f"'{name}' {'holds' if action == 'activate' else 'does not hold'} already")
        if action == "activate" and constraint_state.temporaries[name].unilateral:
            raise ModelError(f"'{name}' is unilateral", hint="contacts and ropes are activated when they are reached")
        if action == "activate" and (why := constraint_state.out_of_reach(name, self.time, y)):
            raise ModelError(f"'{name}' is out of reach", got=why)
        known = len(constraint_state.changes)
        with warnings.catch_warnings(record=True) as reported:
            warnings.simplefilter("always")
            try:
                self.run.change(name, action)
            except WhippletreeError as e:
                raise ModelError(f"'{name}' cannot be changed", got=e.what, hint=e.hint) from e
        change = constraint_state.changes[known] if len(constraint_state.changes) > known else None
        if change is None or change.what == "refused":
            raise ModelError(f"'{name}' is not activated", got="; ".join(str(w.message) for w in reported) or None)
        return {"t": change.t, "lost": change.lost, "impulse": change.impulse.tolist(), "held": list(self.held)}


class Control:
    """The user's controller: compiled into the loop, or asked every so many steps."""

    def __init__(self, function: Callable[..., Any] | None, every: int | None, nu: int) -> None:
        self.call = self.sampled = self.callback = None  # type: Any
        self.every, self.address, self.nu = every or 1, 0, nu
        if function is None:
            return
        if not callable(function):
            raise ModelError("controller is not a function", expected="controller(t, q, u)", got=shown(function))
        if isinstance(function, Dispatcher) and every is None:
            self.call, self.callback = function, joint_forces(function, "the controller")
            self.address = self.callback.address
            return
        self.sampled = function
        plain = function.py_func if isinstance(function, Dispatcher) else function
        self.writes = len(inspect.signature(plain).parameters) >= 4

    def ask(self, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> None:
        """tau as the controller wants it, in place."""
        try:
            if self.writes:
                self.sampled(t, q, u, tau)
            elif (found := self.sampled(t, q, u)) is not None:
                tau += np.asarray(found, float)
        except Exception as e:
            raise user_error(f"the controller '{function_name(self.sampled)}'", f"at t = {t:.6g} s", e) from e
        if not np.isfinite(tau).all():
            raise SimulationError(f"the controller gave a force that is not finite at t = {t:.6g} s", got=str(tau))
