"""Between a System's arrays and the reference's dicts: cases of the zoo with everything the reference says of them."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

import whippletree as wt
from reference import Reference
from zoo import ZOO, random_state

EPS = np.finfo(float).eps
COUNT = 2 * wt.LANES + 1  # two full registers and a rest


def coordinates(system, q, u):
    """q and u of a System as dicts joint name -> numbers."""
    return {n: q[system.q_index(n)] for n in system.joints}, {n: u[system.u_index(n)] for n in system.joints}


def columns(system, reference):
    """For every DOF of the System its column in the reference."""
    out = np.empty(system.nu, int)
    for name in system.joints:
        out[system.u_index(name)] = np.arange(reference.nu)[reference.columns[name]]
    return out


def error(got, expected):
    """Largest difference relative to the largest expected entry: single entries may cancel to nothing."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    assert np.isfinite(got).all()
    scale = np.abs(expected).max(initial=0.0)
    return np.abs(got - expected).max(initial=0.0) / (scale if scale > 0 else 1.0)


def solve_tolerance(M):
    """1e-10, or the eps cond(M) that a solve with M may lose; in the zoo that stays below 1e-10."""
    return max(1e-10, EPS * np.linalg.cond(M).max())


@dataclass
class Case:
    """A System, states of it, and the reference's answers in the System's order, one row per state."""

    system: wt.System
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    udot: np.ndarray
    wrenches: dict

    @cached_property
    def reference(self):
        return Reference(self.system.model)

    @cached_property
    def columns(self):
        return columns(self.system, self.reference)

    def rows(self, answer):
        """The answer (q, u as dicts, row) -> array, over all states."""
        return np.array(
            [answer(*coordinates(self.system, *qu), k) for k, qu in enumerate(zip(self.q, self.u, strict=True))]
        )

    @cached_property
    def M(self):
        ix = np.ix_(self.columns, self.columns)
        return self.rows(lambda q, u, k: self.reference.mass_matrix(q)[ix])

    @cached_property
    def bias(self):
        return self.rows(lambda q, u, k: self.reference.bias(q, u)[self.columns])

    @cached_property
    def bias_with_wrenches(self):
        def answer(q, u, k):
            return self.reference.bias(q, u, {name: w[k] for name, w in self.wrenches.items()})[self.columns]

        return self.rows(answer)

    @cached_property
    def tolerance(self):
        return solve_tolerance(self.M)


def make_case(model, seed, count=COUNT):
    system, rng = model.compile(), np.random.default_rng(seed)
    q, u, tau = random_state(system, rng, count)
    bodies = rng.choice(list(model.bodies), size=min(2, len(model.bodies)), replace=False)
    wrenches = {str(name): rng.normal(size=(count, 6)) for name in bodies}
    return Case(system, q, u, tau, rng.normal(size=u.shape), wrenches)


@cache
def case_of(name):
    return make_case(ZOO[name](), seed=len(name))
