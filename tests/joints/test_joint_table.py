"""The joint table: no kind is named outside it; and what the two kinds that follow from it must do by physics."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.files.toml_writer import dumps
from whippletree.joints import CODES, KINDS, MOVING
from whippletree.joints.curve import length, table_of

SRC = Path(wt.__file__).parent
ROOT = Path(__file__).parents[2]
# files where a word is a kind's name and must be: foreign formats, options of the user's, models that are built, and
# homonyms: kinds of modes ("free"), of meshes and coordinate systems
ALLOWED = {
    "files/urdf.py", "files/mjcf.py", "files/mjcf_source.py", "files/mjcf_refusals.py", "files/mjcf_visuals.py",
    "files/__init__.py", "dynamics/auto/calibrate.py", "model/constraints.py",
    "result/pictures/gif.py",  # of an argument of Pillow: "curve"
    "realtime/window.py",  # nobody holds the controls: "free"
    "analysis/equilibrium.py", "analysis/point.py",  # the argument "fixed": joints that are held
}  # fmt: skip
FREE_ROOMS = {"joints", "modes"}
G = 9.81


def named(path):
    """Lines of a file where a string is the name of a joint kind, or a name is one in capitals."""
    capitals = {kind.upper() for kind in KINDS} - {"FREE", "FIXED"}  # FREE is an operation of reduction
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and node.value in KINDS:
            yield node.lineno, node.value
        if isinstance(node, ast.Name) and node.id in capitals:
            yield node.lineno, node.id


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: p.relative_to(SRC).as_posix())
def test_no_kind_is_named_outside_the_table(path):
    name = path.relative_to(SRC).as_posix()
    if name in ALLOWED or name.split("/")[0] in FREE_ROOMS:
        pytest.skip("on the list, with its reason")
    found = list(named(path))
    assert not found, f"{name} names joint kinds {found}: ask whippletree.joints.KINDS instead"


def test_the_reader_of_names_can_fail(tmp_path):
    file = tmp_path / "x.py"
    file.write_text('if joint.kind == "universal" or kind == SPHERICAL:\n    pass\n')
    assert [word for _, word in named(file)] == ["universal", "SPHERICAL"]


def test_the_table_is_sorted_by_group_and_complete():
    groups = [kind.group for kind in MOVING]
    assert groups == sorted(groups)
    assert [CODES[kind.name] for kind in MOVING] == list(range(len(MOVING)))
    page = (ROOT / "docs" / "reference" / "joints.md").read_text("utf-8")
    for kind in KINDS.values():
        assert kind.nu == len(kind.dofs)
        assert kind.about
        assert f"| `{kind.name}` |" in page
        if kind.kernels is not None:
            assert kind.operations > 0


# ---------------------------------------------------------------- homokinetic


def drive_shaft(kind, bend):
    m = wt.Model("shafts")
    for name in ("first", "second"):
        m.body(name, mass=1.0, com=(0, 0, 0.2), inertia=(0.02, 0.02, 0.01))
    m.joint("in", "revolute", "ground", "first")
    axes = {"axis": "x", "axis2": "y"} if kind == "universal" else {}
    m.joint("deformed", kind, "first", "second", at=(0, 0, 0.5), **axes)
    end = np.array([0.0, math.sin(bend), math.cos(bend)]) * 0.5 + (0, 0, 0.5)
    at = {"position": end.tolist(), "rpy": [-bend, 0.0, 0.0]}
    m.joint("out", "revolute", "ground", "second", at=at, child_at=(0, 0, 0.5))
    return m.compile()


@pytest.mark.parametrize("bend", [0.2, 0.7, 1.2])
def test_a_homokinetic_joint_turns_both_shafts_at_one_speed_and_a_universal_does_not(bend):
    axis = np.array([0.0, math.sin(bend), math.cos(bend)])
    for kind, even in (("homokinetic", True), ("universal", False)):
        system = drive_shaft(kind, bend)
        ratios = []
        for angle in (0.0, 0.4, 1.1, 2.0, 3.0):
            start = wt.assemble(system, {"in": angle}, {"in": 2.0})
            k = wt.kinematics(system, start.q, start.u)
            ratios.append(float(k.velocity("second")[:3] @ axis / k.velocity("first")[2]))
        if even:  # assemble closes loops to 1e-10
            assert np.allclose(ratios, 1.0, rtol=0, atol=1e-9)
        else:  # cos b at one angle, 1 / cos b a quarter of a turn on
            assert max(ratios) > 1.01
            assert min(ratios) < 0.99
            assert math.cos(bend) - 1e-9 <= min(ratios)
            assert max(ratios) <= 1 / math.cos(bend) + 1e-9


def test_a_homokinetic_joint_never_twists():
    """w . (z_A + z_B) = 0 at any bend and speed."""
    m = wt.Model("one")
    m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.joint("j", "homokinetic", "ground", "b")
    system, rng = m.compile(), np.random.default_rng(3)
    for _ in range(20):
        k = wt.kinematics(system, rng.uniform(-2, 2, 2), rng.normal(size=2))
        assert abs(k.velocity("b")[:3] @ (k.rotation("b")[:, 2] + (0, 0, 1))) < 1e-14 * 10


# ---------------------------------------------------------------- curves


def bead(points, **shape):
    m = wt.Model("bead")
    m.body("bead", mass=0.7, inertia=(1e-3, 1e-3, 1e-3))
    m.joint("wire", "curve", "ground", "bead", points=points, **shape)
    return m.compile()


def test_a_bead_on_a_circle_is_a_pendulum():
    r, count = 0.8, 48
    angles = 2 * np.pi * np.arange(count) / count
    system = bead([(r * math.sin(a), 0.0, -r * math.cos(a)) for a in angles], closed=True, orientation="fixed")
    # a quintic spline with 48 points on a circle is within (2 pi / 48)^6 / 1000 of it; accelerations two orders less
    assert length(system.model.joints["wire"]) == pytest.approx(2 * np.pi * r, rel=1e-8)
    for q, u in ((0.3, 0.0), (1.9, 2.0), (4.0, -3.0), (7.3, 1.0)):
        udot = wt.forward_dynamics(system, [q], [u])[0]
        assert udot == pytest.approx(-G * math.sin(q / r), abs=2e-5)


def test_a_bead_on_a_cycloid_swings_in_a_time_that_no_amplitude_changes():
    """The force along the way is -m g s / 4a, s from the bottom: a harmonic oscillator, T = 4 pi sqrt(a/g)."""
    a = 0.5
    theta = np.linspace(0.3, 2 * np.pi - 0.3, 161)
    system = bead(np.stack([a * (theta - np.sin(theta)), 0 * theta, -a + a * np.cos(theta)], -1), orientation="fixed")
    middle = 0.5 * length(system.model.joints["wire"])
    for s in (0.05, 0.4, 0.9, 1.4):
        udot = wt.forward_dynamics(system, [middle + s], [0.0])[0]
        assert udot == pytest.approx(-G / (4 * a) * s, rel=1e-5)
    turns = []
    for s in (0.2, 1.2):
        run = wt.simulate(system, 1.6, q=[middle + s], u=[0.0], output_step=0.001, rtol=1e-10)
        x = run["wire.q"] - middle
        n = int(np.flatnonzero(x < 0)[0])
        turns.append(0.001 * (n - 1 + x[n - 1] / (x[n - 1] - x[n])))
    quarter = math.pi * math.sqrt(a / G)
    assert turns[0] == pytest.approx(quarter, rel=1e-4)
    assert turns[1] == pytest.approx(quarter, rel=1e-4)


def test_a_banked_curve_holds_its_car_against_weight_and_centripetal_force():
    r, count, v, bank = 20.0, 60, 11.0, 0.6
    angles = 2 * np.pi * np.arange(count) / count
    points = [(r * math.cos(a), r * math.sin(a), 0.0) for a in angles]
    up = [(-math.sin(bank) * math.cos(a), -math.sin(bank) * math.sin(a), math.cos(bank)) for a in angles]
    m = wt.Model("curve")
    m.body("car", mass=3.0, inertia=(0.1, 0.2, 0.3))
    m.joint("track", "curve", "ground", "car", points=points, closed=True, up=up)
    system = m.compile()
    force = wt.reactions(system, [3.0], [v])["track"][3:]
    k = wt.kinematics(system, [3.0])
    inward = -k.position("car") / r
    assert force @ inward == pytest.approx(3.0 * v * v / r, rel=1e-6)
    assert force[2] == pytest.approx(3.0 * G, rel=1e-6)
    side, normal = k.rotation("car")[:, 1], k.rotation("car")[:, 2]
    assert force @ side == pytest.approx(3.0 * (v * v / r * math.cos(bank) - G * math.sin(bank)), rel=1e-5)
    assert force @ normal == pytest.approx(3.0 * (v * v / r * math.sin(bank) + G * math.cos(bank)), rel=1e-6)


def test_the_roller_coaster_keeps_its_energy():
    system = wt.load(ROOT / "models" / "roller_coaster.toml")
    system.joints["hanger"].damping = 0.0
    run = wt.simulate(system.compile(), 20.0, u={"track": 4.0}, rtol=1e-9)
    energy = run["energy"]
    assert np.ptp(energy) < 1e-5 * np.ptp(run["energy.kinetic"])
    assert run["track.q"][-1] > 100.0


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 9])
def test_a_closed_curve_of_any_number_of_points_is_smooth(count):
    """The pieces meet with four equal derivatives, at the seam too."""
    rng, turns = np.random.default_rng(count), 2.0 * np.pi * np.arange(count) / count
    points = np.column_stack([np.cos(turns), np.sin(turns), 0.0 * turns]) + 0.1 * rng.normal(size=(count, 3))
    numbers = table_of(tuple(map(tuple, points)), True, "fixed", None)
    begin, rows = numbers[3 : 3 + count], numbers[3 + count :].reshape(count, -1)
    pieces = rows[:, :18].reshape(count, 3, 6)  # coefficients of rising powers
    lengths = np.append(begin[1:], numbers[1]) - begin
    for order in range(5):
        slopes = [[np.polynomial.Polynomial(c).deriv(order) for c in piece] for piece in pieces]
        ends = np.array([[p(h) for p in piece] for piece, h in zip(slopes, lengths, strict=True)])
        starts = np.roll([[p(0.0) for p in piece] for piece in slopes], -1, axis=0)
        assert np.abs(ends - starts).max() < 1e-9 * max(1.0, np.abs(starts).max()), f"derivative {order}"


def test_up_that_turns_least_stays_across_and_closes():
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    loop = [(math.cos(a), math.sin(a), 0.4 * math.sin(3 * a)) for a in angles]
    system = bead(loop, closed=True, up="minimal")
    L = length(system.model.joints["wire"])
    for q in (0.0, 1.0):
        a, b = (wt.kinematics(system, [x]).rotation("bead") for x in (q, q + L))
        assert np.allclose(a, b, atol=1e-12)
    Q = np.linspace(0, L, 40)[:, None]
    k = wt.kinematics(system, Q, np.ones_like(Q))
    w, tangent = k.velocity("bead")[:, :3], k.rotation("bead")[:, :, 0]
    turn, bend = np.abs((w * tangent).sum(axis=1)).max(), np.linalg.norm(w, axis=1).max()
    assert turn < 0.3 * bend


def bar_on_a_wire(second):
    """A bar whose ends slide on a wire along x, and on a second joint along z."""
    m = wt.Model("trammel")
    for name in ("shoe1", "shoe2", "bar"):
        m.body(name, mass=0.5, inertia=(0.01, 0.01, 0.01))
    m.joint("guide", "prismatic", "ground", "shoe2", axis="-z") if second == "prismatic" else m.joint(
        "guide", "curve", "ground", "shoe2", points=[(0, 0, -z) for z in range(5)], orientation="fixed"
    )
    m.joint("pin2", "revolute", "bar", "shoe2", axis="y", at=(1, 0, 0))
    m.joint("pin1", "revolute", "shoe1", "bar", axis="y")
    m.joint("wire", "curve", "ground", "shoe1", points=[(x, 0, 0) for x in range(5)], orientation="fixed")
    return m


def test_a_curve_in_a_loop_is_never_cut():
    """An ellipse trammel on a straight wire, which moves as one on two slides."""
    system = bar_on_a_wire("prismatic").compile()
    assert system.cut_joints == ("guide",)
    start = wt.assemble(system, {"wire": 0.6}, {"wire": 1.0})
    k = wt.kinematics(system, start.q, start.u)
    z, speed = k.position("shoe2")[2], k.velocity("shoe2")[5]
    assert abs(z) == pytest.approx(0.8, abs=1e-9)
    assert z * speed == pytest.approx(-0.6, abs=1e-9)  # x x' + z z' = 0
    answers = [wt.forward_dynamics(system, start.q, start.u, algorithm=a) for a in ("reduction", "multipliers")]
    assert np.allclose(*answers, rtol=1e-9, atol=1e-9)


def test_a_loop_between_two_curves_on_one_body_is_refused():
    with pytest.raises(wt.ModelError, match="closes a loop, which its kind cannot"):
        bar_on_a_wire("curve").compile()


def wire(**given):
    m = wt.Model("m")
    m.body("b", mass=1.0, inertia=(1, 1, 1))
    kind = given.pop("kind", "curve")
    m.joint("w", kind, "ground", "b", **given)
    return m


STRAIGHT = [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
CROOKED = np.cumsum(np.random.default_rng(2).normal(size=(7, 3)), axis=0).tolist()  # a random walk: nothing settles


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({}, "points of a curve are missing"),
        ({"points": [(0, 0, 0)]}, "too few points for an open curve"),
        ({"points": STRAIGHT, "closed": True}, "too few points for a closed curve"),
        ({"points": STRAIGHT, "closed": 1}, "closed is neither true nor false"),
        ({"points": [(0, 0, 0), (1, 0, 0), (1, 0, 0)]}, "points 1 and 2 of the curve are the same"),
        ({"points": STRAIGHT, "orientation": "tangential"}, "orientation 'tangential' is not known"),
        ({"points": STRAIGHT, "up": "minimum"}, "up 'minimum' is not known"),
        ({"points": STRAIGHT, "up": [(0, 0, 1)]}, "up has the wrong length"),
        ({"points": STRAIGHT, "up": (1, 0, 0)}, "up is along the curve"),
        ({"points": CROOKED, "orientation": "fixed"}, "no smooth curve was found through these points"),
        ({"points": CROOKED, "closed": True}, "no smooth curve was found through these points"),
        ({"points": STRAIGHT, "point": 1}, "a curve joint takes no point"),
        ({"kind": "revolute", "points": STRAIGHT}, "a revolute joint takes no points"),
    ],
)
def test_curves_that_are_none_are_refused(given, reported):
    with pytest.raises(wt.ModelError) as caught:
        wire(**given)
    assert reported in str(caught.value)


def test_two_curves_alone_close_no_loop():
    m = wire(points=STRAIGHT)
    m.joint("other", "curve", "ground", "b", points=STRAIGHT)
    with pytest.raises(wt.ModelError, match="closes a loop, which its kind cannot"):
        m.compile()


def test_curves_are_written_and_read_back(tmp_path):
    m = wire(points=[(0, 0, 0), (1, 0, 0.5), (2, 1, 0)], up="minimal")
    (tmp_path / "m.toml").write_text(dumps(m))
    assert wt.load(tmp_path / "m.toml").joints == m.joints
