"""Random systems by the thousand: all algorithms that can solve one agree to 1e-9 times its conditioning.

``python tests/support/soak_agreement.py 20000 --seconds 3600 --first 0`` ends with code 1 at the first that does not,
and names its seed: ``python tests/support/soak_agreement.py 1 --first SEED`` draws it again.
"""

import argparse
import sys
import time
import traceback

from random_systems import CLASSES, agrees, compare, draw


def soak(count, seconds, first, say=print):
    """Seeds from the first on, for as long as there is time; returns how many were compared, and what failed."""
    worst, done, begun = {}, dict.fromkeys(CLASSES, 0), time.monotonic()
    for seed in range(first, first + count):
        if time.monotonic() - begun > seconds:
            break
        try:
            found = compare(draw(seed))
        except Exception:
            say(f"seed {seed} fails:\n{traceback.format_exc()}")
            return sum(done.values()), seed
        done[found.kind] += 1
        if found.worst > worst.get(found.kind, (0.0,))[0]:
            worst[found.kind] = found.worst, seed, found.pair
        if not agrees(found):
            say(f"seed {seed}: a {found.kind} on which {found.pair} differ by {found.worst:.2e} times conditioning")
            return sum(done.values()), seed
        if (seed - first) % 1000 == 999:
            say(f"{seed - first + 1} systems, {time.monotonic() - begun:.0f} s")
    for kind, (off, seed, pair) in worst.items():
        say(f"{kind:10s} {done[kind]:6d} systems, worst {off:.1e} times conditioning: seed {seed}, {pair}")
    return sum(done.values()), None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="systems to compare")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args(arguments)
    compared, failed = soak(asked.count, asked.seconds, asked.first, lambda text: print(text, flush=True))
    print(f"{compared} systems compared" + ("" if failed is None else f", seed {failed} failed"))
    return 0 if failed is None else 1


if __name__ == "__main__":
    sys.exit(main())
