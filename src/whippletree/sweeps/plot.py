"""A sweep as a picture: lines over one parameter, maps over two, points of a random design."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from .study import Sweep, variables

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

COLORS = "viridis"
LINE = "#0072B2"
MOST_LINES = 40  # paths in one panel
FEW = 100  # points that are marked


def plot(study: Sweep, names: Sequence[str], path: str | os.PathLike[str] | None) -> Figure:
    """One panel for each variable."""
    from matplotlib import rc_context

    from ..result.pictures.plot import PLAIN_TEXT, new_figure, picture_path, save_figure

    if path is not None:
        picture_path(path)
    kept = variables(study.dataset)
    chosen = [study[name] for name in names or kept[:1]]
    for array in chosen:
        if array.name not in kept:
            raise ModelError(f"'{array.name}' cannot be drawn", expected="one of " + ", ".join(kept[:12]))
    with rc_context(PLAIN_TEXT):
        figure = new_figure((6.4, 4.2 * len(chosen)), shown=path is None)
        for n, array in enumerate(chosen, start=1):
            _panel(figure, figure.add_subplot(len(chosen), 1, n), array)
        figure.suptitle(study.dataset.attrs["title"])
    if path is not None:
        save_figure(figure, path)
    return figure


def _panel(figure: Figure, axes: Any, array: xr.DataArray) -> None:
    if "time" in array.dims:
        _paths(axes, array)
    elif array.dims == ("run",):
        _points(figure, axes, array)
    else:
        _grid(figure, axes, _of_two(axes, array))


def _of_two(axes: Any, array: xr.DataArray) -> xr.DataArray:
    """The array over its two longest parameters that are numbers; the title says where the others are held."""
    drawn = sorted((dim for dim in array.dims if array[dim].dtype.kind == "f"), key=lambda dim: -array.sizes[dim])
    drawn = [dim for dim in drawn[:2] if array.sizes[dim] > 1] or drawn[:1]
    held = [dim for dim in array.dims if dim not in drawn]
    at = {dim: array.sizes[dim] // 2 for dim in held}
    title = ", ".join(
        f"{dim} = {array[dim].values[at[dim]]:{'.4g' if array[dim].dtype.kind == 'f' else ''}}" for dim in held
    )
    axes.set_title(title, fontsize="small")
    return array.isel(at)


def _grid(figure: Figure, axes: Any, array: xr.DataArray) -> None:
    if not array.dims:
        raise ModelError(f"'{array.name}' cannot be drawn", expected="a parameter that is a number", got="only texts")
    x = array[array.dims[0]]
    axes.set(xlabel=_label(x), ylabel=_label(array))
    if array.ndim == 1:
        axes.plot(x.values, array.values, ".-" if array.size < FEW else "-", color=LINE)
        return
    y = array[array.dims[1]]
    mesh = axes.pcolormesh(x.values, y.values, array.values.T, shading="nearest", cmap=COLORS)
    figure.colorbar(mesh, ax=axes, label=_label(array))
    axes.set_ylabel(_label(y))


def _paths(axes: Any, array: xr.DataArray) -> None:
    rows = array.transpose("time", ...).values.reshape(array.sizes["time"], -1)
    chosen = np.unique(np.linspace(0, rows.shape[1] - 1, MOST_LINES).astype(int))
    axes.plot(array["time"].values, rows[:, chosen], color=LINE, alpha=0.4, linewidth=0.8)
    axes.set(xlabel="time (s)", ylabel=_label(array))


def _points(figure: Figure, axes: Any, array: xr.DataArray) -> None:
    given = [array[name] for name in array.coords if name != "run" and array[name].dtype.kind == "f"]
    if len(given) < 2:
        axes.plot(given[0].values if given else array["run"].values, array.values, "o", markersize=3)
        axes.set(xlabel=_label(given[0]) if given else "run", ylabel=_label(array))
        return
    points = axes.scatter(given[0].values, given[1].values, c=array.values, cmap=COLORS, s=16)
    figure.colorbar(points, ax=axes, label=_label(array))
    axes.set(xlabel=_label(given[0]), ylabel=_label(given[1]))


def _label(array: Any) -> str:
    unit = array.attrs.get("units")
    return f"{array.name} ({unit})" if unit else str(array.name)
