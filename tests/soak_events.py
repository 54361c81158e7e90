"""Random cases over all integrators: ``python tests/soak_events.py 10000 [seed]`` tells which events were missed."""

import sys
import time
from collections import Counter

import numpy as np

import whippletree as wt
from event_cases import KINDS, can, problem_of


def main(count=2000, seed=0):
    counts, wrong, begun = Counter(), 0, time.perf_counter()
    for n in range(count):
        draw = np.random.default_rng([seed, n])
        case = KINDS[n % len(KINDS)](draw)
        able = [name for name in wt.INTEGRATORS if can(case, name)]
        integrator = able[n // len(KINDS) % len(able)]
        try:
            problem = problem_of(case, integrator)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        counts[case.kind, case.moment is not None] += 1
        if problem:
            wrong += 1
            print(f"{n}: {case.kind} by {integrator}: {problem}", flush=True)
    print(f"{count} cases, {wrong} wrong, {time.perf_counter() - begun:.0f} s; met: ", end="")
    print(sum(x for (_, met), x in counts.items() if met))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
