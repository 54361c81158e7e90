"""All that a run warns of is kept in it: in memory, in files, across a resume, and printed by the command."""

import json
import warnings

import pytest

import whippletree as wt
from whippletree.errors import kept_warnings, warn
from whippletree.result.netcdf import open_whole, write


def refusing(*times):
    """A slide that has a velocity of its own, and constraints that contradict it: each is refused at its time."""
    m = wt.Model("slide", gravity=(0, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("x", "prismatic", m.ground, "b", axis="x")
    m.constraint("own", "speed", joint="x", speed=1.0)
    for n, t in enumerate(times):
        m.constraint(f"c{n}", "speed", joint="x", speed=2.0 + n)
        m.temporary(f"c{n}", activate_at=t)
    return m


def light_and_heavy():
    """Accelerations lose digits: the first link weighs 1e-8 of the second. A constraint on top is refused."""
    m = wt.Model("thread", gravity=(0, 0, 0))
    m.body("inner", mass=1e-8, com=(0.5, 0, 0), inertia=(1e-8,) * 3)
    m.body("outer", mass=1.0, com=(1, 0, 0), inertia=(1e-9,) * 3)
    m.joint("first", "revolute", m.ground, "inner", axis="z")
    m.joint("second", "revolute", "inner", "outer", axis="z", at=(1, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("x", "prismatic", m.ground, "b", axis="x")
    m.force("drive", "motion", joint="x", position=wt.Ramp(1.0))
    m.constraint("two", "speed", joint="x", speed=2.0)
    m.temporary("two", activate_at=0.1)
    return m


def simulated(system, until, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = wt.simulate(system, until, **options)
    assert all(w.filename == __file__ for w in caught)  # the line of the caller, whatever has warned
    return run, [str(w.message) for w in caught if issubclass(w.category, wt.ModelWarning)]


def test_all_kinds_are_kept_in_memory_and_in_files(tmp_path):
    system, start = light_and_heavy().compile(), {"q": {"second": -1e-5}, "u": {"second": 1e-4}}
    run, reported = simulated(system, 0.2, rtol=1e-12, atol=1e-14, output=tmp_path / "kept.nc", **start)
    assert run.attrs["warnings"] == reported
    assert [text.split("'")[0] for text in reported] == ["temporary ", "accelerations of "]
    run.save(tmp_path / "saved.nc")
    for name in ("kept.nc", "saved.nc"):
        assert wt.load_result(tmp_path / name).attrs["warnings"] == reported
    run.report(tmp_path / "run.html")
    assert "is not activated at t = 0.1 s" in (tmp_path / "run.html").read_text("utf-8")


def test_a_run_that_warns_of_nothing_says_so(tmp_path):
    run = wt.simulate(wt.load("models/pendulum.toml").compile(), 0.1, output=tmp_path / "run.nc")
    assert run.attrs["warnings"] == wt.load_result(tmp_path / "run.nc").attrs["warnings"] == []


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_resumed_run_keeps_those_of_before(tmp_path, integrator):
    system, path = refusing(0.2, 0.8).compile(), tmp_path / "run.nc"

    def stop(t):
        if t > 0.5:
            raise KeyboardInterrupt

    options = {"integrator": integrator, "output": path, "step": 1e-3}
    with pytest.warns(wt.ModelWarning, match="'c0' is not activated"), pytest.raises(KeyboardInterrupt) as stopped:
        wt.simulate(system, 1.0, progress=stop, save_every=1e-3, **options)
    before = stopped.value.partial.attrs["warnings"]
    assert (
        [text[:14] for text in before]
        == ["temporary 'c0'"]
        == [text[:14] for text in wt.load_result(path).attrs["warnings"]]
    )
    again, reported = simulated(system, 1.0, resume=True, **options)
    assert [text[:14] for text in reported] == ["temporary 'c1'"]
    assert again.attrs["warnings"] == [*before, *reported] == wt.load_result(path).attrs["warnings"]
    complete, reported = simulated(system, 1.0, resume=True, **options)
    assert complete.attrs["warnings"] == again.attrs["warnings"]


def test_filters_do_not_change_what_is_kept():
    system = refusing(0.2).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(wt.simulate(system, 0.5).attrs["warnings"]) == 1
        warnings.simplefilter("error", wt.ModelWarning)
        with pytest.raises(wt.ModelWarning) as raised:
            wt.simulate(system, 0.5)
    assert raised.value.partial.attrs["warnings"] == [str(raised.value)]


def test_runs_within_runs_keep_their_own():
    inner = []

    def then(t, q, u):
        inner.append(wt.simulate(refusing(0.1).compile(), 0.2).attrs["warnings"])

    m = wt.load("models/pendulum.toml")
    with pytest.warns(wt.ModelWarning):
        outer = wt.simulate(m.compile(), 0.7, q=[0.5], events=[wt.Event("look", "hinge.q", then=then)])
    assert inner == [outer.attrs["warnings"]]  # the outer run computed it as well
    assert len(inner[0]) == 1


def test_a_text_is_kept_and_given_once():
    with kept_warnings() as texts, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for text in ("a", "b", "a"):
            warn(text)
    assert texts == ["a", "b"] == [str(w.message) for w in caught]
    with kept_warnings() as around, kept_warnings(shown=False) as texts, warnings.catch_warnings():
        warnings.simplefilter("error")
        warn("c\x1b[2J")
    assert texts == around == ["c\\x1b[2J"]


@pytest.mark.parametrize("attrs", [{"warning": "old"}, {"warnings": '["old"]'}])
def test_files_are_read_whatever_version_wrote_them(tmp_path, attrs):
    run = wt.simulate(wt.load("models/pendulum.toml").compile(), 0.1)
    run.save(tmp_path / "run.nc")
    data = open_whole(tmp_path / "run.nc")
    del data.attrs["warnings"]
    data.attrs |= attrs
    write(data, tmp_path / "old.nc", packed=False)
    assert wt.load_result(tmp_path / "old.nc").attrs["warnings"] == ["old"]
    assert "warning" not in wt.load_result(tmp_path / "old.nc").attrs


@pytest.mark.parametrize("text", ["[", "3", '{"a": 1}'])
def test_a_file_whose_warnings_are_damaged_is_refused(tmp_path, text):
    run = wt.simulate(wt.load("models/pendulum.toml").compile(), 0.1)
    run.save(tmp_path / "run.nc")
    data = open_whole(tmp_path / "run.nc")
    data.attrs["warnings"] = text
    write(data, tmp_path / "bad.nc", packed=False)
    with pytest.raises(wt.ModelError, match="damaged"):
        wt.load_result(tmp_path / "bad.nc")


def test_the_command_prints_them(command, tmp_path):
    wt.save(refusing(0.2, 0.8), tmp_path / "m.toml")
    code, out, err = command("run", "m.toml", "--until", 1, "-o", "run.nc", "--json")
    assert code == 0
    notes = [line.removeprefix("note: ") for line in err.splitlines() if line.startswith("note: ")]
    assert json.loads(out)["warnings"] == notes == wt.load_result(tmp_path / "run.nc").attrs["warnings"]
    assert len(notes) == 2
    assert command("run", "m.toml", "--until", 1, "-o", "run.nc", "--resume", "--json")[2].count("note: ") == 2


def test_generated_warnings_are_of_the_run_alone():
    """What plain calls before it warned of is not of a run."""
    system = refusing(0.2).compile()
    with kept_warnings(shown=False):
        warn("before")
        assert len(wt.simulate(system, 0.5).attrs["warnings"]) == 1
