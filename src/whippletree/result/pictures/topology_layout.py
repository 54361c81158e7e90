"""Where the bodies of a drawn tree stand, and what is written at them.

Ground stands left and every joint leads one column to the right. A tree deeper than the picture is wide goes on below,
as a text does, in bands. Large models lose the names of their joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from unicodedata import east_asian_width

from ...joints import KINDS
from ...model import Between, Drive, Force, constraint_kind
from ...system.system import System

WIDTH = 11.0  # inches that a page shows without making the text too small to read
MOST_NAMED = 60  # bodies; in a larger model only bodies have names, and short ones
MOST_DRAWN = 600  # bodies; the first ones
MOST_BRANCHES = 12  # drawn on one body of a large model
MOST_WELDED = 4  # names in one box
ELSEWHERE = 8  # letters of the name of a body in another band
INK, PALE, FORCE, HELD = "#333333", "#777777", "#8e3b9e", "#a3322b"
KIND_COLORS = {name: kind.color for name, kind in KINDS.items()} | {"modes": "#882255", "node": "#AA6677"}


@dataclass(frozen=True)
class Style:
    """Sizes in inches, text in points."""

    text: float
    letter: float  # width of one
    line: float  # from one line of text to the next
    longest: int  # letters of a name
    gap: float  # between boxes, without the names of joints
    apart: float  # between rows


NAMED = Style(8.0, 0.066, 0.14, 18, 0.24, 0.17)
LARGE = Style(5.5, 0.046, 0.10, 9, 0.20, 0.06)


@dataclass
class Layout:
    """Where everything stands: inches to the right and down."""

    style: Style
    named: bool  # joints have their names
    drawn: list[int]  # system bodies
    box: float = 0.0  # width of a box
    gap: float = 0.0  # between columns
    margin: float = 0.0  # for the names of bodies in other bands
    columns: int = 1  # in a band
    x: dict[int, float] = field(default_factory=dict)  # left of the box
    y: dict[int, float] = field(default_factory=dict)  # its middle
    depth: dict[int, int] = field(default_factory=dict)
    names: dict[int, list[str]] = field(default_factory=dict)  # in the box
    notes: dict[int, list[tuple[str, str]]] = field(default_factory=dict)  # below it: text and colour
    width: float = 0.0
    height: float = 0.0

    def tall(self, i: int) -> float:
        """Height of a box."""
        return len(self.names[i]) * self.style.line + self.style.line

    def low(self, i: int) -> float:
        return self.y[i] + self.tall(i) / 2


# ---------------------------------------------------------------- where things stand


def layout(system: System) -> Layout:
    """Columns by depth, folded into bands; leaves one below the other, every body in the middle of what it carries."""
    named = system.nb - 1 <= MOST_NAMED
    drawn, hidden = _choose(system, named)
    place = Layout(NAMED if named else LARGE, named, drawn)
    _name_bodies(system, place, hidden)
    _fold(system, place)
    _stack(system, place)
    return place


def parents_of(system: System) -> list[int]:
    return [0, *(edge.parent for edge in system.topology.edges)]


def _choose(system: System, named: bool) -> tuple[list[int], dict[int, int]]:
    """System bodies to draw, and how many are left out behind each."""
    parents, branches = parents_of(system), [0] * system.nb
    seen = [0] * system.nb  # the body itself if drawn, else the one it is left out behind
    drawn, hidden = [0], dict[int, int]()
    for i in range(1, system.nb):
        p = parents[i]
        if seen[p] == p and len(drawn) <= MOST_DRAWN and (named or branches[p] < MOST_BRANCHES):
            seen[i] = i
            drawn.append(i)
            branches[p] += 1
        else:
            seen[i] = seen[p]
            hidden[seen[i]] = hidden.get(seen[i], 0) + 1
    return drawn, hidden


def _name_bodies(system: System, place: Layout, hidden: dict[int, int]) -> None:
    longest, most = place.style.longest, MOST_WELDED if place.named else 1
    for i in place.drawn:
        place.names[i], place.notes[i] = [], []
    for name, i in system.topology.group.items():
        if i in place.names:
            place.names[i].append(name)
    for i, names in place.names.items():
        extra = len(names) - most
        place.names[i] = [shortened(name, longest) for name in names[:most]]
        if extra > 0:
            place.names[i].append(f"+ {extra} welded")
        if i in hidden:
            place.notes[i].append((f"+ {hidden[i]} more", PALE))
    for force in system.model.forces.values():
        ends = force_ends(system, force)
        if len(set(ends)) == 1 and ends[0] in place.notes and place.named:
            place.notes[ends[0]].append((shortened(force.name, longest), FORCE))


def _fold(system: System, place: Layout) -> None:
    """Depths, widths of boxes and gaps, and the number of columns in a band."""
    parents, style = parents_of(system), place.style
    for i in place.drawn:
        place.depth[i] = place.depth[parents[i]] + 1 if i else 0
    place.box = style.letter * max(_letters(t) for names in place.names.values() for t in names) + 0.16
    place.gap = style.gap
    if place.named and system.joints:
        texts = [t for i in place.drawn[1:] for t, _ in joint_words(system, i)]
        place.gap += 0.88 * style.letter * max(_letters(t) for t in texts) + 0.1
    depth, fit = max(place.depth.values()) + 1, max(3, int(WIDTH / (place.box + place.gap)))
    bands = -(-depth // fit)
    place.columns = -(-depth // bands)
    place.margin = style.letter * ELSEWHERE + 0.15 if bands > 1 else 0.0


def _stack(system: System, place: Layout) -> None:
    """Rows: the height of what a body carries within its band, then from the top, band after band."""
    parents, columns, style = parents_of(system), place.columns, place.style
    extent: dict[int, float] = {}
    carried = dict.fromkeys(place.drawn, 0.0)
    for i in reversed(place.drawn):
        words = len(joint_words(system, i)) - 1 if place.named and i else 0  # below the line of the joint
        beside = style.line * (1.0 + 2.0 * words)
        own = max(place.tall(i) + 2.0 * len(place.notes[i]) * style.line, beside) + style.apart
        extent[i] = max(own, carried[i])
        if place.depth[i] % columns:
            carried[parents[i]] += extent[i]
    top, bands = 0.3 if place.named else 0.45, max(place.depth.values()) // columns + 1
    left = 0.15 + (place.margin + place.gap if bands > 1 else 0.0)
    free: dict[int, float] = {}  # next row below the children that stand already
    for band in range(bands):
        for i in [i for i in place.drawn if place.depth[i] // columns == band]:
            if place.depth[i] % columns:
                start = free[parents[i]]
                free[parents[i]] += extent[i]
            else:
                start, top = top, top + extent[i]
            place.y[i] = start + extent[i] / 2
            free[i] = start + (extent[i] - carried[i]) / 2
            place.x[i] = left + place.depth[i] % columns * (place.box + place.gap)
        top += 1.5 * style.apart
    place.height = top + 0.15
    place.width = max(4.0, left + columns * (place.box + place.gap) - place.gap + place.margin + 0.15)


def _letters(text: str) -> int:
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def shortened(text: str, most: int) -> str:
    """At most so many letters, the last of which then says that there are more."""
    if _letters(text) <= most:
        return text
    while _letters(text) > most - 1:
        text = text[:-1]
    return text + "…"


# ---------------------------------------------------------------- what is written


def force_ends(system: System, force: Force) -> list[int]:
    """System bodies that a force acts on: one, or the two that it connects; none if it acts in a joint."""
    if isinstance(force, Drive):
        return []
    ends = [force.body, force.to] if hasattr(force, "to") else [force.body]
    return [system.place(end)[0] for end in ends]


def held_ends(system: System) -> list[tuple[int, int, str]]:
    """The two system bodies, which may be one, of every coupling and constraint, and what is written there."""
    carried = {edge.joint.name: i for i, edge in enumerate(system.topology.edges, start=1)}
    couplings = system.model.couplings.values()
    ends = [(carried[c.of], carried[c.joint], f"{c.joint} = {c.ratio:g} {c.of}") for c in couplings]
    for c in system.held.values():
        if isinstance(c, Between):
            a, b = system.place(c.to)[0], system.place(c.body)[0]
        else:
            a, b = carried[c.of] if c.of else carried[c.joint], carried[c.joint]
        ends.append((a, b, f"{c.name} ({constraint_kind(c).name})"))
    return ends


def joint_words(system: System, i: int) -> list[tuple[str, str]]:
    """What stands at the joint that carries a body: its name, its kind, and the forces in it."""
    joint, longest = system.topology.edges[i - 1].joint, NAMED.longest
    inside = [f.name for f in system.model.forces.values() if isinstance(f, Drive) and f.joint == joint.name]
    words = [(shortened(joint.name, longest), INK), (joint.kind, KIND_COLORS[joint.kind])]
    return words + [(shortened(name, longest), FORCE) for name in inside]
