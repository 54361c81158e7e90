"""What is drawn of a mechanism: sticks of rigid bodies, lines of flexible ones as they deform, mass centres."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...joints import KINDS
from ...model import Flexible
from ...model.parts import GROUND
from ...system.system import System
from ..deformation import modes_of, node_positions
from ..result import Result


def stick_ends(run: Result, samples: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """World points (sticks, 2, moments, 3), and the body of each stick.

    Sticks go from where a body is held to its other joints, frames and mass centre, and along slides. A flexible body
    is a line through its nodes, or from its inboard node to each where it is no beam.
    """
    model = run.system.model
    held: dict[str, Any] = {}
    points: dict[str, list[Any]] = {name: [] for name in run.system.bodies}
    for joint in model.joints.values():
        if held.setdefault(joint.child, joint.child_at.position) is not joint.child_at.position:
            points[joint.child].append(joint.child_at.position)  # a loop closes here
        points[joint.parent].append(joint.at.position)
    for frame in model.frames.values():
        points[frame.body].append(frame.at.position)
    sticks: list[tuple[str, list[np.ndarray]]] = []  # the body, and both ends
    for name in run.system.bodies[1:]:
        body = model.bodies.get(name)
        start = (0.0, 0.0, 0.0) if body is None else held.get(name, (0.0, 0.0, 0.0))
        for end in (*points[name], *([] if body is None else [body.com])):
            if end != start:
                sticks.append((name, [_world(run, name, point, samples) for point in (start, end)]))
    for joint in model.joints.values():
        if KINDS[joint.kind].telescopes and GROUND not in (joint.parent, joint.child):  # a telescope
            ends = ((joint.parent, joint.at), (joint.child, joint.child_at))
            sticks.append((joint.child, [_world(run, body, place.position, samples) for body, place in ends]))
    for flexible in model.flexibles.values():
        sticks += [(flexible.name, line) for line in _lines(run, flexible, samples)]
    pairs = np.array([pair for _, pair in sticks]) if sticks else np.zeros((0, 2, samples.size, 3))
    return pairs, [owner for owner, _ in sticks]


def _lines(run: Result, flexible: Flexible, samples: np.ndarray) -> list[list[np.ndarray]]:
    modes = flexible.modes
    nodes = node_positions(run, flexible.name)[samples].swapaxes(0, 1)
    first = modes.node(modes.inboard)
    pairs = pairwise(range(len(nodes))) if modes.beam else ((first, k) for k in range(len(nodes)) if k != first)
    return [[nodes[a], nodes[b]] for a, b in pairs]


def mass_centres(run: Result, samples: np.ndarray) -> np.ndarray:
    """World points (bodies, moments, 3), of flexible bodies behind the rigid ones."""
    model = run.system.model
    centres = [_world(run, b.name, b.com, samples) for b in model.bodies.values()]
    for name in model.flexibles:
        m, eta = modes_of(run, name)
        own = (m.h0 + eta[samples] @ m.h1.T) / m.mass
        turned = np.einsum("tij,tj->ti", run[f"{name}.rotation"][samples], own)
        centres.append(run[f"{name}.position"][samples] + turned)
    return np.array(centres)


def masses(system: System) -> np.ndarray:
    """In the order of :func:`mass_centres`."""
    model = system.model
    return np.array([*(b.mass for b in model.bodies.values()), *(f.modes.mass for f in model.flexibles.values())])


def _world(run: Result, body: str, point: Sequence[float], samples: np.ndarray) -> np.ndarray:
    return run[f"{body}.position"][samples] + run[f"{body}.rotation"][samples] @ np.asarray(point, float)
