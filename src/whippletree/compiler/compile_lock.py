"""Programs that need the same kernel at once take turns: one compiles it, and the others load what it has compiled.

A turn is a lock on a file beside the kernel's, which is there as long as the turn is. It ends with the work of the
compiler, whether that succeeds or not, or with the process.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

try:
    import fcntl
except ImportError:  # Windows: everyone compiles
    fcntl = None  # type: ignore[assignment]

PATIENCE = 300.0  # s, more than any kernel takes: who has the turn may have been halted, and then we compile as well
GLANCE = 0.05  # s between two looks

_held: dict[Path, tuple[int, int]] = {}  # thread and open file of each turn that is ours


def wait_for(path: Path) -> bool:
    """Take the turn, and say whether another program had it meanwhile; where files cannot be locked, it is anyone's."""
    if fcntl is None or path in _held:
        return False
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return False
    begun, waited = time.monotonic(), False
    try:
        while not _locked(handle) and time.monotonic() - begun < PATIENCE:
            waited = True
            time.sleep(GLANCE)
    except BaseException:
        os.close(handle)
        raise
    _held[path] = threading.get_ident(), handle
    return waited


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def give_back(path: Path) -> None:
    if path in _held:
        _, handle = _held.pop(path)
        path.unlink(missing_ok=True)  # who waits for it has it open, and looks for the kernel next
        os.close(handle)


class _Ended(event.Listener):
    """The compiler has ended, with an error or by Ctrl-C if a turn is still held.

    As long as it works no garbage is looked for: there is little, and a tenth of the time goes into the search.
    """

    def __init__(self) -> None:
        self.depth, self.collected = 0, True

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.collected = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.collected:
            gc.enable()
        if _held and not global_compiler_lock.is_locked():
            for path in [p for p, (thread, _) in _held.items() if thread == threading.get_ident()]:
                give_back(path)


def _forget() -> None:
    while _held:
        os.close(_held.popitem()[1][1])


event.register("numba:compiler_lock", _Ended())
if hasattr(os, "register_at_fork"):  # the turn stays with the process that took it
    os.register_at_fork(after_in_child=_forget)
