"""A slider-crank, as in an engine: its loop is found, assembled, and stays closed; its rest, its swing, its motor."""

import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

m = wt.Model("slider crank")
crank = m.body("crank", **wt.rod(mass=1.0, length=0.2))
rod = m.body("rod", **wt.rod(mass=2.0, length=0.6))
block = m.body("block", **wt.box(mass=0.5, size=(0.1, 0.1, 0.1)))
m.joint("shaft", "revolute", m.ground, crank, axis="y")
m.joint("pin", "revolute", crank, rod, axis="y", at=(0.2, 0, 0))
m.joint("wrist", "revolute", rod, block, axis="y", at=(0.6, 0, 0))
m.joint("slider", "prismatic", m.ground, block, axis="x")  # closes the loop
system = m.compile()
print(f"'{system.cut_joints[0]}' closes the loop")

state = wt.assemble(system, q={"shaft": 0.5}, u={"shaft": 12.0})
run = wt.simulate(system, until=1.5, q=state.q, u=state.u)
print(f"largest gap {run['closure'].max():.1e} m, energy off by {np.ptp(run['energy']):.1e} J")

rest = wt.equilibrium(system, state.q)
modes = wt.eigenmodes(system, rest.q)
print(f"hangs still at {np.degrees(rest.q[0]):.3f} degrees, and swings there at {modes.hz[0]:.4f} Hz")

even = wt.linearize(system, state.q, state.u, hold=True)  # velocities that stay, and the least joint forces for that
shaft = wt.inverse_dynamics(system, state.q, state.u, even.udot, actuated=["shaft"])[0]
print(f"a motor on the shaft alone would have to give {shaft:.4f} N m at the start for that")

figure, (above, below) = plt.subplots(2, sharex=True, layout="constrained")
above.plot(run.t, run["block.position"][:, 0])
above.set_ylabel("block (m)")
below.semilogy(run.t, run["closure"] + 1e-18)
below.set(xlabel="time (s)", ylabel="gap of the loop (m)")
figure.savefig("loops.png", dpi=160)
print("wrote loops.png")
