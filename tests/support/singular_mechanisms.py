"""Mechanisms with one degree of freedom whose motion passes singular poses, and their true motion along its branch.

The truth shares no line with the library. Every body's place is written as a smooth function of one angle, on the
branch that the motion stays on; m(angle) and V(angle) are Fourier series over two turns, differentiated as such; and
m x'' + m' x'^2 / 2 + V' = 0 is integrated by SciPy to 1e-13.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import whippletree as wt

GRAVITY = 9.81
GRID = 2048  # angles over two turns: series of the mechanisms here end at 1e-13 far below
ROUNDING = 1e-14  # of the largest coefficient: smaller ones are rounding, which derivatives would multiply


class Body(NamedTuple):
    mass: float
    inertia: float  # about its centre, across the plane
    place: Callable  # of angles: x, y of the centre, and its own angle


def smooth(values):
    """Fourier coefficients without those that are rounding."""
    found = np.fft.fft(values)
    return np.where(abs(found) > ROUNDING * abs(found).max(), found, 0.0)


class Branch:
    """A mechanism and its motion in one smooth angle."""

    def __init__(self, model, bodies, joints):
        self.model, self.bodies, self.joints = model, bodies, joints

    @cached_property
    def system(self):
        return self.model.compile()

    @cached_property
    def series(self):
        """Fourier coefficients of m(angle) and V(angle), with wave numbers."""
        x = 4 * np.pi * np.arange(GRID) / GRID
        k = np.fft.fftfreq(GRID, 1 / GRID) / 2
        m, V = np.zeros(GRID), np.zeros(GRID)
        for body in self.bodies:
            cx, cy, turn = (np.broadcast_to(np.asarray(v, float), x.shape) for v in body.place(x))
            turn = np.unwrap(turn)
            slope = round((turn[-1] + (turn[-1] - turn[-2]) - turn[0]) / (2 * np.pi)) / 2
            rates = [np.fft.ifft(1j * k * smooth(v)).real for v in (cx, cy, turn - slope * x)]
            m += body.mass * (rates[0] ** 2 + rates[1] ** 2) + body.inertia * (rates[2] + slope) ** 2
            V += body.mass * GRAVITY * cy
        m, V = smooth(m) / GRID, smooth(V) / GRID
        some = (m != 0) | (V != 0)
        return k[some], m[some], V[some]

    def energies(self, x):
        """m, m', V, V' at one angle."""
        k, m, V = self.series
        wave = np.exp(1j * k * x)
        return (m @ wave).real, (m * 1j * k @ wave).real, (V @ wave).real, (V * 1j * k @ wave).real

    def truth(self, x, speed, times):
        """(T, 2) the angle and its rate."""

        def rates(t, y):
            m, slope, _, pull = self.energies(y[0])
            return [y[1], -(slope * y[1] ** 2 / 2 + pull) / m]

        found = [np.array([x, speed])]
        for a, b in pairwise(times):  # each to its end: in between SciPy interpolates
            found.append(solve_ivp(rates, (a, b), found[-1], "DOP853", rtol=3e-14, atol=1e-14).y[:, -1])
        return np.array(found)

    def joint_angles(self, x):
        """Values of all joints on the branch, by name."""
        return {name: f(np.asarray(x, float)) for name, f in self.joints.items()}

    def start(self, x, speed):
        """q and u of the system, as dicts."""
        step = 0.02
        at = {n: self.joint_angles(x + n * step) for n in range(-5, 6)}
        weights = {1: 5 / 6, 2: -5 / 21, 3: 5 / 84, 4: -5 / 504, 5: 1 / 1260}  # of order 10
        names = [name for name in self.joints if name in self.tree_joints]
        q = {name: float(at[0][name]) for name in names}
        u = {
            name: float(speed * sum(w * (at[n][name] - at[-n][name]) for n, w in weights.items()) / step)
            for name in names
        }
        return q, u

    @cached_property
    def tree_joints(self):
        return {edge.joint.name for edge in self.system.topology.edges}


def bar(length, mass=None):
    mass = length if mass is None else mass
    across = mass * length**2 / 12
    return {"mass": mass, "com": (length / 2, 0, 0), "inertia": (0.0, across, across)}


def bar_body(length, end, angle, mass=None):
    """A bar from a point at an angle, both functions."""
    mass = length if mass is None else mass

    def place(x):
        (px, py), a = end(x), angle(x)
        return px + length / 2 * np.cos(a), py + length / 2 * np.sin(a), a

    return Body(mass, mass * length**2 / 12, place)


def four_bar_angles(a, b, c, d, crossed):
    """Angles of coupler and rocker over the crank's angle x, where a + d = b + c.

    With f the distance from the crank's tip to the rocker's foot, tan(half the angle there) is
    sqrt((b + c - f)(f + b - c) / ((b + c + f)(f + c - b))), and (b + c)^2 - f^2 = 4 a d cos^2(x / 2), whose root
    changes sign as the bars pass each other in one line. If |b - c| = |d - a|, f^2 - (b - c)^2 = 4 a d sin^2(x / 2).
    """

    def angles(x):
        bx, by = a * np.cos(x), a * np.sin(x)
        f = np.sqrt((d - bx) ** 2 + by**2)
        up, down = 2 * np.sqrt(a * d) * np.cos(x / 2) / (b + c + f), 1.0
        if np.isclose(abs(b - c), abs(d - a)):  # it vanishes too, where they lie over each other
            other = 2 * np.sqrt(a * d) * np.sin(x / 2)  # the root of (f + b - c)(f + c - b)
            if b > c:
                up, down = up * (f + b - c), other
            else:
                up, down = up * other, f + c - b
        else:
            up = up * np.sqrt(f + b - c)
            down = np.sqrt(f + c - b)
        half = np.arctan2(crossed * up, down)
        away = np.arctan2(by, bx - d)  # from the rocker's foot to the crank's tip
        rocker = away + 2 * half
        cx, cy = d + c * np.cos(rocker), c * np.sin(rocker)
        return np.arctan2(cy - by, cx - bx), rocker

    return angles


def kite_angles(a, b):
    """The same of a kite, with crank and ground a, coupler and rocker b > a: symmetric about half the crank's angle."""

    def angles(x):
        far = a * np.cos(x / 2) + np.sqrt(b**2 - (a * np.sin(x / 2)) ** 2)
        cx, cy = far * np.cos(x / 2), far * np.sin(x / 2)
        return np.arctan2(cy - a * np.sin(x), cx - a * np.cos(x)), np.arctan2(cy, cx - a)

    return angles


def four_bar(name, a, b, c, d, angles):
    """Bars a (crank), b (coupler), c (rocker) over ground d."""
    model = wt.Model(name, gravity=(0, -GRAVITY, 0))
    for body, length in (("crank", a), ("coupler", b), ("rocker", c)):
        model.body(body, **bar(length))
    model.joint("A", "revolute", "ground", "crank")
    model.joint("B", "revolute", "crank", "coupler", at=(a, 0, 0))
    model.joint("D", "revolute", "ground", "rocker", at=(d, 0, 0))
    model.joint("C", "revolute", "coupler", "rocker", at=(b, 0, 0), child_at=(c, 0, 0))

    def smooth(n):
        """Without jumps by a turn; all is as before after two turns of the crank."""
        grid = np.linspace(0.0, 4 * np.pi, 8001)
        values = np.unwrap(angles(grid)[n])
        values -= 2 * np.pi * np.round(values[4000] / (2 * np.pi))
        rise = 2 * np.pi * round((values[-1] - values[0]) / (2 * np.pi))

        def of(x):
            raw, turns = angles(np.asarray(x, float))[n], np.floor(np.asarray(x) / (4 * np.pi))
            near = np.interp(x - 4 * np.pi * turns, grid, values) + rise * turns
            return raw + 2 * np.pi * np.round((near - raw) / (2 * np.pi))

        return of

    coupler, rocker = smooth(0), smooth(1)
    bodies = [
        bar_body(a, lambda x: (0.0 * x, 0.0 * x), lambda x: x),
        bar_body(b, lambda x: (a * np.cos(x), a * np.sin(x)), coupler),
        bar_body(c, lambda x: (d + 0.0 * x, 0.0 * x), rocker),
    ]
    joints = {
        "A": lambda x: x,
        "B": lambda x: coupler(x) - x,
        "D": rocker,
        "C": lambda x: rocker(x) - coupler(x),
    }
    return Branch(model, bodies, joints)


def scissors(n, length=1.0):
    """A lift of n crossed pairs of bars; its foot slides through the pin as the bars fold upon each other, upright."""
    L = length
    model = wt.Model(f"{n} scissors", gravity=(0, -GRAVITY, 0))
    model.body("foot", mass=0.2, inertia=(0.01, 0.01, 0.01))
    model.joint("slide", "prismatic", "ground", "foot", axis="x")
    bodies = [Body(0.2, 0.01, lambda x: (L * np.cos(x), 0.0 * x, 0.0 * x))]
    joints = {"slide": lambda x: L * np.cos(x)}
    for k in range(n):
        model.body(f"p{k}", **bar(L))
        model.body(f"r{k}", **bar(L))
        bodies.append(bar_body(L, lambda x, k=k: (0.0 * x, k * L * np.sin(x)), lambda x: x))
        bodies.append(bar_body(L, lambda x, k=k: (L * np.cos(x), k * L * np.sin(x)), lambda x: np.pi - x))
        if k == 0:
            model.joint("pin", "revolute", "ground", "p0")
            model.joint("hinge", "revolute", "foot", "r0")
            joints |= {"pin": lambda x: x, "hinge": lambda x: np.pi - x}
        else:
            model.joint(f"left{k}", "revolute", f"r{k - 1}", f"p{k}", at=(L, 0, 0))
            model.joint(f"right{k}", "revolute", f"p{k - 1}", f"r{k}", at=(L, 0, 0))
            joints |= {f"left{k}": lambda x: 2 * x - np.pi, f"right{k}": lambda x: np.pi - 2 * x}
        model.joint(f"cross{k}", "revolute", f"p{k}", f"r{k}", at=(L / 2, 0, 0), child_at=(L / 2, 0, 0))
        joints[f"cross{k}"] = lambda x: np.pi - 2 * x
    return Branch(model, bodies, joints)


def ladder(n):
    """n parallelograms in a row, all bars of 1 m."""
    model = wt.Model(f"ladder of {n}", gravity=(0, -GRAVITY, 0))
    model.body("crank0", **bar(1.0))
    model.joint("foot0", "revolute", "ground", "crank0")
    bodies, joints = [bar_body(1.0, lambda x: (0.0 * x, 0.0 * x), lambda x: x)], {"foot0": lambda x: x}
    for k in range(1, n + 1):
        model.body(f"coupler{k}", **bar(1.0))
        model.body(f"crank{k}", **bar(1.0))
        model.joint(f"foot{k}", "revolute", "ground", f"crank{k}", at=(k, 0, 0))
        model.joint(f"a{k}", "revolute", f"crank{k - 1}", f"coupler{k}", at=(1, 0, 0))
        model.joint(f"b{k}", "revolute", f"coupler{k}", f"crank{k}", at=(1, 0, 0), child_at=(1, 0, 0))
        bodies.append(bar_body(1.0, lambda x, k=k: (k - 1 + np.cos(x), np.sin(x)), lambda x: 0.0 * x))
        bodies.append(bar_body(1.0, lambda x, k=k: (k + 0.0 * x, 0.0 * x), lambda x: x))
        joints |= {f"foot{k}": lambda x: x, f"a{k}": lambda x: -x, f"b{k}": lambda x: x}
    return Branch(model, bodies, joints)


@lru_cache
def branches():
    """All mechanisms by name, with the speed of the angle that starts are drawn around (rad/s)."""
    long, kite = (1.0, 2.0, 1.0, 2.0), (1.0, 1.6, 1.6, 1.0)
    change = (1.0, 2.2, 1.8, 3.0)
    return {
        "parallelogram": (four_bar("parallelogram", *long, four_bar_angles(*long, -1)), 6.0),
        "antiparallelogram": (four_bar("antiparallelogram", *long, four_bar_angles(*long, 1)), 8.0),
        "kite at 6": (four_bar("kite", *kite, kite_angles(1.0, 1.6)), 6.0),
        "kite at 9": (four_bar("kite", *kite, kite_angles(1.0, 1.6)), 9.0),
        "change point": (four_bar("change point", *change, four_bar_angles(*change, 1)), 8.0),
        "scissors 1": (scissors(1), 7.0),
        "scissors 2": (scissors(2), 9.0),
        "scissors 3": (scissors(3), 10.0),
        "ladder 4": (ladder(4), 6.0),
    }


class Compared(NamedTuple):
    angle: float  # largest error of a joint angle (rad), up to where the run came
    energy: float  # largest change of energy, of the largest kinetic energy
    stopped: str | None  # what a run said that did not come to its end


def compared(branch, x, speed, until, **options):
    """A run against the truth."""
    q, u = branch.start(x, speed)
    stopped = None
    try:
        run = wt.simulate(branch.system, until, q=q, u=u, output_step=until / 20, **options)
    except wt.SimulationError as error:
        run, stopped = error.partial, str(error)
    truth = branch.joint_angles(branch.truth(x, speed, run.t)[:, 0])
    angle = max(np.abs(run.q[:, branch.system.q_index(name)][:, 0] - truth[name]).max() for name in q)
    energies = wt.energy(branch.system, run.q, run.u)
    energy = np.abs(energies.total - energies.total[0]).max() / energies.kinetic.max()
    return Compared(float(angle), float(energy), stopped)
