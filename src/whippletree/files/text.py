"""The text of a model file, or why there is none."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelError, nearest

LARGEST_FILE = 64 * 2**20  # bytes
SUFFIXES = (".toml", ".urdf", ".xml")


HDF5 = b"\x89HDF\r\n\x1a\n"  # how files of results begin


def not_a_model(file: Path) -> ModelError:
    """The refusal of a result where a model is expected."""
    return ModelError(
        f"'{file.name}' is a result, not a model",
        expected="a model file " + " or ".join(SUFFIXES),
        where=str(file),
        hint="whippletree plot, report, animate and view show it; wt.load_result reads it, and has its model as "
        "result.system.model",
    )


def text_of(file: Path, where: str | None = None) -> str:
    """The whole file as text; ``where`` is what messages name instead of the file itself."""
    where = where or str(file)
    try:
        if file.is_dir():
            raise ModelError(f"'{file.name or file}' is a folder", expected="a file .toml, .urdf or .xml", where=where)
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
    if data.startswith(HDF5):
        raise not_a_model(file)
    if b"\0" in data:
        raise ModelError("the file is binary", expected="text in UTF-8", where=where)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            "the file is not UTF-8 text", got=f"byte 0x{data[error.start]:02x}", where=f"{file}:{line}"
        ) from None
