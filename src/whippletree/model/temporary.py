"""Temporary constraints: what activates one, and what releases it."""

from __future__ import annotations

from dataclasses import dataclass

from .kinds import NotNegative, Positive
from .parts import Part


@dataclass(slots=True)
class Temporary(Part):
    """When the constraint ``name`` is activated and released during a run.

    It ``begins`` "open" or "active". It is activated at the time ``activate_at`` (s), or as soon as its two sides are
    nearer than ``activate_within`` (m) and slower against each other than ``activate_below`` (m/s), and then closes the
    distance that is left. With ``here`` it holds them where they are. It is released at the time ``release_at`` (s), or
    ``release_after`` (s) after each activation, or beyond a force of ``release_force`` (N) or a torque of
    ``release_torque`` (N m). A ``unilateral`` one is a contact or a rope: it is activated when it is reached, and
    released when it would have to pull, or a rope to push; ``restitution`` is the share of the speed of approach that
    is left after an impact. Events activate and release it too.

    A contact with a coefficient of ``friction`` sticks as long as the force across is at most ``static_friction`` (the
    same, if not given) times the normal force. Else it slips, against ``friction`` times the normal force, until it
    comes to rest. A constraint of kind "speed" that ``slips_at`` a load (N m or N) is a clutch or a brake: beyond it
    slips against this load, until velocities agree again.
    """

    begins: str = "open"
    activate_at: NotNegative | None = None
    activate_within: Positive | None = None
    activate_below: Positive | None = None
    release_at: NotNegative | None = None
    release_after: Positive | None = None
    release_force: Positive | None = None
    release_torque: Positive | None = None
    unilateral: bool = False
    restitution: NotNegative = 0.0
    here: bool = False
    friction: Positive | None = None
    static_friction: Positive | None = None
    slips_at: Positive | None = None
