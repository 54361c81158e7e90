"""The result of a sweep: a dataset over its parameters, and the runs that failed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..errors import ModelError, ModelWarning, nearest, path_of, warn
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
TAKEN = ("run", "time", "failure", "warning")  # dimensions of every dataset
REPORTS = ("failure", "warning")  # tables of texts beside the numbers
PARTS = ("run", "parameters", "message")  # of each row


class Failure(NamedTuple):
    """A run that gave no result, and why."""

    run: int  # counted from 0, in the order of the dataset
    parameters: dict[str, Any]
    message: str


class Noted(NamedTuple):
    """What a run has warned of: one row for each text."""

    run: int
    parameters: dict[str, Any]
    message: str


Report = TypeVar("Report", Failure, Noted)


class Sweep:
    """What a sweep left.

    ``dataset`` is an xarray Dataset whose dimensions are the parameters (of a grid) or ``run``: ``hinge.q.end``,
    ``energy.min``, ``energy.max``, ``tip.position.z.path``, with units; NaN where a run failed. ``failures`` lists
    those, with parameters and message; ``warnings`` lists what runs have warned of, by ``run``, with the same.
    ``sweep["hinge.q.end"]`` is a variable. ``complete`` says whether every run was made.
    """

    def __init__(self, dataset: xr.Dataset, failures: Sequence[Failure], warnings: Sequence[Noted] = ()) -> None:
        self.dataset, self.failures, self.warnings = dataset, tuple(failures), tuple(warnings)

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
            noted = _reports(dataset, Noted, "warning") if "warning_run" in dataset else []
            kept = cls(dataset.set_coords(list(names)), _reports(dataset, Failure, "failure"), noted)
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
        sizes = ", ".join(f"{name} {size}" for name, size in self.dataset.sizes.items() if name not in REPORTS)
        failed = f", {len(self.failures)} failed" if self.failures else ""
        count = len({noted.run for noted in self.warnings})
        failed += f", {count} warned" if count else ""
        more = "" if self.complete else ", not complete"
        kept = variables(self.dataset)
        some = ", ".join(kept[:6]) + (" ..." if len(kept) > 6 else "")
        return f"<Sweep of '{self.dataset.attrs['title']}': {self.runs} runs ({sizes}){failed}{more}\n  {some}>"


def reported(study: Sweep) -> Sweep:
    """The sweep, after one warning for all of its runs."""
    if study.warnings:
        first, count = study.warnings[0], len({noted.run for noted in study.warnings})
        at = ", ".join(f"{name} = {value}" for name, value in first.parameters.items())
        try:
            warn(
                f"{count} of {study.runs} runs of the sweep of '{study.dataset.attrs['title']}' warned; the first, at "
                f"{at}: {first.message}\n  hint: 'warnings' of the Sweep holds all of them"
            )
        except ModelWarning as error:
            error.partial = study  # type: ignore[attr-defined]
            raise
    return study


def variables(dataset: xr.Dataset) -> list[str]:
    """Names of what is kept of runs."""
    return [str(name) for name in dataset if dataset[name].dims not in {(report,) for report in REPORTS}]


def _reports(dataset: xr.Dataset, kind: type[Report], table: str) -> list[Report]:
    names = json.loads(dataset.attrs["parameters"])
    columns = (dataset[f"{table}_{part}"].values.tolist() for part in PARTS)
    return [
        kind(int(run), dict(zip(names, json.loads(at), strict=True)), str(text))
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
        self.noted: dict[int, tuple[str, ...]] = {}

    def put(self, run: int, outcome: Outcome) -> None:
        assert not self.state[run], "a run came twice"
        self.state[run] = outcome.state
        self.count += 1
        if outcome.warnings:
            self.noted[run] = outcome.warnings
        if outcome.state == DONE:
            self.numbers[run] = outcome.numbers
        else:
            self.messages[run] = outcome.message

    def sweep(self, head: dict[str, Any], complete: bool) -> Sweep:
        """With all that has come so far."""
        import xarray as xr

        plan = self.plan
        failures = [Failure(run, self._parameters(run), self.messages[run]) for run in sorted(self.messages)]
        noted = [Noted(run, self._parameters(run), text) for run in sorted(self.noted) for text in self.noted[run]]
        coords: dict[str, Any] = {}
        for target, values in zip(self.targets, plan.values, strict=True):
            dim = target.name if plan.dims == plan.names else "run"
            coords[netcdf_name(target.name)] = (netcdf_name(dim), values, _attrs(target.unit, target.name))
        if plan.dims != plan.names:
            coords["run"] = ("run", np.arange(plan.runs))
        if self.times.size:
            coords["time"] = ("time", self.times, _attrs("s", "time"))
        data = xr.Dataset(self._variables(), coords=coords)
        reports: tuple[Sequence[Failure | Noted], ...] = failures, noted
        for table, rows in zip(REPORTS, reports, strict=True):
            if table == "warning" and not rows:
                continue
            data[f"{table}_run"] = (table, np.array([r.run for r in rows], np.int64))
            at, words = [json.dumps(list(r.parameters.values())) for r in rows], [r.message for r in rows]
            for part, texts in (("parameters", at), ("message", words)):
                data[f"{table}_{part}"] = (table, np.array(texts, dtype=str if texts else "<U1"))
        data.attrs = head | {"runs": plan.runs, "done": int((self.state == DONE).sum()), "complete": int(complete)}
        return Sweep(data, failures, noted)

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

    def _parameters(self, run: int) -> dict[str, Any]:
        return dict(zip(self.plan.names, self.plan.of(run), strict=True))


def netcdf_name(name: str) -> str:
    """NetCDF takes no slash in names."""
    return name.replace("/", "|")


def _attrs(unit: str, long_name: str) -> dict[str, str]:
    return ({"units": unit} if unit else {}) | {"long_name": long_name}
