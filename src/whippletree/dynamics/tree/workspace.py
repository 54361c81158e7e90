"""Work that more than one algorithm shares: articulated bodies, and composite ones."""

from typing import Any, NamedTuple

from ...compiler.lanes import inline, take
from ...layout.system import MODAL_WORK


class Work(NamedTuple):
    """Of articulated bodies. Behind it lies what flexible bodies keep: see flexible.py."""

    IA: Any  # (nb, 21) articulated inertia of the children
    pA: Any  # (nb, 6)  articulated bias force of the children
    U: Any  # (nu, 6)   IA S
    d: Any  # (nu)      1 / (S . U + resist)
    uA: Any  # (nu)     joint force left for acceleration
    x: Any  # (nb, 6)   acceleration less the bias acceleration


def work_rows(system: Any) -> int:
    """Numbers that the Work of one state takes."""
    return 33 * system.nb + 8 * system.nu + (system.flexible.work if system.flexible else 0)


@inline
def take_work(m, buffer, n):
    IA, n = take(buffer, n, 21 * m.nb)
    pA, n = take(buffer, n, 6 * m.nb)
    U, n = take(buffer, n, 6 * m.nu)
    d, n = take(buffer, n, m.nu)
    uA, n = take(buffer, n, m.nu)
    x, n = take(buffer, n, 6 * m.nb)
    return Work(IA, pA, U, d, uA, x), n + m.header[MODAL_WORK]


class Composite(NamedTuple):
    mass: Any  # (nb)    of all that hangs on the body
    h: Any  # (nb, 3)
    J: Any  # (nb, 6)


@inline
def take_composite(m, buffer, n):
    mass, n = take(buffer, n, m.nb)
    h, n = take(buffer, n, 3 * m.nb)
    J, n = take(buffer, n, 6 * m.nb)
    return Composite(mass, h, J), n
