"""A 7-joint arm from a file: hold it still with the right torques, then let it fall."""

from pathlib import Path

import numpy as np

import whippletree as wt

system = wt.load(Path(__file__).parent.parent / "models" / "arm7.toml").compile()
print(system.explain())

q = np.linspace(-0.6, 0.9, system.nq)
rest = np.zeros(system.nu)
holding = wt.bias_force(system, q, rest)  # N m, one per joint
print("torques that hold it still:", np.round(holding, 3))
print("left over acceleration:   ", np.abs(wt.forward_dynamics(system, q, rest, holding)).max())

# the same accelerations by two algorithms that share only the kinematics
first = wt.forward_dynamics(system, q, rest, algorithm="articulated")
second = wt.forward_dynamics(system, q, rest, algorithm="composite")
print("articulated against composite:", np.abs(first - second).max() / np.abs(first).max())

run = wt.simulate(system, until=1.0, q=q)
run.plot(path="arm.svg")
run.save("arm.nc")
print("wrote arm.svg, arm.nc")
