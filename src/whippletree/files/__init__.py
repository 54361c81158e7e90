"""Model files: TOML, read and written, and URDF, read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import ModelError, nearest
from ..model import Model, check
from . import toml, urdf
from .whole_file import whole_file

__all__ = ["load", "save"]

LARGEST_FILE = 64 * 2**20  # bytes
SUFFIXES = (".toml", ".urdf", ".xml")

PathLike = str | os.PathLike[str]


def load(path: PathLike, base: str | None = None, packages: Sequence[PathLike] | PathLike = ()) -> Model:
    """Read a model from a ``.toml`` or ``.urdf`` file.

    ``base="free"`` lets the root link of a URDF robot float; None fixes it to the ground. Mesh files are looked for in
    the model's own folder and in ``packages``: folders of ROS packages, or the folders that hold them.
    """
    file = Path(path)
    packages = (packages,) if isinstance(packages, str | os.PathLike) else tuple(packages)
    if base not in (None, "free"):
        raise ModelError(
            f"base '{base}' is not known", expected="None (fixed to the ground) or 'free'", where=str(file)
        )
    suffix = file.suffix.lower()
    text = _text(file)
    if suffix not in SUFFIXES:
        hint = "run xacro on it first, and load the URDF it prints" if suffix == ".xacro" else None
        raise ModelError(
            f"'{file.name}' is of no known format",
            expected="a file " + " or ".join(SUFFIXES),
            got=suffix or "no suffix",
            where=str(file),
            hint=hint,
        )
    if suffix == ".toml":
        if base is not None:
            raise ModelError(
                "base is for robot files; a TOML model says itself how it is joined to the ground",
                got=f"base={base!r}",
                where=str(file),
                hint='add a joint of kind "free" with parent "ground"',
            )
        model = toml.loads(text, str(file), packages)
    else:
        model = urdf.loads(text, str(file), base, packages)
    check.whole(model)
    return model


def save(model: Model, path: PathLike) -> None:
    """Write the model as TOML. The file appears whole or not at all."""
    file = Path(path)
    if file.suffix.lower() != ".toml":
        raise ModelError(
            f"'{file.name}' cannot be written", expected="a file .toml", got=file.suffix or "no suffix", where=str(file)
        )
    with whole_file(file, f"'{file.name}'") as part:
        part.write_text(toml.dumps(model, file.parent), encoding="utf-8", newline="\n")


def _text(file: Path) -> str:
    """The whole file as text, or why there is none."""
    where = str(file)
    try:
        if file.is_dir():
            raise ModelError(f"'{file.name or file}' is a folder", expected="a file .toml or .urdf", where=where)
        if not file.exists():
            folder = file.parent
            if not folder.is_dir():
                raise ModelError(f"there is no folder '{folder}'", where=where)
            names = [p.name for p in folder.iterdir() if p.suffix.lower() in SUFFIXES]
            raise ModelError(f"there is no file '{file.name}'", where=where, hint=nearest(file.name, sorted(names)))
        if not file.is_file():
            raise ModelError(f"'{file.name}' is not a plain file", where=where)
        size = file.stat().st_size
        if size > LARGEST_FILE:
            raise ModelError("the file is too large", expected=f"at most {LARGEST_FILE} bytes", got=size, where=where)
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        reason = getattr(error, "strerror", None) or "its name is not valid"
        raise ModelError(f"'{file.name}' cannot be read: {reason}", where=where) from None
    if not data.strip():
        raise ModelError("the file is empty", where=where)
    if b"\0" in data:
        raise ModelError("the file is binary", expected="text in UTF-8", where=where)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            "the file is not UTF-8 text", got=f"byte 0x{data[error.start]:02x}", where=f"{where}:{line}"
        ) from None
