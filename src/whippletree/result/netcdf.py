"""A Result as an xarray Dataset and as a NetCDF file that describes itself."""

from __future__ import annotations

import csv
import json
import os
import warnings
from copy import copy
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import __version__
from ..errors import ModelError, ModelWarning, WhippletreeError, path_of
from ..files import toml
from ..files.text import HDF5
from ..files.text import SUFFIXES as MODELS
from ..files.toml_flexible import without_files
from ..files.whole_file import only_writer, whole_file, writable
from ..model import Model, check, renamed
from . import columns, hdf5
from .records import Occurrence
from .result import Result
from .spans import Samples

if TYPE_CHECKING:
    import xarray as xr

    from ..system.system import System

RESULT = "the result"
SUFFIXES, COLUMNS = (".nc", ".h5"), ".csv"
CONVENTIONS = "whippletree-1"
ALWAYS = ("time", "q", "u")
EVENTS = ("event_time", "event_q", "event_u")
STATE = ("state", "state_outputs", "state_sample")
SAMPLES = ("sample", "sample_tau")  # evaluations that lost most digits, and joint forces given there
SOMETIMES = ("work", "udot", *SAMPLES, *EVENTS, *STATE)
# attributes that are asked for later; numbers are times, tolerances and counts
NUMBERS = ("complete", "until", "step", "rtol", "atol", "accepted", "rejected", "evaluations", "state_events")
METHOD = ("version", "versions", "algorithm", "integrator", "stabilization", "settings", "checked_by")
WARNINGS = ("warnings", "warning")  # all that a run warned of (JSON); in older files one text
TEXTS = ("title", *METHOD, "changes", "switches", "stopped", *WARNINGS, "state_memo", "commands", "messages")


def dataset(run: Result) -> xr.Dataset:
    """The run with named dimensions: time, coordinate, speed, place (bodies and frames), axis."""
    data = bare_dataset(run, header(run.system))
    positions = [np.stack([k.position(place) for place in run.places], axis=1) for k in run.kinematics()]
    data["udot"] = _accelerations(run.udot)
    data["position"] = (
        ("time", "place", "axis"),
        np.concatenate(positions),
        {"units": "m", "long_name": columns.PLACES["position"].long_name},
    )
    for name in columns.ENERGIES:
        data[name.replace(".", "_")] = (("time",), run[name], _joules(name))
    return data.assign_coords(place=_texts(list(run.places)), axis=["x", "y", "z"])


def bare_dataset(run: Result, head: dict[str, Any]) -> xr.Dataset:
    """What cannot be computed again from the rest: time, q, u, the work of forces, and ``udot`` where that is given."""
    import xarray as xr

    coordinates, q_units = columns.column_names(run.system, "q")
    velocities, u_units = columns.column_names(run.system, "u")
    _, udot_units = columns.column_names(run.system, "udot")
    variables: dict[str, Any] = {
        "q": (("time", "coordinate"), run.q, _attrs("coordinates of the joints", "q_unit")),
        "u": (("time", "speed"), run.u, _attrs("velocities of the joints", "u_unit")),
    }
    if run.has_work:
        variables["work"] = (("time",), run.work, _joules("energy.work"))
    if run.given_udot is not None:
        variables["udot"] = _accelerations(run.given_udot)
    if run.samples is not None and not (run.events or run.changes):  # there steps may have gone too far, and back
        variables |= _sample_variables(run.samples)
    if run.events:
        variables |= _event_variables(run.events)
    labels = {
        "time": ("time", run.t, {"units": "s", "long_name": "time"}),
        "coordinate": ("coordinate", _texts(coordinates)),
        "speed": ("speed", _texts(velocities)),
        "q_unit": ("coordinate", _texts(q_units)),
        "u_unit": ("speed", _texts(u_units)),
        "udot_unit": ("speed", _texts(udot_units)),
    }
    given = {key: value for key, value in run.attrs.items() if isinstance(value, str | int | float)}
    if "warnings" in run.attrs:
        given["warnings"] = json.dumps(run.attrs["warnings"])
    return xr.Dataset(variables, coords=labels, attrs=given | head)


def _sample_variables(samples: Samples) -> dict[str, Any]:
    kept = np.where(np.isfinite(samples.rows).all(axis=1, keepdims=True), samples.rows, 0.0)
    reported = "evaluation that lost most digits since the time before: loss (0: none is kept), time, q, u, udot"
    return {
        "sample": (("time", "sample_number"), kept, {"long_name": reported}),
        "sample_tau": (("time", "speed")[-samples.tau.ndim :], samples.tau, {"long_name": "joint forces given there"}),
    }


def _samples(system: System, arrays: dict[str, np.ndarray]) -> Samples | None:
    if not all(name in arrays for name in SAMPLES):
        return None
    rows, tau, times = *(arrays[name] for name in SAMPLES), arrays["time"].size
    if rows.shape != (times, 2 + system.nq + 2 * system.nu) or tau.shape not in ((system.nu,), (times, system.nu)):
        raise ValueError("samples of another system")
    return Samples(rows, tau)


def _event_variables(events: tuple[Occurrence, ...]) -> dict[str, Any]:
    t, q, u = (np.array([getattr(e, letter) for e in events]) for letter in "tqu")
    return {
        "event_name": ("event", _texts([e.name for e in events])),
        "event_time": ("event", t, {"units": "s", "long_name": "time of an event"}),
        "event_q": (("event", "coordinate"), q, _attrs("coordinates at an event", "q_unit")),
        "event_u": (("event", "speed"), u, _attrs("velocities at an event", "u_unit")),
    }


def _accelerations(udot: np.ndarray) -> tuple[tuple[str, str], np.ndarray, dict[str, str]]:
    return ("time", "speed"), udot, _attrs("accelerations of the joints", "udot_unit")


def _joules(name: str) -> dict[str, str]:
    return {"units": "J", "long_name": columns.TOTALS[name].long_name}


def _texts(values: list[str]) -> np.ndarray:
    return np.array(values, dtype=str if values else "<U1")


def _attrs(long_name: str, unit: str) -> dict[str, str]:
    return {"long_name": long_name, "units_in": unit}


def header(system: System) -> dict[str, Any]:
    """What a stranger needs to know about a file of this system, and to compute the run again."""
    import numba
    import xarray as xr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # functions are left out: their names are kept elsewhere
        model = toml.dumps(_without_meshes(system.model))
    return {
        "title": system.name,
        "whippletree": CONVENTIONS,
        "version": __version__,
        "versions": f"numpy {np.__version__}, numba {numba.__version__}, xarray {xr.__version__}",
        "model": model,
        "model_sha256": sha256(model.encode()).hexdigest(),
    }


def _without_meshes(model: Model) -> Model:
    """The model without mesh files: their paths mean nothing on another machine, and no file may lead to others."""
    plain = copy(model)
    plain.bodies = {
        name: replace(body, visuals=tuple(v for v in body.visuals if v.path is None))
        for name, body in model.bodies.items()
    }
    plain.flexibles = {name: without_files(flexible) for name, flexible in model.flexibles.items()}
    return plain


def result_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a result may be written there while it is computed."""
    return writable(_ending(path, SUFFIXES), RESULT)


def _ending(path: str | os.PathLike[str], known: tuple[str, ...]) -> Path:
    target = path_of(path, RESULT)
    if target.suffix.lower() not in known and not target.is_dir():
        raise ModelError(
            f"'{target}' is not the name of a result",
            expected=f"a name ending in {' or '.join(known)}",
            got=f"'{target.suffix}'" if target.suffix else "no ending",
            hint=_instead(target),
        )
    return target


def _instead(target: Path) -> str:
    """What to do for a file of another kind than results are."""
    kept = target.with_suffix(".nc") if target.name else Path("run.nc")
    if target.suffix.lower() == COLUMNS:
        return f"write '{kept}', then its columns: wt.load_result('{kept}').save('{target}')"
    return f"take '{kept}'; wt.load_result('{kept}').dataset is an xarray Dataset, which writes other formats"


def save(run: Result, path: str | os.PathLike[str]) -> None:
    """Write the dataset with checksums, or its columns; nothing half-written is left behind."""
    target = _ending(path, (*SUFFIXES, COLUMNS))
    with only_writer(target, RESULT):
        if target.suffix.lower() == COLUMNS:
            _write_columns(run, target)
        else:
            write(run.dataset, target, packed=True)


def _write_columns(run: Result, path: Path) -> None:
    """Time, coordinates and velocities as comma-separated values that read back to the same bits."""
    names = [f"{name}.{letter}" for letter in "qu" for name in columns.column_names(run.system, letter)[0]]
    with whole_file(path, RESULT) as part, part.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["time", *names])
        out.writerows(np.column_stack([run.t, run.q, run.u]).tolist())


def write(data: xr.Dataset, path: str | os.PathLike[str], *, packed: bool, mark: str = "") -> None:
    """Put a dataset in the place of a file. It is made in memory first: HDF5 does not survive a full disk."""
    numeric = [name for name in data.variables if data[name].dtype.kind == "f" and data[name].size]
    pack = {"zlib": True, "complevel": 1} if packed else {}
    with whole_file(path, RESULT, mark) as part:
        part.write_bytes(
            data.to_netcdf(engine="h5netcdf", encoding={name: {"fletcher32": True} | pack for name in numeric})
        )


class Kept(NamedTuple):
    """What a result file holds."""

    model: str  # as TOML
    attrs: dict[str, Any]
    arrays: dict[str, np.ndarray]  # time, q, u, and those of SOMETIMES that are there
    events: list[Occurrence]

    def warnings(self) -> list[str]:
        """What the run has warned of; older files hold one text at most."""
        found = json.loads(self.attrs.get("warnings", "[]"))
        if not isinstance(found, list):
            raise TypeError("warnings")
        return [str(text) for text in found] or [self.attrs[key] for key in ("warning",) if key in self.attrs]


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file; the model is compiled again from the text stored in it."""
    kept = read(path)
    try:
        return as_result(toml.loads(kept.model, str(path)).compile(), kept)
    except WhippletreeError as e:
        raise hdf5.damaged(path, e.what) from None
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        raise hdf5.damaged(path, "what it says of its run does not fit together") from None


def as_result(system: System, kept: Kept) -> Result:
    arrays = kept.arrays
    series = arrays["time"], arrays["q"], arrays["u"], arrays.get("work")
    udot, samples = arrays.get("udot"), _samples(system, arrays)
    attrs = {key: value for key, value in kept.attrs.items() if key != "warning"} | {"warnings": kept.warnings()}
    return Result(system, *series, udot=udot, attrs=attrs, events=kept.events, samples=samples)


def read(path: str | os.PathLike[str]) -> Kept:
    """The content of a result file, if it is whole and ours."""
    file = path_of(path, "the result file")
    if not file.is_file():
        raise ModelError(f"there is no result file '{path}'", hint="'whippletree run' writes one with -o")
    if file.suffix.lower() == COLUMNS:
        raise ModelError(
            f"'{path}' holds columns of numbers and no model: a result cannot be made of it",
            expected=f"a file {' or '.join(SUFFIXES)}",
            hint="run.save('name.nc') writes one that load_result reads; numpy.genfromtxt and pandas read columns",
        )
    if file.suffix.lower() in MODELS and not _is_hdf5(file):
        raise ModelError(
            f"'{path}' is a model, not a result",
            expected=f"a file {' or '.join(SUFFIXES)}",
            hint=f"run it first: whippletree run {path} --until SECONDS -o {file.with_suffix('.nc').name}; "
            "wt.load reads models",
        )
    attrs, arrays, names = _read(path)
    attrs = {renamed.word(key, renamed.ATTRIBUTES, "attribute of the file"): x for key, x in attrs.items()}
    text = attrs.pop("model")
    if sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != attrs.pop("model_sha256"):
        raise hdf5.damaged(path, "the model stored in it has changed")
    if not arrays["time"].size:
        raise hdf5.damaged(path, "it holds no samples")
    if not all(np.isfinite(a).all() for name, a in arrays.items() if name not in STATE):
        raise hdf5.damaged(path, "it holds numbers that are not finite")
    return Kept(text, attrs, arrays, _occurrences(path, arrays, names))


def _is_hdf5(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(len(HDF5)) == HDF5


def _occurrences(path: str | os.PathLike[str], arrays: dict[str, np.ndarray], names: list[str]) -> list[Occurrence]:
    times, q, u = (arrays.get(name, np.zeros((0, 0))) for name in EVENTS)
    widths = [(q.shape[1:], arrays["q"].shape[1:]), (u.shape[1:], arrays["u"].shape[1:])]
    if not len(names) == len(times) == len(q) == len(u) or (names and any(a != b for a, b in widths)):
        raise hdf5.damaged(path, "its events do not fit together")
    for name in names:
        check.text(name, "name of an event", str(path))
    return [Occurrence(*one) for one in zip(names, times.tolist(), q, u, strict=True)]


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], list[str]]:
    """Attributes, arrays and names of events of the file."""
    with hdf5.opened(path) as file:
        attrs = file.attrs
        kind = str(attrs.get("whippletree", ""))
        if kind.startswith("whippletree-sweep"):
            raise ModelError(f"'{path}' is a sweep, not a result", hint="wt.Sweep.load reads it")
        if not kind.startswith("whippletree-"):
            raise ModelError(f"'{path}' is not a result of Whippletree", hint="'whippletree run' writes one with -o")
        if not all(isinstance(attrs.get(key), str) for key in ("model", "model_sha256")):
            raise hdf5.damaged(path, "the model is missing")
        for key in attrs:
            _require_kind(path, key, attrs[key])
        names = [*ALWAYS, *(name for name in SOMETIMES if name in file.names)]
        arrays = {name: np.asarray(file.numbers(name), float) for name in names}
        return attrs, arrays, file.texts("event_name") if "event_name" in file.names else []


def _require_kind(path: str | os.PathLike[str], key: str, value: Any) -> None:
    if key in TEXTS and not isinstance(value, str):
        raise hdf5.damaged(path, f"its attribute '{key}' is not a text")
    if key in NUMBERS and not (isinstance(value, int | float) and 0.0 <= value < np.inf and (value or key != "step")):
        raise hdf5.damaged(path, f"its attribute '{key}' is not a number that it can be")


def open_whole(path: str | os.PathLike[str]) -> xr.Dataset:
    """Any dataset that :func:`write` wrote."""
    import xarray as xr

    with hdf5.opened(path) as file:
        found = {name: variable for name in file.names if (variable := file.variable(name)) is not None}
        return xr.Dataset(found, attrs=file.attrs)
