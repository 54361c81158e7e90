"""Whether HDF5 can walk the heaps that hold the texts of a file.

A heap is "GCOL", version and size, then objects: number, count of references, size and content. HDF5 goes from object
to object by their sizes and does not end where one of them is wrong, so they are looked at first.
"""

from __future__ import annotations

import mmap
import os
import struct

HEAP = b"GCOL\x01\0\0\0"
HEAD, OBJECT = struct.Struct("<8sQ"), struct.Struct("<HHIQ")


def sound_heaps(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return True
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(HEAP)
            while at >= 0:
                if not _sound(data, at):
                    return False
                at = data.find(HEAP, at + 1)
    return True


def _sound(data: mmap.mmap, start: int) -> bool:
    if start + HEAD.size > len(data):
        return False
    end = start + HEAD.unpack_from(data, start)[1]
    at = start + HEAD.size
    if end > len(data):
        return False
    while at + OBJECT.size <= end:
        number, _, _, size = OBJECT.unpack_from(data, at)
        # the size of free space, object 0, counts its head, and that of others does not and is filled up to 8
        step = size if number == 0 else OBJECT.size + (size + 7) // 8 * 8
        if step < OBJECT.size or at + step > end:
            return False
        at += step
    return True
