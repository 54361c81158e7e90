"""What plain calls cost now and at another revision, one after the other in turn, the best of many.

``python tests/support/compare_revisions.py 66b8d44`` checks that revision out beside the project, times
`forward_dynamics` of chains and of model files by both, one state and a batch, and prints microseconds and their
ratio; and what a certificate takes now. A busy machine disturbs both alike; ``--rounds`` says how often each is
measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
CHAINS, MODELS, BATCH = (7, 30, 128), ("stewart", "ladder"), 256


def best(call, rounds, each):
    """Microseconds of a call."""
    least = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(each):
            call()
        least = min(least, (time.perf_counter() - begun) / each)
    return 1e6 * least


def chain(n):
    import whippletree as wt

    model, near = wt.Model("chain"), "ground"
    for i in range(n):
        model.body(f"b{i}", **wt.box(mass=1.0, size=(0.1, 0.1, 0.5)))
        axis = ((1, 0, 0), (0, 1, 0), (0, 0, 1))[i % 3]
        model.joint(f"j{i}", "revolute", near, f"b{i}", at=(0, 0, 0.5), axis=axis)
        near = f"b{i}"
    return model.compile()


def measure(models):
    """Microseconds by name, of the revision that is imported."""
    import numpy as np

    import whippletree as wt

    found = {}
    systems = {f"chain of {n}": chain(n) for n in CHAINS}
    systems |= {name: wt.load(models / f"{name}.toml").compile() for name in MODELS}
    for name, s in systems.items():
        rng = np.random.default_rng(1)
        Q, U, T = np.tile(s.q0, (BATCH, 1)), np.zeros((BATCH, s.nu)), rng.normal(size=(BATCH, s.nu))
        if not s.constraints.count:
            Q, U = rng.normal(size=Q.shape), rng.normal(size=U.shape)
        for label, state, each in (("one state", (Q[0], U[0], T[0]), 300), (f"{BATCH} states", (Q, U, T), 20)):
            state = [x.copy() for x in state]
            wt.forward_dynamics(s, *state)
            found[f"{name}, {label}"] = best(lambda s=s, x=state: wt.forward_dynamics(s, *x), 30, each)
        if hasattr(wt, "Certificate"):
            state = Q[0].copy(), U[0].copy(), T[0].copy()
            call = partial(wt.forward_dynamics, s, *state, certificate=True)
            call()
            found[f"{name}, certificate"] = best(call, 10, 5)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="of git, to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(HERE / "models")))
        return
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(["git", "-C", HERE, "worktree", "add", "-q", "--detach", other, asked.revision], check=True)
        try:
            found = {place: [] for place in (other, HERE)}
            for _ in range(asked.rounds):
                for place, times in found.items():
                    environment = os.environ | {"PYTHONPATH": str(place / "src"), "OPENBLAS_NUM_THREADS": "1"}
                    call = [sys.executable, __file__, asked.revision, "--measure"]
                    times.append(
                        json.loads(subprocess.run(call, env=environment, check=True, capture_output=True).stdout)
                    )
        finally:
            subprocess.run(["git", "-C", HERE, "worktree", "remove", "--force", other], check=True)
    for name in found[HERE][0]:
        before, now = (min(x.get(name, float("nan")) for x in times) for times in found.values())
        print(f"{name:26s} {before:9.2f} us {now:9.2f} us {now / before:6.3f}")


if __name__ == "__main__":
    main()
