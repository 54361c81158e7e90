"""Counts the arithmetic of reduction behind kinematics and rows, and prints it beside what loop_operations.py says.

NUMBA_DISABLE_JIT=1 WHIPPLETREE_LANES=1 python count_loop_operations.py four_bar andrews
"""

import sys

import numpy as np

import whippletree as wt
from count_operations import PLAIN, Number, interpret
from loop_zoo import MECHANISMS
from whippletree.dynamics.auto.loop_operations import of_reduction
from whippletree.dynamics.loads.applied import signals
from whippletree.dynamics.reduction import passes as reduction

PLAIN["smaller"] = lambda a, b: a if float(a) < float(b) else b
PLAIN["larger"] = lambda a, b: a if float(a) > float(b) else b


def counted(name):
    """Operations of the inward and the outward pass, and what the plan is predicted to take."""
    system, q, u = MECHANISMS[name]()
    planned, time = reduction.Planned(system, 1), signals(system, 0.0)
    planned.choose(np.array(q), time)
    total = 0
    plain = {sweep: vars(reduction)[sweep] for sweep in ("inward", "outward")}

    def counting(sweep):
        def run(*given):
            nonlocal total
            before = Number.count
            out = sweep(*given)
            total += Number.count - before
            return out

        return run

    vars(reduction).update({name: counting(sweep) for name, sweep in plain.items()})
    udot = np.empty(system.nu)
    reduction.recursion(planned.memory, np.array(q), u, np.zeros(system.nu), time, udot, np.empty(1), 0, 1)
    vars(reduction).update(plain)
    assert np.isfinite(udot).all()
    return total, of_reduction(planned.plan)


if __name__ == "__main__":
    wt.forward_dynamics  # noqa: B018  imports what it names
    interpret()
    for mechanism in sys.argv[1:]:
        print(*counted(mechanism))
