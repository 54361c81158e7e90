"""Model files: TOML, read and written; URDF and MJCF, read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import ModelError, described, path_of
from ..model import Model, check
from ..model.check_sense import sense
from . import toml
from .text import SUFFIXES, not_a_model, text_of
from .whole_file import whole_file

__all__ = ["load", "save"]

PathLike = str | os.PathLike[str]

RESULTS = (".nc", ".h5")  # names of results, which are read elsewhere


def load(
    path: PathLike,
    base: str | None = None,
    packages: Sequence[PathLike] | PathLike = (),
    *,
    passive: bool = False,
) -> Model:
    """Read a model from a ``.toml``, ``.urdf`` or MJCF ``.xml`` file.

    ``base="free"`` lets the root link of a URDF robot float; None fixes it to the ground. Mesh files are looked for in
    the model's own folder and in ``packages``: folders of ROS packages, or the folders that hold them.

    ``passive=True`` lets stiffness, damping, friction and limits of joints act. Those of a URDF or MJCF file do not
    without it; those of a TOML file do, unless it says ``passive = false``.
    """
    file = path_of(path, "the model file")
    packages = (packages,) if isinstance(packages, str | os.PathLike) else tuple(packages)
    if base is not None and (not isinstance(base, str) or base != "free"):
        raise ModelError(
            f"base '{base}' is not known", expected="None (fixed to the ground) or 'free'", where=str(file)
        )
    suffix = file.suffix.lower()
    if suffix in RESULTS:
        raise not_a_model(file)
    text = text_of(file)
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
        _no_base(base, "a TOML model", 'add a joint of kind "free" with parent "ground"', file)
        model = toml.loads(text, str(file), packages)
    else:
        from . import mjcf, urdf, xml

        if suffix == ".xml" and xml.root_tag(text) == "mujoco":
            _no_base(base, "MJCF", "add <freejoint/> to the body in the file", file)
            model = mjcf.loads(text, str(file), packages)
        else:
            model = urdf.loads(text, str(file), base, packages)
    model.passive = model.passive or bool(passive)
    check.whole(model)
    sense(model)
    return model


def save(model: Model, path: PathLike) -> None:
    """Write the model as TOML. The file appears whole or not at all."""
    if not isinstance(model, Model):
        hint = "save its model: wt.save(system.model, path)" if hasattr(model, "model") else None
        raise ModelError("this is no Model", expected="a Model", got=described(model), hint=hint)
    file = path_of(path, "the model file")
    if file.suffix.lower() != ".toml":
        raise ModelError(
            f"'{file.name}' cannot be written", expected="a file .toml", got=file.suffix or "no suffix", where=str(file)
        )
    with whole_file(file, f"'{file.name}'") as part:
        part.write_text(toml.dumps(model, file.parent), encoding="utf-8", newline="\n")


def _no_base(base: str | None, what: str, hint: str, file: Path) -> None:
    if base is not None:
        raise ModelError(
            f"base is for URDF; {what} says itself how it is joined to the ground",
            got=f"base={base!r}",
            where=str(file),
            hint=hint,
        )
