"""Random systems of every class, each from a seed alone, and how far the algorithms that can solve it are apart."""

import warnings
from typing import NamedTuple

import numpy as np

import rooms  # noqa: F401, test modules are imported from their folders
import whippletree as wt
from flexible_zoo import flexible_loop
from loop_zoo import FAMILIES, random_loops
from test_flexible import flexible_tree, state
from test_rolling import on_surface, rolling_zoo
from whippletree.analysis.random_states import random_states
from whippletree.dynamics.accuracy.conditioning import AGREE, conditioning, singular
from whippletree.dynamics.auto.choose import able_to_solve
from zoo import random_model, random_solid, random_state

CLASSES = ("tree", "flexible", "loops", "rolling", "temporary", "flexible loops")
SHARES = (0.43, 0.15, 0.25, 0.1, 0.05, 0.02)
POOR = 1e8  # conditioning beyond which a state is no test: 1e-9 times it would allow anything
NEAR = 1e4  # of flexible loops, how near rows are to being lost: some bend only just out of their plane


class Drawn(NamedTuple):
    kind: str
    system: wt.System
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray


def draw(seed):
    """The system of a seed, and a state that it may be in."""
    rng = np.random.default_rng([seed, 1709])
    kind = str(rng.choice(CLASSES, p=SHARES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Drawn(kind, *MAKERS[kind](rng))


def _tree(rng):
    model = random_model(rng, int(rng.integers(2, 9)), armature=rng.random() < 0.3, welds=0.1)
    system = model.compile()
    return system, *random_state(system, rng)


def _flexible(rng):
    system = flexible_tree(rng, int(rng.integers(1, 5)), ("full", "ruthless", "stiffened"), 3).compile()
    return system, *state(system, rng)


def _loops(rng):
    """Closed by joints of every kind, by ropes, gears and points on lines; redundant or not."""
    return random_loops(rng, str(rng.choice(FAMILIES)), bodies=int(rng.integers(3, 7)), loops=int(rng.integers(1, 3)))


def _rolling(rng):
    system, own = rolling_zoo(int(rng.integers(1 << 30)))
    return system, *on_surface(system, own), own.normal(size=system.nu)


def _temporary(rng):
    """A tree that holds a body by a latch, which may let go: then another system moves."""
    model = random_model(rng, int(rng.integers(2, 6)), welds=0.0)
    model.body("guest", **random_solid(rng))
    model.joint("flight", "free", "ground", "guest")
    joint = str(rng.choice(("fixed", "revolute", "spherical")))
    model.constraint("hold", "latch", body="guest", to=str(rng.choice(list(model.bodies)[:-1])), joint=joint)
    model.temporary("hold", begins="active")
    whole = model.compile()
    system = whole if rng.random() < 0.8 else whole.holding({})
    q, u, tau = random_state(system, rng)
    start = wt.assemble(system, q, u)
    return system, start.q, start.u, tau


def _flexible_loops(rng):
    """Deformed a little, out of the plane too; not so little that rows hardly differ, which conditioning does not
    tell.
    """
    while True:
        system = flexible_loop(rng).compile()
        Q, U = random_states(system, 2, rng)
        if singular(system, Q[1], U[1]) < NEAR:
            return system, Q[1], U[1], rng.normal(size=system.nu)


MAKERS = dict(zip(CLASSES, (_tree, _flexible, _loops, _rolling, _temporary, _flexible_loops), strict=True))


class Found(NamedTuple):
    """How far algorithms are apart: against the largest acceleration, over conditioning, at their worst."""

    kind: str
    worst: float
    pair: str
    algorithms: int
    conditioning: float


def compare(drawn):
    """Every algorithm that can solve the system against the first of them."""
    kind, system, q, u, tau = drawn
    condition, able = conditioning(system, q, u), able_to_solve(system)
    first = wt.forward_dynamics(system, q, u, tau, algorithm=able[0])
    worst, pair = 0.0, ""
    for name in able[1:]:
        other = wt.forward_dynamics(system, q, u, tau, algorithm=name)
        off = float(np.abs(other - first).max() / np.abs(first).max() / condition)
        if not off <= worst:
            worst, pair = off, f"{name} against {able[0]}"
    return Found(kind, worst, pair, len(able), condition)


def agrees(found):
    return found.worst <= AGREE or found.conditioning > POOR
