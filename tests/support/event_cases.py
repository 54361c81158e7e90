"""Random motions that meet something, with the moment in closed form; some of them pass by and meet nothing."""

from typing import NamedTuple

import numpy as np

import whippletree as wt

G = 9.81
# error of the moment (s, against the length of the run) where the path is curved; all are exact on straight paths
CURVED = {"euler": 2e-2, "generalized_alpha": 1e-5, "cvode": 1e-5, "scipy-LSODA": 1e-5, "scipy-RK45": 1e-8,
          "scipy-DOP853": 1e-8, "scipy-Radau": 1e-5}  # fmt: skip
STRAIGHT = {"cvode": 1e-7, "scipy-LSODA": 1e-7, "scipy-Radau": 1e-8}  # their steps solve equations to a tolerance


class Case(NamedTuple):
    kind: str
    model: wt.Model
    until: float
    q: dict
    u: dict
    moment: float | None  # when it is met (s), or None
    curved: bool = False
    what: tuple[str, ...] = ("activated", "bounced")
    events: tuple[wt.Event, ...] = ()
    approach: float = np.inf  # m/s: how fast it is met, slowly where it grazes

    def tolerance(self, integrator):
        """1e-10 s, or how long it takes to come nearer by the rounding of places, which fixed steps add up."""
        table = CURVED if self.curved else STRAIGHT
        size = max(1.0, *(abs(x) for place in self.q.values() for x in np.atleast_1d(place)))
        steps = 1000.0 * max(self.until, 0.1)  # of 1 ms, or a hundredth of the run; each rounds places twice
        rounding = size * (1e-13 if wt.INTEGRATORS[integrator].ADAPTIVE else 1e-13 + 4.4e-16 * steps)
        return max(1e-10, table.get(integrator, 0.0) * self.until, rounding / self.approach)


def flying(m, name, mass=1.0):
    m.body(name, mass=mass, inertia=(0.1, 0.1, 0.1))
    m.joint(f"{name}_flight", "free", m.ground, name)


def at(x, y, z):
    return (x, y, z, 1, 0, 0, 0)


def speed(draw):
    return 10.0 ** draw.uniform(-3, 3)


def moment_of(draw):
    """When it is met, and a run that is longer, by a little or by much."""
    until = draw.uniform(0.2, 2.0)
    return until * draw.uniform(0.01, 0.99), until


def share_of(draw):
    """Of the reach: how far off the middle, up to grazing; beyond 1 is a miss."""
    how = draw.integers(4)
    if how == 0:
        return 0.0
    if how == 3:
        return 1.0 + draw.choice([-1.0, 1.0]) * 10.0 ** draw.uniform(-6, -1)
    return draw.uniform(0.0, 0.99)


def balls(draw):
    m = wt.Model("balls", gravity=(0, 0, -G if draw.random() < 0.3 else 0))
    r = 10.0 ** draw.uniform(-3, 0, 2)
    flying(m, "a", draw.uniform(0.1, 10)), flying(m, "b")
    m.constraint("hit", "roll", body="a", to="b", radius=r[0], on="sphere", to_radius=r[1], slip="all")
    m.temporary("hit", unilateral=True, restitution=float(draw.choice([0.0, 0.5, 1.0])))
    reach, v, (t, until), share = r.sum(), speed(draw), moment_of(draw), share_of(draw)
    half = reach * np.sqrt(max(1.0 - share * share, 0.0))
    away, drift = half + v * t, draw.uniform(-1, 1)
    q = {"a_flight": at(-away, share * reach, 0), "b_flight": at(0, 0, 0)}
    u = {"a_flight": (0, 0, 0, drift + v, 0, 0), "b_flight": (0, 0, 0, drift, 0, 0)}
    slow = v * half / reach if half else np.inf
    return Case("balls", m, until, q, u, t if share < 1.0 else None, bool(m.gravity[2]), approach=slow)


def berth(draw):
    m = wt.Model("berth", gravity=(0, 0, 0))
    flying(m, "station", 50.0), flying(m, "ship", 4.0)
    within, v, (t, until), share = 10.0 ** draw.uniform(-4, 0), speed(draw), moment_of(draw), share_of(draw)
    fast = draw.random() < 0.2
    m.constraint("latch", "latch", body="ship", at=(-0.5, 0, 0), to="station", to_at=(0.5, 0, 0))
    m.temporary(
        "latch",
        activate_within=within,
        activate_below=v * (0.9 if fast else 1.1),
        here=within > 0.05 or bool(draw.integers(2)),
    )
    away = within * np.sqrt(max(1.0 - share * share, 0.0)) + v * t
    q = {"station_flight": at(0, 0, 0), "ship_flight": at(1.0 + away, share * within, 0)}
    u = {"ship_flight": (0, 0, 0, -v, 0, 0)}
    slow = v * (away - v * t) / within if share < 1.0 else np.inf
    return Case("berth", m, until, q, u, t if share < 1.0 and not fast else None, approach=slow)


def plate(draw):
    m = wt.Model("plate", gravity=(0, 0, 0))
    flying(m, "point")
    within, v, (t, until) = 10.0 ** draw.uniform(-6, -1), speed(draw), moment_of(draw)
    m.constraint("plate", "point_on_plane", body="point")
    m.temporary("plate", activate_within=within)
    up = draw.choice([-1.0, 1.0])
    z, across = up * (within + v * t), draw.uniform(-1, 1)
    q, u = {"point_flight": at(0, 0, z)}, {"point_flight": (0, 0, 0, across, 0, -up * v)}
    return Case("plate", m, until, q, u, t, approach=v)


def rope(draw):
    m = wt.Model("rope", gravity=(0, 0, 0))
    flying(m, "stone")
    length, v, (t, until) = 10.0 ** draw.uniform(-2, 1), speed(draw), moment_of(draw)
    m.constraint("rope", "distance", body="stone", length=length)
    m.temporary("rope", unilateral=True, restitution=float(draw.choice([0.0, 0.5])))
    off = length * draw.uniform(0.0, 0.999)
    half = np.sqrt(length**2 - off**2)
    t = min(t, draw.uniform(0.01, 1.99) * half / v)  # it begins within reach
    until = min(until, 5.0 * t)
    q, u = {"stone_flight": at(half - v * t, off, 0)}, {"stone_flight": (0, 0, 0, v, 0, 0)}
    return Case("rope", m, until, q, u, t, approach=v * half / length)


def ceiling(draw):
    """A point thrown up grazes a ceiling, by as little as 1 nm, or stays below it."""
    m = wt.Model("ceiling", gravity=(0, 0, -G))
    flying(m, "point")
    m.constraint("ceiling", "point_on_plane", body="point", to_at=wt.pose((0, 0, 0), quaternion=(0.0, 1.0, 0.0, 0.0)))
    m.temporary("ceiling", unilateral=True, restitution=float(draw.choice([0.0, 0.5])))
    depth, rise = draw.choice([-1.0, 1.0, 1.0]) * 10.0 ** draw.uniform(-8, -1), draw.uniform(0.05, 1.0)
    up = G * rise
    z = depth - 0.5 * up * rise
    if z > -1e-3:
        z, depth = -1e-3, 0.5 * up * rise - 1e-3
    until = 2.0 * rise * draw.uniform(1.0, 1.5)
    t = (up - np.sqrt(max(up * up + 2 * G * z, 0.0))) / G if depth > 0 else None
    q, u, slow = {"point_flight": at(0, 0, z)}, {"point_flight": (0, 0, 0, 0.3, 0, up)}, up - G * (t or 0.0)
    return Case("ceiling", m, until, q, u, t, True, approach=slow)


def wheel(draw):
    """A spoke that turns many times in a step dips into a plane near the lowest point of its circle."""
    m = wt.Model("wheel", gravity=(0, 0, 0))
    m.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.joint("axle", "revolute", m.ground, "wheel", axis="y")
    m.constraint("dip", "point_on_plane", body="wheel", at=(1.0, 0, 0), to_at=(0, 0, -draw.uniform(0.5, 0.9999)))
    m.temporary("dip", unilateral=True)
    low = -m.constraints["dip"].to_at.position[2]
    w, angle = 10.0 ** draw.uniform(-1, 2.5), draw.uniform(-np.pi, 0.0)
    t = (np.arcsin(low) - angle) / w  # z = -sin(angle + w t)
    until = t * draw.uniform(1.01, 10.0)
    return Case("wheel", m, until, {"axle": angle}, {"axle": w}, t, approach=w * np.sqrt(1.0 - low * low))


def pulse(draw):
    """A user's event: the distance from a post falls below a small number, twice crossed in passing."""
    m = wt.Model("pulse", gravity=(0, 0, 0))
    flying(m, "point")
    near, v, (t, until), share = 10.0 ** draw.uniform(-3, 0), speed(draw), moment_of(draw), share_of(draw)
    half = near * np.sqrt(max(1.0 - share * share, 0.0))

    def distance(_, q, u):
        return float(np.linalg.norm(q[:3]))

    rate = 1.01 * v if draw.random() < 0.3 else None
    event = wt.Event("near", distance, near, "falling", rate=rate)
    q, u = {"point_flight": at(-half - v * t, share * near, 0)}, {"point_flight": (0, 0, 0, v, 0, 0)}
    slow = v * half / near if half else np.inf
    return Case("pulse", m, until, q, u, t if share < 1.0 else None, events=(event,), approach=slow)


KINDS = (balls, berth, plate, rope, ceiling, wheel, pulse)


def can(case, integrator):
    """Whether the path that an integrator takes is the one of the closed form, and it takes constraints."""
    constraints = bool(case.model.temporaries)
    return not (case.kind == "ceiling" and integrator in CURVED) and (
        not constraints or integrator != "generalized_alpha"
    )


def problem_of(case, integrator):
    """What is wrong with a run of a case, or None."""
    how = {"q": case.q, "u": case.u, "integrator": integrator, "events": case.events, "output_step": case.until}
    run = wt.simulate(case.model.compile(), case.until, **how)
    found = [e.t for e in run.events] if case.events else [c.t for c in run.changes if c.what in case.what]
    if case.moment is None:
        return f"met at {found[0]:.9g} s though it passes by" if found else None
    if not found:
        return f"missed at {case.moment:.9g} s of {case.until:.6g} s"
    off = abs(found[0] - case.moment)
    return None if off <= case.tolerance(integrator) else f"met {off:.2g} s off {case.moment:.9g} s"
