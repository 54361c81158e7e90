"""Hard systems by the hundred thousand: no algorithm answers beyond the bound of its error without an error message.

``python tests/soak_adversary.py 100000 --seconds 36000 --first 0`` goes through all of them, prints a table of outcomes
by class and algorithm, and ends with code 1 if any answer was silent or crashed. ``--scissors 1000`` adds scissors at
random poses by every form of `divide`. ``python tests/soak_adversary.py 1 --first SEED`` draws one again.
"""

import argparse
import sys
import time
import traceback

import numpy as np

from adversary import Drawn, Table, Truth, draw, judge, outcome
from adversary_classes import random_scissors

FORMS = ("divide", "divide(lanes=False)", "divide(pieces=2)", "divide(pieces=4, lanes=False)", "dca", "dcat")
TOLD = 1000  # systems between two lines that say how far it is


def soak(count, seconds, first, say=print):
    """Seeds from the first on, for as long as there is time; returns the Table and how many draws failed."""
    table, failed, begun = Table(), 0, time.monotonic()
    for seed in range(first, first + count):
        if time.monotonic() - begun > seconds:
            break
        try:
            drawn = draw(seed)
            found = judge(drawn)
        except Exception:
            failed += 1
            say(f"seed {seed} fails:\n{traceback.format_exc()}")
            continue
        table.add(seed, drawn.kind, found)
        for o in found:
            if count == 1 or o.outcome in ("silent", "crash"):
                say(f"seed {seed}, {drawn.kind}, {drawn.before}: {o}")
        if (seed - first) % TOLD == TOLD - 1:
            passed = time.monotonic() - begun
            say(f"{table.systems} systems, {table.total('silent')} silent answers, {passed:.0f} s")
    return table, failed


def scissor_poses(count, table):
    """Scissors of 1 to 50 stages at random poses, by every form of divide; as many pieces as there are."""
    for seed in range(count):
        truth = Truth(Drawn("scissors by form", *random_scissors(np.random.default_rng([seed, 50]))))
        found = [outcome(truth, form) for form in FORMS]
        table.add(seed, "scissors by form", [o for o in found if "cannot be cut" not in o.note])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="systems to judge")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--scissors", type=int, default=0, help="poses of scissors by every form of divide")
    asked = parser.parse_args(arguments)
    table, failed = soak(asked.count, asked.seconds, asked.first, lambda text: print(text, flush=True))
    scissor_poses(asked.scissors, table)
    for line in table.lines():
        print(line)
    print()
    for (name, result, note), (times, seed) in sorted(table.notes.items(), key=lambda item: -item[1][0]):
        print(f"{times:7d}  {name:12s} {result:12s} {note}, first at seed {seed}")
    silent, crashed = table.total("silent"), table.total("crash")
    print(f"{table.systems} systems: {silent} silent answers, {crashed} crashes, {failed} that could not be judged")
    print(f"bounds: {table.held():.4%} at or above the true error, {table.tight():.2%} within 1000 times of it")
    return 1 if silent or crashed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
