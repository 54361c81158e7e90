"""Runs that are killed at random moments and resumed until they are complete. Executed by test_resume.py.

python killed_runs.py FOLDER KILLS SEED prints how many kills and runs there were, and stops at the first file that
cannot be read or differs from that of a run that was left alone. Runs are forks of one process, so that none
has to load kernels and a kill costs milliseconds.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import xarray as xr

import rooms  # noqa: F401, test modules are imported from their folders
import whippletree as wt
from test_resume_temporary import juggled
from whippletree.integrate.run import checkpoint
from whippletree_lab.reproduce.problems import floating_tree

ROWS = 200


def cases():
    """Systems and how they are simulated: smooth motions, and one with bounces, latches and friction."""
    system = floating_tree().compile()
    u, tau = np.linspace(-1, 1, system.nu), np.linspace(0.1, -0.1, system.nu)
    changing, start = juggled()
    fixed = {"integrator": "rk4", "step": 1e-3}
    return {
        "dopri5": (system, {"until": 40.0, "u": u, "output_step": 40.0 / ROWS}),
        "rk4": (system, {"until": 5.0, "u": u, "tau": tau, "output_step": 5.0 / ROWS} | fixed),
        "changes": (changing, start | {"until": 2.0}),
    }


def simulate(system, options, path, resume):
    return wt.simulate(system, output=path, resume=resume, save_every=1e-3, **options)


def seconds_alone(system, options, path):
    """How long a run computes that writes its file once, so that lives can be cut to the machine."""
    begun = time.process_time()
    wt.simulate(system, output=path, save_every=1e3, **options)
    return time.process_time() - begun


def live(system, options, path, seconds):
    """Whether a run that is killed after so many seconds of computing came to its end before: other load on the machine
    makes lives longer, not shorter."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # no handler: the kernel ends the process where it is
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-4))
        try:
            simulate(system, options, path, resume=True)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, "a run failed"
        return True
    return False


def check_readable(path, whole):
    """What a kill leaves is the beginning of the motion."""
    if path.exists():
        run = wt.load_result(path)
        assert np.array_equal(run.q, whole.q[: len(run)])
        assert np.array_equal(run.u, whole.u[: len(run)])
        for was, is_ in zip(whole.changes, run.changes, strict=False):
            assert was[:3] == is_[:3]
            assert np.array_equal(was.impulse, is_.impulse)


def check_equal(path, expected):
    with xr.open_dataset(path, decode_times=False) as a, xr.open_dataset(expected, decode_times=False) as b:
        assert a.identical(b), f"{path} differs"
    left = [p.name for p in path.parent.iterdir() if p not in (path, expected)]
    assert not left, f"left behind: {left}"


def main(folder, kills, seed):
    options = cases()
    checkpoint.WRITING_SHARE = 0.9  # write nearly all the time: that is where a kill could do harm
    whole, longest = {}, {}
    for name, (system, given) in options.items():
        (folder / name).mkdir()
        whole[name] = simulate(system, given, folder / name / "whole.nc", resume=False)
        longest[name] = seconds_alone(system, given, folder / name / "whole.nc")
    chance, killed, runs = random.Random(seed), 0, 0
    while killed < kills or runs < 2 * len(options):
        name = list(options)[runs % len(options)]
        path, life = folder / name / "run.nc", longest[name]
        while not live(*options[name], path, life * chance.random()):
            killed += 1
            life *= 1.1  # so that a slow machine comes to an end too
            check_readable(path, whole[name])
        check_equal(path, folder / name / "whole.nc")
        path.unlink()
        runs += 1
    print(killed, runs)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
