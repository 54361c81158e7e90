"""Pictures of benches: one look, and two files of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whippletree.files.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Files = tuple[Path, Path]  # .svg and .png


@contextmanager
def picture(path: str | Path, size: tuple[float, float] | None = None) -> Iterator[tuple[Figure, Files]]:
    """A figure (inches) to draw into, and the .svg and .png that it is written to when all went well."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    svg, png = Path(path).with_suffix(".svg"), Path(path).with_suffix(".png")
    with mpl.rc_context({"svg.hashsalt": "whippletree", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, (svg, png)
        with whole_file(svg, "the picture") as part:
            figure.savefig(part, format="svg", metadata={"Date": None})
        with whole_file(png, "the picture") as part:
            figure.savefig(part, format="png", dpi=160)


def legend(figure: Figure, panels: Iterable[Any], columns: int) -> None:
    """One for all panels, below them."""
    handles = {label: h for p in panels for h, label in zip(*p.get_legend_handles_labels(), strict=True)}
    columns = min(columns, len(handles)) or 1
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)


def plain(panel: Any, left: str = "", key: float = 0.0, **axes: Any) -> None:
    """Faint lines to read by, and no box; a title to the left, a key of this size, and what ``panel.set`` takes."""
    panel.set(**axes)
    if left:
        panel.set_title(left, loc="left")
    if key:
        panel.legend(frameon=False, fontsize=key)
    panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def ticks(panel: Any, at: Iterable[int], words: Callable[[int], str] = str, **more: Any) -> None:
    """Marks at these numbers along x, and nowhere else."""
    at = sorted(at)
    panel.set_xticks(at, [words(n) for n in at], **more)
    panel.set_xticks([], minor=True)
