"""Drawn changes of one moment, and contradictions: ``python tests/support/soak_changes.py 1000 [seed [journal]]``.

Every second run has 2 to 8 changes at one moment, mixed at random and in any order of declaration, by every integrator
in turn; the others have constraints that contradict each other after a while, of every kind, to be named within a
step. The tests try some of both: test_simultaneous.py, test_contradictions.py. With the name of a journal it goes on
where it was stopped: see soak_journal.py.
"""

import sys
import warnings

import numpy as np

from contradictions import KINDS
from soak_journal import Journal
from test_contradictions import EVERY, is_named_within_a_step
from test_simultaneous import test_drawn_mixtures


def outcome(seed, n):
    """Run n: what it is of, and what is wrong with it."""
    kind, how = KINDS[n // 2 % len(KINDS)], EVERY[n // 2 // len(KINDS) % len(EVERY)]
    name = "changes of one moment" if n % 2 else f"{kind.__name__} by {' and '.join(how)}"
    try:
        if n % 2:
            test_drawn_mixtures(100_000 * (1 + seed) + n)
        else:
            is_named_within_a_step(kind(np.random.default_rng([seed, n])), *how)
    except (Exception, AssertionError) as error:
        return {"name": name, "problem": f"{type(error).__name__}: {str(error)[:500]}"}
    return {"name": name, "problem": None}


def main(count, seed=0, journal=None):
    kept = Journal(journal)
    for n in kept.left(count):
        kept.add(n, **outcome(seed, n))
        if kept.rows[n]["problem"]:
            print("{n}: {name}: {problem}".format_map(kept.rows[n]), flush=True)
    wrong = [row for row in kept.rows.values() if row["problem"]]
    mixed = sum(row["name"] == "changes of one moment" for row in kept.rows.values())
    print(f"{mixed} mixtures, {len(kept.rows) - mixed} contradictions, {len(wrong)} wrong; {dict(kept.revisions())}")
    return bool(wrong)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:4]))
