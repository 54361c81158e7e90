"""The window of a live run, in any number of browsers: the mechanism as it moves, and a panel that steers it.

All browsers show the same panel, and are one to the controls. Sliders set motors and motions, keys move one of them at
a time, a body that is dragged follows on a spring.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelError
from ..joints import KINDS
from ..model import Limits
from ..system.system import System
from ..view.markdown import literal
from ..view.scene import Scene
from ..view.server import address, serve, show
from .chart import Chart
from .inputs import Inputs
from .loop import controls_of
from .memory import FAILED, LATE_STEPS, ON_TIME, PAUSED, RATE, SCALE, SLIPPED, TICKS, WORST, Memory, Now
from .messages import Catalogue
from .session import Controls

FRAMES, PANEL = 30.0, 5.0  # pictures, and looks at the panel, per second
SCALES = ("0.1", "0.25", "0.5", "1", "2", "4", "10")
RISE = 0.15  # s over which a slider's new value is reached
ON_ITS_WAY = 1.0  # s that a command of a slider may take to the run: until then the slider is ahead of it
TURN, WAY, EFFORT = np.pi, 1.0, 100.0  # reach of a slider whose joint has no limits: rad, m, N m or N
KEY_STEPS = 100  # from one end of a slider to the other
WHO = "the window"
Forward = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], None]


class Window:
    """Serves until its process ends."""

    def __init__(
        self,
        system: System,
        memory: Memory,
        catalogue: Catalogue,
        controls: Controls,
        forward: Forward,
        options: dict[str, Any],
    ) -> None:
        self.system, self.memory, self.catalogue = system, memory, catalogue
        self.controls, self.forward = controls, forward
        self.server: Any = serve(
            options["host"], options["window_port"] or None, f"{system.name} (live)", options["token"]
        )
        self.url = address(self.server)
        self.server.gui.set_panel_label(system.name)
        self.server.gui.main_panel.dock_right()  # beside the mechanism, not over it
        self.scene = Scene(self.server, system, memory.read().q)
        self.scene.on_drag(self._drag)
        self.sent: np.ndarray = np.full(len(memory.inputs), np.nan)
        self.set_at: np.ndarray = np.full(len(memory.inputs), -np.inf)
        self.own = Inputs(system)  # as the model has them
        self.scale_seen = float(options["time_scale"])
        self.grabbed: dict[str, tuple[Any, list[float]]] = {}  # by body: who holds it, and where
        self._panel()
        self._keys()
        controls.reported[WHO] = lambda who: self._say("The controls are taken", f"{who} has them now")
        self.server.on_client_disconnect(self._left)
        threading.Thread(target=self._refresh, daemon=True).start()
        show(self.server)

    # ---------------------------------------------------------------- the panel

    def _panel(self) -> None:
        gui = self.server.gui
        self.status = gui.add_markdown("")
        with gui.add_folder("Run"):
            self.pause = gui.add_button("Pause", hint="key: space")
            self.pause.on_click(self._pause)
            gui.add_button("Step", hint="one step, while paused").on_click(lambda e: self.do({"do": "step"}, e))
            gui.add_button("Reset", hint="to the start").on_click(lambda e: self.do({"do": "reset"}, e))
            gui.add_button("Save", hint="the rows there are, to a file").on_click(lambda e: self.do({"do": "save"}, e))
            self.scale = gui.add_dropdown("time scale", SCALES, initial_value="1")
            self._show_scale(self.scale_seen)
            self.scale.on_update(self._scaled)
            self.hands = gui.add_button("Take the controls", hint="from the client that has them")
            self.hands.on_click(self._hands)
        self.latches: dict[str, Any] = {}
        if self.catalogue.temporaries:
            with gui.add_folder("Constraints"):
                for name in self.catalogue.temporaries:
                    self.latches[name] = gui.add_button(f"Latch {name}")
                    self.latches[name].on_click(lambda e, name=name: self._switch(name, e))
        self.sliders: list[Any] = []
        self.inputs = controls_of(self.catalogue)
        if self.inputs:
            with gui.add_folder("Motors and motions"):
                for n, (name, part) in enumerate(self.inputs):
                    self.sliders.append(self._slider(n, name, part))
        self.chart = Chart(gui, self.system, self.memory)

    def _slider(self, n: int, name: str, part: str) -> Any:
        low, high = self._reach(name, part)
        value = float(np.clip(self.own.now(name, part, 0.0)[0], low, high))
        slider = self.server.gui.add_slider(name, low, high, (high - low) / 1000.0, value, hint=part)
        slider.on_update(lambda e: self._set(n, float(slider.value), e) if e.client is not None else None)
        return slider

    def _reach(self, name: str, part: str) -> tuple[float, float]:
        """The ends of a slider: limits of the joint, or what its kind makes sense of."""
        force: Any = self.system.forces.elements[name]
        joint = self.system.model.joints[force.joint]
        limits = joint.limits or Limits()
        if part in ("torque", "velocity"):
            most = force.limit or limits.effort or EFFORT if part == "torque" else limits.velocity or TURN
            return -most, most
        reach = WAY if KINDS[joint.kind].slides_only else TURN
        start = self.own.now(name, part, 0.0)[0]
        low = limits.lower if limits.lower is not None else min(-reach, start)
        high = limits.upper if limits.upper is not None else max(reach, start)
        return low, high if high > low else low + 1.0

    def _set(self, n: int, value: float, event: Any) -> None:
        name, part = self.inputs[n]
        do = "motion" if name in self.catalogue.motions else "motor"
        self.sent[n], self.set_at[n] = value, time.monotonic()
        self.do({"do": do, "name": name, part: value, "rise": RISE}, event)

    def _switch(self, name: str, event: Any) -> None:
        held = self.memory.read().held[self.catalogue.temporaries.index(name)]
        self.do({"do": "release" if held else "activate", "name": name}, event)

    def _follow(self, n: int, now: Now) -> None:
        """A slider stands where its motor is commanded to be: by other clients, or by the model's function of time."""
        if time.monotonic() - self.set_at[n] < ON_ITS_WAY:
            return
        slider, value = self.sliders[n], float(now.inputs[n])
        if not np.isfinite(value):
            value = self.own.now(*self.inputs[n], now.t)[0]
        if value != self.sent[n]:
            self.sent[n] = value
            slider.value = float(np.clip(value, slider.min, slider.max))

    def _show_scale(self, scale: float) -> None:
        if f"{scale:g}" not in self.scale.options:
            self.scale.options = (*self.scale.options, f"{scale:g}")
        self.scale.value = f"{scale:g}"

    def _scaled(self, event: Any) -> None:
        if event.client is not None:
            self.do({"do": "time_scale", "value": float(self.scale.value)}, event)

    def _hands(self, event: Any) -> None:
        if self.controls.holder == WHO:
            self.controls.release(WHO)
        else:
            self.controls.take_over(WHO)

    def _pause(self, event: Any) -> None:
        self.do({"do": "resume" if self.memory.head[PAUSED] else "pause"}, event)

    # ---------------------------------------------------------------- keys and dragging

    def _keys(self) -> None:
        """A hand controller: I and K choose a motor, J and L move it. Arrows and WASD turn the camera."""
        gui, self.chosen = self.server.gui, 0

        def key(label: str, hotkey: str, act: Callable[[Any], None]) -> None:
            gui.add_command(label, hotkey=hotkey).on_trigger(act)

        key("Pause or go on", "space", self._pause)
        key("Reset", "R", lambda e: self.do({"do": "reset"}, e))
        key("Step", "N", lambda e: self.do({"do": "step"}, e))
        if self.catalogue.temporaries:
            key(f"Latch or release {self.catalogue.temporaries[0]}", "G",
                lambda e: self._switch(self.catalogue.temporaries[0], e))  # fmt: skip
        if self.inputs:
            key("Motor before", "I", lambda e: self._choose(-1))
            key("Next motor", "K", lambda e: self._choose(1))
            key("Motor back", "J", lambda e: self._nudge(-1, e))
            key("Motor forth", "L", lambda e: self._nudge(1, e))

    def _choose(self, by: int) -> None:
        self.chosen = (self.chosen + by) % len(self.inputs)

    def _nudge(self, way: int, event: Any) -> None:
        n, slider = self.chosen, self.sliders[self.chosen]
        self._follow(n, self.memory.read())  # else the first step would be from where it stood a while ago
        value = float(np.clip(slider.value + way * (slider.max - slider.min) / KEY_STEPS, slider.min, slider.max))
        slider.value = value
        self._set(n, value, event)

    def _drag(self, body: str, event: Any) -> None:
        """A spring from the point that is held to where the pointer is."""
        if body not in self.catalogue.bodies:
            return
        if event.phase == "end":
            self._let_go(body, event)
            return
        start, end = np.array(event.start_position), np.array(event.end_position)
        if event.phase == "start" or body not in self.grabbed:
            at = self.scene.rotation(body).T @ (start - self.scene.position(body))
            self.grabbed[body] = event.client, at.tolist()
        self.scene.arrows({"pull": (start, end - start)}, group="pull", color=(209, 73, 91))
        self.do({"do": "pull", "body": body, "at": self.grabbed[body][1], "to": end.tolist()}, event)

    def _let_go(self, body: str, event: Any = None) -> None:
        self.grabbed.pop(body, None)
        self.scene.arrows({}, group="pull")
        self.do({"do": "pull", "body": body}, event)

    def _left(self, client: Any) -> None:
        """A browser is gone: what it held is let go, and the last one gives the controls back."""
        for body in [body for body, (who, _) in self.grabbed.items() if who.client_id == client.client_id]:
            self._let_go(body)
        if not any(one.client_id != client.client_id for one in self.server.get_clients().values()):
            self.controls.release(WHO)

    # ---------------------------------------------------------------- to the loop, and back

    def do(self, message: dict[str, Any], event: Any = None) -> None:
        """Send a command, if the controls are free or ours; a refusal is shown to who asked."""
        client = getattr(event, "client", None)
        try:
            if message["do"] != "save":
                self.controls.take(WHO)
        except ModelError as e:
            self.scale_seen = 0.0  # the box may show what has been refused
            self._say(e.what, f"{e.got or ''}: 'Take the controls' takes them over", client)
            return
        self.forward(message, lambda answer: self._answered(answer, client))

    def _answered(self, answer: dict[str, Any], client: Any) -> None:
        if not answer.get("ok"):
            error, self.scale_seen = answer.get("error", {}), 0.0
            self._say(error.get("what", "refused"), error.get("got", "") or error.get("hint", ""), client)
        elif "file" in answer:
            self._say("Saved", f"{answer['file']}: {answer['rows']} rows to t = {answer['to']:.6g} s", client)

    def notice(self, message: dict[str, Any]) -> None:
        """What happened in the run."""
        what, name = message["notice"], message.get("name", "")
        self._say(f"{name} {what}".strip(), message.get("what") or f"t = {message['t']:.4f} s")

    def _say(self, title: str, body: str, client: Any = None) -> None:
        for one in [client] if client is not None else self.server.get_clients().values():
            one.add_notification(title, body, auto_close_seconds=6.0)

    def _refresh(self) -> None:
        last, looked = -1.0, 0.0
        while True:
            begun = time.monotonic()
            now = self.memory.read()
            if now.head[0] != last:
                last = float(now.head[0])
                if np.isfinite(now.q).all():
                    self.scene.place(now.q)
            if begun - looked > 1.0 / PANEL:
                looked = begun
                self._look(now)
            time.sleep(max(0.001, 1.0 / FRAMES - (time.monotonic() - begun)))

    def _look(self, now: Now) -> None:
        """The panel as things stand."""
        head = now.head
        self.status.content = self._words(now)
        _put(self.pause, "label", "Go on" if head[PAUSED] else "Pause")
        mine = self.controls.holder == WHO
        _put(self.hands, "label", "Release the controls" if mine else "Take the controls")
        for name, held in zip(self.catalogue.temporaries, now.held, strict=True):
            _put(self.latches[name], "label", f"{'Release' if held else 'Latch'} {name}")
        for n in range(len(self.sliders)):
            self._follow(n, now)
        if head[SCALE] and head[SCALE] != self.scale_seen:
            self.scale_seen = float(head[SCALE])
            self._show_scale(self.scale_seen)
        self.chart.look()

    def _words(self, now: Now) -> str:
        head = now.head
        state = "**failed**: reset it" if head[FAILED] else "paused" if head[PAUSED] else "running"
        lines = [f"**t = {now.t:.2f} s**, {state}, {head[RATE]:g} steps per second"]
        if head[SCALE] and head[TICKS]:
            share = f"{100.0 * head[ON_TIME]:.3f} % of steps on time ({head[LATE_STEPS]:.0f} late)"
            lines.append(f"{share}, worst {1e3 * head[WORST]:.2f} ms late, {head[SLIPPED]:.3f} s slipped")
        lines.append(f"controls: {literal(self.controls.holder or 'free')}")
        if self.inputs:
            lines.append(f"keys J and L: {literal(self.inputs[self.chosen][0])}; drag a body to pull it")
        return "<br/>".join(lines)


def _put(handle: Any, key: str, value: Any) -> None:
    """Only what is new goes to the browsers."""
    if getattr(handle, key) != value:
        setattr(handle, key, value)
