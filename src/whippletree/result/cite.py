"""The references of what a run used, from the header lines of the modules it used."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module, resources

from ..dynamics.auto.choose import choose
from ..dynamics.registry import ALGORITHMS
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


def used(
    system: System, algorithm: str = "auto", integrator: str = "dopri5", stabilization: str = "projection"
) -> list[str]:
    """BibTeX entries of all that a run of this system uses."""
    from ..integrate.methods.registry import INTEGRATORS
    from ..integrate.names import require_integrator
    from ..integrate.simulate import A_RUN
    from ..integrate.stabilize import make_stabilization

    require_integrator(integrator, INTEGRATORS)
    make_stabilization(system, stabilization, None, None)
    temporaries, adaptive = system.model.temporaries.values(), hasattr(INTEGRATORS[integrator], "TABLEAU")
    slides = any(x.friction is not None or x.slips_at is not None for x in temporaries)
    parts = {
        "dynamics.flexible.elimination": system.flexible,
        "integrate.assemble": system.constraints.count,
        "dynamics.constraints.stepping": system.constraints.count and stabilization == "projection",
        "integrate.stabilize": stabilization == "baumgarte",
        "integrate.run.passage": system.constraints.count,
        "integrate.run.crossings": temporaries,
        "integrate.contacts.impulse": temporaries,
        "integrate.contacts.impact": slides,
        "dynamics.constraints.sliding": slides,
        "integrate.methods.adaptive": adaptive,
        "integrate.methods.step_size": adaptive,
    }
    modules = [ALGORITHMS[choose(system, algorithm, A_RUN)].module, INTEGRATORS[integrator]]
    modules += [import_module(f"..{name}", __package__) for name, taken in parts.items() if taken]
    return entries(*(module.__doc__ for module in modules))


def sentence(entry: str) -> str:
    """One readable line of a BibTeX entry."""
    text = entry.replace(r"{\o}", "ø")
    fields = {key: re.sub(r"[{}]", "", value).replace("--", "–") for key, value in _FIELD.findall(text)}
    order = ("author", "title", "journal", "booktitle", "institution", "publisher", "volume", "number", "pages", "year")
    reported = {"volume": "vol. ", "number": "no. ", "pages": "pp. "}
    return ", ".join(reported.get(key, "") + fields[key] for key in order if key in fields) + "."
