"""Files that are there whole or not at all, and that one program writes at a time."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ModelError, SimulationError, WhippletreeError, path_of

try:
    import fcntl
except ImportError:  # Windows, where a file that is open elsewhere cannot be replaced anyway
    fcntl = None  # type: ignore[assignment]

# the name was right, and the disk was not
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def writable(path: str | os.PathLike[str], what: str) -> Path:
    """The path, if a file may be written there; complains before any work is done for it."""
    target = path_of(path, what)
    if target.is_dir():
        raise ModelError(f"{what} cannot be written: '{target}' is a folder", hint="add a file name")
    if not target.parent.is_dir():
        raise ModelError(f"{what} cannot be written: there is no folder '{target.parent}'", where=str(target))
    if not os.access(target.parent, os.W_OK):
        raise ModelError(f"{what} cannot be written: no permission in the folder '{target.parent}'", where=str(target))
    if target.exists() and not (target.is_file() and os.access(target, os.W_OK)):
        raise ModelError(f"{what} cannot be written: '{target}' may not be replaced", hint="choose another name")
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str], what: str, mark: str = "") -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it takes the place of ``path`` when all went well.

    It is named after the process, or after ``mark``: then what a killed process left is overwritten.
    """
    target = writable(path, what)
    part = target.with_name(f".{target.name}.{mark or os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch(0o666, exist_ok=False)  # new, so that no link of others is written through
        yield part
        with open(part, "rb+") as written:  # on the disk before it takes a name that others trust
            os.fsync(written.fileno())
        if target.exists():
            part.chmod(target.stat().st_mode & 0o777)
        os.replace(part, target)
    except OSError as e:
        raise _refusal(e, what, target) from None
    except UnicodeError:
        raise ModelError(
            f"{what} cannot be written: a name or path in it is not valid text", where=str(target)
        ) from None
    finally:
        part.unlink(missing_ok=True)


def _refusal(error: OSError, what: str, target: Path) -> WhippletreeError:
    kind = SimulationError if error.errno in DISK_ERRORS else ModelError
    return kind(f"{what} cannot be written: {error.strerror or error}", where=str(target))


def open_beside(path: Path, flags: int = 0) -> int:
    """An open handle of a file that we keep beside another one; its name can be guessed, so it may not be a link."""
    try:
        handle = os.open(path, os.O_RDWR | flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as e:
        if e.errno != errno.ELOOP:
            raise
        raise _link(path) from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        raise _link(path)
    return handle


def _link(path: Path) -> ModelError:
    return ModelError(f"'{path}' is not a plain file: it leads to another one", hint="look where to, and remove it")


@contextmanager
def only_writer(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Hold the right to write ``path``; refused while another program has it, not after that has died.

    The right is a lock on a file beside it, since ``path`` itself is replaced again and again.
    """
    target = writable(path, what)
    if fcntl is None:
        yield
        return
    _refuse_if_being_written(target, what)
    beside = target.with_name(f".{target.name}.lock")
    handle = _lock(beside, target, what)
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(handle)


def _lock(beside: Path, target: Path, what: str) -> int:
    """An open handle that holds the lock; the kernel lets go of it with the process."""
    while True:
        try:
            handle = open_beside(beside, os.O_CREAT)
        except OSError as e:
            raise _refusal(e, what, target) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(handle, 20).decode("ascii", "replace")
            os.close(handle)
            raise _in_use(target, what, f"another run{f' (process {other})' if other else ''} is writing it") from None
        except OSError:  # a file system without locks: better written than refused
            return handle
        if _is_at(handle, beside):
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            return handle
        os.close(handle)  # its owner removed it between our opening and locking it


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _refuse_if_being_written(target: Path, what: str) -> None:
    """HDF5 locks a file that it writes; one that is only read may be replaced, and its reader keeps the old one."""
    try:
        with open(target, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use(target, what, "another program has it open for writing") from None
    except OSError:  # it is not there, or cannot be locked
        return


def _in_use(target: Path, what: str, why: str) -> ModelError:
    return ModelError(f"{what} cannot be written: {why}", where=str(target), hint="wait for it, or choose another name")
