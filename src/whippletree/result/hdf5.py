"""HDF5 files are data: what is read lies in the file itself, and takes no more memory than the file can hold.

HDF5 would follow links and storage into other files, and reserve whatever a few bytes announce. All files are opened
here, and refused as a whole where anything in them leads elsewhere.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError
from .heaps import sound_heaps

NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"  # as HDF5 has them
CHECKSUM = 4  # bytes
MOST_DENSE = 1100  # deflate packs at most 1032 to 1: a file cannot hold more bytes than this times its size
FILTERS = {1, 2, 3}  # deflate, shuffle, fletcher32: those that we write
MOST_NAMES = 10_000  # of datasets, and of attributes
AT_ONCE = 2**26  # bytes of texts


class Content:
    """What an open file holds. ``attrs`` are its numbers and texts; names are those of its datasets."""

    def __init__(self, file: Any, path: str | os.PathLike[str]) -> None:
        self.file, self.path, self.size = file, path, Path(path).stat().st_size
        self.room = MOST_DENSE * self.size  # bytes of numbers that it can still hold
        if max(len(file), len(file.attrs)) > MOST_NAMES:
            raise self.damaged(f"it holds more than {MOST_NAMES} names")
        self.names = list(file)
        for name in self.names:
            self._require_inside(name)
        self.attrs = self._plain(file.attrs)

    def numbers(self, name: str, kinds: str = "f") -> np.ndarray:
        """An array of floats, or of other ``kinds`` of numbers."""
        stored = self._stored(name)
        if stored.dtype.kind not in kinds:
            raise self.damaged(f"'{name}' is not an array of numbers in this file")
        chunk = math.prod(stored.chunks or ()) * stored.dtype.itemsize
        self.room -= stored.nbytes
        if self.room < 0 or chunk > MOST_DENSE * self.size:
            raise self.damaged("it announces more data than it can hold")
        if stored.chunks and not all(size >= CHECKSUM for size in _sizes_of_chunks(stored)):
            raise self.damaged(f"a part of '{name}' is empty")
        return np.asarray(stored[()])

    def texts(self, name: str) -> list[str]:
        """A list of texts. They are not packed, so that all of them together are no longer than the file."""
        import h5py

        stored = self._stored(name)
        if not h5py.check_string_dtype(stored.dtype) or stored.ndim != 1:
            raise self.damaged(f"'{name}' is not a list of texts")
        if stored.nbytes > self.size:
            raise self.damaged("it announces more data than it can hold")
        found: list[str] = []
        left, some = self.size, max(1, AT_ONCE // self.size)
        for first in range(0, len(stored), some):
            found.extend(stored.asstr()[first : first + some])
            left -= sum(map(len, found[first:]))
            if left < 0:
                raise self.damaged("its texts are longer than the file")
        return found

    def variable(self, name: str) -> tuple[list[str], Any, dict[str, Any]] | None:
        """Dimensions, values and attributes of a NetCDF variable; None of what is a dimension alone."""
        import h5py

        stored = self._stored(name)
        scale = stored.is_scale
        if scale and bytes(stored.attrs.get("NAME", b"")).startswith(NO_VARIABLE):
            return None
        dims = [name] if scale else [axis[0].name.removeprefix("/") for axis in stored.dims]
        text = h5py.check_string_dtype(stored.dtype)
        reported = {key: value for key, value in self._plain(stored.attrs).items() if key in ("units", "long_name")}
        return dims, np.array(self.texts(name), object) if text else self.numbers(name, "fiu"), reported

    def damaged(self, why: str) -> ModelError:
        return damaged(self.path, why)

    def _stored(self, name: str) -> Any:
        if name not in self.names:
            raise self.damaged(f"'{name}' is missing")
        return self.file[name]

    def _require_inside(self, name: str) -> None:
        """A dataset of this file, and not a way out of it."""
        import h5py

        link = self.file.get(name, getlink=True)
        stored = self.file[name] if isinstance(link, h5py.HardLink) else None
        if not isinstance(stored, h5py.Dataset) or stored.is_virtual or stored.external:
            raise self.damaged(f"'{name}' is not an array of numbers in this file")
        pipeline = stored.id.get_create_plist()
        filters = [pipeline.get_filter(n)[0] for n in range(pipeline.get_nfilters())]
        if sorted(set(filters) & FILTERS) != sorted(filters):  # what is packed twice is packed a million to 1
            raise self.damaged(f"'{name}' is packed in another way than we do")

    @staticmethod
    def _plain(attrs: Any) -> dict[str, Any]:
        """Those that are one number or one text; without those of NetCDF itself."""
        single = [key for key in attrs if attrs.get_id(key).get_space().get_simple_extent_npoints() == 1]
        found = {key: np.ravel(attrs[key])[0] for key in single if not key.startswith("_NC")}
        plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in found.items()}
        return {key: value for key, value in plain.items() if isinstance(value, str | int | float)}


def _sizes_of_chunks(stored: Any) -> list[int]:
    """Bytes of each in the file: HDF5 looks for checksums at their ends, also where there is nothing."""
    sizes: list[int] = []
    stored.id.chunk_iter(lambda chunk: sizes.append(chunk.size))
    return sizes


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Content]:
    """The content of a file; a ModelError, whatever a damaged one leads to."""
    import h5py

    try:
        if not sound_heaps(path):
            raise damaged(path, "its texts cannot be reached")
        with h5py.File(path, "r") as file:
            yield Content(file, path)
    except ModelError:
        raise
    except BlockingIOError:
        raise ModelError(f"'{path}' is being written by another program", hint="wait until it is closed") from None
    except Exception as e:  # a damaged HDF5 file can raise anything
        raise damaged(path, f"{type(e).__name__} while reading") from None


def damaged(path: str | os.PathLike[str], why: str) -> ModelError:
    return ModelError(f"'{path}' is damaged or not a NetCDF file of Whippletree", got=why, hint="run the model again")
