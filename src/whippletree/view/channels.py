"""What is shown beside the picture: a chart of one quantity over time, and what happened when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import WhippletreeError
from ..result.columns import Quantity
from ..result.result import Result
from .markdown import literal
from .pieces import COLORS
from .track import some_rows

if TYPE_CHECKING:
    import viser

MOST_POINTS = 1500  # of a chart that is some 300 pixels wide
NOTHING = "nothing"


class Chart:
    """A chart of a quantity of a run."""

    def __init__(self, gui: viser.GuiApi, run: Result) -> None:
        self._gui: Any = gui
        self._run = run
        self._plot: Any = None
        names = [name for name in run.names() if not name.endswith(".rotation") and name != "time"]
        with self._gui.add_folder("Chart", visible=len(run) > 1) as self._folder:
            self._choice = self._gui.add_dropdown("of", (NOTHING, *names))
            self._note = self._gui.add_markdown("", visible=False)
        self._choice.on_update(lambda _: self.show(self._choice.value))

    def show(self, name: str) -> None:
        """Draw a quantity of the run, one line for each of its labels."""
        if self._plot is not None:
            self._plot.remove()
            self._plot = None
        self._note.visible = False
        if name == NOTHING:
            return
        try:
            values = self._run[name].reshape(len(self._run), -1)
        except WhippletreeError as e:
            self._note.content, self._note.visible = literal(e.what), True
            return
        with self._folder:
            columns = columns_of(self._run.t, values, MOST_POINTS)
            self._plot = draw(self._gui, name, self._run.quantity(name), columns, 1.4)


def columns_of(t: np.ndarray, values: np.ndarray, most: int) -> tuple[np.ndarray, ...]:
    """What a chart draws: times, and each column of values (T, n), at some of the rows."""
    rows = some_rows(len(t), most)
    return t[rows], *np.ascontiguousarray(values[rows].T)


def draw(gui: Any, name: str, quantity: Quantity, columns: tuple[np.ndarray, ...], aspect: float) -> Any:
    """viser's handle of a new chart, with one line for each label of the quantity."""
    from viser import uplot

    labels = [f"{label or name} ({unit})" for label, unit in zip(quantity.labels, quantity.units, strict=True)]
    inks = [f"rgb{COLORS[n % len(COLORS)]}" for n in range(len(labels))]
    lines = [uplot.Series(label=text, stroke=ink, width=1.5) for text, ink in zip(labels, inks, strict=True)]
    series = (uplot.Series(label="t (s)"), *lines)
    return gui.add_uplot(columns, series, scales={"x": uplot.Scale(time=False)}, title=name, aspect=aspect)


def happenings(run: Result) -> dict[str, float]:
    """Events and changes of constraints, in words, and their times, s."""
    found = [(event.t, event.name) for event in run.events]
    found += [(change.t, f"{change.name} {change.what}") for change in run.changes]
    found += [(switch.t, f"loop {switch.loop}: other dependents") for switch in run.switches]
    return {f"{t:.6g} s: {what}": t for t, what in sorted(found)}
