"""Any number of runs through singular poses: python tests/soak_singular.py 1000 [seed [until]]. Not part of the tests.

Starts and tolerances are drawn; mechanisms, integrators and algorithms are taken in turn, so that 81 runs have all of
them. A run is wrong if it is farther from the truth than its tolerance explains and did not say so; a stop that names
the pose is counted apart. At the end the worst errors are printed, by mechanism and integrator.
"""

import sys
import warnings
from itertools import product
from typing import NamedTuple

import numpy as np

import whippletree as wt
from singular_mechanisms import branches, compared

ALGORITHMS, INTEGRATORS = ("reduction", "multipliers", "divide"), ("dopri5", "dop853", "rk4")
SILENT = 1e-2  # rad: farther off means another branch
STEPS = -3.6, -2.8  # of rk4 (s), as powers of ten
TOLERANCES = -11, -6
FAR = 1e4  # tolerances: an error of the angle after 10 s that rtol does not explain; rk4 has none


class Outcome(NamedTuple):
    mechanism: str
    start: tuple[float, float]  # angle, and of the speed
    options: dict
    kind: str  # passed, named, unnamed or silent
    angle: float = 0.0
    energy: float = 0.0
    words: str = ""

    def off(self):
        """Error of the angle in units of the tolerance."""
        return self.angle / (self.options["rtol"] + 1e-10) if "rtol" in self.options else 0.0


def drawn(rng, n):
    """Run n, as a name, a start and options."""
    every = list(product(branches(), INTEGRATORS, ALGORITHMS))
    name, integrator, algorithm = every[(n * 32) % len(every)]  # 32 and 81 share no divisor
    options = {"algorithm": algorithm, "integrator": integrator}
    if integrator == "rk4":
        options["step"] = float(10 ** rng.uniform(*STEPS))
    else:
        options["rtol"] = float(10 ** rng.uniform(*TOLERANCES))
    return name, (float(rng.uniform(0, 2 * np.pi)), float(rng.choice([-1, 1]) * rng.uniform(0.8, 1.2))), options


def outcome(name, start, options, until):
    """What became of one run."""
    branch, speed = branches()[name]
    try:
        got = compared(branch, start[0], start[1] * speed, until, **options)
    except wt.WhippletreeError as error:
        return Outcome(name, start, options, "unnamed", words=str(error))
    kind = "passed" if got.stopped is None else "named" if "lose rank" in got.stopped else "unnamed"
    kind = "silent" if got.angle > SILENT else kind
    return Outcome(name, start, options, kind, got.angle, got.energy, got.stopped or "")


def table(found):
    """Lines: shares, and the worst of those that passed."""
    heads = f"{'runs':>5} {'passed':>6} {'named':>5} {'wrong':>5} {'angle':>8} {'energy':>8} {'/rtol':>8}"
    yield f"{'mechanism':18} {'integrator':10} {heads}"
    names = list(product([*branches(), "all"], INTEGRATORS)) + [("all", a) for a in ALGORITHMS]
    for name, how in names:
        some = [o for o in found if name in (o.mechanism, "all") and how in o.options.values()]
        passed = [o for o in some if o.kind == "passed"]
        if some:
            named = sum(o.kind == "named" for o in some)
            angle, energy, off = (
                max((value(o) for o in passed), default=0.0)
                for value in (lambda o: o.angle, lambda o: o.energy, Outcome.off)
            )
            counts = f"{len(some):5} {len(passed):6} {named:5} {len(some) - len(passed) - named:5}"
            yield f"{name:18} {how:10} {counts} {angle:8.1e} {energy:8.1e} {off:8.1e}"


def main(count, seed=0, until=10.0):
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        found.append(outcome(*drawn(rng, n), until))
        if (n + 1) % 81 == 0:
            kinds = [o.kind for o in found]
            print(n + 1, *(f"{kind} {kinds.count(kind)}" for kind in dict.fromkeys(kinds)), flush=True)
    print(*table(found), sep="\n")
    wrong = [o for o in found if o.kind in ("silent", "unnamed") or o.off() > FAR]
    for o in wrong:
        print(*o)
    return 1 if wrong else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(*map(int, sys.argv[1:3]), *map(float, sys.argv[3:4])))
