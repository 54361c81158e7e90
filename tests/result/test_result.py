"""Results: names, labels, files that are whole or not there, pictures."""

import io
import os
import re
import warnings

import numpy as np
import pytest
import xarray as xr

import whippletree as wt
from whippletree import joints
from whippletree.errors import ModelError
from whippletree.result import Result, load_result, report, result
from whippletree.result.columns import joint_quantity
from whippletree.result.pictures import plot

KINDS = wt.model.JOINT_KINDS
PARAMETERS = {"screw": {"pitch": 0.1}, "curve": {"points": [(0, 0, 0), (1, 0, 0), (1, 1, 0)]}}


def one_of_each():
    """A chain with one joint of every kind, and a frame at its end."""
    m = wt.Model("one of each")
    last = m.ground
    for kind in KINDS:
        body = m.body(f"{kind} body", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.15))
        m.joint(kind, kind, last, body, at=(0.2, 0, 0), **PARAMETERS.get(kind, {}))
        last = body
    m.frame("tip", last, (0.3, 0, 0))
    return m.compile()


@pytest.fixture(scope="module")
def pendulum():
    m = wt.Model("pendulum <1>")
    rod = m.body("rod", **wt.rod(mass=1.0, length=1.0, axis="-z"))
    m.joint("hinge", "revolute", m.ground, rod, axis="y")
    m.frame("tip", rod, (0, 0, -1.0))
    return wt.simulate(m.compile(), until=0.5, q={"hinge": 1.0}, integrator="rk4", step=0.01)


@pytest.fixture(scope="module")
def each():
    system = one_of_each()
    return wt.simulate(system, until=0.02, integrator="rk4", step=0.005, u=np.linspace(0.1, 1, system.nu))


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("kind", KINDS)
def test_every_coordinate_and_speed_has_a_label_and_a_unit(kind):
    assert (len(joints.KINDS[kind].coordinates), len(joints.KINDS[kind].rates)) == KINDS[kind]
    assert all(unit.endswith("/s^2") for unit in joint_quantity(one_of_each(), kind, "udot").units)


def test_every_name_answers_with_its_shape(each):
    for name in each.names():
        values, quantity = each[name], each.quantity(name)
        vector = (3, 3) if name.endswith(".rotation") else (len(quantity.labels),) if len(quantity.labels) > 1 else ()
        assert values.shape == (len(each), *vector), name
        assert len(quantity.units) == max(1, len(quantity.labels)), name
        assert np.isfinite(values).all(), name
        assert name in each


def test_names_agree_with_the_functions(each):
    k = wt.kinematics(each.system, each.q[2], each.u[2])
    for place in ("free body", "tip"):
        np.testing.assert_allclose(each[f"{place}.position"][2], k.position(place), atol=1e-13)
        np.testing.assert_allclose(each[f"{place}.rotation"][2], k.rotation(place), atol=1e-13)
        np.testing.assert_allclose(each[f"{place}.velocity"][2], k.velocity(place), atol=1e-13)
    np.testing.assert_array_equal(each["free.q"], each.q[:, each.system.q_index("free")])
    np.testing.assert_allclose(each["energy"], each["energy.kinetic"] + each["energy.potential"], rtol=1e-14)
    np.testing.assert_allclose(each["momentum"][1], wt.momentum(each.system, each.q[1], each.u[1]), rtol=1e-12)


def test_accelerations_are_computed_when_not_given(each):
    bare = Result(each.system, each.t, each.q, each.u)
    expected = wt.forward_dynamics(each.system, each.q, each.u)
    np.testing.assert_allclose(bare["free.udot"], expected[:, each.system.u_index("free")], rtol=1e-12)


def test_kinematics_in_pieces_is_the_same(each, monkeypatch):
    whole = each["tip.velocity"]
    monkeypatch.setattr(result, "BODIES_AT_ONCE", 2 * each.system.nb)
    pieces = Result(each.system, each.t, each.q, each.u)["tip.velocity"]
    np.testing.assert_allclose(pieces, whole, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hinge.x", "did you mean 'hinge."),
        ("hinge", "did you mean 'hinge.q'?"),
        ("tip", "did you mean 'tip.position'?"),
        ("hing.q", "hinge.q"),
        ("tip.positon", "tip.position"),
        ("energy.kinetik", "energy.kinetic"),
        ("zzzzzzzz", "names() lists them all"),
    ],
)
def test_an_unknown_name_gets_the_nearest(pendulum, name, hint):
    with pytest.raises(ModelError, match=f"has no '{name}'") as error:
        pendulum[name]
    assert hint in str(error.value)
    assert name not in pendulum


def test_arrays_of_the_wrong_shape_are_refused(pendulum):
    with pytest.raises(ModelError, match=re.escape("expected: (51, 1)\n  got: (51, 2)")):
        Result(pendulum.system, pendulum.t, np.zeros((51, 2)), pendulum.u)


def test_the_repr_helps(pendulum):
    text = repr(pendulum)
    for part in ("pendulum <1>", "51 times from 0 to 0.5 s", "rk4", '["hinge.q"]', "names()"):
        assert part in text


# ---------------------------------------------------------------- xarray and NetCDF


def test_the_dataset_describes_itself(each):
    data = each.dataset
    assert data.q.dims == ("time", "coordinate")
    assert data.u.sel(speed="free.vz").values.shape == (len(each),)
    assert data.q_unit.sel(coordinate="screw").item() == "rad"
    assert data.position.sel(place="tip", axis="z").attrs["units"] == "m"
    assert data.work.attrs["units"] == data.energy_elastic.attrs["units"] == "J"
    assert (data.attrs["complete"], data.attrs["until"]) == (1, 0.02)
    assert data.energy_kinetic.attrs == {"units": "J", "long_name": "kinetic energy"}
    assert data.time.attrs["units"] == "s"
    assert data.attrs["integrator"] == "rk4"
    assert data.attrs["step"] == 0.005
    assert "[joints.free]" in data.attrs["model"]
    assert data.attrs["version"]


def test_a_file_gives_back_the_run_bit_for_bit(each, tmp_path):
    path = tmp_path / "run.nc"
    each.save(path)
    again = wt.load_result(path)
    for name in ("t", "q", "u", "udot"):
        np.testing.assert_array_equal(getattr(again, name), getattr(each, name))
    assert again.system.model == each.system.model
    assert {key: again.attrs[key] for key in each.attrs} == each.attrs
    np.testing.assert_allclose(again["tip.position"], each["tip.position"], atol=1e-14)
    again.save(path)  # over the old one, and a second generation is as good as the first
    assert wt.load_result(path).dataset.identical(again.dataset)
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_other_programs_can_read_the_file(pendulum, tmp_path):
    pendulum.save(tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf", decode_times=False) as data:
        np.testing.assert_array_equal(data.q.values, pendulum.q)
        assert list(data.place.values) == ["rod", "tip"]


def test_a_failed_save_leaves_what_was_there(pendulum, tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(wt.SimulationError, match="the result cannot be written: No space left on device"):
        pendulum.save(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_a_file_without_what_can_be_computed_is_read_as_well(each, tmp_path):
    path = tmp_path / "run.nc"
    bare = each.dataset.drop_vars(
        ["udot", "position", "energy", "energy_kinetic", "energy_potential", "energy_elastic"]
    )
    bare.to_netcdf(path, engine="h5netcdf")
    again = load_result(path)
    np.testing.assert_array_equal(again.q, each.q)
    for name in ("free.udot", "tip.position", "energy", "energy.balance"):
        np.testing.assert_allclose(again[name], each[name], atol=1e-12)


def test_a_place_that_cannot_be_written_is_named(pendulum, tmp_path, monkeypatch):
    with pytest.raises(ModelError, match="there is no folder"):
        pendulum.save(tmp_path / "missing" / "run.nc")
    with pytest.raises(ModelError, match="is a folder"):
        pendulum.save(tmp_path)
    os.mkfifo(tmp_path / "pipe.nc")
    with pytest.raises(ModelError, match="may not be replaced"):
        pendulum.save(tmp_path / "pipe.nc")
    (tmp_path / "mine.nc").write_bytes(b"mine")
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != str(tmp_path / "mine.nc"))
    with pytest.raises(ModelError, match="may not be replaced"):
        pendulum.save(tmp_path / "mine.nc")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(ModelError, match="no permission in the folder"):
        pendulum.save(tmp_path / "run.nc")


def foreign(path):
    xr.Dataset({"q": ("time", np.zeros(3))}).to_netcdf(path, engine="h5netcdf")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda p: None, "there is no result file"),
        (lambda p: p.mkdir(), "there is no result file"),
        (lambda p: p.write_bytes(b""), "is damaged or not a NetCDF file"),
        (lambda p: p.write_text("name = 'model'"), "is damaged or not a NetCDF file"),
        (foreign, "is not a result of Whippletree"),
    ],
    ids=["missing", "folder", "empty", "text", "foreign"],
)
def test_a_file_that_is_no_result_is_refused(write, message, tmp_path):
    write(tmp_path / "run.nc")
    with pytest.raises(ModelError, match=message):
        load_result(tmp_path / "run.nc")


def test_a_damaged_file_is_refused_or_still_right(pendulum, tmp_path):
    path = tmp_path / "run.nc"
    pendulum.save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(60):
        bad = bytearray(good[: rng.integers(1, len(good))]) if rng.random() < 0.3 else bytearray(good)
        for where in rng.integers(0, len(bad), 20):
            bad[where] ^= 1 << rng.integers(8)
        path.write_bytes(bad)
        try:
            run = load_result(path)
        except ModelError:
            refused += 1
        else:
            np.testing.assert_array_equal(run.q, pendulum.q)
            np.testing.assert_array_equal(run.u, pendulum.u)
    assert refused > 30


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.assign_attrs(model=d.attrs["model"].replace("mass = 1.0", "mass = 2.0")), "has changed"),
        (lambda d: d.drop_attrs().assign_attrs(whippletree="whippletree-1"), "the model is missing"),
        (lambda d: d.drop_vars("u"), "'u' is missing"),
        (lambda d: d.isel(time=slice(0, 0)), "no samples"),
        (lambda d: d.assign(q=d.q * np.nan), "not finite"),
        (lambda d: d.assign(work=d.work * np.nan), "not finite"),
        (lambda d: d.assign(udot=d.udot.astype(int)), "'udot' is not an array of numbers"),
        (lambda d: d.assign(q=(("time", "two"), np.zeros((51, 2)))), "wrong shape"),
    ],
    ids=["model", "no model", "no u", "no times", "nan", "work nan", "udot", "shape"],
)
def test_a_file_changed_by_hand_is_refused(pendulum, tmp_path, change, why):
    path = tmp_path / "run.nc"
    change(pendulum.dataset).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(ModelError, match="is damaged") as error:
        load_result(path)
    assert why in str(error.value)


# ---------------------------------------------------------------- pictures


def test_one_axes_per_unit_with_labels(pendulum):
    figure = pendulum.plot("hinge.q", "tip.position", "energy", "hinge.u")
    assert [a.get_ylabel() for a in figure.axes] == [
        "angle (rad)",
        "length (m)",
        "energy (J)",
        "angular velocity (rad/s)",
    ]
    assert [line.get_label() for line in figure.axes[1].lines] == [f"tip.position {c}" for c in "xyz"]
    assert figure.axes[-1].get_xlabel() == "time (s)"


def test_the_default_picture_shows_the_mechanism(pendulum):
    figure = pendulum.plot()
    assert {"angle (rad)", "energy (J)", "z (m)"} <= {a.get_ylabel() for a in figure.axes}


def test_every_quantity_can_be_drawn(each):
    assert each.plot(*each.names()).axes


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_is_written(pendulum, tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    pendulum.plot(path=path)
    assert path.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_picture_of_no_known_format_is_refused(pendulum, tmp_path):
    with pytest.raises(ModelError, match=r"expected: a name ending in \.svg, \.png, \.pdf"):
        pendulum.plot(path=tmp_path / "run.gif")


def test_a_body_alone_can_be_drawn():
    m = wt.Model("stone", gravity=(0, 0, 0))
    m.joint("fly", "free", m.ground, m.body("stone", mass=1.0, inertia=(1, 1, 1)))
    assert wt.simulate(m.compile(), until=0.1, u={"fly": [1, 0, 0, 0, 0, 1]}).plot().axes


def test_names_are_drawn_as_they_are_written():
    """No dollar begins a formula, and a name that begins with an underscore has its place in the legend."""
    m = wt.Model("$\\frac$ 関節")
    m.joint("_a$^$", "revolute", m.ground, m.body("$x_{", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1)), axis="y")
    run = wt.simulate(m.compile(), 0.02, q={"_a$^$": 1.0}, integrator="rk4", step=0.01)
    figure = run.plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot.write_figure(figure, io.StringIO(), "svg")
    assert "_a$^$.q" in [t.get_text() for axes in figure.axes for t in axes.get_legend().get_texts()]


def test_the_same_picture_is_the_same_file(pendulum, tmp_path):
    for name in ("a.svg", "b.svg"):
        pendulum.plot("hinge.q", path=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


# ---------------------------------------------------------------- report


@pytest.fixture(scope="module")
def page(pendulum, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "run.html"
    pendulum.report(path)
    return path.read_text("utf-8")


def test_the_report_stands_alone(page):
    assert "<h1>pendulum &lt;1&gt;</h1>" in page
    assert page.count("<svg") == 3
    assert "Featherstone" in page
    assert not re.search(r"<(script|img|link|iframe)|src=|@import", page)
    references = set(re.findall(r"(?:url\(|href=\")#(\w+)", page))
    anchors = re.findall(r'\bid="(\w+)"', page)
    assert references <= set(anchors)
    assert len(anchors) == len(set(anchors)), "two things in the page have one name"


def test_the_report_has_all_its_parts(page, pendulum):
    heads = re.findall(r"<h2>(.*?)</h2>", page)
    assert heads == [
        "The motion", "Energy balance", "The model", "How it was computed", "The state at the end", "References",
    ]  # fmt: skip
    for text in (
        "1 body, 1 joint, 1 degree of freedom",
        "rk4",
        "0.01 s",
        "numba",
        "q hinge",
        ">ground<",
        ">energy.balance<",
    ):
        assert text in page
    assert "stopped early" not in page


def test_the_energy_balance_is_reported_in_words(pendulum):
    error = np.abs(pendulum["energy.balance"])
    reported = report.balance_in_words(pendulum)
    assert f"at most {error.max():.2g} J" in reported
    assert f"at t = {pendulum.t[error.argmax()]:.4g} s" in reported
    assert f"{error.max() / pendulum['energy.kinetic'].max():.2g} of the largest kinetic energy" in reported


def test_the_report_shows_what_forces_do(tmp_path):
    m = wt.Model("driven")
    rod = m.body("rod", **wt.rod(mass=1.0, length=1.0, axis="-z"))
    m.joint("hinge", "revolute", m.ground, rod, axis="y")
    m.force("drive", "motor", joint="hinge", torque=2.0)
    run = wt.simulate(m.compile(), until=0.2)
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text("utf-8")
    for name in ("energy.work", "energy.balance", "drive.force", "drive"):  # the last in the drawing of the tree
        assert f">{name}<" in page
    assert ">energy.elastic<" not in page  # there is none


def test_the_report_says_when_a_run_stopped_early(pendulum, tmp_path):
    attrs = pendulum.attrs | {"complete": 0, "until": 2.0}
    Result(pendulum.system, pendulum.t, pendulum.q, pendulum.u, attrs=attrs).report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "This run stopped early: it is known up to t = 0.5 s, before its end at 2 s." in page


def test_hostile_names_stay_text_in_the_report(tmp_path):
    m = wt.Model("</title><script>alert(1)</script>")
    m.body("--><svg onload=x>", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1))
    m.joint('"]]>&lt;$^', "revolute", m.ground, "--><svg onload=x>", axis="y")
    run = wt.simulate(m.compile(), 0.02, integrator="rk4", step=0.01)
    run.attrs["versions"] = "<b>1</b>"
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text("utf-8")
    assert page.count("<svg") == 3
    assert not re.search(r"<script|<b>|<svg onload", page)


def test_a_model_that_cannot_move_has_a_report(tmp_path):
    m = wt.Model("post")
    m.joint("foot", "fixed", m.ground, m.body("post", mass=1.0, inertia=(1, 1, 1)))
    wt.simulate(m.compile(), 0.02, integrator="rk4", step=0.01).report(tmp_path / "run.html")
    assert "0 degrees of freedom" in (tmp_path / "run.html").read_text("utf-8")


def test_the_name_decides_the_format(pendulum, tmp_path):
    pendulum.save(tmp_path / "run.h5")
    np.testing.assert_array_equal(load_result(tmp_path / "run.h5").q, pendulum.q)
    pendulum.save(tmp_path / "run.csv")
    head, *rows = (tmp_path / "run.csv").read_text("utf-8").splitlines()
    assert head == "time,hinge.q,hinge.u"
    values = np.array([[float(x) for x in row.split(",")] for row in rows])
    np.testing.assert_array_equal(values, np.column_stack([pendulum.t, pendulum.q, pendulum.u]))
    for name in ("run.xlsx", "run", "run.mat"):
        with pytest.raises(
            ModelError, match=r"is not the name of a result\n  expected: a name ending in \.nc"
        ) as error:
            pendulum.save(tmp_path / name)
        assert not (tmp_path / name).exists()
        assert error.value.got
        assert error.value.hint
