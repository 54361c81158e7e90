"""The references of what a run used, from the header lines of the modules it used."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from ..dynamics.auto.choose import ALGORITHMS, choose
from ..system.system import System

_ENTRY = re.compile(r"^@\w+\{([^,\s]+),.*?^\}", re.MULTILINE | re.DOTALL)
_PAPER = re.compile(r"^Paper\b.*(?:\n[ \t]+.*)*", re.MULTILINE)  # the line, and the indented ones that go on
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?\s*$", re.MULTILINE)


@cache
def bibliography() -> dict[str, str]:
    """Every entry of references.bib by its key."""
    text = resources.files("whippletree").joinpath("references.bib").read_text("utf-8")
    return {match[1]: match[0] for match in _ENTRY.finditer(text)}


def keys(header: str) -> list[str]:
    """The citation keys of the Paper lines of a module's docstring."""
    return [key for paper in _PAPER.findall(header) for key in re.findall(r"\[([\w-]+)\]", paper)]


def entries(*headers: str | None) -> list[str]:
    """BibTeX entries that these docstrings name, each once."""
    wanted = dict.fromkeys(key for header in headers for key in keys(header or ""))
    return [bibliography()[key] for key in wanted]


def used(system: System, algorithm: str = "auto", integrator: str = "dopri5") -> list[str]:
    """BibTeX entries of a run of this system."""
    from ..integrate.names import require_integrator
    from ..integrate.simulate import A_RUN, INTEGRATORS

    require_integrator(integrator, INTEGRATORS)
    return entries(ALGORITHMS[choose(system, algorithm, A_RUN)].__doc__, INTEGRATORS[integrator].__doc__)


def sentence(entry: str) -> str:
    """One readable line of a BibTeX entry."""
    text = entry.replace(r"{\o}", "ø")
    fields = {key: re.sub(r"[{}]", "", value).replace("--", "–") for key, value in _FIELD.findall(text)}
    order = ("author", "title", "journal", "booktitle", "institution", "publisher", "volume", "number", "pages", "year")
    said = {"volume": "vol. ", "number": "no. ", "pages": "pp. "}
    return ", ".join(said.get(key, "") + fields[key] for key in order if key in fields) + "."
