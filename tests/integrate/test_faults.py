"""Faults put into runs: each ends with a named cause, the right exit code, and what was computed still of use.

``ELSEWHERE`` lists the kinds that other tests prove already; the rest stands here. They are thirty and more.
"""

import errno
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numba
import numpy as np
import pytest

import whippletree as wt
from whippletree.compiler import disk_cache as disk
from whippletree.compiler.cache_integrity import Checked
from whippletree.errors import MissingExtra, ModelError, SimulationError

TESTS = Path(__file__).parents[1]
MODEL = TESTS.parent / "models" / "pendulum.toml"
ELSEWHERE = {
    "killed at any moment": "test_resume.py::test_kills_change_no_bit",
    "Ctrl-C inside a function": "test_resume.py::test_an_interrupt_within_a_function_goes_on_to_the_same_bits",
    "Ctrl-C inside an event": "test_resume.py::test_an_interrupt_within_an_event_goes_on_to_the_same_bits",
    "SIGTERM": "test_cli.py::test_sigterm_ends_a_run_in_order",
    "a disk that fills up": "test_resume.py::test_a_disk_that_fills_up_costs_only_what_was_not_written",
    "a disk full at the end": "test_resume.py::test_a_disk_that_is_full_at_the_end_leaves_the_result_in_memory",
    "a small disk": "test_resume.py::test_a_small_disk",
    "a function that raises": "test_resume.py::test_a_function_that_raises_can_be_mended",
    "a progress that raises": "test_resume.py::test_a_progress_that_raises_costs_nothing",
    "a step that fails": "test_resume.py::test_a_failed_step_leaves_what_was_before",
    "a lock that another holds": "test_resume.py::test_two_runs_do_not_write_one_file",
    "a lock of a dead process": "test_resume.py::test_the_lock_of_a_dead_run_does_not_bind",
    "a file that another program writes": "test_resume.py::test_a_file_that_another_program_writes_is_left_to_it",
    "a result of another version": "test_resume.py::test_another_version_is_refused",
    "a result that is not whole": "test_resume.py::test_a_file_that_is_not_whole_is_refused",
    "a folder that may not be written": "test_result.py::test_a_place_that_cannot_be_written_is_named",
    "an event that breaks the state": "test_events.py::test_a_function_that_breaks_the_state_is_refused",
    "a worker that dies": "test_sweep_workers.py::test_processes_give_the_same_bits_and_one_may_be_killed",
    "a run that kills its worker": "test_sweep_workers.py::"
    "test_a_run_that_kills_its_worker_is_given_up_and_may_be_tried_again",
    "a sweep that is killed": "test_sweep_workers.py::test_a_killed_sweep_goes_on_with_the_runs_that_are_missing",
    "a scheduler that goes": "test_sweep_workers.py::test_a_scheduler_that_goes_is_named",
    "a rank that is killed": "test_mpi.py::test_a_rank_that_is_killed_ends_the_run_which_resumes",
    "a reader that leaves early": "test_cli.py::test_a_reader_that_leaves_early_gets_no_traceback",
}
HERE = [
    "a force that is NaN", "a force that raises", "an event that raises", "a mass that is singular",
    "a clock that jumps",
    "an output that is a folder", "a damaged cache", "a cache that may not be written", "a cache that is removed",
    "a result that is removed", "a result that is garbled", "a state that is NaN", "a result of a newer form",
    "an output that is too large", "too little memory", "an environment of nonsense", "a locale without UTF-8",
    "a closed stdin", "a full stdout", "a missing package", "threads of nonsense",
]  # fmt: skip


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_what_is_proved_elsewhere_is_there(kind):
    file, _, name = ELSEWHERE[kind].partition("::")
    assert f"def {name}(" in next(TESTS.rglob(file)).read_text("utf-8")


def test_there_are_thirty_kinds():
    assert len({*ELSEWHERE, *HERE}) >= 30


@pytest.fixture(scope="module")
def pendulum():
    return wt.load(MODEL).compile()


def with_force(function):
    model = wt.load(MODEL)
    model.force("gust", "function", body="rod", function=function)
    return model.compile()


# ---- what the user's own functions do


def test_a_force_that_is_nan(tmp_path):
    def gust(t, position, rotation, velocity, wrench):
        wrench[:] = np.nan if t > 0.5 else 0.0

    path = tmp_path / "run.nc"
    with pytest.raises(SimulationError) as caught:
        wt.simulate(with_force(gust), 1.0, q={"hinge": 1.0}, output=path)
    assert "'gust'" in str(caught.value) or "'hinge'" in str(caught.value)
    assert 0.3 < caught.value.partial.t[-1] <= 0.5
    assert np.isfinite(wt.load_result(path).q).all()


def test_a_force_that_raises(tmp_path):
    def gust(t, position, rotation, velocity, wrench):
        if t > 0.5:
            raise ZeroDivisionError("my own mistake")

    with pytest.raises(SimulationError, match="my own mistake") as caught:
        wt.simulate(with_force(gust), 1.0, q={"hinge": 1.0}, output=tmp_path / "run.nc")
    assert any("kept: " in note for note in caught.value.__notes__)
    assert 0.0 < wt.load_result(tmp_path / "run.nc").t[-1] <= 0.5


def test_an_event_that_raises(pendulum, tmp_path):
    def then(t, q, u):
        raise LookupError("not in my table")

    event = wt.Event("down", "hinge.q", 0.5, then=then)
    with pytest.raises(
        SimulationError, match=r"event .down.: the function .then. raised an error at t = 0\.2937"
    ) as caught:
        wt.simulate(pendulum, 2.0, q={"hinge": 1.0}, events=[event], output=tmp_path / "run.nc")
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.partial.t[-1] == wt.load_result(tmp_path / "run.nc").t[-1] > 0.0


def test_a_mass_that_is_singular(command, tmp_path):
    text = MODEL.read_text("utf-8") + '\n[bodies.bob]\nmass = 1.0\n[joints.spin]\nkind = "revolute"\nparent = "rod"\n'
    (tmp_path / "singular.toml").write_text(text + 'child = "bob"\naxis = "x"\n')
    code, _, err = command("run", "singular.toml", "--until", "1", "--q", "hinge=1")
    assert code == 1
    assert "'spin'" in err
    assert "note: joint 'spin' moves body 'bob', which has no inertia about its axis" in err


# ---- the machine


def test_a_clock_that_jumps(pendulum, tmp_path, monkeypatch):
    """The time of day has no part in a run, whatever it does."""
    plain = wt.simulate(pendulum, 1.0, q={"hinge": 1.0})
    real, calls = time.time, []

    def jumping():
        calls.append(None)
        return real() + (-1e6 if len(calls) % 2 else 1e9)

    monkeypatch.setattr(time, "time", jumping)
    jumped = wt.simulate(pendulum, 1.0, q={"hinge": 1.0}, output=tmp_path / "run.nc", save_every=1e-3)
    assert np.array_equal(plain.q, jumped.q)
    assert np.array_equal(wt.load_result(tmp_path / "run.nc").q, plain.q)


def test_an_output_that_is_a_folder(command, tmp_path):
    (tmp_path / "run.nc").mkdir()
    code, _, err = command("run", MODEL, "--until", "1", "-o", "run.nc")
    assert (code, err.splitlines()[0]) == (2, "error: the result cannot be written: 'run.nc' is a folder")


def test_an_output_that_is_too_large(command):
    code, _, err = command("run", MODEL, "--until", "1e6", "--output-step", "1e-9")
    assert code == 2
    assert "memory" in err


def test_too_little_memory(pendulum, monkeypatch):
    """What the system refuses is named, and nothing else is lost."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + 2**26, before[1]))
    try:
        with pytest.raises((MemoryError, ModelError), match=r"(?i)memory|allocate"):
            wt.simulate(pendulum, 2e4, output_step=1e-3)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert wt.simulate(pendulum, 0.1).t[-1] == 0.1


# ---- the result, while it is written and after


def stopped(pendulum, path):
    def progress(reached):
        if reached >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wt.simulate(pendulum, 1.0, q={"hinge": 1.0}, output=path, progress=progress)


@pytest.mark.parametrize("spoil", ["removed", "garbled"])
def test_a_result_that_goes_while_it_is_written(pendulum, tmp_path, spoil):
    path, spoiled = tmp_path / "run.nc", []

    def progress(reached):
        if path.exists() and not spoiled:
            spoiled.append(path.unlink() if spoil == "removed" else path.write_bytes(b"nonsense"))

    run = wt.simulate(
        pendulum, 5.0, q={"hinge": 1.0}, integrator="rk4", step=1e-4, output=path, save_every=1e-4, progress=progress
    )
    assert spoiled
    assert np.array_equal(wt.load_result(path).q, run.q)


def test_a_state_that_is_nan(pendulum, tmp_path):
    path = tmp_path / "run.nc"
    stopped(pendulum, path)
    with h5py.File(path, "r+") as file:
        file["state"][3] = np.nan
    with pytest.raises(ModelError, match="holds no state to go on from"):
        wt.simulate(pendulum, 1.0, q={"hinge": 1.0}, output=path, resume=True)


def test_a_result_of_a_newer_form(pendulum, tmp_path):
    path = tmp_path / "run.nc"
    stopped(pendulum, path)
    with h5py.File(path, "r+") as file:
        file.attrs["settings"] = json.dumps({"a setting of the year 2040": 1})
    with pytest.raises(ModelError, match="it is of another run"):
        wt.simulate(pendulum, 1.0, q={"hinge": 1.0}, output=path, resume=True)
    assert wt.load_result(path).t[-1] > 0.0


# ---- the cache of compiled kernels


def plus_one(x):
    return x + 1


plus_one.__code__ = plus_one.__code__.replace(co_filename=disk.__file__)  # kept in the folder of that file


def made_anew():
    return disk.on_disk(plus_one, lambda cache: numba.njit(cache=cache)(plus_one))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "_root", tmp_path / "cache")
    disk.folder_of.cache_clear()
    yield tmp_path / "cache"
    disk.folder_of.cache_clear()


SPOILED = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "other": lambda data: b"\x80\x04nonsense" + data,
    "flipped": lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:],
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("how", SPOILED)
def test_a_damaged_cache_is_compiled_again(cache, how, suffix):
    first = made_anew()
    assert first(1) == 2
    assert isinstance(first._cache._cache_file, Checked)
    (file,) = cache.rglob(f"*.{suffix}")
    file.write_bytes(SPOILED[how](file.read_bytes()))
    again = made_anew()
    assert again(1) == 2
    assert sum(again.stats.cache_misses.values()) == 1
    third = made_anew()  # what was compiled again is there again
    assert third(1) == 2
    assert sum(third.stats.cache_hits.values()) == 1


def test_a_cache_that_may_not_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(disk, "_root", tmp_path / "file" / "cache")
    disk.folder_of.cache_clear()
    try:
        assert made_anew()(1) == 2
    finally:
        disk.folder_of.cache_clear()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_whose_disk_is_full_or_read_only(cache, monkeypatch, error):
    kernel = made_anew()

    def refuse(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "replace", refuse)
    assert kernel(1) == 2


def test_a_cache_that_is_removed(cache):
    kernel = made_anew()
    disk.folder_of(Path(disk.__file__)).rmdir()
    assert kernel(1) == 2
    assert kernel(1.5) == 2.5


# ---- the surroundings of the command


def shell(*arguments, **options):
    command = [sys.executable, "-m", "whippletree", *map(str, arguments)]
    environment = os.environ | options.pop("env", {})
    return subprocess.run(
        command, capture_output="stdout" not in options, text=True, env=environment, timeout=120, **options
    )


def test_an_environment_of_nonsense():
    nonsense = {"WHIPPLETREE_LANES": "many", "NUMBA_NUM_THREADS": "1", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = shell("check", MODEL, env=nonsense)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2)


def test_a_locale_without_utf8_a_closed_stdin_and_a_name_beyond_it(tmp_path):
    path = tmp_path / "Pendel-ä.toml"
    path.write_bytes(MODEL.read_bytes().replace(b'name = "pendulum"', 'name = "Pendel ä"'.encode()))
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell("check", path, env=plain, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert "ok: Pendel" in done.stdout


def test_a_full_stdout():
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = shell("check", MODEL, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode != 0
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (tmp_path / "a.xml").write_text('<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>')
    with pytest.raises(MissingExtra, match=r"pip install 'whippletree\[robots\]'"):
        wt.load(tmp_path / "a.xml")


@pytest.mark.parametrize("threads", [-1, 2.5, "two"])
def test_threads_of_nonsense(pendulum, threads):
    with pytest.raises(ModelError, match="threads"):
        wt.forward_dynamics(pendulum, np.zeros((64, 1)), np.zeros((64, 1)), threads=threads)


# ---- the same bits for any number of threads


def test_threads_change_no_bit(pendulum):
    rng = np.random.default_rng(1)
    q, u = rng.uniform(-3, 3, (500, 1)), rng.uniform(-3, 3, (500, 1))
    once = wt.forward_dynamics(pendulum, q, u, threads=1)
    rolled = wt.rollout(pendulum, q, u, None, 1e-3, 20, threads=1)
    for threads in (2, 3, None):
        assert np.array_equal(wt.forward_dynamics(pendulum, q, u, threads=threads), once)
        for a, b in zip(wt.rollout(pendulum, q, u, None, 1e-3, 20, threads=threads), rolled, strict=True):
            assert np.array_equal(a, b)
