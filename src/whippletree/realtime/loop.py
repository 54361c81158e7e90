"""The loop: wait, look what has been asked for, take a step, say where it is. Nothing else runs in its process."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import ModelError, SimulationError
from ..result.records import Change
from . import memory as at
from .memory import Memory
from .messages import Catalogue, Command, answer, parse, refusal
from .pace import Pacer
from .priority import undisturbed
from .stepper import Stepper

BATCH = 1024  # steps between two looks at what is asked for, where no clock is waited for
IDLE = 0.005  # s, while paused
MOST_COMMANDS = 64  # between two steps: what else waits stays in the queue
CONTROLS = ("position", "velocity", "torque")  # what a slider of a motor sets, the first that it takes


class Link(Protocol):
    """Those who ask and want answers; None of it may block."""

    def poll(self) -> Sequence[dict[str, Any]]: ...

    def send(self, message: dict[str, Any]) -> None: ...


class NoControls:
    """No link."""

    def poll(self) -> Sequence[dict[str, Any]]:
        return ()

    def send(self, message: dict[str, Any]) -> None: ...


def controls_of(catalogue: Catalogue) -> list[tuple[str, str]]:
    """Motors and motions that a slider can set, each with what it sets."""
    motors = [(n, next(p for p in CONTROLS if p in parts)) for n, parts in catalogue.motors.items() if parts]
    return motors + [(n, "position") for n in catalogue.motions]


class Loop:
    """``script``: messages by the time at which they are given; ``log``: all commands that were done, with theirs."""

    def __init__(
        self,
        stepper: Stepper,
        memory: Memory,
        pacer: Pacer | None,
        link: Link,
        until: float | None,
        script: Sequence[tuple[float, dict[str, Any]]],
        stays: bool,
    ) -> None:
        self.stepper, self.memory, self.pacer, self.link = stepper, memory, pacer, link
        self.until = None if until is None else round(until / stepper.step)
        self.script, self.stays = sorted(script, key=lambda item: item[0]), stays
        self.catalogue = Catalogue(stepper.system)
        self.controls = {name: n for n, (name, _) in enumerate(controls_of(self.catalogue))}
        self.targets = np.full(len(self.controls), np.nan)
        self.ended, self.paused, self.failed, self.reported = "", False, False, 0
        self.log: list[list[Any]] = []
        self.answers: list[dict[str, Any]] = []
        self.begun, self.spent, self.taken = time.perf_counter(), 0.0, 0  # spent: s, once it has ended

    def run(self) -> None:
        """Until it has ended; ``ended`` says why."""
        with undisturbed(self.pacer is not None), warnings.catch_warnings(record=True) as self.words:
            self.begun = time.perf_counter()
            if self.pacer:
                self.pacer.begin()
            while not self.ended:
                try:
                    self._turn()
                except KeyboardInterrupt:
                    self.ended = "interrupted"
            self.spent = time.perf_counter() - self.begun
        self._publish()

    def _turn(self) -> None:
        """What is asked for, then a step, or many where no clock is waited for."""
        self._listen()
        if self.ended:
            return
        if self.paused:
            self._publish()
            time.sleep(IDLE)
            if self.pacer:
                self.pacer.begin()
            return
        if self.until is not None and self.stepper.ticks >= self.until:
            self.ended = "until"
            return
        if self.pacer:
            self.pacer.wait()
            self._go(1)
            self._publish()
            if not self.pacer.done():
                self.ended = "late"
        else:
            self._go(self._room())
            self._publish()

    def _room(self) -> int:
        """Steps until something is due."""
        room = BATCH if self.until is None else min(BATCH, self.until - self.stepper.ticks)
        if self.script:
            room = min(room, max(1, int(np.ceil((self.script[0][0] - self.stepper.time) / self.stepper.step - 1e-9))))
        return room

    def _go(self, steps: int) -> None:
        self.taken += steps
        try:
            self.stepper.advance(steps)
        except SimulationError as e:
            self.failed = self.paused = True
            self.link.send({"notice": "failed", "t": self.stepper.time, "what": str(e)})
            if not self.stays:
                raise
        while self.words:
            warning = self.words.pop(0)
            self.link.send({"notice": "warning", "t": self.stepper.time, "what": str(warning.message)})
        self._tell()

    def _tell(self) -> None:
        """Changes of constraints that have not been reported yet."""
        changes = self.stepper.changes
        for c in changes[self.reported :]:
            self.link.send({"notice": c.what, "name": c.name, "t": c.t, "lost": c.lost})
        self.reported = len(changes)

    # ---------------------------------------------------------------- commands

    def _listen(self) -> None:
        due = self.stepper.time + 0.5 * self.stepper.step
        while self.script and self.script[0][0] <= due:
            self.answers.append(self._answer(self.script.pop(0)[1]))
        for message in self.link.poll()[:MOST_COMMANDS]:
            found = self._answer(message)
            if "from" in message:
                found["from"] = message["from"]
            self.link.send(found)
        self._tell()

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        do = message.get("do")
        plain = {key: value for key, value in message.items() if key != "from"}
        try:
            if do == "journal":  # of those who write files
                return answer(do, message.get("id"), True, attrs=self.journal())
            command = parse(plain, self.catalogue)
            found = self._do(command)
        except ModelError as e:
            return refusal(e, do, message.get("id"))
        if command.do != "statistics":
            self.log.append([self.stepper.time, plain])
        return answer(do, command.id, True, time=self.stepper.time, **found)

    def _do(self, command: Command) -> dict[str, Any]:
        match command.do:
            case "pause":
                self.paused = True
            case "resume" | "step" if self.failed:
                raise ModelError("the motion has failed and cannot go on", hint="reset it")
            case "resume":
                self.paused = False
            case "reset":
                self.memory.forget()
                self.stepper.reset()
                self.targets[:] = np.nan
                self.failed, self.reported = False, 0
                self.log.clear()
            case "step":
                if not self.paused:
                    raise ModelError("the run is not paused", hint="pause it first")
                self._go(command.given["steps"])
                self._publish()
            case "time_scale":
                if self.pacer is None:
                    raise ModelError("the run does not wait for the clock: it has no time scale")
                self.pacer.rescale(command.given["value"])
            case "statistics":
                return {"statistics": self.statistics()}
            case "stop":
                self.ended = "stopped"
            case "hello" | "stream" | "control" | "release_control" | "describe" | "save":
                raise ModelError(f"'{command.do}' is for a connection, and not for the run")
            case _:
                found = self.stepper.apply(command)
                if command.given.get("name") in self.controls:
                    name = command.given["name"]
                    asked = [command.given.get(p) for p in CONTROLS]
                    self.targets[self.controls[name]] = next(x for x in asked if x is not None)
                return found
        return {}

    # ---------------------------------------------------------------- what others see

    def _publish(self) -> None:
        stepper, y, nq = self.stepper, self.stepper.y, self.stepper.system.nq
        held = stepper.held if self.catalogue.temporaries else ()
        head = {
            at.TIME: stepper.time,
            at.TICKS: stepper.ticks,
            at.PAUSED: self.paused,
            at.FAILED: self.failed,
            at.ENDED: bool(self.ended),
            at.RATE: 1.0 / stepper.step,
        }
        if self.pacer:
            L = self.pacer.lateness
            head |= {at.SCALE: self.pacer.scale, at.ON_TIME: L.on_time / max(1, L.steps), at.WORST: L.worst}
            head |= {at.LATE_STEPS: L.steps - L.on_time, at.SLIPPED: L.slipped}
        holds = [name in held for name in self.catalogue.temporaries]
        self.memory.publish(head, holds, self.targets, y[:nq], y[nq:-1])

    def statistics(self) -> dict[str, Any]:
        """Steps, their rate, and how late they were."""
        spent = self.spent or time.perf_counter() - self.begun
        own = {
            "rate": 1.0 / self.stepper.step,
            "seconds": spent,
            "motion": self.stepper.time,
            "steps_per_second": self.taken / spent if spent else 0.0,
            "times_real_time": self.taken * self.stepper.step / spent if spent else 0.0,
        }
        paced = {"time_scale": self.pacer.scale} | self.pacer.lateness.report() if self.pacer else {}
        return own | {"steps": self.taken} | paced

    def journal(self) -> dict[str, Any]:
        """Attributes of a Result: how it was made, what came and went, and what was asked for."""
        stepper = self.stepper
        made: dict[str, Any] = {
            "algorithm": stepper.task.algorithm,
            "integrator": stepper.integrator,
            "step": stepper.step,
        }
        made |= {"changes": Change.text(stepper.changes), "commands": json.dumps(self.log)}
        return made | {"live": 1, "steered": int(stepper.steered)}
