"""A Result as an xarray Dataset and as a NetCDF file that describes itself."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..errors import ModelError, WhippletreeError
from ..files import toml
from ..files.whole_file import whole_file
from ..model import Model
from .columns import PLACES, TOTALS, column_names
from .result import Result

if TYPE_CHECKING:
    import xarray as xr

CONVENTIONS = "whippletree-1"
MOST_DENSE = 1100  # deflate packs at most 1032 to 1: a file cannot hold more bytes than this times its size


def dataset(run: Result) -> xr.Dataset:
    """The run with named dimensions: time, coordinate, speed, place (bodies and frames), axis."""
    import xarray as xr

    coordinates, q_units = column_names(run.system, "q")
    speeds, u_units = column_names(run.system, "u")
    _, udot_units = column_names(run.system, "udot")
    positions = [np.stack([k.position(place) for place in run.places], axis=1) for k in run.kinematics()]
    variables: dict[str, Any] = {
        "q": (("time", "coordinate"), run.q, _attrs("coordinates of the joints", "q_unit")),
        "u": (("time", "speed"), run.u, _attrs("speeds of the joints", "u_unit")),
        "udot": (("time", "speed"), run.udot, _attrs("accelerations of the joints", "udot_unit")),
        "position": (
            ("time", "place", "axis"),
            np.concatenate(positions),
            {"units": "m", "long_name": PLACES["position"].long_name},
        ),
    }
    for name in ("energy", "energy.kinetic", "energy.potential"):
        attrs = {"units": "J", "long_name": TOTALS[name].long_name}
        variables[name.replace(".", "_")] = (("time",), run[name], attrs)
    labels = {
        "time": ("time", run.t, {"units": "s", "long_name": "time"}),
        "coordinate": ("coordinate", _texts(coordinates)),
        "speed": ("speed", _texts(speeds)),
        "place": ("place", _texts(list(run.places))),
        "axis": ("axis", ["x", "y", "z"]),
        "q_unit": ("coordinate", _texts(q_units)),
        "u_unit": ("speed", _texts(u_units)),
        "udot_unit": ("speed", _texts(udot_units)),
    }
    return xr.Dataset(variables, coords=labels, attrs=_header(run))


def _texts(values: list[str]) -> np.ndarray:
    return np.array(values, dtype=str if values else "<U1")


def _attrs(long_name: str, unit: str) -> dict[str, str]:
    return {"long_name": long_name, "units_in": unit}


def _header(run: Result) -> dict[str, Any]:
    """What a stranger needs to know about the file, and to compute the run again."""
    import numba
    import xarray as xr

    model = toml.dumps(_without_meshes(run.system.model))
    given = {key: value for key, value in run.attrs.items() if isinstance(value, str | int | float)}
    return given | {
        "title": run.system.name,
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
    return plain


def save(run: Result, path: str | os.PathLike[str]) -> None:
    """Write the dataset with checksums; nothing half-written is left behind."""
    data = run.dataset
    numeric = [name for name in data.variables if data[name].dtype.kind == "f" and data[name].size]
    checked = {name: {"fletcher32": True, "zlib": True, "complevel": 1} for name in numeric}
    with whole_file(path, "the result") as part:
        data.to_netcdf(part, engine="h5netcdf", encoding=checked)


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file; the model is compiled again from the text stored in it."""
    where = str(path)
    if not Path(path).is_file():
        raise ModelError(f"there is no result file '{where}'", hint="'whippletree run' writes one with -o")
    attrs, arrays = _read(path, where)
    text = attrs.pop("model")
    if sha256(text.encode()).hexdigest() != attrs.pop("model_sha256"):
        raise _damaged(where, "the model stored in it has changed")
    try:
        system = toml.loads(text, where).compile()
        run = Result(
            system, arrays["time"], arrays["q"], arrays["u"], arrays.get("work"), udot=arrays["udot"], attrs=attrs
        )
    except WhippletreeError as e:
        raise _damaged(where, e.what) from None
    if not len(run):
        raise _damaged(where, "it holds no moments")
    if not all(np.isfinite(a).all() for a in arrays.values()):
        raise _damaged(where, "it holds numbers that are not finite")
    return run


def _read(path: str | os.PathLike[str], where: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Attributes and arrays of the file, straight from HDF5, which has the fewest ways to go wrong."""
    import h5py

    room = MOST_DENSE * Path(path).stat().st_size
    try:
        with h5py.File(path, "r") as file:
            attrs = {key: np.ravel(value)[0] if np.ndim(value) else value for key, value in file.attrs.items()}
            attrs = {key: value.item() if isinstance(value, np.generic) else value for key, value in attrs.items()}
            if not str(attrs.get("whippletree", "")).startswith("whippletree-"):
                raise ModelError(
                    f"'{where}' is not a result of Whippletree", hint="'whippletree run' writes one with -o"
                )
            if not all(isinstance(attrs.get(key), str) for key in ("model", "model_sha256")):
                raise _damaged(where, "the model is missing")
            return attrs, {name: _array(file, name, room, where) for name in ("time", "q", "u", "udot")}
    except ModelError:
        raise
    except Exception as e:  # a damaged HDF5 file can raise anything
        raise _damaged(where, f"{type(e).__name__} while reading") from None


def _array(file: Any, name: str, room: int, where: str) -> np.ndarray:
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(file[name], h5py.Dataset):
        raise _damaged(where, f"'{name}' is missing")
    stored = file[name]
    if stored.is_virtual or stored.external or stored.dtype.kind != "f":
        raise _damaged(where, f"'{name}' is not an array of numbers in this file")
    if stored.nbytes > room:
        raise _damaged(where, "it announces more data than it can hold")
    return np.asarray(stored[()], float)


def _damaged(where: str, why: str) -> ModelError:
    return ModelError(f"'{where}' is damaged or not a NetCDF file of Whippletree", got=why, hint="run the model again")
