"""The result of a sweep: a dataset over its parameters, and the runs that failed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError, nearest, path_of
from ..files.whole_file import only_writer
from ..model.numbers import Target
from ..result.netcdf import CONVENTIONS as RESULTS
from ..result.netcdf import RESULT, open_whole, result_path, write
from .columns import REPORTED, Column, widths
from .designs import Plan
from .single import DONE, Outcome

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

CONVENTIONS = "whippletree-sweep-1"
TAKEN = ("run", "time", "failure")  # dimensions of every dataset


class Failure(NamedTuple):
    """A run that gave no result."""

    run: int  # counted from 0, in the order of the dataset
    parameters: dict[str, Any]
    message: str


class Sweep:
    """What a sweep left.

    ``dataset`` is an xarray Dataset whose dimensions are the parameters (of a grid) or ``run``: ``hinge.q.end``,
    ``energy.min``, ``energy.max``, ``tip.position.z.path``, with units; NaN where a run failed. ``failures`` lists
    those, with parameters and message. ``sweep["hinge.q.end"]`` is a variable. ``complete`` says whether every run was
    made.
    """

    def __init__(self, dataset: xr.Dataset, failures: Sequence[Failure]) -> None:
        self.dataset, self.failures = dataset, tuple(failures)

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self.dataset:
            raise ModelError(
                f"the sweep has kept no '{name}'", hint=nearest(name, map(str, [*self.dataset, *self.dataset.coords]))
            )
        return self.dataset[name]

    @property
    def complete(self) -> bool:
        return bool(self.dataset.attrs["complete"])

    @property
    def runs(self) -> int:
        return int(self.dataset.attrs["runs"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dataset to a NetCDF file, which is there whole or not at all."""
        target = result_path(path)
        with only_writer(target, RESULT):
            write(self.dataset, target, packed=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Sweep:
        """Read a file that a sweep wrote."""
        if not path_of(path, "the sweep").is_file():
            raise ModelError(f"there is no file '{path}'", hint="'whippletree sweep' writes one with -o")
        try:
            dataset = open_whole(path)
            if dataset.attrs.get("whippletree") == RESULTS:
                raise ModelError(f"'{path}' is the result of one run, not a sweep", hint="wt.load_result reads it")
            if dataset.attrs.get("whippletree") != CONVENTIONS:
                raise _not_a_sweep(path, str(dataset.attrs.get("whippletree", "no mark of it"))[:80])
            names = map(netcdf_name, json.loads(dataset.attrs["parameters"]))
            kept = cls(dataset.set_coords(list(names)), _failures(dataset))
            repr(kept)  # all that is asked of it later: title, number of runs, whether it is complete
            dict(json.loads(dataset.attrs["sweep"]))
        except ModelError:
            raise
        except Exception as e:  # a damaged HDF5 file can raise anything
            raise _not_a_sweep(path, f"{type(e).__name__} while reading") from None
        return kept

    def plot(self, *names: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw variables over the parameters: lines over one, maps over two, points of a random design.

        Without names it is the first. More than two parameters: the others are held at their middle values. ``path``
        (.svg, .png or .pdf) writes the picture.
        """
        from .plot import plot

        return plot(self, names, path)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {size}" for name, size in self.dataset.sizes.items() if name != "failure")
        failed = f", {len(self.failures)} failed" if self.failures else ""
        more = "" if self.complete else ", not complete"
        kept = variables(self.dataset)
        some = ", ".join(kept[:6]) + (" ..." if len(kept) > 6 else "")
        return f"<Sweep of '{self.dataset.attrs['title']}': {self.runs} runs ({sizes}){failed}{more}\n  {some}>"


def variables(dataset: xr.Dataset) -> list[str]:
    """Names of what is kept of runs."""
    return [str(name) for name in dataset if not str(name).startswith("failure_")]


def _failures(dataset: xr.Dataset) -> list[Failure]:
    names = json.loads(dataset.attrs["parameters"])
    columns = (dataset[f"failure_{key}"].values.tolist() for key in ("run", "parameters", "message"))
    return [
        Failure(int(run), dict(zip(names, json.loads(at), strict=True)), str(text))
        for run, at, text in zip(*columns, strict=True)
    ]


def _not_a_sweep(path: str | os.PathLike[str], why: str) -> ModelError:
    return ModelError(f"'{path}' is damaged or not a sweep of Whippletree", got=why)


class Table:
    """Gathers outcomes, each run once, and makes the Sweep of them."""

    def __init__(self, plan: Plan, targets: Sequence[Target], columns: Sequence[Column], times: np.ndarray) -> None:
        self.plan, self.targets, self.columns, self.times = plan, targets, columns, times
        self.sizes = widths(columns, times.size)
        self.numbers = np.full((plan.runs, sum(self.sizes)), np.nan)
        self.state = np.zeros(plan.runs, np.uint8)
        self.count = 0  # of runs that are here
        self.messages: dict[int, str] = {}

    def put(self, run: int, outcome: Outcome) -> None:
        assert not self.state[run], "a run came twice"
        self.state[run] = outcome.state
        self.count += 1
        if outcome.state == DONE:
            self.numbers[run] = outcome.numbers
        else:
            self.messages[run] = outcome.message

    def sweep(self, head: dict[str, Any], complete: bool) -> Sweep:
        """With all that has come so far."""
        import xarray as xr

        plan, failures = self.plan, self._failures()
        coords: dict[str, Any] = {}
        for target, values in zip(self.targets, plan.values, strict=True):
            dim = target.name if plan.dims == plan.names else "run"
            coords[netcdf_name(target.name)] = (netcdf_name(dim), values, _attrs(target.unit, target.name))
        if plan.dims != plan.names:
            coords["run"] = ("run", np.arange(plan.runs))
        if self.times.size:
            coords["time"] = ("time", self.times, _attrs("s", "time"))
        data = xr.Dataset(self._variables(), coords=coords)
        data["failure_run"] = ("failure", np.array([f.run for f in failures], np.int64))
        for name, texts in (
            ("failure_parameters", [json.dumps(list(f.parameters.values())) for f in failures]),
            ("failure_message", [f.message for f in failures]),
        ):
            data[name] = ("failure", np.array(texts, dtype=str if texts else "<U1"))
        data.attrs = head | {"runs": plan.runs, "done": int((self.state == DONE).sum()), "complete": int(complete)}
        return Sweep(data, failures)

    def _variables(self) -> dict[str, Any]:
        dims, shape = tuple(map(netcdf_name, self.plan.dims)), self.plan.shape
        variables: dict[str, Any] = {}
        at = 0
        for column, size in zip(self.columns, self.sizes, strict=True):
            block = self.numbers[:, at : at + size]
            at += size
            attrs = _attrs(column.units, f"{column.long_name}, {REPORTED[column.how]}")
            over = (*dims, "time") if column.how == "path" else dims
            block = block.reshape(*shape, size) if column.how == "path" else block.reshape(shape)
            variables[netcdf_name(column.variable)] = (over, block, attrs)
        return variables

    def _failures(self) -> list[Failure]:
        names = self.plan.names
        return [
            Failure(run, dict(zip(names, self.plan.of(run), strict=True)), self.messages[run])
            for run in sorted(self.messages)
        ]


def netcdf_name(name: str) -> str:
    """NetCDF takes no slash in names."""
    return name.replace("/", "|")


def _attrs(unit: str, long_name: str) -> dict[str, str]:
    return ({"units": unit} if unit else {}) | {"long_name": long_name}
