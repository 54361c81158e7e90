"""A run in a few plain values, for a program to read."""

from __future__ import annotations

from typing import Any

import numpy as np

from .result import Result

METHOD = ("integrator", "algorithm", "stabilization", "rtol", "atol", "step")
COUNTS = ("rejected", "evaluations", "checked", "checked_by", "check_amiss", "check_worst")


def summary(run: Result) -> dict[str, Any]:
    """The model, the method, the state at the end by joint, the steps, energies (J) and the largest gap of loops."""
    attrs, system = run.attrs, run.system
    closure = {"closure": float(run["closure"].max())} if system.constraints.count else {}
    return {
        "model": system.name,
        "time": float(run.t[-1]),
        "complete": bool(attrs.get("complete", 1)),
        "moments": len(run),
        "events": [{"name": e.name, "time": e.t} for e in run.events],
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
    }


def steps_taken(run: Result) -> int | None:
    if "accepted" in run.attrs:
        return int(run.attrs["accepted"])
    return round(float(run.t[-1]) / run.attrs["step"]) if "step" in run.attrs else None
