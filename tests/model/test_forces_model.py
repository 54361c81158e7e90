"""Forces as data: what each kind takes, every complaint word for word, and the way to a file and back."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whippletree as wt
from whippletree import files
from whippletree.cli.app import main
from whippletree.errors import ModelError, ModelWarning
from whippletree.files import mjcf, toml, urdf
from whippletree.model import (
    FORCE_KINDS,
    Bushing,
    Custom,
    Drag,
    Limits,
    Model,
    Motion,
    Motor,
    Pose,
    Spring,
    Wrench,
    check,
    check_forces,
    pose,
)

UNIT = (1.0, 1.0, 1.0)
MODELS = Path(__file__).parents[2] / "models"


def arm() -> Model:
    """Bodies a, b and c; a hinge, a ball and a plane; a frame 'tool' on b."""
    m = Model("arm")
    for name in ("a", "b", "c"):
        m.body(name, mass=1.0, inertia=UNIT)
    m.joint("hinge", "revolute", "ground", "a", axis="y")
    m.joint("ball", "spherical", "a", "b")
    m.joint("table", "planar", "ground", "c")
    m.frame("tool", "b", (0.0, 0.0, 0.5))
    return m


def force(kind, *, name="f", **parameters):
    return arm().force(name, kind, **parameters)


def whole(*forces):
    """Check the arm with forces (kind, parameters) named f0, f1 ..."""
    m = arm()
    for i, (kind, parameters) in enumerate(forces):
        m.force(f"f{i}", kind, **parameters)
    check.whole(m)


def joint(kind="revolute", **changes):
    m = Model("m")
    m.body("a", mass=1.0, inertia=UNIT)
    return m.joint("j", kind, "ground", "a", **changes)


def wave(**changes):
    """A motor with a sine that has something wrong with it."""
    return force("motor", joint="hinge", torque={"kind": "sine", "amplitude": 1, "frequency": 2} | changes)


# ---- what is made


def test_every_kind_with_its_defaults():
    def push(t, position, rotation, velocity, wrench):
        wrench[3] = 1.0

    m = arm()
    zero, identity = (0.0, 0.0, 0.0), Pose()
    made = [
        (m.force("motor", "motor", joint="hinge"), Motor("motor", "hinge", 0, 0.0, None, None, 0.0, 0.0, None)),
        (m.force("motion", "motion", joint="table", dof=2), Motion("motion", "table", 2, 0.0)),
        (
            m.force("spring", "spring", body="a", stiffness=1),
            Spring("spring", "a", "ground", zero, zero, 1.0, 0.0, 0.0),
        ),
        (
            m.force("bushing", "bushing", body="a", stiffness=2, rotational_damping=(1, 2, 3)),
            Bushing("bushing", "a", "ground", identity, identity, (2.0,) * 3, zero, zero, (1.0, 2.0, 3.0)),
        ),
        (m.force("wrench", "wrench", body="a"), Wrench("wrench", "a", zero, zero, zero, "world", 1.0)),
        (m.force("drag", "drag", body="a", linear=1), Drag("drag", "a", zero, 1.0, 0.0)),
        (m.force("function", "function", body="a", function=push), Custom("function", "a", push, zero)),
    ]
    assert list(m.forces) == list(FORCE_KINDS)
    for given_, expected in made:
        assert given_ == expected
    m.compile()


def test_parts_stand_for_their_names_and_may_come_later():
    m = Model("m")
    m.force("drive", "motor", joint="hinge")
    m.force("strut", "spring", body="tool", to=m.ground, damping=np.float32(2))
    with pytest.raises(ModelError, match="model 'm' has no bodies"):
        m.compile()
    a = m.body("a", mass=1.0, inertia=UNIT)
    hinge = m.joint("hinge", "revolute", m.ground, a)
    tool = m.frame("tool", a)
    m.force("more", "motor", joint=hinge, dof=np.int64(0), torque=np.float64(1))
    m.force("pull", "wrench", body=tool, force=np.array([1, 2, 3]))
    m.compile()
    assert (m.forces["more"].joint, m.forces["pull"].body, m.forces["strut"].to) == ("hinge", "tool", "ground")
    assert m.forces["pull"].force == (1.0, 2.0, 3.0)
    assert type(m.forces["more"].dof) is int


def test_functions_of_time_are_plain_numbers_and_tuples():
    table = wt.Table(np.arange(3), [1, np.float32(2), 3], smooth=np.True_)
    assert (table.times, table.values, table.smooth) == ((0.0, 1.0, 2.0), (1.0, 2.0, 3.0), True)
    assert type(table.smooth) is bool
    assert {type(x) for x in table.values} == {float}
    assert wt.Ramp(2) == wt.Ramp(2.0, 0.0, 0.0, None)
    assert wt.Step(after=1, rise=0.5) == wt.Step(1.0, 0.0, 0.0, 0.5)
    assert type(wt.Sine(1, 2).amplitude) is float
    assert hash(table) == hash(wt.Table((0, 1, 2), (1, 2, 3), True))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (3, 3.0),
        ({"kind": "ramp", "rate": 2, "end": 4}, wt.Ramp(2.0, end=4.0)),
        ({"kind": "step", "after": 2, "rise": 1}, wt.Step(2.0, rise=1.0)),
        ({"kind": "sine", "amplitude": 2, "frequency": 0.5}, wt.Sine(2.0, 0.5)),
        ({"kind": "table", "times": [0, 1], "values": [2, 3], "smooth": True}, wt.Table((0, 1), (2, 3), True)),
        (wt.Sine(1, 2), wt.Sine(1, 2)),
    ],
)
def test_a_function_from_a_number_or_a_mapping(text, made):
    assert check_forces.function(text, "torque") == made


def test_forces_of_joints_for_every_dof_or_for_each():
    j = joint("cylindrical", stiffness=[1, 2], rest=np.array([0.1, -0.2]), damping=3, friction=(0, 1))
    assert (j.stiffness, j.rest, j.damping, j.friction) == ((1.0, 2.0), (0.1, -0.2), 3.0, (0.0, 1.0))
    assert j.friction_speed == 0.01
    assert joint("spherical", stiffness=2, damping=(1, 2, 3)).damping == (1.0, 2.0, 3.0)
    stop = joint(limits=Limits(lower=-1, stiffness=100, damping=1)).limits
    assert (stop.stiffness, stop.damping) == (100.0, 1.0)


# ---- complaints

KINDS = "known: motor, motion, spring, bushing, wrench, drag, function"
SMOOTH = "expected: a smooth motion"
TWO = "hint: body and to are two bodies"
MESSAGES = [
    # functions of time
    (lambda: wt.Ramp("1"), "ramp: rate is not a number", "expected: a finite number", "got: '1'"),
    (lambda: wt.Ramp(1, end=math.nan), "ramp: end is not finite", "expected: a finite number", "got: nan"),
    (lambda: wt.Ramp(1, start=2, end=2), "ramp: end is not after start", "expected: an end > 2", "got: 2"),
    (lambda: wt.Step(math.inf), "step: after is not finite", "expected: a finite number", "got: inf"),
    (lambda: wt.Step(1, rise=-1), "step: rise is too small", "expected: a finite number >= 0", "got: -1.0"),
    (lambda: wt.Step(1, rise=1e-60), "step: rise is too short", "expected: 0 or at least 1e-09 s", "got: 1e-60"),
    (lambda: wt.Sine(1, True), "sine: frequency is not a number", "expected: a finite number", "got: True"),
    (lambda: wt.Table(3, [1, 2]), "table: times is not a list of numbers", "got: 3"),
    (
        lambda: wt.Table([0, 1], [1, math.nan]),
        "table: values[1] is not finite",
        "expected: a finite number",
        "got: nan",
    ),
    (lambda: wt.Table([0], [1]), "table: times are too few", "expected: at least 2", "got: 1"),
    (
        lambda: wt.Table([0, 1, 2], [1, 2]),
        "table: times and values differ in length",
        "expected: one value for each time",
        "got: 3 times, 2 values",
    ),
    (
        lambda: wt.Table([0, 1, 1, 2], [1, 2, 3, 4]),
        "table: times are out of order",
        "expected: each at least 1e-09 s after the one before",
        "got: times[1] = 1, then times[2] = 1",
    ),
    (
        lambda: wt.Table([0, 1], [1, 2], smooth="yes"),
        "table: smooth is no truth value",
        "expected: true or false",
        "got: 'yes'",
    ),
    (lambda: wave(kind="sin"), "force 'f': torque: kind 'sin' is not known", "hint: did you mean 'sine'?"),
    (
        lambda: wave(amplitdue=1),
        "force 'f': torque: sine: parameter 'amplitdue' is not known",
        "hint: did you mean 'amplitude'?",
    ),
    (
        lambda: force("motor", joint="hinge", torque={"kind": "sine", "amplitude": 1}),
        "force 'f': torque: sine: parameter 'frequency' is missing",
        "expected: amplitude, frequency, phase, offset",
    ),
    (
        lambda: force("motor", joint="hinge", torque={"amplitude": 1}),
        "force 'f': torque: kind is missing",
        "expected: one of ramp, step, sine, table",
    ),
    (
        lambda: wave(phase="x"),
        "force 'f': torque: sine: phase is not a number",
        "expected: a finite number",
        "got: 'x'",
    ),
    (
        lambda: force("motor", joint="hinge", torque=math.nan),
        "force 'f': torque is not finite",
        "expected: a finite number",
        "got: nan",
    ),
    (
        lambda: force("motor", joint="hinge", torque=[1, 2]),
        "force 'f': torque is not a function of time",
        "expected: a number, or a ramp, step, sine, table",
        "got: [1, 2]",
    ),
    (
        lambda: force("motor", joint="hinge", torque=len),
        "force 'f': torque is not a function of time",
        "expected: a number, or a ramp, step, sine, table",
        "got: <built-in function len>",
        "hint: a Python function is a force of its own, of kind 'function'",
    ),
    # names, kinds and parameters
    (
        lambda: force("motor", name="", joint="hinge"),
        "force name is not a name",
        "expected: a text of at least one character",
        "got: ''",
    ),
    (lambda: force("sprung"), "force 'f': kind 'sprung' is not known", "hint: did you mean 'spring'?"),
    (lambda: force(3), "force 'f': kind '3' is not known", f"hint: {KINDS}"),
    (
        lambda: force("spring", body="a", stifness=1),
        "force 'f': parameter 'stifness' is not known",
        "hint: did you mean 'stiffness'?",
    ),
    (
        lambda: force("spring", stiffness=1),
        "force 'f': parameter 'body' is missing",
        "expected: body, to, at, to_at, stiffness, damping, length",
    ),
    (
        lambda: force("drag", body=3, linear=1),
        "force 'f': body is not a name",
        "expected: a text of at least one character",
        "got: 3",
    ),
    # motors and motions
    (
        lambda: force("motor", joint="hinge", dof=-1),
        "force 'f': dof is not a count",
        "expected: 0, 1, 2 ...",
        "got: -1",
    ),
    (
        lambda: force("motor", joint="hinge", dof=1.0),
        "force 'f': dof is not a count",
        "expected: 0, 1, 2 ...",
        "got: 1.0",
    ),
    (
        lambda: force("motor", joint="hinge", dof=True),
        "force 'f': dof is not a count",
        "expected: 0, 1, 2 ...",
        "got: True",
    ),
    (
        lambda: force("motor", joint="hinge", kp=-1),
        "force 'f': kp is too small",
        "expected: a finite number >= 0",
        "got: -1.0",
    ),
    (
        lambda: force("motor", joint="hinge", limit=0),
        "force 'f': limit is too small",
        "expected: a finite number > 0",
        "got: 0.0",
    ),
    (
        lambda: force("motor", joint="hinge", kp=2),
        "force 'f': kp needs a position",
        "expected: a position to hold, or a velocity with kd",
        "got: kp = 2, no position",
    ),
    (
        lambda: force("motion", joint="hinge", position=wt.Step(1)),
        "force 'f': position has a rate that jumps",
        SMOOTH,
        "got: a step without rise",
        "hint: give the step a rise",
    ),
    (
        lambda: force("motion", joint="hinge", position=wt.Ramp(1, start=1)),
        "force 'f': position has a rate that jumps",
        SMOOTH,
        "got: a ramp with a start or an end",
        "hint: a step with a rise, or a smooth table, starts and ends gently",
    ),
    (
        lambda: force("motion", joint="hinge", position=wt.Ramp(1, end=1)),
        "force 'f': position has a rate that jumps",
        SMOOTH,
        "got: a ramp with a start or an end",
        "hint: a step with a rise, or a smooth table, starts and ends gently",
    ),
    (
        lambda: force("motion", joint="hinge", position=wt.Table([0, 1], [0, 1])),
        "force 'f': position has a rate that jumps",
        SMOOTH,
        "got: a table of straight lines",
        "hint: smooth = true makes it a spline",
    ),
    # springs, bushings, wrenches, drag, functions
    (
        lambda: force("spring", body="a", length=-1),
        "force 'f': length is too small",
        "expected: a finite number >= 0",
        "got: -1.0",
    ),
    (
        lambda: force("spring", body="a", at=3),
        "force 'f': at is not a list of numbers",
        "expected: 3 numbers",
        "got: 3",
    ),
    (lambda: force("spring", body="a", to="a", stiffness=1), "force 'f' acts between 'a' and itself", TWO),
    (
        lambda: force("spring", body="a", length=1),
        "force 'f' does nothing",
        "expected: stiffness or damping above 0",
        "got: 0",
    ),
    (
        lambda: force("bushing", body="a"),
        "force 'f' does nothing",
        "expected: stiffness or damping or rotational_stiffness or rotational_damping above 0",
        "got: 0",
    ),
    (
        lambda: force("bushing", body="a", stiffness=(1, -2, 3)),
        "force 'f': stiffness is too small",
        "expected: a finite number >= 0",
        "got: -2.0",
    ),
    (
        lambda: force("bushing", body="a", damping=(1, 2)),
        "force 'f': damping has the wrong length",
        "expected: 3 numbers",
        "got: 2",
    ),
    (lambda: force("bushing", body="a", to="a", damping=1), "force 'f' acts between 'a' and itself", TWO),
    (lambda: force("drag", body="a"), "force 'f' does nothing", "expected: linear or quadratic above 0", "got: 0"),
    (
        lambda: force("wrench", body="a", axes="local"),
        "force 'f': axes 'local' is not known",
        "hint: known: world, body",
    ),
    (
        lambda: force("function", body="a", function=3),
        "force 'f': function cannot be called",
        "expected: a Python function f(t, position, rotation, velocity, wrench)",
        "got: 3",
    ),
    # forces and the rest of the model
    (
        lambda: whole(("motor", {"joint": "hing"})),
        "force 'f0': joint 'hing' is not known",
        "hint: did you mean 'hinge'?",
    ),
    (
        lambda: whole(("drag", {"body": "tol", "linear": 1})),
        "force 'f0': body 'tol' is not known",
        "hint: did you mean 'tool'?",
    ),
    (
        lambda: whole(("spring", {"body": "a", "to": "grund", "damping": 1})),
        "force 'f0': to 'grund' is not known",
        "hint: did you mean 'ground'?",
    ),
    (
        lambda: whole(("spring", {"body": "tool", "to": "b", "damping": 1})),
        "force 'f0' acts between 'tool' and 'b', which are on one body",
        TWO,
    ),
    (
        lambda: whole(("motor", {"joint": "table", "dof": 3})),
        "force 'f0': dof 3 is not one of joint 'table' (planar)",
        "expected: 0 to 2",
        "got: 3",
    ),
    (
        lambda: whole(("motion", {"joint": "hinge", "dof": 1})),
        "force 'f0': dof 1 is not one of joint 'hinge' (revolute)",
        "expected: 0",
        "got: 1",
    ),
    (
        lambda: whole(("motor", {"joint": "ball", "position": 0, "kp": 1})),
        "force 'f0': position is not for a spherical joint, whose coordinates are not angles",
        "expected: a revolute, prismatic, screw, cylindrical, universal, planar, homokinetic or curve joint",
        "got: joint 'ball' (spherical)",
        "hint: a bushing pulls to a pose; velocity and kd hold a speed",
    ),
    (
        lambda: whole(("motion", {"joint": "ball"})),
        "force 'f0': position is not for a spherical joint, whose coordinates are not angles",
        "expected: a revolute, prismatic, screw, cylindrical, universal, planar, homokinetic or curve joint",
        "got: joint 'ball' (spherical)",
        "hint: use joints of one degree of freedom each",
    ),
    (
        lambda: whole(("motion", {"joint": "hinge"}), ("motion", {"joint": "hinge"})),
        "force 'f1': dof 0 of joint 'hinge' is driven by 'f0' already",
        "expected: a motion alone, or motors",
        "got: a motion and a motion",
    ),
    (
        lambda: whole(("motor", {"joint": "hinge"}), ("motor", {"joint": "hinge"}), ("motion", {"joint": "hinge"})),
        "force 'f2': dof 0 of joint 'hinge' is driven by 'f0' already",
        "expected: a motion alone, or motors",
        "got: a motor and a motion",
    ),
    # forces of joints
    (
        lambda: joint("planar", damping=[1, 2]),
        "joint 'j': damping has the wrong length",
        "expected: a number, or 3 of them for the degrees of freedom of a planar joint",
        "got: 2 numbers",
    ),
    (
        lambda: joint("fixed", friction=[]),
        "joint 'j': friction has the wrong length",
        "expected: a number",
        "got: 0 numbers",
    ),
    (
        lambda: joint("planar", stiffness=[1, -1, 0]),
        "joint 'j': stiffness is too small",
        "expected: a finite number >= 0",
        "got: -1.0",
    ),
    (lambda: joint(rest="0"), "joint 'j': rest is not a number", "expected: a finite number", "got: '0'"),
    (
        lambda: joint(friction_speed=0),
        "joint 'j': friction_speed is too small",
        "expected: a finite number > 0",
        "got: 0.0",
    ),
    (
        lambda: joint("free", stiffness=2),
        "joint 'j': stiffness is not for a free joint",
        "expected: none",
        "got: 2.0",
        "hint: force('j_spring', 'bushing', body='a', ...) has one in six directions",
    ),
    (
        lambda: joint("spherical", stiffness=[1, 2, 3]),
        "joint 'j': stiffness of a spherical joint is one number",
        "expected: a number: it acts against the whole rotation",
        "got: [1.0, 2.0, 3.0]",
        "hint: a bushing has one for each axis",
    ),
    (
        lambda: joint("spherical", stiffness=1, rest=1),
        "joint 'j': rest is not for a spherical joint",
        "expected: 0: its spring is at rest where it is not turned",
        "got: 1.0",
        "hint: turn at or child_at instead",
    ),
    (
        lambda: joint(limits=Limits(lower=0, stiffness=-1)),
        "joint 'j': limits: stiffness is too small",
        "expected: a finite number >= 0",
        "got: -1.0",
    ),
    (
        lambda: joint("spherical", limits=Limits(upper=1, stiffness=1)),
        "joint 'j': limits: stiffness is not for a spherical joint",
        "expected: a joint whose coordinates are angles and lengths",
        "got: spherical",
    ),
    (
        lambda: joint(limits=Limits(effort=1, stiffness=1)),
        "joint 'j': limits: stiffness has no stop to act at",
        "expected: lower or upper",
        "got: neither",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), [(m[0], m[1:]) for m in MESSAGES], ids=[m[1][:60] for m in MESSAGES])
def test_message(wrong, message):
    with pytest.raises(ModelError) as caught:
        wrong()
    assert str(caught.value).split("\n  ") == list(message)


@pytest.mark.parametrize(
    ("name", "whose"), [("hinge", "a joint"), ("a", "a body"), ("tool", "a frame"), ("ground", "the ground")]
)
def test_a_force_has_a_name_of_its_own(name, whose):
    m = arm()
    m.force(name, "drag", body="a", linear=1)
    with pytest.raises(ModelError) as caught:
        m.compile()
    assert caught.value.what == f"force '{name}' has the name of {whose}"
    assert caught.value.hint == f"its outputs are named, as '{name}.force': give it a name of its own"
    with pytest.raises(ModelError, match=f"force '{name}' is defined twice"):
        m.force(name, "drag", body="b", linear=1)


def test_a_fixed_joint_has_no_dof_to_drive():
    m = arm()
    m.body("d", mass=1.0, inertia=UNIT)
    m.joint("weld", "fixed", "c", "d")
    m.force("drive", "motor", joint="weld")
    with pytest.raises(ModelError, match=r"dof 0 is not one of joint 'weld' \(fixed\)\n  expected: a joint that moves"):
        m.compile()


def test_motors_on_one_joint_add_up():
    whole(("motor", {"joint": "hinge"}), ("motor", {"joint": "hinge"}), ("motion", {"joint": "table", "dof": 1}))


def test_a_speed_may_be_held_where_a_position_may_not():
    whole(("motor", {"joint": "ball", "dof": 2, "velocity": 1, "kd": 3}))


# ---- files

number = st.floats(-1e6, 1e6, allow_nan=False)
positive = st.floats(1e-3, 1e3)
vector = st.tuples(number, number, number)
three = st.tuples(positive, positive, positive)
places = st.builds(lambda p, r: pose(p, rpy=r), vector, st.tuples(*[st.floats(-3, 3)] * 3))
tables = st.lists(st.tuples(st.integers(-99, 99), number), min_size=2, max_size=5, unique_by=lambda p: p[0]).map(
    lambda points: tuple(zip(*sorted(points), strict=True))
)
smooth = st.one_of(
    number,
    st.builds(wt.Ramp, number, start=st.floats(-9, 0), value=number),
    st.builds(wt.Step, number, number, number, positive),
    st.builds(wt.Sine, number, number, number, number),
    st.builds(lambda points: wt.Table(*points, smooth=True), tables),
)
functions = st.one_of(
    smooth,
    st.builds(wt.Step, number),
    st.builds(lambda points: wt.Table(*points), tables),
    st.builds(lambda rate, start, more: wt.Ramp(rate, start, 0.0, start + more), number, st.floats(0, 9), positive),
)
bodies = st.sampled_from(["a", "b", "c"])
PARAMETERS = {
    "motor": st.fixed_dictionaries(
        {"joint": st.sampled_from(["hinge", "ball", "é.x"])},
        optional={
            "dof": st.integers(0, 5),
            "torque": functions,
            "velocity": functions,
            "kd": positive,
            "limit": positive,
        },
    )
    | st.fixed_dictionaries({"joint": st.just("hinge"), "position": functions, "kp": positive}),
    "motion": st.fixed_dictionaries(
        {"joint": st.just("table")}, optional={"dof": st.integers(0, 2), "position": smooth}
    ),
    "spring": st.fixed_dictionaries(
        {"body": bodies, "stiffness": positive},
        optional={"to": st.just("tool"), "at": vector, "to_at": vector, "damping": positive, "length": positive},
    ),
    "bushing": st.fixed_dictionaries(
        {"body": bodies, "rotational_stiffness": three | positive},
        optional={"at": places, "to_at": vector, "stiffness": three, "damping": three, "rotational_damping": positive},
    ),
    "wrench": st.fixed_dictionaries(
        {"body": bodies},
        optional={"at": vector, "force": vector, "torque": vector, "axes": st.just("body"), "factor": functions},
    ),
    "drag": st.fixed_dictionaries({"body": bodies, "linear": positive}, optional={"at": vector, "quadratic": positive}),
}
names = st.text(min_size=1, max_size=12).filter(lambda s: s.isprintable() and s.strip())
sets = st.dictionaries(
    names, st.sampled_from(sorted(PARAMETERS)).flatmap(lambda k: st.tuples(st.just(k), PARAMETERS[k])), max_size=5
)
resistance = st.fixed_dictionaries(
    {},
    optional={
        "stiffness": positive | three,
        "rest": number | vector,
        "damping": positive | three,
        "friction": positive | st.just((0.0, 0.0, 0.0)),
        "friction_speed": positive,
        "limits": st.builds(lambda x, k, d: Limits(lower=-x, stiffness=k, damping=d), positive, positive, positive),
    },
)


@settings(max_examples=80, deadline=None)
@given(sets, resistance, st.booleans())
def test_round_trip_of_random_forces(forces, resists, passive):
    model = arm()
    model.passive = passive
    model.body("d", mass=1.0, inertia=UNIT)
    model.joint("resisting", "planar", "c", "d", **resists)
    for name, (kind, parameters) in forces.items():
        model.force(name, kind, **parameters)
    text = toml.dumps(model)
    back = toml.loads(text, "m.toml")
    assert back == model
    assert list(back.forces) == list(model.forces)
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


def read(text):
    return toml.loads(BODY + text, "m.toml")


def test_a_file_says_what_python_says():
    m = arm()
    m.passive = False
    m.force("drive", "motor", joint="hinge", torque=wt.Sine(2, 0.5), limit=3)
    m.force("mount", "bushing", body="c", to_at=pose((0, 0, 1), rpy=(0, 0, 1)), stiffness=5)
    text = """
        [forces.drive]
        kind = "motor"
        joint = "hinge"
        limit = 3
        [forces.drive.torque]
        kind = "sine"
        amplitude = 2
        frequency = 0.5
        [forces.mount]
        kind = "bushing"
        body = "c"
        to_at = {position = [0, 0, 1], rpy = [0, 0, 1]}
        stiffness = 5
        """
    assert toml.loads("passive = false\n" + toml.dumps(arm()) + text, "m.toml") == m


FILE_MESSAGES = [
    ("[forces.f]\njoint = 'hinge'", 9, "force 'f': key 'kind' is missing"),
    ("[forces.f]\njoint = 'hinge'\nkind = 'moter'", 11, "force 'f': kind 'moter' is not known"),
    ("[forces.f]\nbody = 'a'\nkind = 'function'", 11, "force 'f': kind 'function' cannot stand in a file"),
    ("[forces.f]\nkind = 'motor'\njoint = 'hinge'\ntorqe = 1", 12, "force 'f': key 'torqe' is not known"),
    ("[forces.f]\nkind = 'motor'", 9, "force 'f': key 'joint' is missing"),
    ("[forces.f]\nkind = 'motor'\nname = 'g'", 11, "force 'f': key 'name' is not known"),
    ("[forces.f]\nkind = 'drag'\nbody = 'a'\n\nlinear = -1", 13, "force 'f': linear is too small"),
    (
        "[forces.f]\nkind = 'motor'\njoint = 'hinge'\n[forces.f.torque]\nkind = 'ramp'\n\nrate = 'x'",
        15,
        "force 'f': torque: ramp: rate is not a number",
    ),
    (
        "[forces.f]\nkind = 'motor'\njoint = 'hinge'\ntorque = {kind = 'table', times = [0, 2, 1], values = [0, 1, 2]}",
        12,
        "force 'f': torque: table: times are out of order",
    ),
    ("[forces]\nf = 3", 10, "the file: 'forces.f' has the wrong type"),
    ("passive = 1", 9, "joint 'hinge': key 'passive' is not known"),
    ("stiffness = [1, 2]", 9, "joint 'hinge': stiffness has the wrong length"),
    ("[joints.hinge.limits]\nlower = 0\nstiffness = -1", 11, "joint 'hinge': limits: stiffness is too small"),
]


@pytest.mark.parametrize(("text", "line", "what"), FILE_MESSAGES, ids=[m[2] for m in FILE_MESSAGES])
def test_message_with_its_line(text, line, what):
    with pytest.raises(ModelError) as caught:
        read(text)
    assert (caught.value.what, caught.value.where) == (what, f"m.toml:{line}")


def test_names_in_a_file_are_looked_up_when_all_is_read(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("[forces.f]\nkind = 'drag'\nbody = 'b'\nlinear = 1\n" + BODY.removeprefix('name = "m"'))
    with pytest.raises(ModelError) as caught:
        files.load(path)
    assert (caught.value.what, caught.value.where) == ("force 'f': body 'b' is not known", f"{path}:1")


def test_passive_of_a_file_is_true_or_false():
    with pytest.raises(ModelError, match=r"'passive' has the wrong type\n  expected: true or false\n  got: 1"):
        toml.loads("passive = 1\n" + BODY, "m.toml")


def test_a_python_function_is_left_out_of_a_file(tmp_path):
    m = arm()
    m.force("thrust", "function", body="a", function=print)
    m.force("drag", "drag", body="a", linear=1)
    with pytest.warns(ModelWarning) as caught:
        files.save(m, tmp_path / "m.toml")
    assert [str(w.message) for w in caught] == ["arm: a file holds no Python functions; left out: force 'thrust'"]
    text = (tmp_path / "m.toml").read_text()
    assert '# left out: force "thrust", a Python function\n' in text
    assert list(files.load(tmp_path / "m.toml").forces) == ["drag"]


# ---- whether the forces of joints act

URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><dynamics damping="0.5" friction="0.1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def test_robot_files_switch_the_forces_of_joints_off(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    assert not files.load(path).passive
    assert files.load(path, passive=True).passive
    assert not urdf.loads(URDF, "r.urdf").passive
    mujoco = "<mujoco><worldbody><body><joint/><geom size='1' contype='0' conaffinity='0'/></body></worldbody></mujoco>"
    assert not mjcf.loads(mujoco, "m.xml").passive
    files.save(files.load(path), tmp_path / "r.toml")
    assert not files.load(tmp_path / "r.toml").passive
    assert files.load(tmp_path / "r.toml", passive=True).passive
    assert Model("m").passive


def lines_about_forces(system):
    return [line for line in system.explain().splitlines() if line.split()[0] in ("forces", "passive", "limits")]


def test_explain_says_what_acts(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    off = "does not act: load with passive=True (--passive)"
    limits = "limits     of 1 joint (j): data, no stop without a stiffness"
    assert lines_about_forces(files.load(path).compile()) == [
        f"passive    damping of 1 joint (j) {off}",
        f"passive    friction of 1 joint (j) {off}",
        limits,
    ]
    model = files.load(path, passive=True)
    model.joints["j"].limits.stiffness = 100.0
    for name in ("f1", "f2"):
        model.force(name, "wrench", body="b", force=(1, 0, 0))
    model.force("f3", "drag", body="b", linear=1)
    assert lines_about_forces(model.compile()) == [
        "forces     2 wrenches, 1 drag",
        "passive    damping of 1 joint (j) acts",
        "passive    friction of 1 joint (j) acts",
        "passive    stops of 1 joint (j) act",
    ]


def test_nothing_is_reported_of_what_is_not_there():
    assert lines_about_forces(arm().compile()) == []


def test_commands_let_the_forces_of_joints_act(tmp_path, capsys, monkeypatch):
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    for options, reported in (([], "does not act: load with passive=True (--passive)"), (["--passive"], "acts")):
        monkeypatch.setattr("sys.argv", ["whippletree", "explain", str(path), *options])
        with pytest.raises(SystemExit):
            main()
        assert f"passive    damping of 1 joint (j) {reported}\n" in capsys.readouterr().out


# ---- the model that shows them


def test_the_suspension_is_at_rest_until_the_bump_and_settles_under_the_passenger():
    system = files.load(MODELS / "suspension.toml").compile()
    run = wt.simulate(system, until=6.0)
    before = run.t < 0.5
    # the file gives lengths of springs to a micrometre
    assert np.abs(run["heave.q"][before]).max() < 1e-6
    assert run["strut.force"][0] == pytest.approx(-3989.4, abs=0.1)
    assert np.abs(run["pivot.q"]).max() > 0.1  # the stops act
    # wheel rate of the strut 40e3 (0.3 / 0.4)^2 N/m in a row with the tyre; friction and turned levers: 5 %
    assert run["heave.q"][-1] == pytest.approx(-700 * (1 / 22.5e3 + 1 / 200e3), rel=0.05)
    stored = np.ptp(run["energy.elastic"])
    assert np.abs(run["energy.balance"]).max() < 1e-7 * stored  # rtol is 1e-8 a step


@pytest.mark.parametrize(
    ("make", "reported"),
    [
        (
            lambda m: m.force("b", "bushing", body="a", to="ground", stiffness=[1, [2, 3], 1]),
            "stiffness is not a number",
        ),
        (lambda m: wt.Table([0, 1], [0, [1, 2]]), r"values\[1\] is not a number"),
        (lambda m: wt.beam(length=[1, [2]], radius=0.1, E=1e9, rho=1000.0), "not numbers"),
    ],
)
def test_lists_of_uneven_nesting_are_refused(make, reported):
    m = Model("m")
    m.body("a", mass=1.0, inertia=UNIT)
    with pytest.raises(ModelError, match=reported):
        make(m)
