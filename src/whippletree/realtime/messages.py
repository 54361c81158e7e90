"""Messages of those who steer a run: JSON to a Command that fits the system, or a ModelError that says why not.

Nothing here knows of sockets or of the run: the same text gives the same answer. docs/reference/live.md lists them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ModelError, nearest
from ..model import Motion, Motor, renamed
from ..model.check import shown
from ..system.system import System
from .inputs import PARTS, has_part

LONGEST = 65_536  # bytes of a message
DEEPEST = 8  # brackets within brackets
MOST_SHOWN = 80  # characters of a name or a reason, in an answer
LARGEST = 1e9  # of any number: N, N m, m or rad; what is larger is a mistake, and would end the motion
SHORTEST_RISE = 1e-3  # s, of a motion that is given: what moves must not jump
RISE = 0.2  # s, of a motion by default
FASTEST = 100.0  # times real time
MOST_STEPS = 100_000  # at once, while paused
QUICKEST_STREAM = 1000.0  # states per second


class Command(NamedTuple):
    """What is to be done, with everything it needs, checked."""

    do: str
    given: dict[str, Any]
    id: str | int | None = None


class Catalogue:
    """The names and shapes that messages are checked against."""

    def __init__(self, system: System) -> None:
        self.name = system.name
        self.joints = {j: s.stop - s.start for j in system.joints if (s := system.u_index(j)).stop > s.start}
        self.motors = _parts(system, Motor)
        self.motions = _parts(system, Motion)
        self.bodies = tuple(n for n in (*system.bodies[1:], *system.model.frames) if system.place(n)[0] > 0)
        self.temporaries = tuple(system.model.temporaries)


def _parts(system: System, kind: type) -> dict[str, tuple[str, ...]]:
    named = [n for n, f in system.forces.elements.items() if isinstance(f, kind)]
    return {n: tuple(p for p in PARTS if has_part(system, n, p)) for n in named}


# ---------------------------------------------------------------- from bytes to a dict


def decode(data: bytes | str) -> dict[str, Any]:
    """An object of JSON; refuses what is too long, too deep, no JSON, or not an object."""
    if len(data) > LONGEST:
        raise ModelError("the message is too long", expected=f"at most {LONGEST} bytes", got=f"{len(data)}")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError("the message is not text", expected="JSON in UTF-8") from None
    if _depth(text) > DEEPEST:
        raise ModelError("the message is nested too deep", expected=f"at most {DEEPEST} brackets within brackets")
    try:
        message = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as e:
        raise ModelError("the message is not JSON", got=shown(text), hint=str(e)[:MOST_SHOWN]) from None
    if not isinstance(message, dict):
        raise ModelError("the message is not an object", expected='{"do": ...}', got=shown(message))
    return message


def _depth(text: str) -> int:
    """Brackets within brackets, those in strings left out."""
    depth = deepest = 0
    quoted = escaped = False
    for c in text:
        if quoted:
            quoted, escaped = c != '"' or escaped, c == "\\" and not escaped
        elif c == '"':
            quoted = True
        elif c in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif c in "]}":
            depth -= 1
    return deepest


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


# ---------------------------------------------------------------- from a dict to a Command


def parse(message: Any, catalogue: Catalogue) -> Command:
    """A Command from a message that has been decoded; the ModelError names what is wrong."""
    if not isinstance(message, dict) or any(not isinstance(key, str) for key in message):
        raise ModelError("the message is not an object", expected='{"do": ...}', got=shown(message))
    do, id_ = message.get("do"), identity(message)
    if not isinstance(do, str):
        raise ModelError("the message does not say what to do", expected='{"do": ...}', got=shown(do))
    if do == "release" and "name" not in message:  # as it was called before releases of constraints
        renamed.warn(do, "release_control", "live command")
        do = "release_control"
    do = renamed.word(do, renamed.ACTIONS, "live command")
    if do not in FIELDS:
        raise ModelError(f"'{do[:MOST_SHOWN]}' is not something to do", hint=nearest(do[:MOST_SHOWN], FIELDS))
    known = FIELDS[do]
    for key in message:
        if key not in known and key not in ("do", "id"):
            hint = nearest(key[:MOST_SHOWN], known)
            raise ModelError(f"'{do}' does not take '{key[:MOST_SHOWN]}'", hint=hint or "it takes nothing")
    given = {}
    for key, read in known.items():
        try:
            given[key] = read(message.get(key), key, catalogue)
        except ModelError as e:
            raise ModelError(f"'{do}': {e.what}", expected=e.expected, got=e.got, hint=e.hint) from None
    _together(do, given, catalogue)
    return Command(do, given, id_)


def identity(message: Any) -> str | int | None:
    """What the sender calls a message, if that is something to repeat."""
    found = message.get("id") if isinstance(message, dict) else None
    if isinstance(found, str):
        return found[:MOST_SHOWN]
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 2**53 else None


def refusal(error: ModelError, do: Any = None, id_: str | int | None = None) -> dict[str, Any]:
    """The answer to a message that is refused."""
    reported = {
        "what": error.what,
        "expected": error.expected,
        "got": error.got,
        "where": error.where,
        "hint": error.hint,
    }
    return answer(do, id_, False, error={key: str(value) for key, value in reported.items() if value is not None})


def answer(do: Any, id_: str | int | None, ok: bool, **more: Any) -> dict[str, Any]:
    """The answer to a message."""
    whom = {"answer": do if isinstance(do, str) else None} | ({} if id_ is None else {"id": id_})
    return whom | {"ok": ok} | more


# ---------------------------------------------------------------- values

Reader = Callable[[Any, str, Catalogue], Any]


def _finite(value: Any, key: str, low: float = -LARGEST, high: float = LARGEST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelError(f"{key} is not a number", expected="a number", got=shown(value))
    x = float(value) if abs(value) < 1e300 else math.inf
    if not (math.isfinite(x) and low <= x <= high):
        raise ModelError(f"{key} is out of bounds", expected=f"{low:g} to {high:g}", got=shown(value))
    return x


def number(default: float | None, low: float = -LARGEST, high: float = LARGEST) -> Reader:
    """A number; without a default it may be missing."""
    return lambda value, key, _: default if value is None else _finite(value, key, low, high)


def required(low: float, high: float) -> Reader:
    return lambda value, key, _: _finite(value, key, low, high)


def whole(default: int, most: int) -> Reader:
    def read(value: Any, key: str, _: Catalogue) -> int:
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ModelError(f"{key} is not a count", expected=f"a whole number from 1 to {most}", got=shown(value))
        return value

    return read


def _values(value: Any, key: str, count: int) -> list[float]:
    if not isinstance(value, list) or len(value) != count:
        raise ModelError(f"{key} has the wrong shape", expected=f"a list of {count} numbers", got=shown(value))
    return [_finite(x, f"{key}[{n}]") for n, x in enumerate(value)]


def vector(default: list[float] | None) -> Reader:
    return lambda value, key, _: default if value is None else _values(value, key, 3)


def name_of(what: str, where: Callable[[Catalogue], Any]) -> Reader:
    def read(value: Any, key: str, catalogue: Catalogue) -> str:
        known = where(catalogue)
        if not isinstance(value, str):
            raise ModelError(f"{key} is not a name", expected=f"the name of a {what}", got=shown(value))
        if value not in known:
            hint = nearest(value[:MOST_SHOWN], known) or f"'{catalogue.name}' has no {what}"
            raise ModelError(f"{what} '{value[:MOST_SHOWN]}' is not known", hint=hint)
        return value

    return read


def text(longest: int) -> Reader:
    def read(value: Any, key: str, _: Catalogue) -> str | None:
        if value is not None and (not isinstance(value, str) or len(value) > longest):
            raise ModelError(f"{key} is not a short text", expected=f"at most {longest} characters", got=shown(value))
        return value

    return read


def anything(value: Any, key: str, _: Catalogue) -> Any:
    return value


BODY = name_of("body or frame", lambda c: c.bodies)
TEMPORARY = name_of("temporary constraint", lambda c: c.temporaries)
ORIGIN = [0.0, 0.0, 0.0]
FIELDS: dict[str, dict[str, Reader]] = {
    "motor": {
        "name": name_of("motor", lambda c: c.motors),
        "torque": number(None),
        "position": number(None),
        "velocity": number(None),
        "rise": number(0.0, 0.0),
    },
    "motion": {
        "name": name_of("motion", lambda c: c.motions),
        "position": required(-LARGEST, LARGEST),
        "rise": number(RISE, SHORTEST_RISE),
    },
    "force": {"joint": name_of("joint", lambda c: c.joints), "values": anything},
    "wrench": {"body": BODY, "force": vector(ORIGIN), "torque": vector(ORIGIN), "at": vector(ORIGIN)},
    "pull": {
        "body": BODY,
        "to": vector(None),
        "at": vector(ORIGIN),
        "stiffness": number(None, 0.0),
        "damping": number(None, 0.0),
    },
    "activate": {"name": TEMPORARY},
    "release": {"name": TEMPORARY},
    "pause": {},
    "resume": {},
    "reset": {},
    "step": {"steps": whole(1, MOST_STEPS)},
    "time_scale": {"value": required(1e-3, FASTEST)},
    "statistics": {},
    "stop": {},
    # about the connection and the file, not the run
    "hello": {"token": text(256), "name": text(40), "stream": number(None, 0.0, QUICKEST_STREAM)},
    "stream": {"rate": required(0.0, QUICKEST_STREAM)},
    "control": {},
    "release_control": {},
    "describe": {},
    "save": {},
}
READS = frozenset(
    {"hello", "stream", "control", "release_control", "describe", "statistics", "save"}
)  # without the controls


def _together(do: str, given: dict[str, Any], catalogue: Catalogue) -> None:
    """What one field alone does not tell."""
    if do == "motor":
        asked = [p for p in PARTS if given[p] is not None]
        able = catalogue.motors[given["name"]]
        if not asked:
            raise ModelError("'motor': nothing is asked of it", expected=" or ".join(able))
        for part in asked:
            if part not in able:
                raise ModelError(f"motor '{given['name']}' takes no {part}", expected=" or ".join(able), got=part)
    if do == "force":
        given["values"] = _values(given["values"], "values", catalogue.joints[given["joint"]])
