"""Hard systems by the hundred thousand: no algorithm answers beyond the bound of its error without an error message.

``python tests/support/soak_adversary.py 100000 --first 20000000 --log FILE`` goes through all of them, prints a table
of outcomes by class and algorithm, and ends with code 1 if any answer was silent or crashed. With a log it goes on
where it stopped: a line of the log counts if it was made by the same sources of the library and of the judge.
``--scissors 1000`` adds scissors at random poses by every form of `divide`.
``python tests/support/soak_adversary.py 1 --first SEED`` draws one again.
"""

import argparse
import hashlib
import json
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import whippletree as wt
from adversary import Drawn, Outcome, Table, Truth, draw, judge, outcome
from adversary_classes import random_scissors

FORMS = ("divide", "divide(lanes=False)", "divide(pieces=2)", "divide(pieces=4, lanes=False)", "dca", "dcat")
REPORTED = 1000  # systems between two lines that say how far it is
JUDGES = ("adversary*.py", "extended_*.py", "sketch.py", "curve_jets.py")


def sources():
    """A name for the sources that made a line: of the library, and of what draws and judges."""
    files = sorted(Path(wt.__file__).parent.rglob("*.py"))
    files += sorted(path for pattern in JUDGES for path in Path(__file__).parent.glob(pattern))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]


class Log:
    """Systems that are judged, one line each, so that a soak goes on where it stopped."""

    def __init__(self, path, made_by):
        self.path, self.made_by, self.seen, self.others = path and Path(path), made_by, {}, {}
        if self.path and self.path.is_file():
            for line in self.path.read_text("utf-8").splitlines():
                try:
                    by, seed, kind, found = json.loads(line)
                except ValueError:  # cut off in the middle
                    continue
                if by == made_by:
                    self.seen[seed] = kind, [Outcome(*o) for o in found]
                else:
                    self.others[by] = self.others.get(by, 0) + 1

    def add(self, seed, kind, found):
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self.made_by, seed, kind, found]) + "\n")


def soak(count, seconds, first, say=print, log=None):
    """Seeds from the first on, for as long as there is time; returns the Table and how many draws failed."""
    table, failed, begun, log = Table(), 0, time.monotonic(), log or Log(None, "")
    for seed in range(first, first + count):
        if seed in log.seen:
            table.add(seed, *log.seen[seed])
            continue
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
        log.add(seed, drawn.kind, found)
        for o in found:
            if count == 1 or o.outcome in ("silent", "crash"):
                say(f"seed {seed}, {drawn.kind}, {drawn.before}: {o}")
        if (seed - first) % REPORTED == REPORTED - 1:
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
    parser.add_argument("--log", help="keep what was judged in a file, and go on from it")
    parser.add_argument("--scissors", type=int, default=0, help="poses of scissors by every form of divide")
    asked = parser.parse_args(arguments)
    log = Log(asked.log, sources())
    table, failed = soak(asked.count, asked.seconds, asked.first, lambda text: print(text, flush=True), log)
    scissor_poses(asked.scissors, table)
    for line in table.lines():
        print(line)
    print()
    for (name, result, note), (times, seed) in sorted(table.notes.items(), key=lambda item: -item[1][0]):
        print(f"{times:7d}  {name:12s} {result:12s} {note}, first at seed {seed}")
    silent, crashed = table.total("silent"), table.total("crash")
    print(f"{table.systems} systems: {silent} silent answers, {crashed} crashes, {failed} that could not be judged")
    print(f"bounds: {table.held():.4%} at or above the true error, {table.tight():.2%} within 1000 times of it")
    for by, lines in log.others.items():
        print(f"the log holds {lines} systems by other sources ({by}), which are not counted")
    return 1 if silent or crashed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
