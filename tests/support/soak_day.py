"""A conservative loop for a day of its own time: energy, closure and memory must stay where they are.

python tests/support/soak_day.py [HOURS] prints each hour's drift, gap and memory, and ends with exit code 1 where one
is too large. Executed in short by test_soak.py.
"""

import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import whippletree as wt

CHUNK = 600.0  # s of a run; the next begins where it ended
DRIFT, GAP, GROWTH = 1e-6, 1e-9, 0.01  # of the energy, m, of the memory after the first chunk
BARS = {"crank": 0.5, "coupler": 1.0, "rocker": 0.8}  # m, and 1.2 m between the bearings


def four_bar() -> wt.System:
    """Bars in a vertical plane, swinging: no damping, nothing driven."""
    model = wt.Model("four-bar")
    for name, length in BARS.items():
        model.body(name, **wt.rod(mass=length, length=length, radius=0.02))
    model.joint("shaft", "revolute", model.ground, "crank", axis="y")
    model.joint("pin", "revolute", "crank", "coupler", axis="y", at=(0.5, 0, 0))
    model.joint("knee", "revolute", "coupler", "rocker", axis="y", at=(1.0, 0, 0), child_at=(0.8, 0, 0))
    model.joint("seat", "revolute", model.ground, "rocker", axis="y", at=(1.2, 0, 0))
    return model.compile()


class Hour(NamedTuple):
    t: float  # s, so far
    drift: float  # largest change of the energy so far, of its whole range
    gap: float  # m, largest so far
    memory: float  # bytes resident


def resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def gap(run: wt.Result) -> float:
    """How far the rocker's end is from its bearing: from angles alone, by the lengths of the bars."""
    K = wt.kinematics(run.system, run.q)
    ends = [K.position("rocker")[:, 0] - 1.2, K.position("rocker")[:, 2]]
    return float(np.hypot(*ends).max())


def hours(seconds: float, chunk: float = CHUNK, **options):
    """Run on and on; yields after each chunk."""
    system = four_bar()
    state = wt.assemble(system, {"shaft": 0.6})
    q, u, drift, worst, t = state.q, state.u, 0.0, 0.0, 0.0
    first = sum(map(float, wt.energy(system, q, u)))
    scale = 9.81 * sum(length * length for length in BARS.values())  # J: all bars, lifted by their lengths
    while t < seconds:
        run = wt.simulate(system, chunk, q=q, u=u, output_step=chunk / 600, **options)
        drift = max(drift, float(np.abs(run["energy"] - first).max()) / scale)
        worst = max(worst, gap(run))
        q, u, t = run.q[-1], run.u[-1], t + chunk
        yield Hour(t, drift, worst, resident())


def main(day: float) -> int:
    begun, start = time.perf_counter(), 0.0
    for hour in hours(day * 3600.0, rtol=1e-9, atol=1e-11):
        start = start or hour.memory
        grown = hour.memory / start - 1.0
        if hour.t % 3600.0 == 0.0:
            spent = time.perf_counter() - begun
            reported = (
                f"{hour.t / 3600:3.0f} h  energy {hour.drift:.1e}  gap {hour.gap:.1e} m  memory {100 * grown:+.2f} %"
            )
            print(f"{reported}  {spent:.0f} s", flush=True)
    return int(hour.drift > DRIFT or hour.gap > GAP or grown > GROWTH)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 24.0))
