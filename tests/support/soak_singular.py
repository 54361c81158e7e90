"""Runs through singular poses: python tests/support/soak_singular.py 10000 [seed [until [journal]]]. Not part of the
tests.

Starts are drawn; mechanisms, integrators and algorithms are taken in turn, so that 81 runs have all of them. Every
fourth run has default tolerances, the others have rtol drawn from 1e-11 to 1e-6, and rk4 its step. A run is `silent` if
it came off its branch without a word, `loose` if it is farther from the truth than ANGLE or ENERGY allow and did not
say so; a stop that names the pose is counted apart. At the end errors are printed by mechanism and by tolerance.
With the name of a journal it goes on where it was stopped: see soak_journal.py.
"""

import sys
import warnings
from collections import Counter
from itertools import product

import numpy as np

import whippletree as wt
from singular_mechanisms import branches, compared
from soak_journal import Journal

ALGORITHMS, INTEGRATORS = ("reduction", "multipliers", "divide"), ("dopri5", "dop853", "rk4")
SILENT = 1e-2  # rad: farther off means another branch
STEPS = -3.6, -2.8  # of rk4 (s), as powers of ten
TOLERANCES = -11, -6
DEFAULT = 1e-8  # rtol
ANGLE, ENERGY = 1e-6, 1e-7  # rad, and of the largest kinetic energy, at the default rtol; in proportion at others
LEAST = 0.1  # of those: what rounding of poses leaves at any tolerance


def drawn(seed, n):
    """Run n, as a name, a start and options."""
    rng = np.random.default_rng([seed, n])
    every = list(product(branches(), INTEGRATORS, ALGORITHMS))
    name, integrator, algorithm = every[(n * 32) % len(every)]  # 32 and 81 share no divisor
    options = {"algorithm": algorithm, "integrator": integrator}
    start = float(rng.uniform(0, 2 * np.pi)), float(rng.choice([-1, 1]) * rng.uniform(0.8, 1.2))
    if integrator == "rk4":
        options["step"] = float(10 ** rng.uniform(*STEPS))
    elif n // len(every) % 4:
        options["rtol"] = float(10 ** rng.uniform(*TOLERANCES))
    return name, start, options


def outcome(name, start, options, until):
    """What became of one run: passed, loose, named, unnamed, refused or silent."""
    branch, speed = branches()[name]
    about = {"mechanism": name, "start": start, **options}
    try:
        got = compared(branch, start[0], start[1] * speed, until, **options)
    except wt.WhippletreeError as error:
        return {**about, "kind": "unnamed", "words": str(error)}
    except Exception as error:
        return {**about, "kind": "crashed", "words": f"{type(error).__name__}: {error}"}
    share = max(options.get("rtol", DEFAULT) / DEFAULT, LEAST)
    within = got.angle < ANGLE * share and got.energy < ENERGY * share
    if got.angle > SILENT:
        kind = "silent"
    elif got.stopped is not None:
        kind = "named" if " rank at t = " in got.stopped else "unnamed"
    else:
        kind = "passed" if within or "step" in options else "loose"  # the error of fixed steps is that of their step
    return {**about, "kind": kind, "angle": got.angle, "energy": got.energy, "words": got.stopped or ""}


def tolerance(row):
    """A row's column of the table: its decade of rtol."""
    return "step" if "step" in row else f"1e{np.floor(np.log10(row['rtol'])):.0f}" if "rtol" in row else "default"


def table(rows):
    """Lines: counts, and the median and largest errors of those that came to their end."""
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    yield (
        f"{'':20} {'':10} {'runs':>6} " + " ".join(f"{kind:>7}" for kind in kinds) + "   angle, half and worst   energy"
    )
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    groups = [(name, how, "mechanism", "integrator") for name, how in product(names, INTEGRATORS)]
    groups += [(a, how, "algorithm", "integrator") for a, how in product(ALGORITHMS, INTEGRATORS)]
    groups += [(how, t, "integrator", "tolerance") for how in INTEGRATORS for t in sorted({*map(tolerance, rows)})]
    for first, second, one, two in groups:
        some = [row for row in rows if row[one] == first and {**row, "tolerance": tolerance(row)}[two] == second]
        if not some:
            continue
        ended = [row for row in some if row["kind"] in ("passed", "loose", "silent")]
        counts = " ".join(f"{sum(row['kind'] == kind for row in some):7}" for kind in kinds)
        worst = [f(row[x] for row in ended) for x in ("angle", "energy") for f in (_median, _worst)]
        yield f"{first:20} {second:10} {len(some):6} {counts}   " + " ".join(f"{x:9.1e}" for x in worst)


def _median(values):
    return float(np.median([*values] or [np.nan]))


def _worst(values):
    return max(values, default=np.nan)


KINDS = "passed", "loose", "named", "unnamed", "silent", "crashed"


def main(count, seed=0, until=10.0, journal=None):
    kept = Journal(journal)
    for n in kept.left(count):
        kept.add(n, until=until, **outcome(*drawn(seed, n), until))
        if kept.rows[n]["kind"] not in ("passed", "named"):
            print(kept.rows[n], flush=True)
        if n % 81 == 80:
            print(n + 1, dict(Counter(row["kind"] for row in kept.rows.values())), flush=True)
    rows = list(kept.rows.values())
    print(*table(rows), sep="\n")
    print(dict(kept.revisions()), dict(Counter(row["kind"] for row in rows)))
    return any(row["kind"] not in ("passed", "named") for row in rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(*map(int, sys.argv[1:3]), *map(float, sys.argv[3:4]), *sys.argv[4:5]))
