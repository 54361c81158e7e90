"""What MuJoCo says of a model that it refuses, in our form: what, where, and what to change."""

from __future__ import annotations

import re

from ..errors import ModelError, nearest
from .mjcf_source import Source

# what MuJoCo reports, and the cure; the first that fits is reported
CURES = {
    r"repeated name": "give each a name of its own",
    r"mass and inertia of moving bodies": "give the body an <inertial>, or a geom with mass",
    r"inertia must satisfy A \+ B": "no solid has such an inertia; balanceinertia in <compiler> makes it one",
    r"axis too small": "an axis is 3 numbers that are not all zero",
    r"range\[0\] should be smaller": "the lower end of a range comes first",
    r"(not|too) .*(enough|much) data": "count the numbers of the attribute",
    r"required attribute missing": "add the attribute that is named",
    r"must be positive": "sizes and masses are above zero",
    r"more than 6 dofs|free joint can only": "a free joint is the only one of a body in the world",
}
REFERENCE = "what <{tag}> takes stands in the XML reference of MuJoCo"


def complaint(reported: str, given: Source, source: str) -> ModelError:
    """What MuJoCo says, without its prefixes, about the element it says it of."""
    first = re.sub(r"^((XML )?(Error: |parse error \d+:\s*)|Schema violation: )+", "", reported).splitlines()[0]
    for asked, mesh in zip(given.assets, (n for n in given.meshes if n not in given.missing), strict=True):
        first = first.replace(f"'{asked}'", f"'{given.meshes[mesh]}'")
    got, where, tag = None, source, "mujoco"
    element = given.element(reported)
    if element is not None:
        name, where, tag = element.attributes.get("name"), element.where, element.tag
        got = f"<{tag}>" + (f" '{name}'" if name else "")
    return ModelError(f"MuJoCo refuses the model: {first}", got=got, where=where, hint=_cure(first, given, tag))


def _cure(first: str, given: Source, tag: str) -> str:
    unknown = re.search(r"unknown element '([^']*)'|'([^']*)' not found", first)
    if unknown:
        names = {e.attributes["name"] for e in given.elements if "name" in e.attributes}
        return nearest(unknown[1] or unknown[2] or "", sorted(names)) or "give what is meant that name"
    return next((cure for reported, cure in CURES.items() if re.search(reported, first)), REFERENCE.format(tag=tag))
