"""Motions worth seeing: each a model that comes with the package, how it starts, and what there is to see."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ModelError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .result.result import Result

HERE = Path(__file__).parent
Values = dict[str, float | list[float]]


@dataclass(frozen=True, slots=True)
class Motion:
    """A model of the gallery from its start to ``until`` (s); ``scale`` is how much deformations are enlarged."""

    name: str
    says: str
    until: float
    q: Values = field(default_factory=dict)
    u: Values = field(default_factory=dict)
    assemble: bool = False
    scale: float = 1.0

    @property
    def model(self) -> Path:
        """Its file: beside this module where the package is installed, in ``models/`` of a clone."""
        inside = HERE / "models"
        return (inside if inside.is_dir() else HERE.parents[1] / "models") / f"{self.name}.toml"

    def options(self) -> str:
        """The same as options of ``whippletree run``."""
        words = ["--until", f"{self.until:g}"]
        for option, values in (("--q", self.q), ("--u", self.u)):
            for joint, value in values.items():
                numbers = value if isinstance(value, list) else [value]
                words += [option, f"{joint}={','.join(f'{float(number)!r}' for number in numbers)}"]
        return shlex.join([*words, *(["--assemble"] if self.assemble else [])])

    def run(self, progress: Callable[[float], None] | None = None) -> Result:
        """Simulate it."""
        import whippletree as wt

        system = wt.load(self.model).compile()
        if not self.assemble:
            return wt.simulate(system, self.until, q=self.q, u=self.u, progress=progress)
        start = wt.assemble(system, self.q, self.u)
        return wt.simulate(system, self.until, q=start.q, u=start.u, progress=progress)


def gallery() -> dict[str, Motion]:
    """All motions by name, in the order they are shown."""
    table = tomllib.loads((HERE / "gallery.toml").read_text("utf-8"))
    return {name: Motion(name, **entry) for name, entry in table.items()}


def motion(name: str) -> Motion:
    """The motion of this name."""
    known = gallery()
    if name not in known:
        hint = nearest(name, known) or "whippletree demo lists them"
        raise ModelError(f"the gallery has no '{name}'", hint=hint)
    return known[name]
