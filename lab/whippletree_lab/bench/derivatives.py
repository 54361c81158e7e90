"""Exact derivatives of dynamics, beside forward dynamics itself and Pinocchio's computeABADerivatives.

A call of ours gives u' and three matrices; Pinocchio's the same in its Data, of which M^-1 has one triangle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import whippletree as wt

from . import families
from .calls import Run, _call, _peer
from .result import OURS, BenchResult, Row
from .rows import BATCH, Progress, _measure


def measure(result: BenchResult, sizes: Iterable[int], against: list[str], progress: Progress) -> None:
    """Chains, one state and a batch; a linear model, and one product with a vector."""
    for size in sizes:
        model = families.chain(size)
        system = model.compile()
        peer = _peer(result, against, size, system)
        for name, (ours, theirs) in _questions(system, peer).items():
            for count in (1,) if name == "linear model" else (1, BATCH):
                progress(f"{model.name}: {name}, {count} states")
                states = families.states(model, system, count)
                calls = [_call(OURS, ours, states, count, whole=True)]
                if theirs is not None:
                    calls.append(_call("pinocchio", theirs, states, count, whole=False))
                _measure(result, calls, Row(name, str(size), size, system.nu, count))


def _questions(system: wt.System, peer: Any) -> dict[str, tuple[Any, Any]]:
    """Names to what is timed and the answer that is compared, ours and theirs."""
    seen: dict[str, Run] = {
        "forward": lambda q, u, tau, a: wt.forward_dynamics(system, q, u, tau),
        "derivatives": lambda q, u, tau, a: wt.forward_dynamics_derivatives(system, q, u, tau),
        "of inverse dynamics": lambda q, u, tau, a: wt.inverse_dynamics_derivatives(system, q, u, a),
        "along one direction": lambda q, u, tau, a: wt.jvp(wt.forward_dynamics, system, q, u, tau, dq=a),
        "linear model": lambda q, u, tau, a: wt.linearize(system, q, u, tau),
    }
    answers: dict[str, Run] = {
        "derivatives": lambda *x: _flat(wt.forward_dynamics_derivatives(system, *x[:3])[:2]),
        "of inverse dynamics": lambda q, u, tau, a: _flat(wt.inverse_dynamics_derivatives(system, q, u, a)[:2]),
        "linear model": lambda q, u, tau, a: wt.linearize(system, q, u, tau).A,
    }
    theirs = {} if peer is None else _theirs(peer)
    return {name: ((timed, answers.get(name, timed)), theirs.get(name)) for name, timed in seen.items()}


def _flat(matrices: Any) -> Any:
    return np.concatenate([np.reshape(x, (*x.shape[:-2], -1)) for x in matrices], axis=-1)


def _theirs(peer: Any) -> dict[str, tuple[Any, Any]]:
    """Joints are revolute about z, so that q and u are ours."""
    pin, m, d = peer.pin, peer.model, peer.data

    def forward(q: Any, u: Any, tau: Any, a: Any) -> Any:
        pin.computeABADerivatives(m, d, q, u, tau)
        return _flat((d.ddq_dq.copy(), d.ddq_dv.copy()))

    def inverse(q: Any, u: Any, tau: Any, a: Any) -> Any:
        pin.computeRNEADerivatives(m, d, q, u, a)
        return _flat((d.dtau_dq.copy(), d.dtau_dv.copy()))

    return {
        "forward": (
            lambda q, u, tau, a: pin.aba(m, d, q, u, tau),
            lambda q, u, tau, a: pin.aba(m, d, q, u, tau).copy(),
        ),
        "derivatives": (lambda q, u, tau, a: pin.computeABADerivatives(m, d, q, u, tau), forward),
        "of inverse dynamics": (lambda q, u, tau, a: pin.computeRNEADerivatives(m, d, q, u, a), inverse),
    }
