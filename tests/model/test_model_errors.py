"""Every complaint of model/check.py, word for word."""

from collections.abc import Callable

import numpy as np
import pytest

from whippletree.errors import MissingExtra, ModelError
from whippletree.model import Limits, Model, check

UNIT = (1.0, 1.0, 1.0)
FORMS = "3 principal moments or a symmetric 3 x 3 matrix (kg m^2)"


def body(**changes):
    """A model with one body 'a', and what is wrong with it."""
    return Model("m").body("a", **({"mass": 1.0, "inertia": UNIT} | changes))


def two() -> Model:
    m = Model("m")
    m.body("a", mass=1.0, inertia=UNIT)
    m.body("b", mass=1.0, inertia=UNIT)
    return m


def joint(kind="revolute", parent="ground", child="a", **changes):
    return two().joint("j", kind, parent, child, **changes)


def whole(*joints: tuple[str, str, str], then: Callable[[Model], object] = lambda m: None) -> None:
    """Check a model of the bodies a and b with joints (kind, parent, child) named j0, j1 ..."""
    m = two()
    for i, (kind, parent, child) in enumerate(joints):
        m.joint(f"j{i}", kind, parent, child)
    then(m)
    check.whole(m)


TREE = ("revolute", "ground", "a"), ("revolute", "a", "b")

MESSAGES = [
    # names
    (
        lambda: Model("  "),
        "model name is not a name",
        "expected: a text of at least one character",
        "got: '  '",
    ),
    (
        lambda: two().body(3, mass=1.0),
        "body name is not a name",
        "expected: a text of at least one character",
        "got: 3",
    ),
    (
        lambda: two().body("x" * 201, mass=1.0),
        "body name cannot be used",
        "expected: at most 200 printable characters",
        f"got: '{'x' * 40}'...",
    ),
    (
        lambda: two().frame("a\nb", "a"),
        "frame name cannot be used",
        "expected: at most 200 printable characters",
        "got: 'a\\nb'",
    ),
    (lambda: two().body("a", mass=1.0), "body 'a' is defined twice", "hint: give each a name of its own"),
    (
        lambda: two().body("ground", mass=1.0),
        "body 'ground' is defined twice",
        "hint: 'ground' is the fixed world, and is always there",
    ),
    (lambda: two().frame("a", "b"), "frame 'a' is defined twice", "hint: give each a name of its own"),
    (
        lambda: whole(*TREE, then=lambda m: m.joint("j0", "free", "ground", "b")),
        "joint 'j0' is defined twice",
        "hint: give each a name of its own",
    ),
    (
        lambda: whole(*TREE, then=lambda m: (m.couple("j0", "j1"), m.couple("j0", "j1"))),
        "coupling 'j0' is defined twice",
        "hint: give each a name of its own",
    ),
    (lambda: joint("revolut"), "joint 'j': kind 'revolut' is not known", "hint: did you mean 'revolute'?"),
    (
        lambda: joint("hinge"),
        "joint 'j': kind 'hinge' is not known",
        "hint: known: fixed, revolute, prismatic, screw, cylindrical, universal, planar, homokinetic, curve, "
        "spherical, free",
    ),
    # numbers
    (lambda: body(mass="1"), "body 'a': mass is not a number", "expected: a finite number", "got: '1'"),
    (lambda: body(mass=True), "body 'a': mass is not a number", "expected: a finite number", "got: True"),
    (lambda: body(mass=None), "body 'a': mass is not a number", "expected: a finite number", "got: None"),
    (
        lambda: body(mass=1 << 99999),
        "body 'a': mass is not a number",
        "expected: a finite number",
        "got: an integer too long to print",
    ),
    (lambda: body(mass=float("nan")), "body 'a': mass is not finite", "expected: a finite number", "got: nan"),
    (lambda: body(mass=1e400), "body 'a': mass is not finite", "expected: a finite number", "got: inf"),
    (
        lambda: body(mass=1e101),
        "body 'a': mass is too large to compute with",
        "expected: at most 1e+100",
        "got: 1e+101",
    ),
    (lambda: body(com=3), "body 'a': com is not a list of numbers", "expected: 3 numbers", "got: 3"),
    (lambda: body(com="xyz"), "body 'a': com is not a list of numbers", "expected: 3 numbers", "got: 'xyz'"),
    (lambda: body(com=(0, 0)), "body 'a': com has the wrong length", "expected: 3 numbers", "got: 2"),
    (lambda: Model("m", gravity=(0, 9.81)), "gravity has the wrong length", "expected: 3 numbers", "got: 2"),
    # mass and inertia
    (lambda: body(mass=-1), "body 'a': mass must be positive", "expected: a number > 0 (kg)", "got: -1.0"),
    (
        lambda: body(mass=0),
        "body 'a': mass must be positive",
        "expected: a number > 0 (kg)",
        "got: 0.0",
        "hint: a body that is only a frame or an idealization takes idealized=True",
    ),
    (lambda: body(inertia=2.0), "body 'a': inertia has the wrong shape", f"expected: {FORMS}", "got: 2.0"),
    (lambda: body(inertia=(1, 1)), "body 'a': inertia has the wrong shape", f"expected: {FORMS}", "got: (1, 1)"),
    (
        lambda: body(inertia=[[1, 0, []], [0, 1, 0], [0, 0, 1]]),
        "body 'a': inertia is not a number",
        "expected: a finite number",
        "got: []",
    ),
    (
        lambda: body(inertia=[[1, 0, 0], [0.5, 1, 0], [0, 0, 1]]),
        "body 'a': inertia is not symmetric",
        f"expected: {FORMS}",
        "got: [[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]",
    ),
    (
        lambda: body(inertia=(-1, 1, 1), idealized=True),
        "body 'a': inertia is not positive definite",
        "expected: no negative principal moment (kg m^2)",
        "got: principal moments -1, 1, 1",
        "hint: inertia is taken about the centre of mass, in body axes",
    ),
    (
        lambda: body(inertia=(1, 1, 2.5)),
        "body 'a': inertia breaks the triangle inequality",
        "expected: the largest principal moment at most the sum of the other two",
        "got: principal moments 1, 1, 2.5",
        "hint: inertia is taken about the centre of mass; idealized=True admits it as it is",
    ),
    # poses and axes
    (
        lambda: joint(at={"quaternion": (2, 0, 0, 0)}),
        "joint 'j': at: quaternion is not a unit quaternion",
        "expected: [w, x, y, z] of length 1",
        "got: [2.0, 0.0, 0.0, 0.0] of length 2",
        "hint: the scalar part comes first",
    ),
    (
        lambda: joint(at={"quaternion": (0, 0, 0, 0)}),
        "joint 'j': at: quaternion is not a unit quaternion",
        "expected: [w, x, y, z] of length 1",
        "got: [0.0, 0.0, 0.0, 0.0] of length 0",
        "hint: no rotation is [1, 0, 0, 0]",
    ),
    (
        lambda: joint(at={"positon": (0, 0, 0)}),
        "joint 'j': at: entry 'positon' is not known",
        "hint: did you mean 'position'?",
    ),
    (
        lambda: joint(at={"rpy": (0, 0, 0), "quaternion": (1, 0, 0, 0)}),
        "joint 'j': at has two rotations",
        "expected: 'quaternion' or 'rpy'",
        "got: both",
    ),
    (
        lambda: joint(at=np.diag([2.0, 1.0, 1.0, 1.0])),
        "joint 'j': at is not a rotation",
        "expected: a 4 x 4 matrix with an orthonormal 3 x 3 block",
        "got: [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]",
    ),
    (
        lambda: joint(at=[[1, 0], [0], [0, 0, 1], [0]]),
        "joint 'j': at has the wrong length",
        "expected: 4 numbers",
        "got: 2",
    ),
    (
        lambda: joint(axis="up"),
        "joint 'j': axis is not known",
        "expected: x, y, z, -x, -y, -z or 3 numbers",
        "got: 'up'",
    ),
    (
        lambda: joint(axis=(0, 0, 0)),
        "joint 'j': axis has no direction",
        "expected: 3 numbers that are not all zero",
        "got: [0.0, 0.0, 0.0]",
    ),
    (
        lambda: joint("spherical", axis="x"),
        "joint 'j': a spherical joint takes no axis",
        "got: x",
        "hint: leave axis out, or choose another kind",
    ),
    (
        lambda: joint(axis2="x"),
        "joint 'j': a revolute joint takes no axis2",
        "got: x",
        "hint: leave axis2 out, or choose another kind",
    ),
    (
        lambda: joint("universal", axis="x", axis2="x"),
        "joint 'j': the axes of a universal joint must be perpendicular",
        "expected: two axes at a right angle",
        "got: axis [1.0, 0.0, 0.0], axis2 [1.0, 0.0, 0.0]",
    ),
    # the rest of a joint
    (
        lambda: joint("screw"),
        "joint 'j': a screw needs a pitch",
        "expected: metres per radian",
        "got: none",
    ),
    (
        lambda: joint(pitch=0.1),
        "joint 'j': a revolute joint takes no pitch",
        "got: 0.1",
        "hint: only a screw has one",
    ),
    (lambda: joint(damping=-1), "joint 'j': damping is too small", "expected: a finite number >= 0", "got: -1.0"),
    (
        lambda: joint(limits=Limits(lower=float("nan"))),
        "joint 'j': limits: lower is not finite",
        "expected: a finite number",
        "got: nan",
    ),
    (
        lambda: joint(limits=Limits(lower=1, upper=0)),
        "joint 'j': limits: lower is above upper",
        "expected: lower <= upper",
        "got: lower 1, upper 0",
    ),
    (
        lambda: joint(parent="a"),
        "joint 'j' joins 'a' to itself",
        "hint: parent and child are two bodies",
    ),
    # the whole
    (
        lambda: check.whole(Model("m")),
        "model 'm' has no bodies",
        "hint: add one with model.body(...) or a [bodies.name] table",
    ),
    (
        lambda: whole(("revolute", "ground", "arm")),
        "joint 'j0': child 'arm' is not known",
        "hint: known: ground, a, b",
    ),
    (
        lambda: whole(("revolute", "grund", "a")),
        "joint 'j0': parent 'grund' is not known",
        "hint: did you mean 'ground'?",
    ),
    (
        lambda: whole(*TREE, then=lambda m: m.frame("tip", "c")),
        "frame 'tip': body 'c' is not known",
        "hint: known: ground, a, b",
    ),
    (
        lambda: whole(*TREE, then=lambda m: m.couple("j0", "j2")),
        "coupling of 'j0': joint 'j2' is not known",
        "hint: known: j0, j1",
    ),
    (
        lambda: whole(*TREE, then=lambda m: m.couple("j0", "j0")),
        "coupling of 'j0' is to itself",
        "hint: couple it to another joint",
    ),
    (
        lambda: whole(TREE[0], ("spherical", "a", "b"), then=lambda m: m.couple("j0", "j1")),
        "coupling of 'j0': joint 'j1' has not one degree of freedom",
        "expected: a revolute, prismatic, screw or curve joint",
        "got: spherical",
    ),
    (
        lambda: whole(TREE[0]),
        "body 'b' is joined to nothing",
        "hint: let it float: joint('b_free', 'free', 'ground', 'b')",
    ),
    (
        lambda: whole(TREE[1]),
        "body 'a' is not joined to ground by any path of joints",
        "hint: let it float: joint('a_free', 'free', 'ground', 'a')",
    ),
]


@pytest.mark.parametrize(("make", "message"), [(make, "\n  ".join(lines)) for make, *lines in MESSAGES])
def test_message(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message


def test_message_says_where():
    with pytest.raises(ModelError) as caught:
        body(mass=-1, where="crank.toml:12")
    assert caught.value.where == "crank.toml:12"
    assert str(caught.value).endswith("\n  where: crank.toml:12")


def test_a_refused_part_leaves_the_model_as_it_was():
    m = two()
    for make in (
        lambda: m.body("c", mass=-1),
        lambda: m.joint("j", "screw", "a", "b"),
        lambda: m.frame("f", "a", at=1),
    ):
        with pytest.raises(ModelError):
            make()
    assert m == two()


def test_missing_extra_names_the_line_to_type():
    error = MissingExtra("trimesh", "robots", "the inertia of a mesh")
    assert str(error) == (
        "the inertia of a mesh needs the package 'trimesh', which is not installed\n"
        "  hint: pip install 'whippletree[robots]'"
    )
    assert isinstance(error, ModelError)
    assert isinstance(error, ImportError)


@pytest.mark.parametrize("length", [1.0, 1.0 + 9e-7, 1.0 - 9e-7])
def test_a_quaternion_of_seven_digits_is_normalized(length):
    w, x, y, z = joint(at={"quaternion": (0.6 * length, 0.8 * length, 0, 0)}).at.quaternion
    assert abs(w * w + x * x + y * y + z * z - 1.0) < 1e-15


@pytest.mark.parametrize("mass", [5e-324, 1e-310, 1e-101])
def test_a_mass_that_divides_to_infinity_is_refused_by_name(mass):
    m = Model("speck")
    expected = "^body 'dust': mass is too small to compute with\n  expected: at least 1e-100"
    with pytest.raises(ModelError, match=expected):
        m.body("dust", mass=mass)
    m.body("dust", mass=1e-100)
