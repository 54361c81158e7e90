"""Compiled kernels on disk that were damaged, or cannot be written, cost time and nothing else.

Numba trusts the files of its cache: half a file raises out of a call, and flipped bits are run as machine code. In the
folders of :mod:`.disk` each file of code ends with its checksum; whatever cannot be read as it was written is compiled
again, and what cannot be written stays in memory. Files of others are left to Numba as they are. What a folder lacks is
looked for among the kernels of the wheel (:mod:`.shipped`), which are read in the same way and never written.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core import caching

from . import compile_lock as turns
from . import disk_cache as disk
from . import notice, shipped

MARK = b"whippletree sha256 "
Plain = caching.IndexDataCacheFile


class Checked(Plain):
    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._base = filename_base

    def load(self, key: Any) -> Any:
        """What is on disk; if that is nothing, it is our turn to compile, or another program has done so meanwhile."""
        found = super().load(key)
        if found is None:
            found = self._shipped(key)
        if found is None and turns.wait_for(self._turn(key)):
            found = super().load(key)
        if found is None:
            notice.begin(Path(self._index_path).name.partition("-")[0])
        return found

    def save(self, key: Any, data: Any) -> None:
        index = Path(self._index_path).with_suffix(".lock")
        turns.wait_for(index)  # who adds to it at once would take out what the other has added
        with suppress(OSError):  # the folder has gone, may not be written, or the disk is full
            super().save(key, data)
        turns.give_back(index)
        turns.give_back(self._turn(key))
        notice.end()

    def _shipped(self, key: Any) -> Any:
        """What the wheel carries."""
        there = shipped.place(Path(self._cache_path))
        return super(Checked, self._at(there)).load(shipped.key_of(key)) if there else None

    def _at(self, folder: Path) -> Checked:
        return Checked(str(folder), self._base, self._source_stamp)

    def _turn(self, key: Any) -> Path:
        return Path(self._index_path).with_suffix(f".{sha256(repr(key).encode()).hexdigest()[:12]}.lock")

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except Exception:  # a damaged pickle can raise anything
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(content + MARK + sha256(content).digest())  # pickle ends before, and does not look at it

    def _load_data(self, name: str) -> Any:
        whole = Path(self._data_path(name)).read_bytes()
        content, mark, digest = whole.rpartition(MARK)
        try:
            if mark and sha256(content).digest() != digest:
                raise ValueError
            return pickle.loads(whole)
        except Exception:
            raise OSError("damaged") from None  # which Numba takes for a file that is not there


def cache_file(cache_path: str, filename_base: str, source_stamp: Any) -> Any:
    ours = any(map(Path(cache_path).is_relative_to, (disk._root, disk.NOWHERE)))
    return (Checked if ours else Plain)(cache_path, filename_base, source_stamp)


caching.IndexDataCacheFile = cache_file  # type: ignore[misc, assignment]
