"""How many evaluations runs take now and at another revision, and how long the shortest of them: what events may cost.

``python tests/support/compare_evaluations.py 66b8d44`` checks that revision out beside the project and simulates model
files by both, with `dopri5` and `dop853` and default tolerances: smooth runs, runs with events of the user, and with
temporary constraints. It ends with code 1 if a smooth run takes more than 1.05 times the evaluations, or one with
events more than twice. Times, the best of ``--rounds``, are for information: runs are taken in turn, in two processes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
SMOOTH, EVENTS = 1.05, 2.0  # times the evaluations
# of each model the joints whose velocities it starts with, and its time (s)
RUNS = {
    "andrews": ({}, 0.03),
    "arm7": ({"joint1": 1.0}, 3.0),
    "bricard": ({}, 3.0),
    "double_pendulum": ({"elbow": 2.0}, 5.0),
    "five_bar": ({}, 3.0),
    "flexible_four_bar": ({"shaft": 5.0}, 0.1),
    "four_bar": ({"shaft": 3.0}, 3.0),
    "ladder": ({"foot0": -1.0}, 0.2),
    "leg": ({}, 1.0),
    "pendulum": ({"hinge": 3.0}, 10.0),
    "rolling_disc": ({}, 2.0),
    "satellite": ({}, 3.0),
    "slider_crank": ({"shaft": 5.0}, 1.0),
    "spacecraft": ({}, 3.0),
    "stewart": ({}, 1.0),
    "suspension": ({}, 3.0),
    "ten_link": ({}, 1.0),
    "whippletree": ({}, 3.0),
}
TEMPORARY = {"ball_on_table": 3.0, "clutch": 10.0, "docking": 20.0, "newtons_cradle": 3.0, "space_manipulator": 20.0}
INTEGRATORS = "dopri5", "dop853"


def cases(models):
    """Names, systems, and options of runs."""
    import whippletree as wt

    for name, (velocities, until) in RUNS.items():
        system = wt.load(models / f"{name}.toml").compile()
        first = next(edge.joint.name for edge in system.topology.edges if edge.joint.kind != "fixed")
        state = wt.assemble(system) if system.constraints.count else None
        velocities = {joint: v for joint, v in velocities.items() if joint in system.model.joints}
        start = {"u": velocities or None} | ({"q": state.q} if state else {})
        yield name, system, until, start
        if name in ("pendulum", "double_pendulum", "four_bar"):
            event = wt.Event("through", f"{first}.q", 0.1)
            yield f"{name}, event", system, until, start | {"events": [event]}
    for name, until in TEMPORARY.items():
        velocities = {"motor_shaft": 60.0} if name == "clutch" else None
        yield f"{name}, event", wt.load(models / f"{name}.toml").compile(), until, {"u": velocities}


def measure(models, rounds):
    """Evaluations and milliseconds by name and integrator, of the revision that is imported; or what refused."""
    import whippletree as wt

    found = {}
    for name, system, until, start in cases(models):
        for integrator in INTEGRATORS:
            try:
                best = float("inf")
                for _ in range(rounds):
                    begun = time.perf_counter()
                    run = wt.simulate(system, until, integrator=integrator, **start)
                    best = min(best, time.perf_counter() - begun)
                found[f"{name}, {integrator}"] = run.attrs["evaluations"], 1e3 * best
            except wt.WhippletreeError as error:
                found[f"{name}, {integrator}"] = str(error).split("\n")[0]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="of git, to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each, in each of two processes")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(HERE / "models", asked.rounds)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(["git", "-C", HERE, "worktree", "add", "-q", "--detach", other, asked.revision], check=True)
        try:
            found = {place: [] for place in (other, HERE)}
            for place in (other, HERE, other, HERE):
                environment = os.environ | {"PYTHONPATH": str(place / "src"), "OPENBLAS_NUM_THREADS": "1"}
                call = [sys.executable, __file__, asked.revision, "--measure", "--rounds", str(asked.rounds)]
                reported = subprocess.run(call, env=environment, check=True, stdout=subprocess.PIPE).stdout
                found[place].append(json.loads(reported))
        finally:
            subprocess.run(["git", "-C", HERE, "worktree", "remove", "--force", other], check=True)
    return report(*([*times] for times in found.values()))


def report(old, new):
    """Print a line for each run; 1 if one takes too many evaluations."""
    wrong = 0
    for name in new[0]:
        before, now = old[0][name], new[0][name]
        if isinstance(before, str) or isinstance(now, str):
            print(f"{name:36s} {before if isinstance(before, str) else now}")
            continue
        ratio, most = now[0] / before[0], EVENTS if "event" in name else SMOOTH
        wrong += ratio > most
        spent = [min(found[name][1] for found in times) for times in (old, new)]
        mark = "too many" if ratio > most else ""
        times = f"{spent[0]:9.1f} ms {spent[1]:9.1f} ms {spent[1] / spent[0]:6.2f}"
        print(f"{name:36s} {before[0]:8d} {now[0]:8d} {ratio:6.3f}   {times} {mark}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
