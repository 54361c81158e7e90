"""What happened in a run, beside its motion."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np


class Occurrence(NamedTuple):
    """An event that happened."""

    name: str
    t: float  # s
    q: np.ndarray  # (nq)  before a function changed it
    u: np.ndarray  # (nu)


class Switch(NamedTuple):
    """Reduction has chosen other joints of a loop to depend on the rest."""

    t: float  # s
    loop: str  # the joint that closes it
    was: tuple[str, ...]
    now: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> list[Switch]:
        """From the attribute of a file."""
        return [cls(float(t), loop, tuple(was), tuple(now)) for t, loop, was, now in json.loads(text)]
