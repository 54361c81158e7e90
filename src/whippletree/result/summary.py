"""A run in a few plain values, for a program to read."""

from __future__ import annotations

from typing import Any

import numpy as np

from .result import Result

METHOD = ("integrator", "algorithm", "stabilization", "rtol", "atol", "step")
COUNTS = ("rejected", "evaluations", "checked", "checked_by", "check_disagreed", "check_worst")


def summary(run: Result) -> dict[str, Any]:
    """The model, the method, the state at the end by joint, what happened, the steps, energies (J) and the largest
    constraint violation."""
    attrs, system = run.attrs, run.system
    closure = {"closure": float(run["closure"].max())} if system.constraints.count else {}
    return {
        "model": system.name,
        "time": float(run.t[-1]),
        "complete": bool(attrs.get("complete", 1)),
        "samples": len(run),
        "events": [{"name": e.name, "time": e.t} for e in run.events],
        "changes": [
            {"name": c.name, "what": c.what, "time": c.t, "impulse": c.impulse.tolist(), "lost": c.lost}
            for c in run.changes
        ],
        **{key: attrs[key] for key in METHOD if key in attrs},
        "steps": steps_taken(run),
        **{key: attrs[key] for key in COUNTS if key in attrs},
        "q": {joint: run.q[-1, system.q_index(joint)].tolist() for joint in system.joints},
        "u": {joint: run.u[-1, system.u_index(joint)].tolist() for joint in system.joints},
        "energy": {
            "start": float(run["energy"][0]),
            "end": float(run["energy"][-1]),
            "work": float(run["energy.work"][-1]),
            "largest_error": float(np.abs(run["energy.balance"]).max()),
        },
        **closure,
        "warnings": list(run.attrs.get("warnings", ())),
    }


def happenings(run: Result, most: int = 10) -> list[tuple[str, ...]]:
    """Rows (time, constraint or event, what happened, impulse) in order of time, the title first; [] if none are there.

    Behind ``most`` of them the last row says how many more there are.
    """
    found = [(e.t, e.name, "event", "") for e in run.events]
    found += [(c.t, c.name, c.what, _impulse(c.impulse)) for c in run.changes]
    if not found:
        return []
    found.sort(key=lambda row: row[0])  # events of a moment come before its changes
    rows: list[tuple[str, ...]] = [(f"{t:.9g} s", *rest) for t, *rest in found[:most]]
    more: list[tuple[str, ...]] = [(f"and {len(found) - most} more", "", "", "")] if len(found) > most else []
    return [("time", "constraint or event", "change", "impulse"), *rows, *more]


def _impulse(impulse: np.ndarray) -> str:
    """Sizes of force and torque in words, as far as there are any."""
    sizes = (np.linalg.norm(impulse[3:]), "N s"), (np.linalg.norm(impulse[:3]), "N m s")
    return ", ".join(f"{size:.4g} {unit}" for size, unit in sizes if size > 0.0)


def steps_taken(run: Result) -> int | None:
    if "accepted" in run.attrs:
        return int(run.attrs["accepted"])
    return round(float(run.t[-1]) / run.attrs["step"]) if "step" in run.attrs else None
