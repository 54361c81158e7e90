"""Compiled before the clock runs: what a step, a latch and a release will need."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np

from ..errors import WhippletreeError
from ..integrate.contacts.run import Switching
from .course import Course


def warm(course: Course) -> None:
    """One step as it is, and one with each temporary constraint made; then all is as it was."""
    keep, course.keep = course.keep, lambda rows: None
    sampled, course.control.sampled = course.control.sampled, None  # a controller is asked for what happens alone
    steered, course.steered = course.steered, True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        course.advance(course.spacing)
        course.inputs.on(course.system)
        if isinstance(course.run, Switching):
            for name in course.system.model.temporaries:
                # what cannot be made here is told when somebody asks for it
                with contextlib.suppress(WhippletreeError, np.linalg.LinAlgError):
                    course.run.change(name, "make")
                    course.advance(1)
                    course.run.change(name, "break")
                    course.advance(1)
    course.control.sampled = sampled
    course.reset()
    course.keep, course.steered = keep, steered
