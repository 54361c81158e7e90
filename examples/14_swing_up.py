"""Swing up a pole on a cart by a force on the cart alone: iterative LQR on exact derivatives of forward dynamics."""

import numpy as np

import whippletree as wt

m = wt.Model("cart-pole")
m.body("cart", mass=1.0, inertia=(0.01, 0.01, 0.01))
m.body("pole", **wt.rod(mass=0.2, length=0.6, axis="z"))
m.joint("rail", "prismatic", m.ground, "cart", axis="x")
m.joint("pivot", "revolute", "cart", "pole", axis="y")  # the pole is up at an angle of 0
system = m.compile()

STEP, STEPS, LIMIT = 0.02, 100, 30.0  # s, N
GOAL, START = np.zeros(4), np.array([0.0, np.pi, 0.0, 0.0])  # q, then u
COST, FORCE, END = STEP * np.diag([0.1, 0.1, 0.01, 0.01]), STEP * 1e-3, np.diag([50.0, 200.0, 5.0, 5.0])


def advance(x, force):
    u = x[2:] + STEP * wt.forward_dynamics(system, x[:2], x[2:], [force, 0.0])
    return np.concatenate([x[:2] + STEP * u, u])


def slopes(x, force):
    """Derivatives of the end of a step by its beginning, and by the force."""
    d = wt.forward_dynamics_derivatives(system, x[:2], x[2:], [force, 0.0])
    later = np.hstack([STEP * d.dq, np.eye(2) + STEP * d.du])
    column = STEP * d.dtau[:, 0]
    return np.vstack([np.eye(2, 4) + STEP * later, later]), np.concatenate([STEP * column, column])


def run(X, F, k=None, K=None, share=0.0):
    """States under forces F, changed by share k and by feedback K on what differs from X; and their cost."""
    new, forces = [START], []
    for n in range(STEPS):
        change = 0.0 if k is None else share * k[n] + K[n] @ (new[n] - X[n])
        forces.append(np.clip(F[n] + change, -LIMIT, LIMIT))
        new.append(advance(new[n], forces[n]))
    cost = sum(x @ COST @ x + FORCE * f * f for x, f in zip(new, forces, strict=False)) + new[-1] @ END @ new[-1]
    return np.array(new), np.array(forces), cost


X, F, cost = run(None, np.sin(np.linspace(0, 9, STEPS)))
stiff = 1.0
for _ in range(200):
    V, v, k, K = END, END @ X[-1], np.zeros(STEPS), np.zeros((STEPS, 4))
    for n in reversed(range(STEPS)):
        A, b = slopes(X[n], F[n])
        c = FORCE + stiff * STEP + b @ V @ b
        k[n], K[n] = -(FORCE * F[n] + b @ v) / c, -(b @ V @ A) / c
        closed = A + np.outer(b, K[n])
        v = COST @ X[n] + FORCE * K[n] * (F[n] + k[n]) + closed.T @ (v + V @ b * k[n])
        V = COST + FORCE * np.outer(K[n], K[n]) + closed.T @ V @ closed
    tried = [run(X, F, k, K, share) for share in (1.0, 0.5, 0.1)]
    best = min(tried, key=lambda one: one[2] if np.isfinite(one[2]) else np.inf)
    stiff = max(stiff / 3, 1e-6) if best[2] < cost else stiff * 4
    if best[2] < cost:
        X, F, cost = best
print(f"cost {cost:.3f}, the end is off by {np.abs(X[-1]).max():.3f}, forces up to {np.abs(F).max():.1f} N")
assert np.abs(X[-1]).max() < 0.05
