"""Mesh files named by a model: found inside the model's own folder and the given package folders, nowhere else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from ..errors import ModelError, path_of


@dataclass
class Roots:
    """The folders a model may name files in: its own, and ``packages``.

    A package folder is the package itself (``.../my_robot``) or the folder that holds it. ``missing`` collects the
    ``package://`` paths whose package is in none of them; such a path is kept as it was written.
    """

    folder: Path
    packages: Sequence[str | os.PathLike[str]] = ()
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folders = [self.folder.resolve()]
        for package in self.packages:
            path = path_of(package, "a package folder")
            if not path.is_dir():
                raise ModelError("package folder is not a folder", expected="an existing folder", got=str(package))
            self.folders.append(path.resolve())

    def find(self, name: str, label: str, where: str | None, what: str = "mesh") -> str:
        """The absolute path of the file that ``name`` means, whether it exists or not."""
        scheme, mark, rest = name.partition("://")
        if not mark:
            scheme, rest = "", name
        try:
            if scheme in ("package", "model"):
                return self._in_package(name, rest, label, where)
            if scheme in ("", "file"):
                path = Path(self.folders[0], unquote(rest) if scheme else rest).resolve()
                if self._inside(path):
                    return str(path)
        except (OSError, ValueError):  # too long, or characters that no file name has
            pass
        raise self._refusal(name, label, where, what)

    def _in_package(self, name: str, rest: str, label: str, where: str | None) -> str:
        package, _, inside = rest.lstrip("/").partition("/")
        leaves = os.path.normpath(os.path.join("package", inside)).split(os.sep)[0] != "package"
        if leaves or package in ("", ".", ".."):
            raise self._refusal(name, label, where)
        candidates = [folder / package / inside for folder in self.folders]
        candidates += [folder / inside for folder in self.folders if folder.name == package]
        for path in candidates:
            if path.exists():
                if self._inside(path.resolve()):
                    return str(path.resolve())
                raise self._refusal(name, label, where)
        self.missing.append(name)
        return name

    def _inside(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)

    def _refusal(self, name: str, label: str, where: str | None, what: str = "mesh") -> ModelError:
        return ModelError(
            f"{label}: the {what} path leads out of the model's folder",
            expected="a file inside the model's own folder or a folder given as packages=[...]",
            got=repr(name if len(name) <= 120 else name[:120] + "..."),
            where=where,
        )
