"""The papers' examples, tables and figures, and the validation cases, made again by this library.

``run(names, folder, quick=False, progress=None)`` writes a page with pictures for each name of ``PAGES`` and gives the
paths. Papers go into ``folder/papers``, ``validation`` beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from whippletree.errors import ModelError, nearest

PAPERS = ("grcr", "hybrid", "constrained", "flexible", "dcae")
PAGES = (*PAPERS, "validation")

__all__ = ["PAGES", "PAPERS", "run"]


def run(
    names: Iterable[str], folder: Path, *, quick: bool = False, progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Write the pages of these names (``"all"`` for every one) into a folder.

    Parameters
    ----------
    names : of ``PAGES``, or "all".
    folder : where to; it is made.
    quick : counts and trajectories only, nothing that is timed, and smaller sizes.
    progress : called with one line for each thing begun.
    """
    wanted = list(dict.fromkeys(page for name in names for page in (PAGES if name == "all" else (name,))))
    for name in wanted:
        if name not in PAGES:
            raise ModelError(f"reproduction '{name}' is not known", hint=nearest(name, (*PAGES, "all")))
    from .page import Page

    written: list[Path] = []
    for name in wanted:
        module = import_module(f".{name}", __name__)
        command = f"whippletree reproduce {name}" + " --quick" * quick
        place, pictures = (folder / "papers", "") if name in PAPERS else (folder, name)
        try:
            (place / pictures).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(f"the folder '{place}' cannot be made", got=error.strerror) from None
        page = Page(place, name, module.TITLE, command, pictures)
        module.write(page, quick, progress or (lambda line: None))
        page.write()
        written += page.written
    return written
