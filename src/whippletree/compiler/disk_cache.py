"""Compiled kernels on disk, in folders named by the content of all sources that a kernel can be made of.

Numba itself looks at the file of a function alone and would not see a changed callee. A folder is named by the file and
all that it imports, directly or not, so that a change compiles anew what it can reach and nothing else, and two
installations of the same sources share their kernels.

What is loaded from there is run. A folder that other users can write to is not used, as ssh does not use such keys.
"""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import config as numba_config
from numba.core.caching import UserProvidedCacheLocator
from numba.misc.appdirs import user_cache_dir

from ..errors import ModelWarning

PACKAGE = Path(__file__).parent.parent
WITHOUT_KERNELS = {"errors.py", "model", "files", "modes", "result"}  # imports are followed everywhere else
IMPORT = re.compile(r"^\s*from (\.*)([\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
# files of the compiler that no kernel is made of
NO_PART = {
    "cache_integrity.py",
    "compile_lock.py",
    "disk_cache.py",
    "notice.py",
    "shipped.py",
}
NOWHERE = Path(os.devnull, "nowhere")  # no folder can be made there, so that Numba keeps nothing
_root = Path(os.environ.get("WHIPPLETREE_CACHE") or user_cache_dir("whippletree"))


@cache
def _package(source: Path) -> Path:
    """The outermost package that a file is in."""
    folder = source.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


@cache
def _imports(source: Path) -> frozenset[Path]:
    """The files of its package that a file imports, in whatever folder."""
    found, package = set(), _package(source)
    for dots, module, *names in IMPORT.findall(source.read_text("utf-8")):
        if not dots and module.partition(".")[0] != package.name:
            continue
        base = (source.parents[len(dots) - 1] if dots else package.parent).joinpath(*filter(None, module.split(".")))
        parts = re.findall(r"\w+", re.sub(r"#.*| as \w+", "", "".join(names)))
        for path in (base.with_suffix(".py"), base / "__init__.py", *(base / f"{name}.py" for name in parts)):
            if path.is_file():
                found.add(path)
    return frozenset(found)


@cache
def _computes(source: Path) -> bool:
    """Whether what a file imports can be compiled into its callers: not where it has words for users and no kernels."""
    imported = _imports(source)
    return any(path.name == "lanes.py" for path in imported) or not any(map(_without_kernels, imported))


def _without_kernels(path: Path) -> bool:
    """Whether a file is in a room where nothing is compiled: messages, what a user writes, files and results."""
    return path.relative_to(_package(path)).parts[0] in WITHOUT_KERNELS


def sources_of(source: Path) -> set[Path]:
    """A file and all files with kernels or their constants that it imports, directly or not; NO_PART have none."""
    found, waiting = {source}, [source]
    while waiting:
        imported = _imports(waiting.pop()) - found
        new = {path for path in imported if path.name not in NO_PART and not _without_kernels(path)}
        found |= new
        waiting += [path for path in new if _computes(path)]
    return found


def _digest(sources: set[Path]) -> str:
    from .lanes import LANES

    digest = sha256(f"{numba.__version__} {LANES}".encode())
    for source in sorted(sources):
        digest.update(source.relative_to(_package(source)).as_posix().encode() + source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def folder_of(source: Path) -> Path:
    """Where the kernels of a file are kept."""
    return _private(_root / _digest(sources_of(source)))


@cache
def common_folder() -> Path:
    """Where notes about all kernels are kept."""
    return _private(_root / _digest({source for source in PACKAGE.rglob("*.py") if not _without_kernels(source)}))


def _private(folder: Path) -> Path:
    """The folder, made for this user alone; NOWHERE if another user can have put something there."""
    with suppress(OSError):
        _root.mkdir(0o700, parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)
    shared = next((path for path in (folder, *folder.parents) if _shared(path, path in (folder, _root))), None)
    if shared is None:
        return folder
    _refuse(shared)
    return NOWHERE


def _shared(path: Path, ours: bool) -> bool:
    """Whether other users can write there; in folders above ours, whether they can put others in their place."""
    try:
        found = path.stat()
    except OSError:  # it holds nothing, and Numba finds out whether it can be made
        return False
    if os.name == "nt":  # folders of a user are closed to others, and modes do not tell
        return False
    if ours:
        return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return bool(found.st_mode & stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX


@cache
def _refuse(path: Path) -> None:
    """Say so once."""
    hint = "chmod 700 it after a look at what is in it, or name another folder as WHIPPLETREE_CACHE"
    text = f"compiled kernels are not kept: '{path}' belongs to another user or can be written to by others"
    warnings.warn(f"{text}\n  hint: {hint}", ModelWarning, stacklevel=2)


def kernels_cached(work: str) -> bool:
    """Whether work of this kind has been done with these sources: then its kernels are on disk."""
    return (common_folder() / f"{work}.done").exists()


def remember_cached(work: str) -> None:
    """Say so, for the next time; without a folder for kernels there is nothing to remember."""
    try:
        common_folder().mkdir(parents=True, exist_ok=True)
        (common_folder() / f"{work}.done").touch()
    except OSError:
        pass


class Locator(UserProvidedCacheLocator):
    """Tells Numba where: the folder says by its name which sources are meant, wherever they are installed."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return ""

    def ensure_cache_path(self) -> None:
        """A folder that cannot be written holds nothing, and a wheel's kernels are loaded nevertheless."""


def on_disk(function: Callable[..., Any], make: Callable[[bool], Any]) -> Any:
    """Make something compiled of a function that is kept on disk; where no folder can be written to, that is not."""
    config: Any = numba_config  # its settings are made at run time
    saved = config.CACHE_DIR, getattr(config, "CACHE_LOCATOR_CLASSES", "")
    config.CACHE_DIR = str(folder_of(Path(function.__code__.co_filename)))
    config.CACHE_LOCATOR_CLASSES = f"{Locator.__module__}.{Locator.__name__}"
    try:
        return make(True)
    except RuntimeError:
        return make(False)
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = saved
