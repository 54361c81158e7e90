"""A run in the browser: play, pause, scrub, follow, and what is shown beside the bodies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, WhippletreeError, nearest
from ..model import Visual
from ..model.check import number
from ..result.result import Result
from .channels import Chart, happenings
from .loads import RunLoads
from .markdown import literal
from .scene import Scene
from .server import stop
from .track import Track, some_rows

if TYPE_CHECKING:
    import viser

FRAMES = 30.0  # a second, while it plays
SPEEDS = ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "5", "10", "100")
TRAIL_POINTS = 2000
ARROW = 0.9  # the longest, as a part of a body's usual size
COLORS = {"reactions": (190, 60, 160), "forces": (40, 140, 70)}
NO_BODY = "no body"
MOST_EVENTS = 12  # in the list; the choice has them all


class Replay:
    """A run shown by a server; ``scene`` is what moves, ``time`` where it stands, ``playing`` whether it goes on."""

    def __init__(
        self,
        server: viser.ViserServer,
        run: Result,
        *,
        visuals: Mapping[str, Sequence[Visual]] | None = None,
        follow: str | None = None,
        scale: float = 1.0,
        speed: float = 1.0,
    ) -> None:
        self.server, self.run = server, run
        check_follow(run, follow)
        self.speed = number(speed, "speed", low=1e-6)
        self.track = Track(run.system, run.t, run.q)
        self.scene = Scene(server, run.system, run.q, visuals=visuals)
        self.scene.scale = number(scale, "scale of the deformation", low=0.0)
        self.loads = RunLoads(run)
        self.time, self.playing, self.loop = self.track.begin, False, True
        self._shown: set[str] = set()
        self._follow: str | None = None
        self._lock, self._ended = threading.RLock(), threading.Event()
        self._controls()
        self.go(self.track.begin)
        self.follow(follow)
        self._player = threading.Thread(target=self._play, name="whippletree replay", daemon=True)
        self._player.start()

    def go(self, t: float) -> None:
        """Show the moment t, s."""
        with self._lock:
            self.time = float(np.clip(t, self.track.begin, self.track.end))
            exact = self.scene.violations.shown  # between rows loops are not quite closed
            q = self.run.q[self.track.row(self.time)] if exact else self.track.at(self.time)
            before = None if self._follow is None else self.scene.position(self._follow)
            with self.server.atomic():
                self.scene.place(q)
                self._draw_arrows(self.scene.exaggerated(q))
                self._reported.content = self._words()
            if self._follow is not None and before is not None:
                moved = self.scene.position(self._follow) - before
                for client in self.server.get_clients().values():
                    client.camera.position = client.camera.position + moved

    def play(self, on: bool = True) -> None:
        """Go on, or stand still."""
        if on and self.time >= self.track.end:
            self.time = self.track.begin
        self.playing = on and self.track.end > self.track.begin
        self._button.label = "Pause" if self.playing else "Play"
        self._button.icon = "player-pause" if self.playing else "player-play"

    def follow(self, body: str | None) -> None:
        """Let the camera go with a body; None lets it stand."""
        check_follow(self.run, body)
        self._follow = body
        if self._follower.value != (body or NO_BODY):
            self._follower.value = body or NO_BODY
        self._draw_trail()

    def wait(self, say: Callable[[str], None] | None = None) -> None:
        """Until Ctrl-C, which ends it; ``say`` is reported so."""
        try:
            if say is not None:
                say(f"{self.run.system.name} is shown; Ctrl-C ends it")
            while not self._ended.wait(1.0):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        """End the player and the server."""
        self._ended.set()
        self._player.join(2.0)
        stop(self.server)

    def _play(self) -> None:
        last = time.perf_counter()
        while not self._ended.wait(1.0 / FRAMES):
            now = time.perf_counter()
            passed, last = now - last, now
            if not self.playing:
                continue
            t = self.time + min(passed, 0.25) * self.speed
            if t > self.track.end:
                t = self.track.begin if self.loop else self.track.end
                if not self.loop:
                    self.play(False)
            self.go(t)
            self._slider.value = self.time

    def _controls(self) -> None:
        gui: Any = self.server.gui
        run = self.run
        gui.set_panel_label(run.system.name)
        gui.main_panel.dock_right()
        self._reported = gui.add_markdown("")
        moving = self.track.end > self.track.begin
        with gui.add_folder("Motion", visible=moving):
            self._button = gui.add_button("Play")
            span = max(self.track.end - self.track.begin, 1e-9)
            step = 10.0 ** np.floor(np.log10(span / 1000))
            self._slider = gui.add_slider("time (s)", self.track.begin, self.track.begin + span, step, self.track.begin)
            known = SPEEDS if f"{self.speed:g}" in SPEEDS else (*SPEEDS, f"{self.speed:g}")
            speeds = gui.add_dropdown("speed", known, initial_value=f"{self.speed:g}")
            loop = gui.add_checkbox("again and again", True)
        self._button.on_click(lambda _: self.play(not self.playing))
        gui.add_command("Play or pause", hotkey="P").on_trigger(lambda _: self.play(not self.playing))
        self._slider.on_update(self._scrubbed)
        speeds.on_update(lambda _: setattr(self, "speed", float(speeds.value)))
        loop.on_update(lambda _: setattr(self, "loop", bool(loop.value)))
        with gui.add_folder("Show"):
            bodies = (NO_BODY, *run.system.model.bodies, *run.system.model.flexibles)
            self._follower = gui.add_dropdown("follow", bodies, initial_value=NO_BODY)
            self._follower.on_update(
                lambda _: self.follow(None if self._follower.value == NO_BODY else self._follower.value)
            )
            self._on(gui.add_checkbox("names", False), self.scene.show_names)
            axes = gui.add_dropdown("axes of", ("nothing", "bodies", "joints", "frames"))
            self._on(axes, lambda of: self.scene.show_axes(None if of == "nothing" else of))
            self._trailing = gui.add_checkbox("trail", False)
            self._on(self._trailing, lambda _: self._draw_trail())
            self._on(gui.add_checkbox("reactions", False), lambda on: self._show_loads("reactions", on))
            if run.system.forces.any:
                self._on(gui.add_checkbox("forces", False), lambda on: self._show_loads("forces", on))
            if run.system.cut_joints:
                self._on(gui.add_checkbox("loop closure", False), self._show_closure)
            if run.system.flexible:
                times = gui.add_number("deformed, times", self.scene.scale, min=0.0, max=1e6, step=0.1)
                self._on(times, self._deformed)
        self._chart = Chart(gui, run)
        events = happenings(run)
        if events:
            with gui.add_folder("Events"):
                gui.add_markdown("\n".join(f"- {literal(what)}" for what in list(events)[:MOST_EVENTS]))
                jump = gui.add_dropdown("go to", tuple(events))
                jump.on_update(lambda _: self._jump(events[jump.value]))

    def _on(self, control: Any, act: Callable[[Any], None]) -> None:
        """Call with what a control is set to, while nothing else moves."""

        def changed(_: Any) -> None:
            with self._lock:
                act(control.value)

        control.on_update(changed)

    def _jump(self, t: float) -> None:
        self.play(False)
        self._slider.value = t
        self.go(t)

    def _scrubbed(self, event: Any) -> None:
        if event.client is not None:  # a person moved it, not the player
            self.play(False)
            self.go(float(self._slider.value))

    def _show_closure(self, on: bool) -> None:
        self.scene.show_closure(on)
        self.go(self.time)

    def _deformed(self, scale: float) -> None:
        self.scene.deform(scale)
        self._draw_trail()

    def _show_loads(self, kind: str, on: bool) -> None:
        if not on:
            self._shown.discard(kind)
            self.scene.arrows({}, group=kind)
            return
        try:
            if self.loads.largest(kind) > 0.0:
                self._shown.add(kind)
        except WhippletreeError as e:  # a result need not know the joint forces that it was given
            self._reported.content = f"{kind} are not known: {literal(e.what)}"
        self.go(self.time)

    def _draw_arrows(self, q: np.ndarray) -> None:
        row = self.track.row(self.time)
        for kind in self._shown:
            per_metre = self.loads.largest(kind) / (ARROW * self.scene.length)
            self.scene.arrows(self.loads.at(kind, row, q), group=kind, color=COLORS[kind], per_metre=per_metre)

    def _draw_trail(self) -> None:
        if not self._trailing.value:
            self.scene.trail(None)
            return
        rows = some_rows(len(self.run), TRAIL_POINTS)
        self.scene.trail(self.scene.paths(self._follow or self.run.system.bodies[-1], self.run.q[rows]))

    def _words(self) -> str:
        reported = [f"**{literal(self.run.system.name)}**  ", f"t = {self.time:.6g} s"]
        if self.scene.violations.shown:
            reported.append(f"  \nlargest gap of a loop: {self.scene.violation:.1e} m")
        for kind in sorted(self._shown):
            reported.append(f"  \nlongest arrow of {kind}: {self.loads.largest(kind):.4g} N")
        return "".join(reported)


def check_follow(run: Result, body: str | None) -> None:
    """Complain about a body that is not there to be followed."""
    known = run.system.bodies[1:]
    if body is not None and body not in known:
        raise ModelError(f"there is no body '{body}' to follow in '{run.system.name}'", hint=nearest(str(body), known))
