"""Constraints as data: what each kind takes, every complaint word for word, and the way to a file and back."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whippletree as wt
from test_forces_model import arm, number, places, positive, smooth, vector
from whippletree import files
from whippletree.errors import ModelError
from whippletree.files import toml
from whippletree.model import (
    CONSTRAINT_KINDS,
    Distance,
    Gear,
    KnifeEdge,
    Latch,
    Model,
    PointOnLine,
    PointOnPlane,
    Pose,
    Rack,
    Relative,
    Roll,
    Speed,
    check,
    pose,
)
from whippletree.system.explain import as_dict


def press() -> Model:
    """The arm (bodies a, b, c; a hinge, a ball and a table; a frame 'tool' on b) and a wheel, a slide and a tube."""
    m = arm()
    for name, kind in (("wheel", "revolute"), ("slide", "prismatic"), ("tube", "cylindrical"), ("block", "fixed")):
        m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
        m.joint(f"{name}_joint", kind, "ground", name)
    return m


def constraint(kind, *, name="c", **parameters):
    return press().constraint(name, kind, **parameters)


def whole(kind, **parameters):
    m = press()
    m.constraint("tie", kind, **parameters)
    check.whole(m)


# ---- what is made


def test_every_kind_with_its_defaults():
    m = press()
    zero, identity = (0.0, 0.0, 0.0), Pose()
    made = [
        (m.constraint("rod", "distance", body="a", length=2), Distance("rod", "a", 2.0, "ground", zero, zero)),
        (m.constraint("slot", "point_on_line", body="a"), PointOnLine("slot", "a", "ground", zero, identity)),
        (m.constraint("floor", "point_on_plane", body="a"), PointOnPlane("floor", "a", "ground", zero, identity)),
        (
            m.constraint("gear", "gear", joint="hinge", of="wheel_joint", ratio=-3),
            Gear("gear", "hinge", "wheel_joint", -3.0, 0.0, 0, 0),
        ),
        (
            m.constraint("rack", "rack", joint="slide_joint", of="wheel_joint", radius=0.1),
            Rack("rack", "slide_joint", "wheel_joint", 0.1, 0.0),
        ),
        (m.constraint("drive", "relative", joint="hinge"), Relative("drive", "hinge", None, 0.0, 0, 0)),
        (
            m.constraint("grip", "latch", body="a"),
            Latch("grip", "a", "ground", "fixed", (0, 0, 1), (0, 1, 0), identity),
        ),
        (
            m.constraint("tread", "roll", body="a", radius=1),
            Roll("tread", "a", 1.0, None, 0.0, "ground", zero, identity, "plane", 0.0, "none", True),
        ),
        (m.constraint("blade", "knife_edge", body="a"), KnifeEdge("blade", "a", "ground", identity)),
        (m.constraint("pace", "speed", joint="hinge"), Speed("pace", "hinge", None, 1.0, 0.0, 0, 0)),
    ]
    assert list(m.constraints) == [c.name for c, _ in made]
    assert [type(c) for c, _ in made] == list(CONSTRAINT_KINDS.values())
    for given_, expected in made:
        assert given_ == expected
    check.whole(m)


def test_parts_stand_for_their_names_and_may_come_later():
    m = Model("m")
    m.constraint("floor", "point_on_plane", body="tip", to_at=pose((0, 0, 1), rpy=(0.1, 0, 0)))
    a = m.body("a", mass=1.0, inertia=(1, 1, 1))
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    first = m.joint("first", "revolute", m.ground, a)
    second = m.joint("second", "planar", a, b)
    m.frame("tip", b)
    m.constraint("rod", "distance", body=b, to=m.ground, at=np.array([1, 2, 3]), length=np.float32(2))
    m.constraint("gear", "gear", joint=first, of=second, ratio=2, of_dof=np.int64(2))
    check.whole(m)
    assert m.constraints["rod"] == Distance("rod", "b", 2.0, "ground", (1.0, 2.0, 3.0), (0.0, 0.0, 0.0))
    assert m.constraints["gear"] == Gear("gear", "first", "second", 2.0, of_dof=2)
    assert type(m.constraints["gear"].of_dof) is int


def test_two_dofs_of_one_joint_may_be_tied():
    whole("gear", joint="tube_joint", of="tube_joint", dof=1, ratio=0.01)
    whole("relative", joint="table", of="table", of_dof=1, position=wt.Sine(1, 2))


def test_a_loop_joint_may_be_driven_and_tied():
    m = press()
    m.joint("closing", "revolute", "wheel", "slide")
    m.force("drive", "motion", joint="closing", position=wt.Ramp(1))
    m.constraint("gear", "gear", joint="closing", of="wheel_joint", ratio=1)
    check.whole(m)


def test_explain_says_what_else_holds():
    m = press()
    assert "also holds" not in m.compile().explain()
    m.constraint("rod", "distance", body="a", length=2)
    m.constraint("mesh", "gear", joint="hinge", of="wheel_joint", ratio=2)
    assert "also holds rod (distance), mesh (gear)" in m.compile().explain().splitlines()
    assert as_dict(m.compile())["constraints"] == {"rod": "distance", "mesh": "gear"}
    for i in range(8):
        m.constraint(f"more{i}", "relative", joint="hinge")
    assert "more5 (relative) and 2 more" in m.compile().explain()


# ---- complaints

KINDS = "known: distance, point_on_line, point_on_plane, gear, rack, relative, latch, roll, knife_edge, speed"
TWO = "hint: body and to are two bodies"
PLAIN = "expected: a revolute, prismatic, screw, cylindrical, universal, planar, homokinetic or curve joint"
HOLD = "hint: a constraint of kind 'relative' without 'of' holds a joint where it is"
MESSAGES = [
    (
        lambda: constraint("distance", name="", body="a", length=1),
        "constraint name is not a name",
        "expected: a text of at least one character",
        "got: ''",
    ),
    (lambda: constraint("distanse"), "constraint 'c': kind 'distanse' is not known", "hint: did you mean 'distance'?"),
    (lambda: constraint(3), "constraint 'c': kind '3' is not known", f"hint: {KINDS}"),
    (
        lambda: constraint("distance", body="a", lenght=1),
        "constraint 'c': parameter 'lenght' is not known",
        "hint: did you mean 'length'?",
    ),
    (
        lambda: constraint("distance", body="a"),
        "constraint 'c': parameter 'length' is missing",
        "expected: body, length, to, at, to_at",
    ),
    (
        lambda: constraint("gear", joint="hinge", of="x"),
        "constraint 'c': parameter 'ratio' is missing",
        "expected: joint, of, ratio, offset, dof, of_dof",
    ),
    (
        lambda: constraint("distance", body=3, length=1),
        "constraint 'c': body is not a name",
        "expected: a text of at least one character",
        "got: 3",
    ),
    (
        lambda: constraint("distance", body="a", length=0),
        "constraint 'c': length is too small",
        "expected: a finite number > 0",
        "got: 0.0",
    ),
    (
        lambda: constraint("distance", body="a", length=math.nan),
        "constraint 'c': length is not finite",
        "expected: a finite number",
        "got: nan",
    ),
    (
        lambda: constraint("point_on_line", body="a", at=3),
        "constraint 'c': at is not a list of numbers",
        "expected: 3 numbers",
        "got: 3",
    ),
    (
        lambda: constraint("point_on_plane", body="a", to_at={"quaternion": (0, 0, 0, 0)}),
        "constraint 'c': to_at: quaternion is not a unit quaternion",
        "expected: [w, x, y, z] of length 1",
        "got: [0.0, 0.0, 0.0, 0.0] of length 0",
        "hint: no rotation is [1, 0, 0, 0]",
    ),
    (lambda: constraint("point_on_line", body="a", to="a"), "constraint 'c' acts between 'a' and itself", TWO),
    (
        lambda: constraint("gear", joint="hinge", of="wheel_joint", ratio=0),
        "constraint 'c': ratio is zero",
        "expected: a number other than 0",
        "got: 0.0",
        HOLD,
    ),
    (
        lambda: constraint("rack", joint="slide_joint", of="wheel_joint", radius=0),
        "constraint 'c': radius is zero",
        "expected: a number other than 0",
        "got: 0.0",
        HOLD,
    ),
    (
        lambda: constraint("gear", joint="hinge", of="wheel_joint", ratio=1, offset="x"),
        "constraint 'c': offset is not a number",
        "expected: a finite number",
        "got: 'x'",
    ),
    (
        lambda: constraint("gear", joint="hinge", of="wheel_joint", ratio=1, of_dof=-1),
        "constraint 'c': of_dof is not a count",
        "expected: 0, 1, 2 ...",
        "got: -1",
    ),
    (
        lambda: constraint("gear", joint="tube_joint", of="tube_joint", ratio=1, dof=1, of_dof=1),
        "constraint 'c' ties joint 'tube_joint' to itself",
        "hint: joint and of are two joints",
    ),
    (
        lambda: constraint("rack", joint="slide_joint", of="slide_joint", radius=1),
        "constraint 'c' ties joint 'slide_joint' to itself",
        "hint: joint and of are two joints",
    ),
    (
        lambda: constraint("relative", joint="hinge", of="hinge"),
        "constraint 'c' ties joint 'hinge' to itself",
        "hint: joint and of are two joints",
    ),
    (
        lambda: constraint("relative", joint="hinge", of_dof=1),
        "constraint 'c': of_dof needs a joint 'of'",
        "got: 1",
    ),
    (
        lambda: constraint("relative", joint="hinge", position=wt.Step(1)),
        "constraint 'c': position has a rate that jumps",
        "expected: a smooth motion",
        "got: a step without rise",
        "hint: give the step a rise",
    ),
    (
        lambda: constraint("relative", joint="hinge", position=len),
        "constraint 'c': position is not a function of time",
        "expected: a number, or a ramp, step, sine, table",
        "got: <built-in function len>",
        "hint: a Python function is a force of its own, of kind 'function'",
    ),
    # constraints and the rest of the model
    (
        lambda: whole("distance", body="tol", length=1),
        "constraint 'tie': body 'tol' is not known",
        "hint: did you mean 'tool'?",
    ),
    (
        lambda: whole("point_on_plane", body="a", to="grund"),
        "constraint 'tie': to 'grund' is not known",
        "hint: did you mean 'ground'?",
    ),
    (
        lambda: whole("distance", body="tool", to="b", length=1),
        "constraint 'tie' acts between 'tool' and 'b', which are on one body",
        TWO,
    ),
    (
        lambda: whole("gear", joint="hing", of="wheel_joint", ratio=1),
        "constraint 'tie': joint 'hing' is not known",
        "hint: did you mean 'hinge'?",
    ),
    (
        lambda: whole("relative", joint="hinge", of="whel_joint"),
        "constraint 'tie': of 'whel_joint' is not known",
        "hint: did you mean 'wheel_joint'?",
    ),
    (
        lambda: whole("gear", joint="hinge", of="table", ratio=1, of_dof=3),
        "constraint 'tie': of_dof 3 is not one of joint 'table' (planar)",
        "expected: 0 to 2",
        "got: 3",
    ),
    (
        lambda: whole("relative", joint="hinge", dof=1),
        "constraint 'tie': dof 1 is not one of joint 'hinge' (revolute)",
        "expected: 0",
        "got: 1",
    ),
    (
        lambda: whole("relative", joint="block_joint"),
        "constraint 'tie': dof 0 is not one of joint 'block_joint' (fixed)",
        "expected: a joint that moves",
        "got: 0",
    ),
    (
        lambda: whole("gear", joint="hinge", of="ball", ratio=1),
        "constraint 'tie': of is not for a spherical joint, whose coordinates are not angles",
        PLAIN,
        "got: joint 'ball' (spherical)",
        "hint: use joints of one degree of freedom each",
    ),
    (
        lambda: whole("rack", joint="hinge", of="wheel_joint", radius=1),
        "constraint 'tie': joint 'hinge' is not a prismatic joint",
        "expected: a prismatic joint",
        "got: revolute",
        "hint: a gear ties degrees of freedom of other joints",
    ),
    (
        lambda: whole("rack", joint="slide_joint", of="tube_joint", radius=1),
        "constraint 'tie': of 'tube_joint' is not a revolute joint",
        "expected: a revolute joint",
        "got: cylindrical",
        "hint: a gear ties degrees of freedom of other joints",
    ),
    (
        lambda: whole("rack", joint="slyde_joint", of="wheel_joint", radius=1),
        "constraint 'tie': joint 'slyde_joint' is not known",
        "hint: did you mean 'slide_joint'?",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), [(m[0], m[1:]) for m in MESSAGES], ids=[m[1][:60] for m in MESSAGES])
def test_message(wrong, message):
    with pytest.raises(ModelError) as caught:
        wrong()
    assert str(caught.value).split("\n  ") == list(message)


@pytest.mark.parametrize(
    ("name", "whose"),
    [("hinge", "a joint"), ("a", "a body"), ("tool", "a frame"), ("ground", "the ground"), ("pull", "a force")],
)
def test_a_constraint_has_a_name_of_its_own(name, whose):
    m = press()
    m.force("pull", "wrench", body="a")
    m.constraint(name, "distance", body="a", length=1)
    with pytest.raises(ModelError) as caught:
        check.whole(m)
    assert caught.value.what == f"constraint '{name}' has the name of {whose}"
    assert caught.value.hint == "its outputs are named: give it a name of its own"
    with pytest.raises(ModelError, match=f"constraint '{name}' is defined twice"):
        m.constraint(name, "distance", body="b", length=1)


# ---- files

bodies = st.sampled_from(["a", "b", "c", "é.x"])
joints = st.sampled_from(["hinge", "slide_joint"])
counts = st.integers(0, 5)
LINK = {"to": st.just("tool"), "at": vector}
PARAMETERS = {
    "distance": st.fixed_dictionaries({"body": bodies, "length": positive}, optional=LINK | {"to_at": vector}),
    "point_on_line": st.fixed_dictionaries({"body": bodies}, optional=LINK | {"to_at": places}),
    "point_on_plane": st.fixed_dictionaries({"body": bodies}, optional=LINK | {"to_at": places | vector}),
    "gear": st.fixed_dictionaries(
        {"joint": joints, "of": st.just("wheel_joint"), "ratio": positive},
        optional={"offset": number, "dof": counts, "of_dof": counts},
    ),
    "rack": st.fixed_dictionaries(
        {"joint": joints, "of": st.just("wheel_joint"), "radius": positive.map(lambda x: -x)},
        optional={"offset": number},
    ),
    "relative": st.fixed_dictionaries(
        {"joint": joints}, optional={"position": smooth, "dof": counts, "of": st.just("wheel_joint")}
    ),
}
names = st.text(min_size=1, max_size=12).filter(lambda s: s.isprintable() and s.strip())
sets = st.dictionaries(
    names, st.sampled_from(sorted(PARAMETERS)).flatmap(lambda k: st.tuples(st.just(k), PARAMETERS[k])), max_size=5
)


@settings(max_examples=80, deadline=None)
@given(sets)
def test_round_trip_of_random_constraints(constraints):
    model = press()
    for name, (kind, parameters) in constraints.items():
        model.constraint(name, kind, **parameters)
    text = toml.dumps(model)
    back = toml.loads(text, "m.toml")
    assert back == model
    assert list(back.constraints) == list(model.constraints)
    assert toml.dumps(back) == text


BODY = """name = "m"
[bodies.a]
mass = 1
inertia = [1, 1, 1]
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "a"
"""
FILE_MESSAGES = [
    ("[constraints.c]\nbody = 'a'", 9, "constraint 'c': key 'kind' is missing"),
    ("[constraints.c]\nbody = 'a'\nkind = 'distanc'", 11, "constraint 'c': kind 'distanc' is not known"),
    ("[constraints.c]\nkind = 'distance'\nlenght = 1", 11, "constraint 'c': key 'lenght' is not known"),
    ("[constraints.c]\nkind = 'distance'\nbody = 'a'", 9, "constraint 'c': key 'length' is missing"),
    ("[constraints.c]\nkind = 'distance'\nbody = 'a'\n\nlength = -1", 13, "constraint 'c': length is too small"),
    ("[constraints.c]\nkind = 'distance'\nbody = 'a'\nwhere = 'x'", 12, "constraint 'c': key 'where' is not known"),
    (
        "[constraints.c]\nkind = 'relative'\njoint = 'hinge'\nposition = {kind = 'step', after = 1}",
        12,
        "constraint 'c': position has a rate that jumps",
    ),
    ("[constraints]\nc = 3", 10, "the file: 'constraints.c' has the wrong type"),
]


@pytest.mark.parametrize(("text", "line", "what"), FILE_MESSAGES, ids=[m[2] for m in FILE_MESSAGES])
def test_message_with_its_line(text, line, what):
    with pytest.raises(ModelError) as caught:
        toml.loads(BODY + text, "m.toml")
    assert (caught.value.what, caught.value.where) == (what, f"m.toml:{line}")


def test_names_in_a_file_are_looked_up_when_all_is_read(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("[constraints.c]\nkind = 'relative'\njoint = 'b'\n" + BODY.removeprefix('name = "m"'))
    with pytest.raises(ModelError) as caught:
        files.load(path)
    assert (caught.value.what, caught.value.where) == ("constraint 'c': joint 'b' is not known", f"{path}:1")


def test_a_file_says_what_python_says():
    m = press()
    m.constraint("rod", "distance", body="tool", to="c", at=(0, 0, 1), length=0.5)
    m.constraint("slot", "point_on_line", body="a", to_at=pose((0, 0, 1), rpy=(0, 0, 1)))
    m.constraint("drive", "relative", joint="hinge", of="wheel_joint", position=wt.Sine(2, 0.5))
    text = """
        [constraints.rod]
        kind = "distance"
        body = "tool"
        to = "c"
        at = [0, 0, 1]
        length = 0.5
        [constraints.slot]
        kind = "point_on_line"
        body = "a"
        to_at = {position = [0, 0, 1], rpy = [0, 0, 1]}
        [constraints.drive]
        kind = "relative"
        joint = "hinge"
        of = "wheel_joint"
        position = {kind = "sine", amplitude = 2, frequency = 0.5}
        """
    assert toml.loads(toml.dumps(press()) + text, "m.toml") == m
