"""Runs that are kept: written as they go, stopped in every way, and gone on with to the same bits."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import whippletree as wt
from whippletree.errors import ModelError, SimulationError
from whippletree.files.whole_file import only_writer
from whippletree.integrate.methods.adaptive import ROW
from whippletree.integrate.run import checkpoint
from whippletree.integrate.run.task import make_task
from whippletree.integrate.run.watch import Watch
from whippletree_lab.reproduce.problems import floating_tree

COMPILED = [name for name, method in wt.INTEGRATORS.items() if getattr(method, "RESUMES", True)]
OTHERS = [name for name in wt.INTEGRATORS if name not in COMPILED]


@pytest.fixture(scope="module")
def tree():
    return floating_tree().compile()


def pendulum(mass=1.0, length=0.5):
    model = wt.Model("pendulum")
    model.body("rod", **wt.rod(mass=mass, length=length, axis="-z", radius=0.02))
    model.joint("hinge", "revolute", model.ground, "rod", axis="y")
    return model.compile()


def stop_at(time):
    def progress(reached):
        if reached >= time:
            raise KeyboardInterrupt

    return progress


def stopped(system, path, time=0.5, until=2.0, **options):
    """A file of a run that was stopped, and the error that told so."""
    with pytest.raises(KeyboardInterrupt) as caught:
        wt.simulate(system, until, output=path, progress=stop_at(time), **options)
    return caught.value


def same_data(a, b):
    with xr.open_dataset(a, decode_times=False) as one, xr.open_dataset(b, decode_times=False) as other:
        return one.identical(other)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


# ---------------------------------------------------------------- the same bits


def test_kills_change_no_bit(tmp_path):
    script = Path(__file__).parents[1] / "support" / "killed_runs.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "25", "1"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    kills, runs = map(int, done.stdout.split())
    assert kills >= 25
    assert runs >= 4


def fresh(system, integrator):
    t, u = np.linspace(0.0, 0.3, 31), np.linspace(-1, 1, system.nu)
    step = 0.3 if wt.INTEGRATORS[integrator].ADAPTIVE else 2e-3
    return wt.INTEGRATORS[integrator].begin(make_task(system, "articulated", integrator, t, system.q0, u, step=step))


@pytest.mark.parametrize("integrator", COMPILED)
@given(cuts=st.lists(st.integers(1, 40), max_size=12))
@settings(max_examples=15, deadline=None)
def test_wherever_a_run_is_cut_a_copy_of_its_state_goes_on(tree, integrator, cuts):
    whole, run = fresh(tree, integrator), fresh(tree, integrator)
    assert whole.proceed(10**6) is None
    for steps in cuts:
        run.proceed(steps)
        other = fresh(tree, integrator)
        other.state[:] = run.state
        for mine, theirs in ((other.task.Q, run.task.Q), (other.task.U, run.task.U), (other.task.W, run.task.W)):
            mine[: run.row] = theirs[: run.row]
        run = other
    run.proceed(10**6)
    np.testing.assert_array_equal(run.state, whole.state)
    for a, b in ((run.task.Q, whole.task.Q), (run.task.U, whole.task.U), (run.task.W, whole.task.W)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("integrator", COMPILED)
def test_a_stopped_run_goes_on(tree, tmp_path, integrator):
    path, alone = tmp_path / "run.nc", tmp_path / "alone.nc"
    how = {"u": np.linspace(-1, 1, tree.nu), "tau": np.linspace(0.1, 0, tree.nu), "integrator": integrator}
    for time in (0.3, 0.9, 1.5):
        stopped(tree, path, time, resume=True, **how)
    run = wt.simulate(tree, 2.0, output=path, resume=True, **how)
    expected = wt.simulate(tree, 2.0, output=alone, **how)
    np.testing.assert_array_equal(run.q, expected.q)
    assert run.attrs == expected.attrs
    assert same_data(path, alone)
    assert names(tmp_path) == ["alone.nc", "run.nc"]


def test_an_interrupt_within_a_function_goes_on_to_the_same_bits(tmp_path):
    system, calls = pendulum(), []

    def push(t, q, u, tau):
        calls.append(t)
        if len(calls) == 500:
            raise KeyboardInterrupt
        tau[0] = np.sin(3 * t)

    with pytest.raises(KeyboardInterrupt):
        wt.simulate(system, 5.0, tau=push, output=tmp_path / "run.nc")
    assert 0 < calls[499] < 4.0
    run = wt.simulate(system, 5.0, tau=push, output=tmp_path / "run.nc", resume=True)
    expected = wt.simulate(system, 5.0, tau=push, output=tmp_path / "alone.nc")
    np.testing.assert_array_equal(run.udot, expected.udot)
    assert same_data(tmp_path / "run.nc", tmp_path / "alone.nc")


def bouncing():
    """A ball that loses half its speed on the floor, and is counted on its way up."""
    model = wt.Model("ball")
    model.body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.joint("flight", "prismatic", "ground", "ball", axis="z")

    def bounce(t, q, u):
        u *= -0.95

    low = wt.Event("touch", "flight.q", value=-1.0, direction="falling", then=bounce)
    return model.compile(), [low, wt.Event("half way", "ball.position.z", value=-0.5, direction="rising")]


@pytest.mark.parametrize("integrator", COMPILED)
def test_events_go_on_too(tmp_path, integrator):
    system, events = bouncing()
    path, alone = tmp_path / "run.nc", tmp_path / "alone.nc"
    how = {"integrator": integrator, "events": events, "step": 5e-3}
    for time in (0.2, 0.9, 1.1, 2.5, 3.3):
        stopped(system, path, time, until=4.0, resume=True, **how)
    run = wt.simulate(system, 4.0, output=path, resume=True, **how)
    expected = wt.simulate(system, 4.0, output=alone, **how)
    assert len(run.events) > 5
    assert same_data(path, alone)
    for reported in (run.events, wt.load_result(path).events):
        assert [(e.name, e.t) for e in reported] == [(e.name, e.t) for e in expected.events]
        np.testing.assert_array_equal([e.u for e in reported], [e.u for e in expected.events])


@pytest.mark.parametrize("call", [3, 20, 150])
def test_an_interrupt_within_an_event_goes_on_to_the_same_bits(tmp_path, call):
    """The output is a function; wherever it is interrupted, no row beyond a bounce not yet known is kept."""
    system, (low, _) = bouncing()
    calls = []

    def height(t, q, u):
        calls.append(t)
        if len(calls) == call:
            raise KeyboardInterrupt
        return q[0] + 1.0

    how = {"events": [wt.Event("touch", height, direction="falling", then=low.then)], "output_step": 0.02}
    with pytest.raises(KeyboardInterrupt):
        wt.simulate(system, 4.0, output=tmp_path / "run.nc", **how)
    part = wt.load_result(tmp_path / "run.nc")
    wt.simulate(system, 4.0, output=tmp_path / "run.nc", resume=True, **how)
    whole = wt.simulate(system, 4.0, output=tmp_path / "alone.nc", **how)
    np.testing.assert_array_equal(part.q, whole.q[: len(part)])
    assert same_data(tmp_path / "run.nc", tmp_path / "alone.nc")


def test_where_an_event_is_found_does_not_depend_on_where_steps_are_cut():
    """Steps are looked at in batches: the first look of a batch must be as good as the others."""
    system, events = bouncing()
    found = []
    for steps in (1, 2, 3, 5, 16):
        t = np.linspace(0.0, 4.0, 101)
        task = make_task(system, "articulated", "rk4", t, system.q0, np.zeros(1), step=5e-3)
        run = Watch(wt.INTEGRATORS["rk4"].begin(task), events)
        while run.row < t.size:
            assert run.proceed(steps) is None
        found.append([e.t for e in run.occurrences])
    assert len(found[0]) > 5
    assert all(times == found[0] for times in found)


def test_a_run_that_an_event_has_stopped_is_complete(tmp_path):
    system, _ = bouncing()
    how = {"events": [wt.Event("floor", "flight.q", value=-1.0, then="stop")], "output": tmp_path / "run.nc"}
    run = wt.simulate(system, 4.0, **how)
    assert run.t[-1] < 1.0
    again = wt.simulate(system, 4.0, resume=True, **how)
    np.testing.assert_array_equal(again.t, run.t)
    assert again.attrs["stopped"] == "floor"
    assert again.events[0].t == run.events[0].t


# ---------------------------------------------------------------- what a stop leaves


@pytest.mark.parametrize("integrator", wt.INTEGRATORS)
def test_a_stop_leaves_a_readable_file(tmp_path, integrator):
    system, path = pendulum(), tmp_path / "run.nc"
    error = stopped(system, path, 0.5, until=1000.0, q=[1.0], tau=[0.3], integrator=integrator, output_step=0.1)
    part = wt.load_result(path)
    assert 0.4 < part.t[-1] < 999
    assert part.attrs["complete"] == 0
    assert part.attrs["until"] == 1000.0
    np.testing.assert_array_equal(part.q, error.partial.q)
    for name in ("hinge.udot", "rod.position", "energy", "energy.balance"):
        np.testing.assert_allclose(part[name], error.partial[name], atol=1e-13)
    # the constant joint force is in the accelerations, though the file's model does not know it
    np.testing.assert_allclose(part.udot, wt.forward_dynamics(system, part.q, part.u, [[0.3]] * len(part)), atol=1e-12)
    reported = error.__notes__[0]
    assert reported.startswith(f"kept: {path}, which ends at t = ")
    assert ("resume goes on" in reported) == (integrator in COMPILED)
    with xr.open_dataset(path, decode_times=False) as data:
        assert "position" not in data
    assert names(tmp_path) == ["run.nc"]


def test_a_function_that_raises_can_be_mended(tmp_path):
    system, path = pendulum(), tmp_path / "run.nc"

    def make(broken):
        def push(t, q, u, tau):
            if broken and t > 1.0:
                raise ZeroDivisionError("no")
            tau[0] = 0.1 * t

        return push

    with pytest.raises(SimulationError, match="'push' raised an error near t = ") as caught:
        wt.simulate(system, 2.0, tau=make(True), output=path)
    assert 0 < wt.load_result(path).t[-1] <= 1.0
    assert len(caught.value.partial) == len(wt.load_result(path))
    wt.simulate(system, 2.0, tau=make(False), output=path, resume=True)
    wt.simulate(system, 2.0, tau=make(False), output=tmp_path / "alone.nc")
    assert same_data(path, tmp_path / "alone.nc")


def test_a_progress_that_raises_costs_nothing(tmp_path):
    def progress(reached):
        assert reached.until == 2.0
        if reached.steps > 16:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine") as caught:
        wt.simulate(pendulum(), 2.0, q=[1.0], output=tmp_path / "run.nc", progress=progress)
    assert len(wt.load_result(tmp_path / "run.nc")) == len(caught.value.partial)


def test_a_failed_step_leaves_what_was_before(tmp_path):
    path = tmp_path / "run.nc"

    def push(t, q, u, tau):
        tau[0] = np.nan if t > 0.5 else 0.0

    with pytest.raises(SimulationError, match="ceases to be finite"):
        wt.simulate(pendulum(), 1.0, q=[1.0], tau=push, output=path, output_step=0.01)
    assert 0.3 < wt.load_result(path).t[-1] <= 0.51


def test_the_work_of_forces_is_in_the_file(tmp_path):
    model = wt.Model("damped")
    model.body("rod", **wt.rod(mass=1.0, length=0.5, axis="-z", radius=0.02))
    model.joint("hinge", "revolute", model.ground, "rod", axis="y", damping=0.1)
    run = wt.simulate(model.compile(), 1.0, q=[1.0], output=tmp_path / "run.nc")
    again = wt.load_result(tmp_path / "run.nc")
    assert run["energy.work"][-1] < -0.01
    np.testing.assert_array_equal(again["energy.work"], run["energy.work"])
    assert np.abs(again["energy.balance"]).max() < 1e-7


def test_accelerations_under_functions_are_in_an_unfinished_file(tmp_path):
    def push(t, q, u, tau):
        tau[0] = 7.0

    stopped(pendulum(), tmp_path / "run.nc", tau=push)
    part = wt.load_result(tmp_path / "run.nc")
    np.testing.assert_allclose(part.udot[0], wt.forward_dynamics(pendulum(), part.q[0], part.u[0], [7.0]), rtol=1e-12)


def windy(function):
    model = wt.Model("windy")
    model.body("rod", **wt.rod(mass=1.0, length=0.5, axis="-z", radius=0.02))
    model.joint("hinge", "revolute", model.ground, "rod", axis="y")
    model.force("wind", "function", body="rod", function=function)
    return model.compile()


def wind(t, position, rotation, velocity, wrench):
    wrench[1] = 2.0


def storm(t, position, rotation, velocity, wrench):
    wrench[1] = 2.0


def test_a_force_that_is_a_function_goes_on_if_it_is_given_again(tmp_path):
    path = tmp_path / "run.nc"
    stopped(windy(wind), path)
    part = wt.load_result(path)  # its model has no wind, but its accelerations have
    np.testing.assert_allclose(part.udot, wt.forward_dynamics(windy(wind), part.q, part.u), rtol=1e-12)
    reported = refused(windy(storm), path)
    assert "force 'wind' on 'rod' at (0.0, 0.0, 0.0): wind" in reported
    wt.simulate(windy(wind), 2.0, output=path, resume=True)
    wt.simulate(windy(wind), 2.0, output=tmp_path / "alone.nc")
    assert same_data(path, tmp_path / "alone.nc")


class Clock:
    """Time that only passes when told."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize(("every", "cost", "pause"), [(5.0, 0.1, 5.0), (5.0, 2.0, 18.0)])
def test_writing_takes_a_tenth_of_the_time_at_most(tmp_path, monkeypatch, every, cost, pause):
    clock, writings = Clock(), []

    def write(*_, **__):
        clock.now += cost
        writings.append(clock.now)

    monkeypatch.setattr(checkpoint, "clock", clock)
    monkeypatch.setattr(checkpoint, "write", write)
    run = fresh(pendulum(), "rk4")
    part = wt.simulate(pendulum(), 0.1)
    kept = checkpoint.Checkpoint(tmp_path / "run.nc", run.task, run, lambda: part, every)
    while len(writings) < 5:
        kept.save_if_due()
        clock.now += 0.1
    assert writings[0] == pytest.approx(every + cost, abs=0.11)  # clock ticks of 0.1
    np.testing.assert_allclose(np.diff(writings), pause + cost, atol=0.11)


# ---------------------------------------------------------------- files that do not belong

HOW = {"q": [1.0], "u": [0.5], "integrator": "dopri5", "output_step": 0.01}


def push(t, q, u, tau):
    tau[0] = 1.0


def pull(t, q, u, tau):
    tau[0] = 1.0


CHANGES = {
    "until": ({"until": 3.0}, "until t = 2 s", "until 2"),
    "output_step": ({"output_step": 0.02}, "output_step differs", "output_step 0.01"),
    "integrator": ({"integrator": "rk4"}, "integrator, step differ", "integrator dopri5"),
    "algorithm": ({"algorithm": "composite"}, "algorithm differs", "algorithm articulated"),
    "rtol": ({"rtol": 1e-6}, "rtol differs", "rtol 1e-08"),
    "atol": ({"atol": 1e-6}, "atol differs", "atol 1e-10"),
    "step": ({"step": 0.1}, "step differs", "step 2"),
    "tau": ({"tau": [1.0]}, "tau differs", "tau None"),
    "function": ({"tau": pull}, "functions differs", "functions []"),
    "events": ({"events": [wt.Event("top", "hinge.u")]}, "events differs", "events []"),
    "q": ({"q": [1.0 + 1e-15]}, "starts elsewhere", "q[0] = 1.0, joint 'hinge' (revolute) of body 'rod'"),
    "u": ({"u": [0.6]}, "starts elsewhere", "u[0] = 0.5, joint 'hinge' (revolute) of body 'rod'"),
}


def refused(system, path, until=2.0, **options):
    """The message, after seeing that the file is as it was and nothing else is there."""
    before = path.read_bytes()
    with pytest.raises(ModelError) as caught:
        wt.simulate(system, output=path, resume=True, until=until, **options)
    assert path.read_bytes() == before
    assert names(path.parent) == [path.name]
    return str(caught.value)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("complete", [False, True])
def test_other_settings_are_refused(tmp_path, change, complete):
    path = tmp_path / "run.nc"
    if complete:
        wt.simulate(pendulum(), 2.0, output=path, **HOW)
    else:
        stopped(pendulum(), path, **HOW)
    options, what, expected = CHANGES[change]
    reported = refused(pendulum(), path, **(HOW | options))
    assert f"cannot go on from '{path}': it " in reported
    assert what in reported
    assert f"expected: {expected}" in reported
    cure = (
        "resume completes a run and does not change its end"
        if change == "until"
        else "give what the file was made with"
    )
    assert f"hint: {cure}" in reported


def test_another_function_is_refused(tmp_path):
    path = tmp_path / "run.nc"
    stopped(pendulum(), path, **HOW, tau=push)
    reported = refused(pendulum(), path, **HOW, tau=pull)
    assert "functions differs\n  expected: functions ['tau: push']\n  got: functions ['tau: pull']" in reported
    assert "functions ['tau: push']" in refused(pendulum(), path, **HOW)


def test_another_model_is_refused_with_the_line(tmp_path):
    stopped(pendulum(), tmp_path / "run.nc", **HOW)
    reported = refused(pendulum(mass=1.5), tmp_path / "run.nc", **HOW)
    assert "is of another model\n  expected: [bodies.rod] mass = 1.0\n  got: [bodies.rod] mass = 1.5" in reported


def test_another_version_is_refused(tmp_path, monkeypatch):
    stopped(pendulum(), tmp_path / "run.nc", **HOW)
    monkeypatch.setattr(checkpoint, "__version__", "9.0.0")
    reported = refused(pendulum(), tmp_path / "run.nc", **HOW)
    assert "is of another version of Whippletree\n  expected: 0.1.0\n  got: 9.0.0" in reported


def test_a_complete_file_is_returned_as_it_is(tmp_path):
    path = tmp_path / "run.nc"
    run = wt.simulate(pendulum(), 2.0, output=path, **HOW)
    before = path.stat()
    again = wt.simulate(pendulum(), 2.0, output=path, resume=True, **HOW)
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    for letter in ("t", "q", "u", "udot", "work"):
        np.testing.assert_array_equal(getattr(again, letter), getattr(run, letter))


@pytest.mark.parametrize(
    ("spoil", "reported"),
    [
        (lambda p: p.write_bytes(b""), "is damaged"),
        (lambda p: p.write_bytes(p.read_bytes()[:-1000]), "is damaged"),
        (lambda p: p.write_text("name = 'model'"), "is damaged"),
        (lambda p: xr.Dataset({"q": ("time", [0.0])}).to_netcdf(p, engine="h5netcdf"), "is not a result"),
        (lambda p: wt.simulate(pendulum(), 2.0, **HOW).dataset.drop_attrs().to_netcdf(p), "is not a result"),
        (lambda p: change(p, lambda f: f.attrs.__delitem__("settings")), "does not say how it was computed"),
        (lambda p: change(p, lambda f: f.__delitem__("state")), "holds no state to go on from"),
        (lambda p: change(p, lambda f: f["state"].__setitem__(ROW, 1e6)), "does not fit together"),
        (lambda p: change(p, lambda f: f["time"].__setitem__(3, 0.5)), "does not fit together"),
    ],
    ids=["empty", "cut", "text", "foreign", "no attributes", "no settings", "no state", "rows", "times"],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path, spoil, reported):
    path = tmp_path / "run.nc"
    stopped(pendulum(), path, **HOW)
    spoil(path)
    assert reported in refused(pendulum(), path, **HOW)


def change(path, how):
    with h5py.File(path, "r+") as file:
        how(file)


@pytest.mark.parametrize("integrator", OTHERS)
def test_integrators_that_cannot_go_on_say_which_can(tmp_path, integrator):
    with pytest.raises(ModelError, match=f"integrator '{integrator}' cannot go on from a file") as caught:
        wt.simulate(pendulum(), 1.0, integrator=integrator, output=tmp_path / "run.nc", resume=True)
    assert all(name in caught.value.hint for name in COMPILED)
    assert not names(tmp_path)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"output": "run.txt"}, "'run.txt' is not the name of a result\n  expected: a name ending in .nc"),
        ({"output": "missing/run.nc"}, "there is no folder 'missing'"),
        ({"output": "."}, "is a folder"),
        ({"output": "run.nc", "save_every": 0.0}, "save_every must be positive"),
        ({"resume": True}, "resume needs the file to go on from"),
        ({"output": "run.nc", "until": -1.0}, "until must lie after the start"),
        ({"output": "run.nc", "rtol": -1e-8}, "rtol is not a tolerance"),
    ],
)
def test_mistakes_are_reported_before_the_first_step(tmp_path, monkeypatch, options, reported):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as caught:
        wt.simulate(pendulum(), **({"until": 1.0} | options), progress=lambda _: pytest.fail("a step was taken"))
    assert reported in str(caught.value)
    assert not names(tmp_path)


# ---------------------------------------------------------------- files that others use, and full disks


def test_two_runs_do_not_write_one_file(tmp_path):
    path = tmp_path / "run.nc"
    wt.simulate(pendulum(), 1.0, output=path)
    before = path.read_bytes()
    with only_writer(path, "the result"):
        for attempt in (lambda: wt.simulate(pendulum(), 2.0, output=path), lambda: wt.load_result(path).save(path)):
            with pytest.raises(ModelError, match=rf"another run \(process {os.getpid()}\) is writing it") as caught:
                attempt()
            assert "choose another name" in caught.value.hint
    assert path.read_bytes() == before
    assert names(tmp_path) == ["run.nc"]


def test_the_lock_of_a_dead_run_does_not_bind(tmp_path):
    (tmp_path / ".run.nc.lock").write_text("12345678")
    (tmp_path / ".run.nc.run.part").write_text("half")
    wt.simulate(pendulum(), 1.0, output=tmp_path / "run.nc")
    assert names(tmp_path) == ["run.nc"]


def test_a_file_that_another_program_writes_is_left_to_it(tmp_path):
    path = tmp_path / "run.nc"
    wt.simulate(pendulum(), 1.0, output=path)
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as HDF5 does
        with pytest.raises(ModelError, match="another program has it open for writing"):
            wt.simulate(pendulum(), 1.0, output=path)
        with pytest.raises(ModelError, match="is being written by another program"):
            wt.load_result(path)


def test_a_reader_does_not_hold_up_a_run(tmp_path):
    path = tmp_path / "run.nc"
    wt.simulate(pendulum(), 1.0, output=path)
    with h5py.File(path, "r") as file:
        wt.simulate(pendulum(), 2.0, output=path)
        assert file["time"][-1] == 1.0
    assert wt.load_result(path).t[-1] == 2.0


def test_a_disk_that_fills_up_costs_only_what_was_not_written(tmp_path, monkeypatch):
    path, written, fsync = tmp_path / "run.nc", [], os.fsync

    def full(handle):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(fsync(handle))

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(checkpoint, "WRITING_SHARE", 0.9)
    options = {"integrator": "rk4", "step": 1e-4, "output_step": 0.01, "q": [1.0]}
    with pytest.raises(SimulationError, match="No space left on device") as caught:
        wt.simulate(pendulum(), 100.0, output=path, save_every=1e-3, **options)
    part = wt.load_result(path)
    assert 1 < len(part) < len(caught.value.partial)
    np.testing.assert_array_equal(part.q, caught.value.partial.q[: len(part)])
    assert f"kept: {path}, which ends at t = {part.t[-1]:.6g} s" in caught.value.__notes__[0]
    assert names(tmp_path) == ["run.nc"]


def test_a_disk_that_is_full_at_the_end_leaves_the_result_in_memory(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SimulationError, match="No space left") as caught:
        wt.simulate(pendulum(), 1.0, output=tmp_path / "run.nc")
    assert caught.value.partial.attrs["complete"] == 1
    assert not names(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
def test_a_small_disk(tmp_path):
    """HDF5 itself does not survive this."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(SimulationError, match="No space left on device") as caught:
            wt.simulate(pendulum(), 1.0, output_step=1e-4, output=tmp_path / "run.nc")
        assert len(caught.value.partial) == 10001
        assert not names(tmp_path)
    finally:
        subprocess.run(["umount", tmp_path], check=True)
