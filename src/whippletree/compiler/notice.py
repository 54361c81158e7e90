"""One line where kernels are compiled, and nothing where they are loaded.

On a terminal a line on stderr names the kernel at work, and goes away when it is done. A notebook shows one line that
stays. Elsewhere the logger "whippletree" records it: the first kernel as INFO, the others as DEBUG. A command puts its
own words in their place. That the wheel's kernels are for other versions is reported once, as a ModelWarning.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..errors import ModelWarning
from . import shipped

LOGGER = logging.getLogger("whippletree")
_counted = [0]
_instead: list[Callable[[str], None]] = []


def compiled() -> int:
    """Kernels that this process has begun to compile."""
    return _counted[0]


@contextmanager
def reported_by(say: Callable[[str], None]) -> Iterator[None]:
    """Have ``say`` called with the name of every kernel that is compiled meanwhile, in the place of the line."""
    _instead.append(say)
    try:
        yield
    finally:
        _instead.remove(say)


def begin(kernel: str) -> None:
    """A kernel is not on disk: it is compiled now."""
    _counted[0] += 1
    if _counted[0] == 1 and (why := shipped.mismatch()):
        warnings.warn(f"{why}: compiling ours for this one", ModelWarning, stacklevel=2)
    if _instead:
        _instead[-1](kernel)
    elif _shown():
        sys.stderr.write(f"\rwhippletree: compiling kernel {_counted[0]}, {kernel}; once, then it is on disk\x1b[K")
        sys.stderr.flush()
    elif _counted[0] == 1 and "ipykernel" in sys.modules:
        print("whippletree: compiling kernels, for a minute or two; once, then they are on disk")
    elif _counted[0] == 1:
        LOGGER.info("compiling kernels, once: later processes load them from disk; %s is the first", kernel)
    else:
        LOGGER.debug("compiling kernel %d, %s", _counted[0], kernel)


def end() -> None:
    """It is compiled."""
    if not _instead and _shown():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _shown() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
