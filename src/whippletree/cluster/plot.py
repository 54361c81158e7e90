"""A sweep as a picture: lines over one parameter, maps over two, points of a random design."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .study import Sweep

COLORS = "viridis"
MOST_LINES = 40  # paths in one panel


def plot(study: Sweep, names: Sequence[str], path: str | os.PathLike[str] | None) -> Figure:
    """One panel for each variable."""
    from ..result.plot import new_figure, picture_path, save_figure

    if path is not None:
        picture_path(path)
    kept = [str(name) for name in study.dataset if not str(name).startswith("failure_")]
    chosen = [study[name] for name in names or kept[:1]]
    for array in chosen:
        if str(array.name) not in kept:
            raise ModelError(f"'{array.name}' is a parameter or a list, and cannot be drawn", hint=f"as '{kept[0]}'")
    figure = new_figure(len(chosen), path)
    for axes, array in zip(figure.axes, chosen, strict=True):
        _panel(figure, axes, array)
    if path is not None:
        save_figure(figure, path)
    return figure


def _panel(figure: Figure, axes: Any, array: xr.DataArray) -> None:
    over = [str(dim) for dim in array.dims]
    if "time" in over:
        return _paths(axes, array)
    if over == ["run"]:
        return _points(figure, axes, array)
    while len(over) > 2:
        held = min(over, key=lambda dim: array.sizes[dim])
        middle = array.sizes[held] // 2
        axes.set_title(f"{axes.get_title()}  {held} = {array[held].values[middle]:.4g}".strip(), fontsize="small")
        array = array.isel({held: middle})
        over = [str(dim) for dim in array.dims]
    if len(over) == 1:
        axes.plot(array[over[0]].values, array.values, ".-" if array.size < 100 else "-")
        axes.set(xlabel=_label(array[over[0]]), ylabel=_label(array))
        return None
    if array[over[0]].dtype.kind == "U" or array[over[1]].dtype.kind == "U":
        raise ModelError(f"'{array.name}' cannot be drawn as a map", expected="two parameters that are numbers")
    y, x = over
    mesh = axes.pcolormesh(array[x].values, array[y].values, array.values, shading="nearest", cmap=COLORS)
    figure.colorbar(mesh, ax=axes, label=_label(array))
    axes.set(xlabel=_label(array[x]), ylabel=_label(array[y]))
    return None


def _paths(axes: Any, array: xr.DataArray) -> None:
    rows = array.transpose("time", ...).values.reshape(array.sizes["time"], -1)
    chosen = np.unique(np.linspace(0, rows.shape[1] - 1, MOST_LINES).astype(int))
    axes.plot(array["time"].values, rows[:, chosen], color="#0072B2", alpha=0.4, linewidth=0.8)
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
    return str(array.name).replace("$", r"\$") + (f" ({unit})" if unit else "")
