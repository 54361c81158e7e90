"""The right-hand side of motion inside compiled loops: u' by the algorithm chosen, and with it q' = N(q) u."""

from ..dynamics import articulated, composite
from ..kernels.kinematics import place_and_move
from ..kernels.lanes import kernel, view
from ..kernels.manifold import coordinate_rates
from ..system.system import System

CODES = {"articulated": 0, "composite": 1}


def work_rows(system: System, algorithm: str) -> int:
    """Numbers that the algorithm's Work takes for one state."""
    nb, nu = system.nb, system.nu
    return 33 * nb + 8 * nu if CODES[algorithm] == 0 else 22 * nb + nu + nu * nu


@kernel
def accelerate(m, k, algorithm, q, u, tau, none, buffer, n, udot):
    """u' of one state, or of one in each lane; Work lies in the buffer from row n on.

    By a code of CODES; None is articulated too, and leaves the others uncompiled.
    """
    place_and_move(m, q, u, k)
    if algorithm is not None:  # noqa: SIM102  on its own, it is decided before compiling
        if algorithm == 1:
            c, _ = composite.take_work(m, buffer, n)
            composite.solve(m, k, tau, none, c, udot)
            return
    w, _ = articulated.take_work(m, buffer, n)
    articulated.solve(m, k, tau, none, w, udot)


@kernel
def rates(m, k, algorithm, y, tau, none, buffer, n, out):
    """out = y' of y = (q, u)"""
    q, u = view(y, 0, m.nq), view(y, m.nq, m.nu)
    coordinate_rates(m, q, u, view(out, 0, m.nq))
    accelerate(m, k, algorithm, q, u, tau, none, buffer, n, view(out, m.nq, m.nu))
