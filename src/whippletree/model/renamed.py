"""Old public names that this release still reads; each use raises a DeprecationWarning that names the new one.

The tables below are all there is: a row is removed with the release that no longer reads it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError, callers_level

# parameters and attributes of forces, constraints and temporary constraints; keys of model files; in paths of sweeps
KEYS = {
    "freedom": "dof",
    "of_freedom": "of_dof",
    "turning_stiffness": "rotational_stiffness",
    "turning_damping": "rotational_damping",
    "one_sided": "unilateral",
    "make_at": "activate_at",
    "make_within": "activate_within",
    "make_below": "activate_below",
    "break_at": "release_at",
    "break_force": "release_force",
    "break_torque": "release_torque",
}
VALUES = {("begins", "made"): "active"}  # of keys
ACTIONS = {"make": "activate", "break": "release"}  # of an event on a temporary constraint, and commands of a live run
HAPPENED = {"made": "activated", "broken": "released"}  # changes of temporary constraints, in files of results
RESULT = {"knows_work": "has_work"}  # attributes of a Result
ATTRIBUTES = {"check_amiss": "check_disagreed"}  # entries of ``attrs``, in files of results
JSON = {"dof": "freedoms", "samples": "moments"}  # new and old: written beside each other, since reading cannot warn


def warn(old: str, new: str, label: str = "", where: str | None = None) -> None:
    """Warn that ``old`` has become ``new``."""
    place = f" ({where})" if where else ""
    what = f"{label}: " if label else ""
    # at the caller's own line: by default Python shows these warnings of programs, not of libraries
    warnings.warn(f"{what}'{old}' is now '{new}'{place}", DeprecationWarning, stacklevel=callers_level())


def current(given: Mapping[str, Any], label: str, where: str | None = None) -> dict[str, Any]:
    """Parameters under their present names.

    Raises
    ------
    ModelError
        If a parameter is given under its old and its new name.
    """
    found: dict[str, Any] = {}
    for key, value in given.items():
        new = KEYS.get(key, key)
        if new != key:
            if new in given:
                raise ModelError(
                    f"{label}: '{key}' and '{new}' are the same key",
                    expected=new,
                    got="both",
                    where=where,
                    hint=f"'{key}' is the old name: leave it out",
                )
            warn(key, new, label, where)
        if isinstance(value, str) and (new, value) in VALUES:
            warn(value, VALUES[new, value], f"{label}: {new}", where)
            value = VALUES[new, value]
        found[new] = value
    return found


def word(old: Any, table: Mapping[str, str], label: str = "") -> Any:
    """The present word of a table for one that may be old."""
    new = table.get(old, old) if isinstance(old, str) else old
    if new != old:
        warn(old, new, label)
    return new


def attribute(owner: object, name: str, table: Mapping[str, str]) -> Any:
    """What an object has under the present name of an attribute; the ``__getattr__`` of classes with old names."""
    new = table.get(name)
    if new is None or not hasattr(type(owner), new):
        raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'")
    warn(name, new, type(owner).__name__)
    return getattr(owner, new)


def beside(data: dict[str, Any]) -> dict[str, Any]:
    """JSON that holds each renamed entry under its old name too."""
    return data | {old: data[new] for new, old in JSON.items() if new in data}
