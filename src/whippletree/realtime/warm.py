"""Compiled before the clock runs: what a step, a latch and a release will need."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np

from ..errors import WhippletreeError
from ..integrate.contacts.run import Switching
from .stepper import Stepper


def warm(stepper: Stepper) -> None:
    """One step as it is, and one with each temporary constraint made; then all is as it was."""
    keep, stepper.keep = stepper.keep, lambda rows: None
    sampled, stepper.control.sampled = stepper.control.sampled, None  # a controller is asked for what happens alone
    steered, stepper.steered = stepper.steered, True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stepper.advance(stepper.spacing)
        stepper.inputs.on(stepper.system)
        if isinstance(stepper.run, Switching):
            for name in stepper.system.model.temporaries:
                # what cannot be made here is reported when somebody asks for it
                with contextlib.suppress(WhippletreeError, np.linalg.LinAlgError):
                    stepper.run.change(name, "activate")
                    stepper.advance(1)
                    stepper.run.change(name, "release")
                    stepper.advance(1)
    stepper.control.sampled = sampled
    stepper.reset()
    stepper.keep, stepper.steered = keep, steered
