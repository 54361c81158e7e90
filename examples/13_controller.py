"""A controller at 1 kHz: gravity compensation and operational-space control of an arm of 7 joints.

The hand follows a circle. Each step asks for kinematics, the Jacobian, the inverse mass matrix and the bias force, and
the plant is stepped with the torques that follow. Printed at the end: how far off the hand was, and what a step cost.
"""

from collections.abc import Callable
from time import perf_counter

import numpy as np

import whippletree as wt

STEP, SECONDS = 1e-3, 2.0  # s
KP, KD, POSTURE = 400.0, 40.0, 2.0  # 1/s^2, 1/s; 1/s


def arm() -> wt.Model:
    """Seven rods in a row, hinges about z and y in turn, a hand at the end."""
    m = wt.Model("arm", gravity=(0, 0, -9.81))
    for n in range(7):
        m.body(f"link{n}", **wt.rod(mass=2.0 - 0.2 * n, length=0.3, radius=0.04, axis="x"))
        parent, at = (f"link{n - 1}", (0.3, 0, 0)) if n else (m.ground, (0, 0, 0))
        m.joint(f"joint{n}", "revolute", parent, f"link{n}", axis="zy"[n % 2], at=at)
    m.frame("hand", "link6", at=(0.3, 0, 0))
    return m


system = arm().compile()
hand, nu = "hand", system.nu
q, u = np.array([0.2, 0.4, -0.3, 0.8, 0.1, 0.6, 0.2]), np.zeros(nu)
centre = wt.kinematics(system, q).position(hand)
J, k = np.empty((6, nu)), wt.kinematics(system, q, u)


def circle(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the hand should be, its velocity and acceleration: 10 cm across, once in 2 s, from rest."""
    w, r = np.pi, 0.05
    return (
        centre + r * np.array([0.0, np.sin(w * t), 1.0 - np.cos(w * t)]),
        r * w * np.array([0.0, np.cos(w * t), np.sin(w * t)]),
        r * w * w * np.array([0.0, -np.sin(w * t), np.cos(w * t)]),
    )


def control(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Torques: the hand's acceleration in its own space, damping in what that leaves free, and the bias force."""
    wt.kinematics(system, q, u, out=k)
    position, rate = k.position(hand), k.velocity(hand)[3:]
    wt.jacobian(system, q, hand, out=J)
    linear, inverse = J[3:], wt.mass_matrix_inverse(system, q)
    still = wt.kinematics(system, q, u, np.zeros(nu)).acceleration(hand)[3:]  # dJ/dt u
    wanted, velocity, acceleration = circle(t)
    asked = acceleration + KP * (wanted - position) + KD * (velocity - rate) - still
    force = np.linalg.solve(linear @ inverse @ linear.T, asked + POSTURE * linear @ u)
    return linear.T @ force - POSTURE * np.linalg.solve(inverse, u) + wt.bias_force(system, q, u)


# gravity compensation alone holds the arm still
udot = wt.forward_dynamics(system, q, u, wt.bias_force(system, q, u))
print(f"gravity compensation: the largest acceleration is {np.abs(udot).max():.1e} rad/s^2")

worst, spent, calls = 0.0, [], round(SECONDS / STEP)
u = np.linalg.pinv(wt.jacobian(system, q, hand)[3:]) @ circle(0.0)[1]
for n in range(calls):
    t = n * STEP
    begun = perf_counter()
    tau = control(t, q, u)
    spent.append(perf_counter() - begun)
    u = u + STEP * wt.forward_dynamics(system, q, u, tau)  # semi-implicit Euler: torques are held for a step
    q = q + STEP * u
    off = float(np.linalg.norm(wt.kinematics(system, q).position(hand) - circle(t + STEP)[0]))
    worst = max(worst, off)
print(f"operational space: the hand is within {1e3 * worst:.2f} mm of the circle")
print(f"cost of a step: {1e6 * float(np.median(spent)):.0f} microseconds of {1e6 * STEP:.0f} (median of {calls})")


def price(what: str, call: Callable[[], object]) -> None:
    """Microseconds of one call, the best of many."""
    best = np.inf
    for _ in range(20):
        begun = perf_counter()
        for _ in range(200):
            call()
        best = min(best, (perf_counter() - begun) / 200)
    print(f"  {what:20} {1e6 * best:6.2f} microseconds")


price("kinematics", lambda: wt.kinematics(system, q, u, out=k))
price("position of the hand", lambda: k.position(hand))
price("Jacobian", lambda: wt.jacobian(system, q, hand, out=J))
price("inverse mass matrix", lambda: wt.mass_matrix_inverse(system, q))
price("bias force", lambda: wt.bias_force(system, q, u))
price("forward dynamics", lambda: wt.forward_dynamics(system, q, u, tau))
assert worst < 2e-3
