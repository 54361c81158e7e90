"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ModelError


def writable(path: str | os.PathLike[str], what: str) -> Path:
    """The path, if a file may be written there; complains before any work is done for it."""
    target = Path(path)
    if target.is_dir():
        raise ModelError(f"{what} cannot be written: '{target}' is a folder", hint="add a file name")
    if not target.parent.is_dir():
        raise ModelError(f"{what} cannot be written: there is no folder '{target.parent}'", where=str(target))
    if not os.access(target.parent, os.W_OK):
        raise ModelError(f"{what} cannot be written: no permission in the folder '{target.parent}'", where=str(target))
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str], what: str) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it takes the place of ``path`` when all went well."""
    target = writable(path, what)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        with open(part, "rb+") as written:  # on the disk before it takes a name that others trust
            os.fsync(written.fileno())
        if target.exists():
            part.chmod(target.stat().st_mode & 0o777)
        os.replace(part, target)
    except OSError as e:
        raise ModelError(f"{what} cannot be written: {e.strerror or e}", where=str(target)) from None
    except UnicodeError:
        raise ModelError(
            f"{what} cannot be written: a name or path in it is not valid text", where=str(target)
        ) from None
    finally:
        part.unlink(missing_ok=True)
