"""Modes and matrices as ``.npz``: arrays and nothing else. Files are data: no pickles, no more than they say."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import zipfile
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ...errors import ModelError, path_of
from .. import check
from ..beams.recovery import BeamRecovery
from ..beams.sections import SHAPES, Section
from ..field import MassField
from ..modes import FIDELITIES, KINDS, Modes
from ..report import Report

LARGEST = 2**30  # bytes of all arrays of a file
SMALL, DENSEST, MOST_ARRAYS = 2**25, 50, 1000  # bytes that any file may have, and times as many as it has packed
FORM = "whippletree modes 2"
EARLIER = "whippletree modes 1"
PLAIN = ("kind", "fidelity", "inboard", "mass", "nodes")  # kept as text


def save(modes: Modes, path: str | os.PathLike[str]) -> None:
    """Write the modes; the file appears whole or not at all."""
    target = path_of(path, "the file of modes")
    if target.suffix != ".npz":
        raise ModelError(f"'{target.name}' is not the name of a file of modes", expected="a name ending in .npz")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as file:  # new, so that no link of others is written through
            file.write(to_bytes(modes))
        os.replace(part, target)
    except OSError as error:
        raise ModelError(f"modes cannot be written: {error.strerror}", where=str(target)) from None
    finally:
        part.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Modes:
    """Modes that :func:`save` wrote."""
    return from_arrays(arrays(path), str(path))


def to_bytes(modes: Modes) -> bytes:
    about: dict[str, Any] = {"form": FORM} | {name: getattr(modes, name) for name in PLAIN}
    data = {f.name: getattr(modes, f.name) for f in fields(modes) if isinstance(getattr(modes, f.name), np.ndarray)}
    if modes.field is not None:
        data |= {f"field_{f.name}": getattr(modes.field, f.name) for f in fields(modes.field)}
    if modes.beam is not None:
        section = modes.beam.section
        about["shear"] = modes.beam.shear
        about["section"] = {f.name: getattr(section, f.name) for f in fields(section)}
        data |= {"beam_ends": modes.beam.ends, "beam_strains": modes.beam.strains}
    if modes.report is not None:
        report = modes.report
        about["report"] = {name: getattr(report, name) for name in ("taken", "available", "next_frequency")}
        about["flexibility"] = {name: share.tolist() for name, share in report.flexibility.items()}
        data |= {"report_mass": report.mass, "report_frequencies": report.frequencies}
    file = io.BytesIO()
    np.savez(file, about=np.array(json.dumps(about)), **data)
    return file.getvalue()


def from_arrays(data: dict[str, np.ndarray], where: str) -> Modes:
    """The modes of a file's arrays, each of its shape."""
    try:
        about = json.loads(str(data["about"]))
        if about["form"] == EARLIER:
            raise ModelError(
                "the file of modes is from an earlier version",
                expected=f"'{FORM}'",
                got=f"'{EARLIER}', whose mass is not that of the deformed body",
                where=where,
                hint="make the modes again, and save them",
            )
        if about["form"] != FORM:
            raise ValueError
    except (KeyError, ValueError, TypeError, RecursionError):
        raise ModelError(
            "the file holds no modes", expected=f"'{FORM}', as modes.save(...) writes them", where=where
        ) from None
    try:
        return _modes(data, about)
    except ModelError as error:
        raise check.moved(error, where) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelError("the file of modes is damaged", got=repr(error)[:80], where=where) from None


def _modes(data: dict[str, np.ndarray], about: dict[str, Any]) -> Modes:
    n, nn = len(data["Mff"]), len(about["nodes"])
    shapes: dict[str, tuple[int, ...]] = {"frequencies": (n,), "h0": (3,), "h1": (3, n), "h2": (3, n, n), "J0": (3, 3)}
    shapes |= {"J1": (n, 3, 3), "J2": (n, n, 3, 3), "Ct0": (3, n), "Ct1": (n, 3, n), "Cr0": (3, n), "Cr1": (n, 3, n)}
    shapes |= {"Mff": (n, n), "K": (n, n), "D": (n, n), "r": (nn, 3), "phi": (nn, 3, n), "psi": (nn, 3, n)}
    shapes |= {"Q": (nn, 3, n, n), "psi2": (nn, 3, n, n), "strain": (n,)}
    values: dict[str, Any] = {name: check.numbers(data[name], shape, name) for name, shape in shapes.items()}
    names = check.node_names(about["nodes"], nn)
    made = Modes(
        kind=check.known(about["kind"], KINDS, "kind of modes"),
        fidelity=check.known(about["fidelity"], FIDELITIES, "fidelity"),
        inboard=check.known(about["inboard"], names, "inboard node"),
        mass=float(check.numbers(about["mass"], (), "mass")),
        nodes=names,
        field=_field(data, nn),
        beam=_beam(data, about, n),
        report=_report(data, about, n),
        **values,
    )
    if made.mass <= 0.0:
        raise ModelError("mass is not positive", expected="a number > 0", got=made.mass)
    check.stiffness(made.K, n)
    check.independent(made.Mff, made.K)
    check.still(made, made.inboard)
    return made


def _field(data: dict[str, np.ndarray], nn: int) -> MassField | None:
    if "field_Mff" not in data:
        return None
    names = [f.name for f in fields(MassField)]
    field = MassField(**{name: data[f"field_{name}"] for name in names})
    shapes = field.shapes(nn)
    values = {name: check.numbers(getattr(field, name), shapes[name], f"field_{name}") for name in names}
    return MassField(**values)


def _beam(data: dict[str, np.ndarray], about: dict[str, Any], n: int) -> BeamRecovery | None:
    if "section" not in about:
        return None
    given = about["section"]
    values = {str(k): tuple(map(float, v)) for k, v in given["values"].items()}
    shape = check.known(given["shape"], SHAPES, "section")
    length, E, G, rho = (float(given[k]) for k in ("length", "E", "G", "rho"))
    section = Section(shape, length, E, G, rho, values)
    ends = check.numbers(data["beam_ends"], (None,), "beam_ends")
    strains = check.numbers(data["beam_strains"], (len(ends) - 1, None, 6, n), "beam_strains")
    return BeamRecovery(ends, strains, section, bool(about["shear"]))


def _report(data: dict[str, np.ndarray], about: dict[str, Any], n: int) -> Report | None:
    if "report" not in about:
        return None
    shares = {str(k): np.array(v, dtype=float) for k, v in about["flexibility"].items()}
    mass = np.asarray(data["report_mass"], dtype=float).reshape(n, 6)
    given = about["report"]
    frequencies = check.numbers(data["report_frequencies"], (n,), "report_frequencies")
    return Report(
        frequencies, mass, shares, int(given["taken"]), int(given["available"]), float(given["next_frequency"])
    )


def arrays(path: str | os.PathLike[str], content: bytes | None = None) -> dict[str, np.ndarray]:
    """The arrays of numbers and texts in a file, or in its ``content``."""
    where = str(path)
    source = path_of(path, "the file of arrays")
    try:
        with (
            io.BytesIO(content) if content is not None else source.open("rb") as file,
            zipfile.ZipFile(file) as archive,
        ):
            members = archive.infolist()
            size, packed = sum(m.file_size for m in members), file.seek(0, io.SEEK_END) or 1
            most = min(LARGEST, max(SMALL, DENSEST * packed))  # a bomb unpacks to a thousand times its size
            if size > most or len(members) > MOST_ARRAYS:
                expected = f"at most {most} bytes in {MOST_ARRAYS} arrays, of {packed} bytes packed"
                raise ModelError("the file is too large", expected=expected, got=f"{size} bytes", where=where)
            return {m.filename.removesuffix(".npy"): _array(archive, m, where) for m in members}
    except FileNotFoundError:
        raise ModelError(
            f"'{source.name}': there is no such file", where=where, hint="paths begin in the folder of the model"
        ) from None
    except ModelError:
        raise
    except Exception as error:  # what an archive can be wrong in has no end
        raise ModelError("the file cannot be read as .npz", got=str(error)[:80], where=where) from None


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> np.ndarray:
    with archive.open(member) as stream:
        try:
            version = npy.read_magic(stream)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = header(stream)
        except Exception as error:  # the reader of headers raises whatever it trips over
            raise ModelError("the file cannot be read as .npz", got=str(error)[:80], where=where) from None
        if dtype.kind not in "fiuU":
            raise ModelError(
                f"'{member.filename}' holds no numbers", expected="numbers or texts", got=str(dtype), where=where
            )
        expected = math.prod(shape) * dtype.itemsize
        raw = stream.read(expected + 1) if expected <= member.file_size else b""
        if len(raw) != expected:
            got = f"{member.file_size} bytes for an array {shape}"
            raise ModelError(f"'{member.filename}' is cut short", got=got, where=where)
    if dtype.kind == "U" and (np.frombuffer(raw, dtype.str[0] + "u4") > sys.maxunicode).any():
        raise ModelError(f"'{member.filename}' holds characters that there are not", where=where)
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")
