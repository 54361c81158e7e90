"""The same modes in a frame that is fixed to a node: arrays to second order in eta, and the exact energy besides.

Symbols   R0, ρ0 the node's turn and place in the old frame; o the place of the new frame's origin, which the node
          carries rigidly: o = ρ0 - R0 r0; O = ∂o/∂eta; G: the node's angular velocity is G eta'

A point at ρ is at R0'(ρ - o) in the new frame. All integrals follow from those in the old frame by that alone, so no
mass points are needed. A polynomial X0 + sum eta_a X1_a + sum eta_a eta_b X2_ab / 2 is the tuple (X0, X1, X2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import check
from .cross import LEVI, cross, moment
from .field import POLYNOMIAL, MassField, nothing
from .modes import Modes

Polynomial = tuple[np.ndarray, ...]
MOVE = ("phi", "psi", "Q", "psi2")


def finished(made: Modes, inboard: str) -> Modes:
    """Modes as a body takes them: seen from the inboard node, which must be still already unless they are free."""
    if made.kind == "free":
        return referenced(made, inboard)
    check.still(made, inboard)
    made = replace(made, inboard=inboard)
    return made.ruthless() if made.fidelity == "ruthless" else made


def referenced(modes: Modes, to: str) -> Modes:
    """The modes in a frame fixed to node ``to``."""
    k = modes.node(to)
    if modes.inboard == to:
        return modes
    change: dict[str, Any] = _integrals(modes, k) | _nodes(modes, k) | {"field": _carried(modes, k)}
    made = replace(modes, inboard=to, recipe=None, **change)
    return made.ruthless() if modes.fidelity == "ruthless" else made


def _carried(modes: Modes, k: int) -> MassField | None:
    """The energy as it is in the frame of the modes, and what the nodes do there."""
    field = modes.field
    if field is None:
        arrays = {name: getattr(modes, name) for name in POLYNOMIAL}
        field = MassField(**(arrays | nothing(modes.count)))
    own = {name: getattr(field if field.carried else modes, ("node_" if field.carried else "") + name) for name in MOVE}
    moves = any(own[name][k].any() for name in MOVE)
    empty = nothing(modes.count)
    field = replace(field, **{f"node_{name}": x if moves else empty[f"node_{name}"] for name, x in own.items()})
    return None if field.trivial else field


def seen_from(modes: Modes, k: int, eta: np.ndarray) -> np.ndarray:
    """What the nodes move by in the frame that node k carries: (..., nn, 3), exactly."""
    field = modes.field
    assert field is not None
    phi, psi, Q, psi2 = (getattr(field, f"node_{name}") for name in MOVE)
    rho = modes.r + np.einsum("kia,...a->...ki", phi, eta)
    rho = rho + 0.5 * np.einsum("kiab,...a,...b->...ki", Q, eta, eta)
    theta = np.einsum("ia,...a->...i", psi[k], eta) + 0.5 * np.einsum("iab,...a,...b->...i", psi2[k], eta, eta)
    back, arm = -cross(theta), rho - rho[..., k : k + 1, :]
    scale = 1.0 / (1.0 + 0.25 * np.einsum("...i,...i->...", theta, theta))[..., None, None]
    turned = np.eye(3) + scale * (back + 0.5 * back @ back)
    return np.einsum("...ij,...kj->...ki", turned, arm) + modes.r[k] - modes.r


def _turn(modes: Modes, k: int) -> Polynomial:
    """R0 = 1 + θ~ + θ~²/2 with θ = psi eta + eta psi2 eta / 2."""
    first = cross(modes.psi[k].T)
    square = np.einsum("aij,bjk->abik", first, first)
    return np.eye(3), first, 0.5 * (square + square.swapaxes(0, 1)) + cross(modes.psi2[k].transpose(1, 2, 0))


def _product(X: Polynomial, Y: Polynomial) -> Polynomial:
    """X Y to the order that both have."""
    found = [X[0] @ Y[0], X[1] @ Y[0] + X[0] @ Y[1]]
    if len(X) > 2 and len(Y) > 2:
        mixed = np.einsum("aij,bjk->abik", X[1], Y[1])
        found.append(X[2] @ Y[0] + X[0] @ Y[2] + mixed + mixed.swapaxes(0, 1))
    return tuple(found)


def _sum(*terms: Polynomial) -> Polynomial:
    return tuple(sum(orders[1:], start=orders[0]) for orders in zip(*terms, strict=False))


def _scaled(factor: float, X: Polynomial) -> Polynomial:
    return tuple(factor * order for order in X)


def _transposed(X: Polynomial) -> Polynomial:
    return tuple(order.swapaxes(-1, -2) for order in X)


def _second_moments(J: np.ndarray) -> np.ndarray:
    """The inverse of :func:`moment`."""
    return 0.5 * np.trace(J, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - J


def _integrals(modes: Modes, k: int) -> dict[str, np.ndarray]:
    m = modes.mass
    R = _turn(modes, k)
    back = _transposed(R)
    column = modes.r[k][:, None]
    o = _sum(
        (column, modes.phi[k].T[..., None], modes.Q[k].transpose(1, 2, 0)[..., None]),
        _scaled(-1.0, tuple(order @ column for order in R)),
    )
    O = (o[1][..., 0].T, o[2][..., 0].transpose(0, 2, 1))  # ∂o/∂eta: (3, nm) and (a, 3, nm)
    psi = modes.psi[k]
    G = (psi, 0.5 * np.einsum("ijk,ja,kb->aib", LEVI, psi, psi) + modes.psi2[k].transpose(1, 0, 2))
    h = (modes.h0[:, None], modes.h1.T[..., None], modes.h2.transpose(1, 2, 0)[..., None])
    Ct, Cr, J = (modes.Ct0, modes.Ct1), (modes.Cr0, modes.Cr1), (modes.J0, modes.J1, modes.J2)

    from_o = _sum(h, _scaled(-m, o))  # int (ρ - o) dm
    ho = _product(h, _transposed(o))
    P = _sum(tuple(map(_second_moments, J)), _scaled(-1.0, ho), _scaled(-1.0, _transposed(ho)))
    Jo = tuple(map(moment, _sum(P, _scaled(m, _product(o, _transposed(o))))))
    lever, o_cross = (tuple(cross(order[..., 0]) for order in x) for x in (from_o, o))
    # ∂/∂eta of R0'(ρ - o) is R0'(∂ρ - O - G × (ρ - o))
    Ct_new = _sum(Ct, _scaled(-m, O), _product(lever, G))
    Cr_new = _sum(Cr, *(_scaled(-1.0, x) for x in (_product(o_cross, Ct), _product(lever, O), _product(Jo, G))))
    O0, G0 = O[0], G[0]
    mixed = modes.Ct0.T @ O0 + modes.Cr0.T @ G0 - O0.T @ np.einsum("ijk,jb,k->ib", LEVI, G0, modes.h0)
    Mff = modes.Mff + m * O0.T @ O0 + G0.T @ modes.J0 @ G0 - mixed - mixed.T
    hB, JB = _product(back, from_o), _product(_product(back, Jo), R)
    CtB, CrB = _product(back[:2], Ct_new), _product(back[:2], Cr_new)
    orders = {"h0": hB[0][:, 0], "h1": hB[1][..., 0].T, "h2": hB[2][..., 0].transpose(2, 0, 1), "Mff": Mff}
    orders |= dict(zip(("J0", "J1", "J2", "Ct0", "Ct1", "Cr0", "Cr1"), (*JB, *CtB, *CrB), strict=True))
    return {name: np.ascontiguousarray(x).reshape(getattr(modes, name).shape) for name, x in orders.items()}


def _nodes(modes: Modes, k: int) -> dict[str, np.ndarray]:
    """R0'(ρ - ρ0) + r0 of every node, and its turn R0' R: exp(-a) exp(b) = exp(b - a - a × b / 2 ...)."""
    psi0, d = modes.psi[k], modes.r - modes.r[k]
    moved = modes.phi - modes.phi[k]
    phi = moved - np.einsum("ijk,ja,nk->nia", LEVI, psi0, d)
    lag = np.einsum("ijk,ja,nkb->niab", LEVI, psi0, moved)
    twice = np.einsum("aij,bjk,nk->niab", cross(psi0.T), cross(psi0.T), d, optimize=True)
    Q = modes.Q - modes.Q[k] - (lag + lag.swapaxes(-1, -2)) + 0.5 * (twice + twice.swapaxes(-1, -2))
    Q = Q - np.einsum("ijk,jab,nk->niab", LEVI, modes.psi2[k], d)
    mixed = 0.5 * np.einsum("ijk,ja,nkb->niab", LEVI, psi0, modes.psi)
    psi2 = modes.psi2 - modes.psi2[k] - (mixed + mixed.swapaxes(-1, -2))
    return {"phi": phi, "psi": modes.psi - psi0, "Q": Q, "psi2": psi2}
