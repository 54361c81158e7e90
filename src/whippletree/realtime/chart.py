"""Live plots: chosen channels over the last seconds, from the rows that the loop keeps."""

from __future__ import annotations

from typing import Any

from ..result.columns import joint_quantity
from ..system.system import System
from ..view.channels import NOTHING, columns_of, draw
from .memory import RESETS, ROWS, Memory

SECONDS = 10.0  # shown
MOST_POINTS = 400


class Chart:
    """Coordinates or velocities of a joint, as they come."""

    def __init__(self, gui: Any, system: System, memory: Memory) -> None:
        self.gui, self.system, self.memory, self.plot = gui, system, memory, None  # type: Any, System, Memory, Any
        names = [f"{joint}.{letter}" for joint in system.joints for letter in "qu"]
        with gui.add_folder("Chart") as self.folder:
            self.choice = gui.add_dropdown("of", (NOTHING, *names), initial_value=names[0] if names else NOTHING)
        self.shown, self.seen = NOTHING, (-1.0, -1.0)

    def look(self) -> None:
        """Draw what has come, if it is new."""
        seen = float(self.memory.head[ROWS]), float(self.memory.head[RESETS])
        if self.choice.value == self.shown and seen == self.seen:
            return
        if self.choice.value != self.shown and self.plot is not None:
            self.plot.remove()
            self.plot = None
        self.shown, self.seen = self.choice.value, seen
        if self.shown != NOTHING and seen[0] > 1:
            self._draw()

    def _draw(self) -> None:
        t, q, u, _, _ = self.memory.latest(SECONDS)
        joint, _, letter = self.shown.rpartition(".")
        index = self.system.q_index(joint) if letter == "q" else self.system.u_index(joint)
        values = (q if letter == "q" else u)[:, index]
        columns = columns_of(t, values, MOST_POINTS)
        if self.plot is not None:
            self.plot.data = columns
            return
        with self.folder:
            self.plot = draw(self.gui, self.shown, joint_quantity(self.system, joint, letter), columns, 1.6)
