"""Scissor lifts and parallel cranks for the tests: planar loops, redundant ones too, at poses that close exactly."""

from dataclasses import replace

import numpy as np

from whippletree.model import Model

STILL = ("ground", "foot", "rod")


def scissor(stages, rng=None, loose=0.0):
    """Two bars for each stage, pinned at mid length and at the ends; one foot pinned, one on a slide.

    With ``rng`` joints are in any order, so that the topology cuts others; a share ``loose`` of the pins are balls and
    cylinders, by which rows across the plane matter and are redundant among each other.
    """
    model = Model(f"scissor of {stages}")
    for k in range(stages):
        for side in "ab":
            model.body(f"{side}{k}", mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12))
    model.body("foot", mass=0.3, inertia=(1e-3,) * 3)
    model.joint("pin", "revolute", "ground", "a0", axis="y", child_at=(-0.5, 0, 0))
    model.joint("slide", "prismatic", "ground", "foot", axis="x")
    model.joint("heel", "revolute", "foot", "b0", axis="y", child_at=(0.5, 0, 0))
    for k in range(stages):
        model.joint(f"mid{k}", "revolute", f"a{k}", f"b{k}", axis="y")
        if k + 1 < stages:
            model.joint(f"right{k}", "revolute", f"a{k}", f"b{k + 1}", axis="y", at=(0.5, 0, 0), child_at=(0.5, 0, 0))
            model.joint(f"left{k}", "revolute", f"b{k}", f"a{k + 1}", axis="y", at=(-0.5, 0, 0), child_at=(-0.5, 0, 0))
    return shuffled(model, rng, loose) if rng else model


def cranks(count, rng=None):
    """A rod on so many equal parallel cranks: all but two are redundant."""
    model = Model(f"{count} cranks")
    model.body("rod", mass=1.0, com=((count - 1) / 2, 0, 0), inertia=(0.01, count**2 / 12, count**2 / 12))
    for k in range(count):
        model.body(f"crank{k}", mass=0.2 + 0.1 * k, com=(0, 0, 0.25), inertia=(0.01, 0.01, 0.001))
        model.joint(f"foot{k}", "revolute", "ground", f"crank{k}", axis="y", at=(k, 0, 0))
        model.joint(f"pin{k}", "revolute", f"crank{k}", "rod", axis="y", at=(0, 0, 0.5), child_at=(k, 0, 0))
    return shuffled(model, rng) if rng else model


def shuffled(model, rng, loose=0.0):
    names = list(model.joints)
    rng.shuffle(names)
    joints = {name: model.joints[name] for name in names}
    for name, joint in joints.items():
        if joint.kind == "revolute" and rng.random() < loose:
            joints[name] = replace(joint, kind=str(rng.choice(["spherical", "cylindrical"])))
    model.joints.clear()
    model.joints.update(joints)
    return model


def posed(system, angle, rate=0.0, folded=()):
    """q and u with bars and cranks at ``angle``; stages whose numbers are in ``folded`` lie back on the one before."""
    turn, a, b = dict.fromkeys(STILL, 0.0), -1.0, 1.0
    for k in range(sum(name[0] == "a" for name in system.model.bodies)):
        a, b = (b, a) if k in folded else (a, b)
        turn |= {f"a{k}": a, f"b{k}": b}
    turn |= {name: 1.0 for name in system.model.bodies if name.startswith("crank")}
    q, u = np.zeros(system.nq), np.zeros(system.nu)
    for edge in system.topology.edges:
        joint = edge.joint
        rows, columns = system.q_index(joint.name), system.u_index(joint.name)
        f = turn[joint.child] - turn[joint.parent]
        if joint.kind == "prismatic":
            q[rows], u[columns] = np.cos(angle), -np.sin(angle) * rate
        elif joint.kind == "revolute":
            q[rows], u[columns] = f * angle, f * rate
        elif joint.kind == "cylindrical":
            q[rows], u[columns] = [f * angle, 0], [f * rate, 0]
        else:
            q[rows], u[columns] = [np.cos(f * angle / 2), 0, np.sin(f * angle / 2), 0], [0, f * rate, 0]
    return q, u
