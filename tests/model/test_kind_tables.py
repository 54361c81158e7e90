"""The tables of forces and constraints: a kind is known to one file of Python and to that of its formula, no others."""

import ast
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.layout.forces import code
from whippletree.model import constraints, forces

SRC = Path(wt.__file__).parent
HOMES = {"forces": {"model/forces.py", "kernels/forces.py"}}
HOMES["constraints"] = {"model/constraints.py", "kernels/constraints.py"}
DRIVES = {"motor", "motion"}  # what prescribes or steers a DOF is a matter of algorithms, ranks and live runs
PLAIN = {"speed"}  # a word that many files have for other things: its class alone is looked for
# where else a kind's name stands, and why it must
ALLOWED = {
    ("bushing", "system/forces.py"): "the spring of a spherical joint that closes a loop",
    ("bushing", "system/joint_dofs.py"): "the same",
    ("wrench", "realtime/inputs.py"): "what users of a live run pull at bodies with",
    ("wrench", "realtime/messages.py"): "the same",
    ("wrench", "realtime/stepper.py"): "the same",
    ("spring", "files/mjcf.py"): "a word of MuJoCo",
    ("distance", "files/mjcf_source.py"): "a word of MuJoCo",
    ("distance", "integrate/contacts/constraint_state.py"): "what rows of places hold",
    ("function", "sweeps/sweep.py"): "a recipe of a sweep",
    ("relative", "integrate/methods/generalized_alpha.py"): "a constant of another meaning",
}
KINDS = [(room, kind) for room, table in (("forces", forces), ("constraints", constraints)) for kind in table.TABLE]


def words_of(text):
    """(word, line) of what a source names: strings as a whole, in quotes; names, attributes and imports as they are."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Constant(value=str(word)):
                yield repr(word), node.lineno
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                yield word, node.lineno


@cache
def named():
    """Files of the sources by the words that they name."""
    found = {}
    for path in SRC.rglob("*.py"):
        for word, _ in words_of(path.read_text("utf-8")):
            found.setdefault(word, set()).add(path.relative_to(SRC).as_posix())
    return found


@pytest.mark.parametrize(("room", "kind"), KINDS, ids=lambda x: getattr(x, "name", x))
def test_a_kind_is_named_in_two_files(room, kind):
    if kind.name in DRIVES:
        pytest.skip("a drive")
    words = [kind.part.__name__]
    words += [] if kind.name in PLAIN else [repr(kind.name), kind.name.upper()]  # as in files, and of a constant
    found = {file for word in words for file in named().get(word, ())}
    assert found & HOMES[room]
    others = {(kind.name, file) for file in found - HOMES[room]}
    assert others <= ALLOWED.keys(), f"ask the table instead: {others - ALLOWED.keys()}"


def test_the_reader_of_names_can_fail():
    text = (
        'from ..model import Spring\nif kind == "spring" or isinstance(f, Spring):\n    x = layout.SPRING\n"a spring"\n'
    )
    assert sorted((x for x in words_of(text) if "spring" in x[0].lower() and " " not in x[0]), key=lambda x: x[1]) == [
        ("Spring", 1),
        ("'spring'", 2),
        ("Spring", 2),
        ("SPRING", 3),
    ]


def formulas():
    """What the elements of constraints say that their rows are computed by."""
    tree = ast.parse((SRC / "model/constraints.py").read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {call.args[0].value for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Element"}


def test_codes_differ_and_have_a_branch():
    """A name that no kernel spells so would be a force that does nothing, or the rows of a joint."""
    assert formulas() == {"joint", "distance", "roll", "blade"}
    names = {kind.name for kind in forces.TABLE}
    for used, roles in ((names, {"ball", "held", "cut_motor", "cut_passive"}), (formulas(), {"couple"})):
        assert len({code(name) for name in used | roles}) == len(used) + len(roles)
    for used, room in ((names, "forces"), (formulas(), "constraints")):
        assert all(named()[repr(name)] & {f"kernels/{room}.py", f"layout/{room}.py"} for name in used)


# ---------------------------------------------------------------- a kind that is added

# before which line of a file what is written: a magnet that pulls with strength / d^2, and a point on a cylinder
ADDED = {
    ("model/forces.py", "Drive = Motor"): '''
@dataclass(slots=True)
class Magnet(Part):
    """A pull ``factor(t)`` times ``strength`` / d^2 along the line between two points."""

    body: str
    strength: Positive
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Vector = ORIGIN
    factor: Function = 1.0


''',
    ("model/forces.py", '    ForceKind("function"'): """
    ForceKind(
        "magnet", Magnet, PLACE | {"strength": "N m^2"}, _LINE | POWER, numbers=lambda f: (f.strength,), line=True,
    ),
""",
    ("kernels/forces.py", "@inline\ndef signal("): """
MAGNET = layout.code("magnet")


""",
    ("kernels/forces.py", "# ---------------------------------------------------------------- all of them"): '''
@inline
def magnet_force(m, F, k, n, signals, wrench, zero):
    """(tension, distance, power)"""
    a, b, c = F.body[n], F.to[n], layout.NUMBERS * n + layout.FRAMES
    ra, pa = place_on(m, k, a, sp.load3(F.numbers, 12 * n + 6))
    rb, pb = place_on(m, k, b, sp.load3(F.numbers, 12 * n + 7))
    d = sp.sub3(pa, pb)
    square = sp.dot3(d, d)
    length = math.sqrt(square)
    tension = F.numbers[c] / square * get(signals, 1 + 3 * F.signal[3 * n])
    force, none = sp.scale3(-tension / length, d), (zero, zero, zero)
    push(wrench, a, ra, force, none)
    push(wrench, b, rb, sp.neg3(force), none)
    return tension, length, sp.dot3(force, sp.sub3(velocity_at(k, a, ra), velocity_at(k, b, rb)))


''',
    ("kernels/forces.py", "        elif kind == layout.BALL:"): """
        elif kind == MAGNET:
            x, length, p = magnet_force(m, F, k, n, signals, wrench, zero)
            torque = (x, length, zero)
""",
    ("model/constraints.py", "Between = Distance"): '''
@dataclass(slots=True)
class PointOnCylinder(Part):
    """The point ``at`` of ``body`` keeps the distance ``radius`` from the x axis of ``to_at``."""

    body: str
    radius: Positive
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Pose = IDENTITY


''',
    ("model/constraints.py", '    ConstraintKind("gear"'): """
    ConstraintKind(
        "point_on_cylinder", PointOnCylinder, PLACE | {"radius": "m"}, opens=1,
        element=lambda c: Element("cylinder", ("displacement along the normal",), (0.0, 0.0, c.radius)),
    ),
""",
    ("kernels/constraints.py", "@inline\ndef turn_rows("): '''
CYLINDER = code("cylinder")


@inline
def cylinder_row(m, E, k, x, r, n):
    """g = |d across x| - radius"""
    c = meet(m, E, k, n)
    zero = 0.0 * c.d[0]
    across, rate = (zero, c.d[1], c.d[2]), (zero, c.rate[1], c.rate[2])
    size = math.sqrt(sp.dot3(across, across) + TINY)
    e = sp.scale3(1.0 / size, across)
    along = sp.dot3(e, rate)
    bend = sp.dot3(e, c.bend) + (sp.dot3(rate, rate) - along * along) / size
    gap = size - E.numbers[layout.NUMBERS * n + layout.LENGTH]
    put_shift_row(x, r, c, gap, sp.mul33(c.R, e), along, zero, bend)


''',
    ("kernels/constraints.py", "        elif E.kind[n] == ROLL:"): """
        elif E.kind[n] == CYLINDER:
            cylinder_row(m, E, k, x, E.row[n], n)
""",
}
UNIONS = {  # for type checkers, and what asks whether a constraint is between two bodies
    "model/forces.py": ("Force = Drive", "Force = Magnet | Drive"),
    "model/constraints.py": ("Between = Distance", "Between = PointOnCylinder | Distance"),
}
USED = """
import numpy as np
import whippletree as wt
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.files import toml
from whippletree.result.result import Result
from whippletree.sweeps.targets import find_targets

m = wt.Model("bench")
m.body("a", mass=1.0, inertia=(1, 1, 1))
m.joint("slide", "prismatic", "ground", "a", axis="x")
m.body("b", mass=1.0, inertia=(1, 1, 1))
m.joint("plane", "planar", "a", "b", axis="x")
m.force("pull", "magnet", body="a", to_at=(-1, 0, 0), strength=2.0, factor=wt.Ramp(1.0, value=1.0))
m.constraint("tube", "point_on_cylinder", body="b", radius=2.0, to_at=wt.pose((1, 0, 0), rpy=(0.3, 0, 0)))
for add, name, kind, wrong in (
    (m.force, "force 'push': strength", "magnet", {"strength": -1.0}),
    (m.constraint, "constraint 'push': radius", "point_on_cylinder", {"radius": 0.0}),
):
    try:
        add("push", kind, body="a", **wrong)
    except wt.ModelError as e:
        assert f"{name} is too small" in str(e), e
    else:
        raise AssertionError(kind)
again = toml.loads(toml.dumps(m), "bench.toml")
assert (again.forces, again.constraints) == (m.forces, m.constraints)
m.temporary("tube", unilateral=True, begins="active")
system = m.compile()
assert "1 magnet" in system.explain() and "tube (point_on_cylinder)" in system.explain()
targets = find_targets(["forces.pull.strength", "constraints.tube.radius"], system, ())
assert [target.unit for target in targets] == ["N m^2", "m"]

t, q = np.array([0.0, 1.0]), np.array([[1.0, 1.2, 1.6, 0.4], [2.0, 2.0, 0.0, 0.1]])
u = np.array([[3.0, 0.8, -0.6, 0.2], [3.0, 0.0, 1.0, 0.0]])
d = q[:, 0] + 1.0
tension = 2.0 / d**2 * np.array([1.0, 2.0])
run = Result(system, t, q, u)
for name, expected in (("force", tension), ("length", d), ("power", -3.0 * tension)):
    np.testing.assert_allclose(run[f"pull.{name}"], expected, rtol=1e-14, err_msg=name)

rows, e = rows_of(system, q, u, t), 1e-6
ahead, back = (rows_of(system, q + x * u, u, t) for x in (e, -e))
np.testing.assert_allclose(rows.g, 0.0, atol=1e-14)
np.testing.assert_allclose((rows.C @ u[..., None])[..., 0], (ahead.g - back.g) / (2 * e), atol=1e-9)
np.testing.assert_allclose(rows.gamma, -(ahead.rate - back.rate) / (2 * e), rtol=1e-7, atol=1e-9)
np.testing.assert_allclose(rows.gamma[:, 0], [-0.5, -0.5], rtol=1e-13)  # -v^2 / radius
"""


def test_a_new_kind_is_two_files(tmp_path):
    """A force and a constraint are added to the sources, and work: checks, files, units, words, results, formulas."""
    there = tmp_path / "whippletree"
    shutil.copytree(SRC, there, ignore=shutil.ignore_patterns("__pycache__"))
    changes = [((name, old), new.lstrip("\n") + old) for (name, old), new in ADDED.items()]
    for (name, old), new in changes + [((name, old), new) for name, (old, new) in UNIONS.items()]:
        text = (there / name).read_text("utf-8")
        assert text.count(old) == 1, (name, old)
        (there / name).write_text(text.replace(old, new), "utf-8")
    changed = {name for name, _ in ADDED} | set(UNIONS)
    assert changed == HOMES["forces"] | HOMES["constraints"]
    made = subprocess.run(
        [sys.executable, "-c", USED], env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
