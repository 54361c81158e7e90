"""Flexible bodies in TOML: ``[flexible.arm]`` is a beam, a file of modes or matrices, or the modes themselves.

``shape = "beam"`` takes the arguments of :func:`whippletree.beam` and of :meth:`Structure.modes`; ``file = "arm.npz"``
is what ``modes.save`` wrote, or matrices with the arguments of ``modes`` beside it; ``data`` is a file of modes in
base64, which is how a model that was made in Python is written.
"""

from __future__ import annotations

import base64
import binascii
import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..errors import ModelError
from ..model import Flexible
from ..modes import Modes, Structure, beam, structure
from ..modes.readers.npz import LARGEST, arrays, from_arrays, to_bytes


def arguments_of(*functions: Callable[..., Any]) -> dict[str, bool]:
    """The arguments that functions take, and whether they need them."""
    found = [p for f in functions for p in inspect.signature(f).parameters.values() if p.name != "self"]
    return {p.name: p.default is p.empty for p in found}


CHOICE = arguments_of(Structure.modes)
# the key that says which form a table has, and the other keys it takes: whether they are needed
FORMS = {"shape": arguments_of(beam) | CHOICE, "file": CHOICE, "data": {}}


def modes_of(table: dict[str, Any], label: str, find: Callable[[str], str]) -> Modes:
    """The modes that a table describes, its keys being known; ``find`` gives the path of a file."""
    if "shape" in table:
        return _beam_modes(json.dumps(table, default=str))
    if "file" in table:
        path = find(table["file"])
        content = arrays(path)
        if "about" not in content:
            return replace(structure(path).modes(**_choice(table)), recipe=dict(table) | {"file": path})
        if len(table) > 1:
            extra = next(key for key in table if key != "file")
            hint = "its modes are chosen already"
            raise ModelError(f"{label}: a file of modes takes no {extra}", got=repr(table[extra])[:80], hint=hint)
        return replace(from_arrays(content, path), recipe={"file": path})
    try:
        if len(table["data"]) > 2 * LARGEST:
            raise ValueError
        raw = base64.b64decode(table["data"], validate=True)
    except (ValueError, TypeError, binascii.Error):
        raise ModelError(f"{label}: data is no base64 text", expected="what save(model, ...) wrote") from None
    return from_arrays(arrays("data", raw), "data")


@lru_cache(maxsize=32)
def _beam_modes(text: str) -> Modes:
    """Made once: the links of a chain are mostly the same."""
    table = json.loads(text)
    own = {k: v for k, v in table.items() if k not in CHOICE and k != "shape"}
    return beam(**own).modes(**_choice(table))


def _choice(table: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in table.items() if k in CHOICE}


def table_of(flexible: Flexible, relative: Callable[[str], str]) -> dict[str, Any]:
    """The keys and values to write, from which :func:`modes_of` makes the same."""
    recipe = flexible.modes.recipe
    if recipe is None:
        return {"data": base64.b64encode(to_bytes(flexible.modes)).decode("ascii")}
    return {key: relative(value) if key == "file" else value for key, value in recipe.items()}


def without_files(flexible: Flexible) -> Flexible:
    """The same, to be written with its modes in place of the path of a file."""
    recipe = flexible.modes.recipe
    if recipe is None or "file" not in recipe:
        return flexible
    return replace(flexible, modes=replace(flexible.modes, recipe=None))
