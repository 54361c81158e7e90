"""A deformed body by brute force: exact positions and turns of its mass points, and the integrals over them.

Shares no line with the modes room: no expansion in orders, only sums over points at a given deformation.
"""

import numpy as np


def tilde(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def cayley(theta):
    return np.eye(3) + (tilde(theta) + tilde(theta) @ tilde(theta) / 2) / (1 + theta @ theta / 4)


def spin(theta):
    """G with angular velocity = G theta'."""
    return (np.eye(3) + tilde(theta) / 2) / (1 + theta @ theta / 4)


class Deformed:
    """Mass points at r + phi eta + eta Q eta / 2, turned by the Cayley rotation of psi eta."""

    def __init__(self, r, mass, inertia, phi, psi, Q):
        self.r, self.mass, self.inertia, self.phi, self.psi, self.Q = r, mass, inertia, phi, psi, Q
        self.count = phi.shape[2]

    @staticmethod
    def random(rng, points=6, modes=3, size=1.0):
        A = rng.normal(size=(points, 3, 3))
        Q = rng.normal(size=(points, 3, modes, modes))
        return Deformed(
            rng.normal(size=(points, 3)),
            rng.uniform(0.1, 1.0, points),
            A @ A.swapaxes(1, 2),
            size * rng.normal(size=(points, 3, modes)),
            size * rng.normal(size=(points, 3, modes)),
            size * (Q + Q.swapaxes(-1, -2)),
        )

    def node(self, k, eta):
        """Place, derivative of the place, turn, angular velocity by eta'."""
        theta = self.psi[k] @ eta
        rho = self.r[k] + self.phi[k] @ eta + 0.5 * np.einsum("iab,a,b", self.Q[k], eta, eta)
        return rho, self.phi[k] + self.Q[k] @ eta, cayley(theta), spin(theta) @ self.psi[k]

    def integrals(self, eta, seen_from=None):
        """h, J, Ct, Cr, Mff at eta; in the frame that node ``seen_from`` carries, if one is given."""
        n = self.count
        R0, o, O, G = np.eye(3), np.zeros(3), np.zeros((3, n)), np.zeros((3, n))
        if seen_from is not None:
            rho0, d0, R0, G = self.node(seen_from, eta)
            arm = R0 @ self.r[seen_from]
            o, O = rho0 - arm, d0 + tilde(arm) @ G  # d(R r)/dt = omega × R r
        h, J, Ct, Cr, Mff = np.zeros(3), np.zeros((3, 3)), np.zeros((3, n)), np.zeros((3, n)), np.zeros((n, n))
        for k, m in enumerate(self.mass):
            rho, d, R, omega = self.node(k, eta)
            x = R0.T @ (rho - o)
            dx = R0.T @ (d - O + tilde(rho - o) @ G)
            I = R0.T @ R @ self.inertia[k] @ R.T @ R0
            w = R0.T @ (omega - G)
            h += m * x
            J += m * tilde(x) @ tilde(x).T + I
            Ct += m * dx
            Cr += m * tilde(x) @ dx + I @ w
            Mff += m * dx.T @ dx + w.T @ I @ w
        return h, J, Ct, Cr, Mff
