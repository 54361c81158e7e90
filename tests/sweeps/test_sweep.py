"""Sweeps: values, paths into a model, what is kept, failures, the journal; each run as simulate makes it alone."""

import errno
import json
import math
import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import whippletree as wt
from whippletree.errors import ModelWarning
from whippletree.model.numbers import ROOMS, changed, leaves
from whippletree.sweeps import check, journal, sweep
from whippletree.sweeps.designs import make_plan
from whippletree.sweeps.single import DONE, FAILED, Outcome
from whippletree.sweeps.study import variables
from whippletree.sweeps.targets import find_targets, started

MODELS = Path(__file__).parents[2] / "models"
PENDULUM = MODELS / "pendulum.toml"


@pytest.fixture(scope="module")
def pendulum():
    return wt.load(PENDULUM)


@pytest.fixture(scope="module")
def suspension():
    return wt.load(MODELS / "suspension.toml")


# ---------------------------------------------------------------- values


def test_a_grid_has_all_combinations():
    plan = make_plan({"a": "1:2:3", "b": [5, 7]}, "grid", None, 0)
    assert (plan.dims, plan.shape, plan.runs) == (("a", "b"), (3, 2), 6)
    assert [plan.of(k) for k in range(6)] == [(1.0, 5.0), (1.0, 7.0), (1.5, 5.0), (1.5, 7.0), (2.0, 5.0), (2.0, 7.0)]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("0.5:2:4", [0.5, 1.0, 1.5, 2.0]),
        ("1:100:3:log", [1.0, 10.0, 100.0]),
        ("1,2,5", [1.0, 2.0, 5.0]),
        ("3", [3.0]),
        ("dopri5, rk4", ["dopri5", "rk4"]),
        (2, [2.0]),
        (np.arange(3), [0.0, 1.0, 2.0]),
        (("a", "b"), ["a", "b"]),
    ],
)
def test_values_are_read(given, values):
    read = make_plan({"x": given}, "grid", None, 0).values[0].tolist()
    assert read == (values if isinstance(values[0], str) else pytest.approx(values, rel=1e-15))  # a rounding of 10^x


def test_lists_are_taken_together():
    plan = make_plan({"a": [1, 2, 3], "b": "4,5,6"}, "together", None, 0)
    assert [plan.of(k) for k in range(3)] == [(1.0, 4.0), (2.0, 5.0), (3.0, 6.0)]
    assert plan.dims == ("run",)


@pytest.mark.parametrize("design", ["latin", "sobol", "random"])
def test_random_designs_fill_their_ranges_and_repeat(design):
    ranges = {"a": (2.0, 4.0), "b": "-1:1", "c": "0.01:100:log"}
    plan, again, other = (make_plan(ranges, design, 64, seed) for seed in (1, 1, 2))
    a, b, c = plan.values
    assert all(np.array_equal(x, y) for x, y in zip(plan.values, again.values, strict=True))
    assert not np.array_equal(a, other.values[0])
    for x, low, high in ((a, 2, 4), (b, -1, 1), (np.log10(c), -2, 2)):
        assert low <= x.min() < x.max() <= high
        if design != "random":  # one point in each of 64 slices: what both designs are for
            assert sorted(((x - low) / (high - low) * 64).astype(int)) == list(range(64))


def test_a_sobol_design_wants_a_power_of_two():
    with pytest.warns(ModelWarning, match="100 samples are no power of two"):
        make_plan({"a": (0, 1)}, "sobol", 100, 0)


@pytest.mark.parametrize(
    ("parameters", "options", "reported"),
    [
        ({}, {}, "a sweep needs parameters"),
        ({"x": [1]}, {"design": "grd"}, "design 'grd' is not known\n  hint: did you mean 'grid'"),
        ({"x": "1:2"}, {}, "parameter 'x': '1:2' cannot be read\n  expected: low:high:count, "),
        ({"x": "1:2:0"}, {}, "'1:2:0' cannot be read"),
        ({"x": "1:2:3:lag"}, {}, "'1:2:3:lag' cannot be read"),
        ({"x": "1,,2"}, {}, "'1,,2' cannot be read"),
        ({"x": "0:2:3:log"}, {}, "a logarithmic range cannot reach zero"),
        ({"x": "nan,1"}, {}, "parameter 'x' is not finite"),
        ({"x": []}, {}, "parameter 'x' has no list of values"),
        ({"x": [[1, 2], [3, 4]]}, {}, "parameter 'x' has no list of values"),
        ({"x": np.ones((2, 2))}, {}, "parameter 'x' has no list of values"),
        ({"x": [1, "a"]}, {}, "parameter 'x' is not a number"),
        ({"x": "0:1:10001", "y": "0:1:10001"}, {}, "the sweep has too many runs"),
        ({"x": "0:1:100000001"}, {}, "the sweep has too many runs"),
        ({"x": [1, 2], "y": [1]}, {"design": "together"}, "parameters taken together differ in length"),
        ({"x": [1]}, {"samples": 4}, "samples are not for a design 'grid'"),
        ({"x": (0, 1)}, {"design": "latin"}, "a design 'latin' needs samples"),
        ({"x": (0, 1)}, {"design": "latin", "samples": 0}, "samples are not a number of runs"),
        ({"x": (0, 1)}, {"design": "latin", "samples": 2.5}, "samples are not a number of runs"),
        ({"x": (0, 1)}, {"design": "latin", "samples": 4, "seed": -1}, "seed is invalid"),
        ({"x": [1, 2, 3]}, {"design": "random", "samples": 4}, "has no range to sample\n  expected: (low, high)"),
        ({"x": "1:2:9"}, {"design": "random", "samples": 4}, "has no range to sample\n  expected: low:high or"),
        ({"x": "0:2:log"}, {"design": "random", "samples": 4}, "a logarithmic range cannot reach zero"),
    ],
)
def test_values_that_cannot_be_read(parameters, options, reported):
    with pytest.raises(wt.ModelError) as refused:
        make_plan(parameters, **{"design": "grid", "samples": None, "seed": 0} | options)
    assert reported in str(refused.value)


# ---------------------------------------------------------------- paths


def number_at(part, path):
    """The number behind a path, found in another way than the library's."""
    value = getattr(part, path[0])
    for key in path[1:]:
        if key.isdigit():
            value = value[int(key)] if isinstance(value, tuple) else value
        elif key in ("x", "y", "z"):
            value = getattr(value, "position", value)["xyz".index(key)]
        elif len(key) == 2 and set(key) <= set("xyz"):
            value = value["xyz".index(key[0])]["xyz".index(key[1])]
        else:
            value = getattr(value, key) if value is not None else None
    return value


@pytest.mark.parametrize("name", [p.stem for p in sorted(MODELS.glob("*.toml"))])
def test_every_number_of_a_model_can_be_set(name):
    """To itself it changes nothing; to another value, that number and no other."""
    model, count = wt.load(MODELS / f"{name}.toml"), 0
    system = model.compile()
    for room in ROOMS:
        for owner, part in list(getattr(model, room).items())[:4]:
            for path in leaves(part):
                value = number_at(part, path)
                apart = path[-1].isdigit() and not isinstance(getattr(part, path[0]), tuple)
                if value is None or isinstance(value, tuple) or apart:  # it would change its form
                    continue
                (target,) = find_targets([".".join((room, owner, *path))], system, ())
                assert (target.room, target.part, target.path) == (room, owner, path)
                same = changed(model, {target: value})
                got = getattr(same, room)[owner]
                assert all(getattr(got, f.name) == getattr(part, f.name) for f in fields(part)), target.name
                assert list(getattr(same, room)) == list(getattr(model, room))  # in the same order
                count += 1
    assert count > 10


@pytest.mark.parametrize(
    ("path", "value", "unit"),
    [
        ("bodies.chassis.mass", 250.0, "kg"),
        ("bodies.wheel.com.z", 0.01, "m"),
        ("bodies.chassis.inertia.xy", 0.5, "kg m^2"),
        ("joints.pivot.friction", 3.0, "N m"),
        ("joints.heave.damping", 3.0, "N s/m"),
        ("joints.pivot.at.x", 0.1, "m"),
        ("joints.pivot.limits.upper", 0.2, "rad"),
        ("joints.pivot.limits.damping", 0.2, "s/rad"),
        ("joints.heave.limits.upper", 0.2, "m"),
        ("frames.strut_top.at.z", 0.5, "m"),
        ("forces.strut.stiffness", 3e4, "N/m"),
        ("forces.tyre.stiffness.z", 1e5, "N/m"),
        ("forces.tyre.to_at.z", 0.3, "m"),
        ("forces.passenger.force.z", -900.0, "N"),
        ("forces.passenger.factor.rise", 0.1, "s"),
        ("forces.passenger.factor.after", 2.0, "1"),
    ],
)
def test_paths_lead_to_numbers(suspension, path, value, unit):
    (target,) = find_targets([path], suspension.compile(), ())
    new = changed(suspension, {target: value})
    assert number_at(getattr(new, target.room)[target.part], target.path) == value
    assert (
        number_at(getattr(suspension, target.room)[target.part], target.path) != value
    )  # the model given is as it was
    assert target.unit == unit
    if target.path == ("inertia", "xy"):
        assert new.bodies["chassis"].inertia[1][0] == value


def test_names_with_dots_and_dofs_and_functions():
    m = wt.Model("m")
    m.body("a", mass=1.0, inertia=(1, 1, 1))
    m.body("a.b", mass=2.0, inertia=(1, 1, 1))
    m.joint("a", "universal", m.ground, "a", damping=(0.1, 0.2))
    m.joint("a.b", "screw", "a", "a.b", pitch=0.01)
    m.force("drive", "motor", joint="a", dof=1, torque=wt.Sine(amplitude=1.0, frequency=2.0))
    m.force("turn", "motor", joint="a.b", torque=3.0)
    system = m.compile()
    paths = (
        "bodies.a.b.mass", "joints.a.damping.1", "joints.a.damping", "joints.a.b.pitch",
        "forces.drive.torque.amplitude", "forces.drive.torque.frequency", "forces.turn.torque",
        "q.a.angle2", "u.a.b", "tau.a.b",
    )  # fmt: skip
    targets = find_targets(paths, system, ())
    values = dict(zip(targets, (3.0, 0.5, 0.7, 0.02, 4.0, 5.0, 6.0), strict=False))
    whole = values.pop(targets[2])
    new = changed(m, values)
    assert (new.bodies["a.b"].mass, new.joints["a"].damping, new.joints["a.b"].pitch) == (3.0, (0.1, 0.5), 0.02)
    assert changed(m, {targets[2]: whole}).joints["a"].damping == 0.7
    assert new.forces["drive"].torque == wt.Sine(amplitude=4.0, frequency=5.0)
    assert new.forces["turn"].torque == 6.0
    units = [target.unit for target in targets]
    assert units == ["kg", "N m s/rad", "N m s/rad", "m/rad", "N m", "Hz", "N m", "rad", "rad/s", "N m"]


def test_modes_of_flexible_bodies_can_be_started():
    system = wt.load(MODELS / "flexible_arm.toml").compile()
    mode, hinge = find_targets(["q.upper.2", "q.shoulder"], system, ())
    assert (mode.unit, hinge.unit) == ("1", "rad")
    whole = started(system, {"q": np.zeros(system.nq)}, {mode: 0.1, hinge: 0.2})["q"]
    assert np.flatnonzero(whole).tolist() == [system.q_index("shoulder").start, system.q_index("upper").start + 1]
    assert started(system, {"q": None}, {mode: 0.1})["q"] == {"upper": [0.0, 0.1, 0.0, 0.0, 0.0, 0.0]}


def test_gravity_is_its_strength_or_a_component():
    m = wt.Model("m", gravity=(0.0, 3.0, -4.0))
    m.body("a", mass=1.0, inertia=(1, 1, 1))
    m.joint("a", "free", m.ground, "a")
    system = m.compile()
    strength, side = find_targets(["gravity", "gravity.x"], system, ())
    assert changed(m, {strength: 10.0}).gravity == pytest.approx((0.0, 6.0, -8.0), rel=1e-15)
    assert changed(m, {side: 1.0}).gravity == (1.0, 3.0, -4.0)
    m.gravity = (0.0, 0.0, 0.0)
    with pytest.raises(wt.ModelError, match=r"'gravity' has no direction in 'm'\n  hint: set gravity.x"):
        find_targets(["gravity"], m.compile(), ())


@pytest.mark.parametrize(
    ("parameters", "reported"),
    [
        ({"grvity": [1]}, "parameter 'grvity' is not known\n  expected: a path as bodies.NAME.mass"),
        (
            {"bodies.rod.mas": [1]},
            "parameter 'bodies.rod.mas': 'mas' is no number of bodies.rod\n  expected: one of mass",
        ),
        (
            {"bodies.rd.mass": [1]},
            "parameter 'bodies.rd.mass': there is no 'rd' in bodies\n  hint: did you mean 'rod'?",
        ),
        ({"joints.hinge.axis.x": [1]}, "'axis.x' is no number of joints.hinge"),
        ({"joints.hinge.kind": ["a"]}, "'kind' is no number of joints.hinge"),
        ({"q.hing": [1]}, "parameter 'q.hing': joint 'hing' is not known\n  hint: did you mean 'hinge'?"),
        ({"q.hinge.x": [1]}, "parameter 'q.hinge.x' is not one number\n  expected: q.hinge"),
        ({"time": [1]}, "a parameter cannot be named 'time'"),
        ({"bodies.rod.mass": [1, -1]}, "body 'rod': mass must be positive"),
        ({"bodies.rod.mass": [1, -1]}, "where: the sweep, at bodies.rod.mass = -1.0"),
        ({"bodies.rod.mass": ["one"]}, "parameter 'bodies.rod.mass': wrong values\n  expected: numbers\n  got: 'one'"),
        ({"joints.hinge.damping": [0, -0.1]}, "joint 'hinge': damping is too small"),
        ({"joints.hinge.limits.lower": [0, 2], "joints.hinge.limits.upper": [1]}, "limits: lower is above upper"),
        ({"integrator": [1, 2]}, "parameter 'integrator': wrong values\n  expected: a name\n  got: 1.0"),
        ({"integrator": "dopri5,rk5"}, "integrator 'rk5' is not known\n  where: the sweep, at integrator = rk5"),
        ({"rtol": [1e-8, 2.0]}, "rtol is not a tolerance to integrate with"),
        ({"algorithm": "articulated,mujoco"}, "algorithm 'mujoco' is not known"),
        ({"bodies.rod.mass": "0.5:2:0"}, "'0.5:2:0' cannot be read"),
    ],
)
def test_parameters_that_are_refused_before_anything_runs(pendulum, parameters, reported, monkeypatch):
    monkeypatch.setattr("whippletree.sweeps.single.Runner.attempt", None)  # no run is made
    with pytest.raises(wt.ModelError) as refused:
        wt.sweep(pendulum, parameters, 1.0)
    assert reported in str(refused.value)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"until": 0.0}, "until must lie after the start"),
        ({"end": "hing.q"}, "result of 'pendulum' has no 'hing.q'"),
        ({"end": [1]}, "end is not a list of names"),
        ({"end": ["tip.position", "tip.position.x"]}, "'tip.position.x' is kept twice (at the end)"),
        ({"paths": "hinge.q"}, "paths need the time between two rows"),
        ({"paths": "hinge.q", "output_step": -1.0}, "output_step must be positive"),
        ({"paths": "hinge.q", "output_step": 1e-9}, "the result would not fit in memory"),
        ({"paths": "hinge.q", "output_step": 1e-8}, "the sweep would not fit in memory"),
        ({"intgrator": "rk4"}, "setting 'intgrator' is not known to sweep\n  hint: did you mean 'integrator'?"),
        ({"q": {"hing": 1.0}}, "joint 'hing' is not known"),
        ({"on": "there"}, "there is no such place to sweep on"),
        ({"workers": -1}, "workers are not a number of processes"),
        ({"workers": 1.5}, "workers are not a number of processes"),
        ({"resume": True}, "resume needs the file to go on from"),
        ({"output": "sweep.csv"}, "'sweep.csv' is not the name of a result"),
        ({"model": 3}, "there is no model to sweep"),
        ({"model": lambda mass: None, "parameters": {"mass": [1]}}, "the function does not make a model"),
        ({"model": lambda mass, length: None, "parameters": {"mass": [1]}}, "makes the model needs 'length'"),
        ({"tau": lambda t, q, u, tau: None, "parameters": {"tau.hinge": [1]}}, "'tau.hinge': tau is a function"),
    ],
)
def test_sweeps_that_are_refused(pendulum, options, reported):
    given = {"model": pendulum, "parameters": {"q.hinge": np.linspace(0, 1, 6)}, "until": 1.0} | options
    with pytest.raises(wt.ModelError) as refused:
        wt.sweep(**given)
    assert reported in str(refused.value)


def test_a_start_is_refused_before_anything_runs():
    m = wt.Model("m")
    m.body("a", mass=1.0, inertia=(1, 1, 1))
    m.joint("ball", "spherical", m.ground, "a")
    with pytest.raises(wt.ModelError, match=r"quaternion in q is not unit(.|\n)*the sweep, at q.ball.qw = 2.0"):
        wt.sweep(m, {"q.ball.qw": [1.0, 2.0]}, 1.0)
    with pytest.raises(wt.ModelError, match=r"'q.ball' is not one number\n  expected: q.ball.qw, q.ball.qx"):
        wt.sweep(m, {"q.ball": [1.0, 2.0]}, 1.0)


# ---------------------------------------------------------------- runs


def test_runs_are_those_of_simulate_to_the_bit(suspension):
    values = {"forces.strut.damping": [1e3, 3e3], "q.heave": [0.0, 0.01], "rtol": [1e-8, 1e-6]}
    kept = {"end": ["pivot.q", "wheel.velocity"], "extremes": "strut.force", "paths": ["chassis.position.z", "energy"]}
    study = wt.sweep(suspension, values, 1.0, output_step=0.01, u={"pivot": 0.1}, **kept)
    assert not study.failures
    assert study.complete
    assert study["pivot.q.end"].dims == tuple(values)
    for a, damping in enumerate(values["forces.strut.damping"]):
        model = wt.load(MODELS / "suspension.toml")
        model.forces["strut"].damping = damping
        system = model.compile()
        for b, heave in enumerate(values["q.heave"]):
            for c, rtol in enumerate(values["rtol"]):
                start = {"q": {"heave": heave}, "u": {"pivot": 0.1}}
                run = wt.simulate(system, 1.0, output_step=0.01, rtol=rtol, **start)
                at = {"forces.strut.damping": a, "q.heave": b, "rtol": c}
                one = study.dataset.isel(at)
                assert one["pivot.q.end"] == run["pivot.q"][-1]
                assert one["wheel.velocity.vz.end"] == run["wheel.velocity"][-1, 5]
                assert (one["strut.force.min"], one["strut.force.max"]) == (
                    run["strut.force"].min(),
                    run["strut.force"].max(),
                )
                assert np.array_equal(one["time"], run.t)
                assert np.array_equal(one["chassis.position.z.path"], run["chassis.position.z"])
                assert np.array_equal(one["energy.path"], run["energy"])


def test_the_dataset_describes_itself(pendulum, tmp_path):
    study = wt.sweep(
        pendulum, {"bodies.rod.mass": [1.0, 2.0], "gravity": "1.62,9.81"}, 0.5, end=["tip.velocity", "tip.rotation"]
    )
    study.save(tmp_path / "study.nc")
    with xr.open_dataset(tmp_path / "study.nc", decode_times=False) as data:
        assert dict(data.sizes) == {"bodies.rod.mass": 2, "gravity": 2, "failure": 0}
        assert data["bodies.rod.mass"].attrs["units"] == "kg"
        assert data["gravity"].attrs["units"] == "m/s^2"
        assert data["tip.velocity.vx.end"].attrs["units"] == "m/s"
        assert "at the end" in data["tip.velocity.wx.end"].attrs["long_name"]
        assert "tip.rotation.xz.end" in data
        assert wt.sweep(pendulum, {"gravity": [1.0]}, 0.5).dataset.attrs["model"] == data.attrs["model"]
    again = wt.Sweep.load(tmp_path / "study.nc")
    assert again.dataset.identical(study.dataset)
    assert "4 runs (bodies.rod.mass 2, gravity 2)" in repr(again)
    with pytest.raises(wt.ModelError, match=r"kept no 'tip.velocity.vx'\n  hint: did you mean 'tip.velocity.vx.end'"):
        again["tip.velocity.vx"]


@pytest.mark.parametrize("design", ["grid", "latin"])
def test_a_file_is_read_as_xarray_reads_it(pendulum, tmp_path, design):
    q = [0.1, 0.2] if design == "grid" else (0.0, 1.0)
    options = {"samples": 3} if design == "latin" else {}
    path = tmp_path / "s.nc"
    study = wt.sweep(
        pendulum, {"q.hinge": q}, 0.5, paths="energy", output_step=0.1, design=design, output=path, **options
    )
    again = wt.Sweep.load(path).dataset
    assert again.identical(study.dataset)
    with xr.open_dataset(path, decode_times=False) as data:
        assert again.identical(data)


def test_by_default_coordinates_velocities_and_energy_are_kept_at_the_end(pendulum):
    study = wt.sweep(pendulum, {"q.hinge": (0.0, 1.0)}, 0.5, design="latin", samples=3)
    kept = [name for name in study.dataset if not name.startswith("failure_")]
    assert kept == ["hinge.q.end", "hinge.u.end", "energy.end"]
    assert study["hinge.q.end"].dims == ("run",)
    assert study["q.hinge"].attrs["units"] == "rad"


def test_a_name_with_a_slash_is_kept_in_a_file(tmp_path):
    m = wt.Model("m")
    m.body("a/b", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1))
    m.joint("j/k", "revolute", m.ground, "a/b", axis="y")
    wt.sweep(m, {"bodies.a/b.mass": [1.0, 2.0]}, 0.1, output=tmp_path / "s.nc")
    data = wt.Sweep.load(tmp_path / "s.nc").dataset
    assert data["j|k.q.end"].dims == ("bodies.a|b.mass",)


def test_a_parameter_with_a_blank_is_a_coordinate_in_a_file_too(tmp_path):
    m = wt.Model("m")
    m.body("a", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1))
    m.joint("the hinge", "revolute", m.ground, "a", axis="y")
    with pytest.warns(xr.SerializationWarning, match="space in its name"):
        wt.sweep(m, {"q.the hinge": (0.0, 1.0)}, 0.1, design="latin", samples=2, output=tmp_path / "s.nc")
    assert "q.the hinge" in wt.Sweep.load(tmp_path / "s.nc").dataset.coords


def rod_of(length, mass=1.0):
    m = wt.Model("rod")
    m.body("rod", **wt.rod(mass=mass, length=length, axis="-z"))
    m.joint("hinge", "revolute", m.ground, "rod", axis="y", damping=0.1)
    return m


def test_a_function_builds_the_models():
    study = wt.sweep(rod_of, {"length": [0.5, 1.0], "joints.hinge.damping": [0.0, 0.2], "q.hinge": [1.0]}, 1.0)
    assert study["hinge.q.end"].dims == ("length", "joints.hinge.damping", "q.hinge")
    for a, length in enumerate((0.5, 1.0)):
        for b, damping in enumerate((0.0, 0.2)):
            m = rod_of(length)
            m.joints["hinge"].damping = damping
            alone = wt.simulate(m.compile(), 1.0, q={"hinge": 1.0})
            assert study["hinge.q.end"][a, b, 0] == alone["hinge.q"][-1]
    short = wt.sweep(lambda **given: rod_of(given["size"]), {"size": [0.5, 1.0], "q.hinge": [1.0]}, 1.0)
    assert short["hinge.q.end"][1, 0] == wt.simulate(rod_of(1.0).compile(), 1.0, q={"hinge": 1.0})["hinge.q"][-1]
    with pytest.raises(wt.ModelError, match=r"rod: mass must be positive(.|\n)*at length = 1.0, mass = -1.0"):
        wt.sweep(rod_of, {"length": [1.0], "mass": [1.0, -1.0]}, 1.0)


def test_building_is_tried_for_some_seconds_only(monkeypatch):
    monkeypatch.setattr(check, "BUILDING", 0.0)
    study = wt.sweep(rod_of, {"length": [1.0, 2.0], "mass": [1.0, -1.0]}, 0.1, workers=0)
    assert [f.parameters for f in study.failures] == [{"length": 1.0, "mass": -1.0}, {"length": 2.0, "mass": -1.0}]
    assert "mass must be positive" in study.failures[0].message


def test_what_the_function_itself_raises_costs_one_run():
    def build(length):
        return rod_of(1.0 / (length - 2.0) + 2.0)

    study = wt.sweep(build, {"length": [1.0, 2.0], "q.hinge": [1.0]}, 0.1)
    (failure,) = study.failures
    assert failure.parameters["length"] == 2.0
    assert failure.message == "ZeroDivisionError: float division by zero"


def test_joint_forces_may_be_swept_or_be_a_function(pendulum):
    study = wt.sweep(pendulum.compile(), {"tau.hinge": [0.0, 2.0]}, 1.0, q=[0.3], u=[0.1], tau=[5.0])
    alone = wt.simulate(pendulum.compile(), 1.0, q=[0.3], u=[0.1], tau=[2.0])
    assert study["hinge.q.end"][1] == alone["hinge.q"][-1]

    def push(t, q, u, tau):
        tau[0] = math.sin(t)

    study = wt.sweep(pendulum, {"q.hinge": [0.0, 0.3]}, 1.0, tau=push, workers=0)
    assert study["hinge.q.end"][1] == wt.simulate(pendulum.compile(), 1.0, q=[0.3], tau=push)["hinge.q"][-1]


# ---------------------------------------------------------------- failures


def test_failures_are_kept_apart():
    """A crank of 3 m does not fit into a four bar of 1 m: these loops cannot close, and the others go on."""
    bar = wt.load(MODELS / "four_bar.toml")
    study = wt.sweep(bar, {"joints.pin.at.x": [0.3, 3.0, 0.35]}, 0.2, u={"shaft": 3.0}, assemble=True, end="rock.q")
    assert study.complete
    (failure,) = study.failures
    assert (failure.run, failure.parameters) == (1, {"joints.pin.at.x": 3.0})
    assert "cannot be closed" in failure.message
    assert np.isnan(study["rock.q.end"]).values.tolist() == [False, True, False]
    system = bar.compile()
    state = wt.assemble(system, u={"shaft": 3.0})
    assert study["rock.q.end"][0] == wt.simulate(system, 0.2, q=state.q, u=state.u)["rock.q"][-1]
    with pytest.raises(wt.ModelError, match="cannot be closed"):  # none of them can begin
        wt.sweep(bar, {"joints.pin.at.x": [3.0, 4.0]}, 0.2, assemble=True)
    with pytest.raises(wt.ModelError, match="the start of 'four bar' is not closed"):
        wt.sweep(bar, {"joints.pin.at.x": [0.3, 0.31]}, 0.2)


def refused(v):
    """A slide with a velocity of its own; another one contradicts it unless it is the same."""
    m = wt.Model("slide", gravity=(0, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("x", "prismatic", m.ground, "b", axis="x")
    m.constraint("own", "speed", joint="x", speed=1.0)
    m.constraint("other", "speed", joint="x", speed=float(v))
    m.temporary("other", activate_at=0.2)
    return m


REFUSED = {"v": [1.0, 2.0, 3.0, 1.0]}


def swept(*arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study = wt.sweep(*arguments, **options)
    assert all(w.filename == __file__ for w in caught)
    return study, [str(w.message) for w in caught]


@pytest.mark.parametrize("workers", [0, 2])
def test_warnings_of_runs_are_kept_by_run_and_reported_once(tmp_path, workers):
    study, reported = swept(refused, REFUSED, 0.5, end="x.q", workers=workers, output=tmp_path / "s.nc")
    assert [(noted.run, noted.parameters) for noted in study.warnings] == [(1, {"v": 2.0}), (2, {"v": 3.0})]
    for noted in study.warnings:
        with pytest.warns(wt.ModelWarning):
            alone = wt.simulate(refused(noted.parameters["v"]).compile(), 0.5)
        assert [noted.message] == alone.attrs["warnings"]
    (text,) = reported
    assert text.startswith(
        "2 of 4 runs of the sweep of 'slide' warned; the first, at v = 2.0: temporary 'other' is not"
    )
    assert wt.Sweep.load(tmp_path / "s.nc").warnings == study.warnings
    assert study.dataset["warning_message"].dims == ("warning",)
    assert variables(study.dataset) == ["x.q.end"]
    assert "2 warned" in repr(study)
    again, reported = swept(refused, REFUSED, 0.5, end="x.q", output=tmp_path / "s.nc", resume=True)
    assert (again.warnings, reported) == (study.warnings, [text])


def test_an_interrupted_sweep_keeps_its_warnings(tmp_path):
    path = tmp_path / "s.nc"
    with pytest.raises(KeyboardInterrupt) as stopped:
        wt.sweep(refused, REFUSED, 0.5, end="x.q", workers=0, output=path, progress=stop_after(2))
    assert [noted.run for noted in stopped.value.partial.warnings] == [1]
    study, reported = swept(refused, REFUSED, 0.5, end="x.q", workers=0, output=path, resume=True)
    assert [noted.run for noted in study.warnings] == [1, 2]
    assert len(reported) == 1


def test_a_run_warns_of_its_system_whichever_ran_before():
    """A System warns of its armature once, where it is compiled, and the runs share it."""
    model = wt.load(MODELS / "four_bar.toml")
    joint = model.compile().cut_joints[0]
    model.joints[joint] = replace(model.joints[joint], armature=0.1)
    study, reported = swept(model, {"u.shaft": [2.0, 3.0]}, 0.1, assemble=True, end="rock.q", workers=0)
    assert [noted.run for noted in study.warnings] == [0, 1]
    assert len(reported) == 1
    assert "armature" in reported[0]


def test_a_warning_that_is_an_error_carries_the_sweep():
    with warnings.catch_warnings():
        warnings.simplefilter("error", wt.ModelWarning)
        with pytest.raises(wt.ModelWarning) as raised:
            wt.sweep(refused, REFUSED, 0.5, end="x.q", workers=0)
    assert raised.value.partial.complete


def test_what_a_function_raises_costs_one_run(pendulum, tmp_path):
    def push(t, q, u, tau):
        if q[0] > 1.0:
            raise ZeroDivisionError("too far")

    study = wt.sweep(pendulum, {"q.hinge": [0.5, 1.5]}, 0.5, tau=push, workers=0, output=tmp_path / "s.nc")
    (failure,) = study.failures
    assert "too far" in failure.message
    again = wt.Sweep.load(tmp_path / "s.nc")
    assert again.failures == study.failures
    assert again.complete


# ---------------------------------------------------------------- files


VALUES = {"q.hinge": np.linspace(0.1, 2.0, 12)}


@pytest.fixture(scope="module")
def whole(pendulum):
    return wt.sweep(pendulum, VALUES, 0.5)


def stop_after(count):
    def look(reached):
        if reached == count:
            raise KeyboardInterrupt

    return look


def test_an_interrupted_sweep_goes_on(pendulum, whole, tmp_path, monkeypatch):
    path = tmp_path / "s.nc"
    with pytest.raises(KeyboardInterrupt) as stopped:
        wt.sweep(pendulum, VALUES, 0.5, output=path, progress=stop_after(5))
    assert stopped.value.__notes__ == [f"kept: {path}, with 5 of 12 runs; resume goes on from there"]
    partial = wt.Sweep.load(path)
    assert stopped.value.partial.dataset.identical(partial.dataset)
    assert not partial.complete
    assert np.array_equal(partial["hinge.q.end"][:5], whole["hinge.q.end"][:5])
    assert np.isnan(partial["hinge.q.end"][5:]).all()
    seen = []
    resumed = wt.sweep(pendulum, VALUES, 0.5, output=path, resume=True, progress=lambda n: seen.append(int(n)))
    assert seen == list(range(6, 13))  # no run is made twice
    assert resumed.dataset.identical(whole.dataset)
    assert wt.Sweep.load(path).dataset.identical(whole.dataset)
    assert [p.name for p in tmp_path.iterdir()] == ["s.nc"]
    monkeypatch.setattr("whippletree.sweeps.single.Runner.attempt", None)
    assert wt.sweep(pendulum, VALUES, 0.5, output=path, resume=True).dataset.identical(whole.dataset)


def test_a_full_disk_is_reported_and_does_not_hide_what_stopped_the_sweep(pendulum, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "write", lambda *_, **__: full_disk())
        with pytest.raises(KeyboardInterrupt) as stopped:
            wt.sweep(pendulum, VALUES, 0.5, output=tmp_path / "s.nc", progress=stop_after(5))
        assert stopped.value.__notes__[0] == "the result cannot be written: No space left on device"
    monkeypatch.setattr(journal.os, "write", full)
    with pytest.raises(wt.SimulationError, match=r"runs cannot be kept: No space left on device\n  where: .*s.nc.runs"):
        wt.sweep(pendulum, VALUES, 0.5, output=tmp_path / "s.nc")


def full_disk():
    raise wt.SimulationError("the result cannot be written: No space left on device")


@pytest.mark.parametrize("cut", [1, 9, 40, 200])
def test_a_torn_journal_loses_only_what_is_torn(pendulum, whole, tmp_path, cut):
    path, beside = tmp_path / "s.nc", tmp_path / "s.nc.runs"
    with pytest.raises(KeyboardInterrupt):
        wt.sweep(pendulum, VALUES, 0.5, output=path, progress=stop_after(9))
    beside.write_bytes(beside.read_bytes()[:-cut] + b"\0" * (cut // 2))
    seen = []
    resumed = wt.sweep(pendulum, VALUES, 0.5, output=path, resume=True, progress=seen.append)
    assert 12 - 9 < len(seen) <= 12 - 9 + 1 + cut // 40
    assert resumed.dataset.identical(whole.dataset)


def test_a_journal_without_a_head_is_begun_anew(pendulum, whole, tmp_path):
    (tmp_path / "s.nc.runs").write_bytes(b"nothing of ours")
    study = wt.sweep(pendulum, VALUES, 0.5, output=tmp_path / "s.nc", resume=True)
    assert study.dataset.identical(whole.dataset)


def test_a_journal_keeps_numbers_and_messages(tmp_path):
    path = tmp_path / "j"
    book = journal.begin(path, {"a": 1})
    book.add(3, Outcome(DONE, np.array([1.5, np.nan])))
    book.add(1, Outcome(FAILED, message="größer", warnings=("ä", "b")))
    book.close()
    kept = journal.read(path, 2)
    book = kept.go_on(path)
    book.add(0, Outcome(DONE, np.array([0.0, 1.0])))
    book.close()
    assert kept.identity == {"a": 1}
    assert list(kept.runs) == [3, 1]
    assert kept.runs[1] == Outcome(FAILED, message="größer", warnings=("ä", "b"))
    assert kept.runs[3].numbers.tobytes() == np.array([1.5, np.nan]).tobytes()
    assert list(journal.read(path, 2).runs) == [3, 1, 0]


def test_another_sweep_is_not_gone_on_with(pendulum, tmp_path):
    path = tmp_path / "s.nc"
    with pytest.raises(KeyboardInterrupt):
        wt.sweep(pendulum, VALUES, 0.5, output=path, progress=stop_after(2))
    before = (tmp_path / "s.nc.runs").read_bytes()
    for options, what in (({"until": 0.6}, "until"), ({"end": "hinge.q"}, "kept"), ({"rtol": 1e-6}, "settings")):
        with pytest.raises(wt.ModelError, match=f"it is of another sweep: {what} differ"):
            wt.sweep(pendulum, VALUES, **{"until": 0.5} | options, output=path, resume=True)
    with pytest.raises(wt.ModelError, match="values differ"):
        wt.sweep(pendulum, {"q.hinge": np.linspace(0.2, 2.0, 12)}, 0.5, output=path, resume=True)
    assert (tmp_path / "s.nc.runs").read_bytes() == before
    (tmp_path / "s.nc.runs").unlink()
    with pytest.raises(wt.ModelError, match=r"s.nc.runs' is missing"):
        wt.sweep(pendulum, VALUES, 0.5, output=path, resume=True)
    done = wt.sweep(pendulum, VALUES, 0.5, output=path)
    assert json.loads(done.dataset.attrs["sweep"])["until"] == 0.5
    with pytest.raises(wt.ModelError, match="another sweep: until differ"):
        wt.sweep(pendulum, VALUES, 0.7, output=path, resume=True)


def test_files_that_are_no_sweeps(tmp_path, pendulum):
    with pytest.raises(wt.ModelError, match="there is no file"):
        wt.Sweep.load(tmp_path / "none.nc")
    (tmp_path / "bad.nc").write_bytes(b"not HDF5")
    with pytest.raises(wt.ModelError, match="damaged or not a NetCDF file"):
        wt.Sweep.load(tmp_path / "bad.nc")
    wt.simulate(pendulum.compile(), 0.1, output=tmp_path / "run.nc")
    with pytest.raises(wt.ModelError, match="is the result of one run, not a sweep"):
        wt.Sweep.load(tmp_path / "run.nc")


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize(
    ("parameters", "options", "panels"),
    [
        ({"q.hinge": "0:1:5"}, {}, 1),
        ({"q.hinge": "0:1:5", "gravity": "1:9:3"}, {}, 2),  # a map and its bar
        ({"q.hinge": "0:1:5", "gravity": "1:9:3", "rtol": [1e-8, 1e-6], "algorithm": "articulated"}, {}, 2),
        ({"q.hinge": "0:1", "gravity": "1:9"}, {"design": "latin", "samples": 5}, 2),
        ({"q.hinge": "0:1"}, {"design": "latin", "samples": 5}, 1),
        ({"q.hinge": "0:1:5"}, {"end": None, "paths": "hinge.q", "output_step": 0.1}, 1),
    ],
)
def test_a_sweep_is_drawn(pendulum, tmp_path, parameters, options, panels):
    study = wt.sweep(pendulum, parameters, 0.2, **{"end": "hinge.q"} | options)
    figure = study.plot(path=tmp_path / "p.svg")
    assert len(figure.axes) == panels
    assert "hinge.q." in (tmp_path / "p.svg").read_text("utf-8")


def test_what_cannot_be_drawn(pendulum, tmp_path):
    study = wt.sweep(pendulum, {"algorithm": "articulated"}, 0.1)
    with pytest.raises(wt.ModelError, match=r"'hinge.q.end' cannot be drawn\n  expected: a parameter that is a number"):
        study.plot("hinge.q.end", path=tmp_path / "p.svg")
    with pytest.raises(wt.ModelError, match=r"'failure_run' cannot be drawn\n  expected: one of hinge.q.end"):
        study.plot("failure_run", path=tmp_path / "p.svg")
