"""The engines that answer the same questions: ours, and the peers Pinocchio, MuJoCo and Drake.

Every class has ``name``, ``package`` and, once built from ``(model, system)``, ``forward(q, u, tau)``,
``inverse(q, u, udot)`` and ``mass(q)`` for one state, and perhaps ``batch(question, q, u, x, threads)`` and
``rollout(q, u, h, steps, threads)``, whose answer is the states at the end, [q; u]. Each gives a list of
:class:`~.measure.Call`: ``run`` is what is timed, with everything converted before; ``value()`` runs it once
and gives the answer in our coordinates. Where there is a choice, a peer gets what is fastest for it: joints along z,
welded bodies merged, unused stages off, results left where the peer puts them. A peer raises
:class:`~.links.CannotHold` for a model that it has no room or no joints for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from whippletree.errors import ModelError, nearest
from whippletree.model import Model

from ..bench.measure import Call
from ..bench.result import OURS, version_of
from .drake import Drake
from .exudyn import Exudyn
from .links import same_sign
from .loop_peers import MujocoLoops, PinocchioDeep, PinocchioLoops
from .mujoco import Mujoco
from .pinocchio import Pinocchio

PEERS: dict[str, Any] = {p.name: p for p in (Pinocchio, Mujoco, Drake)}
LOOP_PEERS: dict[str, tuple[Any, ...]] = {
    "pinocchio": (PinocchioDeep, PinocchioLoops),
    "mujoco": (MujocoLoops,),
    "exudyn": (Exudyn,),
}
FLEXIBLE_PEERS = ("exudyn",)
PACKAGES = {name: p.package for name, p in PEERS.items()} | {name: p[0].package for name, p in LOOP_PEERS.items()}


class Whippletree:
    """Our public functions."""

    name = package = OURS

    def __init__(self, model: Model, system: Any) -> None:
        self.model, self.system = model, system

    def forward(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> list[Call]:
        return self._calls("forward_dynamics", q, u, tau)

    def inverse(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> list[Call]:
        return self._calls("inverse_dynamics", q, u, udot)

    def mass(self, q: np.ndarray) -> list[Call]:
        return self._calls("mass_matrix", q)

    def batch(self, question: str, q: np.ndarray, u: np.ndarray, x: np.ndarray, threads: int) -> list[Call]:
        if question == "mass":
            return self._calls("mass_matrix", q, threads=threads)
        return self._calls(f"{question}_dynamics", q, u, x, threads=threads)

    def rollout(self, q: np.ndarray, u: np.ndarray, h: float, steps: int, threads: int) -> list[Call]:
        (call,) = self._calls("rollout", q, u, None, h, steps, threads=threads)

        def value() -> np.ndarray:
            Q, U = call.run()
            return np.hstack((same_sign(self.model, self.system, Q[:, -1]), U[:, -1]))

        return [Call(OURS, call.run, value)]

    def _calls(self, name: str, *args: Any, **options: Any) -> list[Call]:
        import whippletree

        run = partial(getattr(whippletree, name), self.system, *args, **options)
        return [Call(OURS, run, run)]


def known(names: str | Sequence[str]) -> list[str]:
    """Names of peers as a list, each checked."""
    parts = [n.strip() for n in names.split(",") if n.strip()] if isinstance(names, str) else list(names)
    for name in parts:
        if name not in PACKAGES:
            raise ModelError(f"peer '{name}' is not known", hint=nearest(str(name), PACKAGES))
    return list(dict.fromkeys(parts))


def installed(name: str) -> str | None:
    """The version of a peer's package, or None."""
    return version_of(PACKAGES[name])
