"""Many states at once: a batch in SIMD lanes against one call per state."""

import time
from pathlib import Path

import numpy as np

import whippletree as wt

system = wt.load(Path(__file__).parent.parent / "models" / "arm7.toml").compile()
rng = np.random.default_rng(1)
B = 4096
q, u, tau = (rng.uniform(-1, 1, (B, n)) for n in (system.nq, system.nu, system.nu))


def best(work, repeat=5):
    """The shortest of some timings, in microseconds per state."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) / B * 1e6


batch = wt.forward_dynamics(system, q, u, tau)
single = np.array([wt.forward_dynamics(system, q[i], u[i], tau[i]) for i in range(B)])
print(f"largest difference: {np.abs(batch - single).max() / np.abs(single).max():.1e}")

loop = best(lambda: [wt.forward_dynamics(system, q[i], u[i], tau[i]) for i in range(B)])
lanes = best(lambda: wt.forward_dynamics(system, q, u, tau))
cores = best(lambda: wt.forward_dynamics(system, q, u, tau, threads=2))
print(f"one call per state:      {loop:7.3f} us per state")
print(f"batch, {wt.LANES} lanes:          {lanes:7.3f} us per state")
print(f"batch, lanes, 2 threads: {cores:7.3f} us per state")
