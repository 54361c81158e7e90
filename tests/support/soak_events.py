"""Random cases over all integrators: ``python tests/support/soak_events.py 10000 [seed [journal]]`` names missed
events.

With the name of a journal it goes on where it was stopped: see soak_journal.py.
"""

import sys
import time

import numpy as np

import whippletree as wt
from event_cases import KINDS, can, problem_of
from soak_journal import Journal


def outcome(seed, n):
    """Case n: its kind, its integrator, whether something is met in it, and what is wrong with it."""
    case = KINDS[n % len(KINDS)](np.random.default_rng([seed, n]))
    able = [name for name in wt.INTEGRATORS if can(case, name)]
    integrator = able[n // len(KINDS) % len(able)]
    try:
        problem = problem_of(case, integrator)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return {"kind": case.kind, "integrator": integrator, "met": case.moment is not None, "problem": problem}


def main(count=2000, seed=0, journal=None):
    kept, begun = Journal(journal), time.perf_counter()
    for n in kept.left(count):
        kept.add(n, **outcome(seed, n))
        if kept.rows[n]["problem"]:
            print("{n}: {kind} by {integrator}: {problem}".format_map(kept.rows[n]), flush=True)
        if n % 500 == 499:
            print(f"{n + 1} cases, {time.perf_counter() - begun:.0f} s", flush=True)
    rows = kept.rows.values()
    wrong, missed = sum(bool(row["problem"]) for row in rows), sum("missed" in (row["problem"] or "") for row in rows)
    met = sum(row["met"] for row in rows)
    print(f"{len(rows)} cases, {wrong} wrong, {missed} missed; in {met} something is met; {dict(kept.revisions())}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:4]))
