"""Any number of runs through singular poses: python tests/soak_singular.py 1000 [seed]. Not part of the tests.

Starts, algorithms, integrators and tolerances are drawn. A run is wrong if it is farther from the truth than its
tolerance explains and did not say so; a stop that names the pose is counted apart.
"""

import sys
import warnings

import numpy as np

import whippletree as wt
from singular_mechanisms import branches, compared

SILENT = 1e-2  # rad: farther off means another branch


def drawn(rng):
    """A run, as a name and options."""
    name = str(rng.choice(list(branches())))
    algorithm, integrator = rng.choice(["reduction", "multipliers", "divide"]), rng.choice(["dopri5", "dop853", "rk4"])
    options = {"algorithm": str(algorithm), "integrator": str(integrator)}
    if integrator == "rk4":
        options["step"] = float(10 ** rng.uniform(-3.6, -2.8))
    else:
        options["rtol"] = float(10 ** rng.uniform(-11, -6))
    return name, float(rng.uniform(0, 2 * np.pi)), float(rng.choice([-1, 1]) * rng.uniform(0.8, 1.2)), options


def main(count, seed=0, until=10.0):
    rng = np.random.default_rng(seed)
    named, silent, unnamed, angles = 0, [], [], []
    for n in range(count):
        name, x, factor, options = drawn(rng)
        branch, speed = branches()[name]
        try:
            got = compared(branch, x, factor * speed, until, **options)
        except wt.WhippletreeError as error:
            unnamed.append((name, x, factor, options, str(error)))
            continue
        if got.angle > SILENT:
            silent.append((name, x, factor, options, got))
        elif got.stopped is None:
            angles.append(got.angle)
        elif "lose rank" in got.stopped:
            named += 1
        else:
            unnamed.append((name, x, factor, options, got))
        if (n + 1) % 50 == 0:
            print(
                f"{n + 1}: passed {len(angles)}, named {named}, silent {len(silent)}, unnamed {len(unnamed)}",
                flush=True,
            )
    for what, cases in (("silent", silent), ("unnamed", unnamed)):
        for case in cases:
            print(what, *case)
    if angles:
        print(f"{len(angles)} passed: median error {np.median(angles):.1e} rad, worst {max(angles):.1e}; {named} named")
    return 1 if silent or unnamed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(*map(int, sys.argv[1:3]), *map(float, sys.argv[3:4])))
