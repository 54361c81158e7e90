"""Sweeps in processes and on a real Dask cluster: the same bits, and workers that are killed lose nothing."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.sweeps import dask_cluster, local, sweep

MODELS = Path(__file__).parents[2] / "models"
PENDULUM = MODELS / "pendulum.toml"
VALUES = {"bodies.rod.mass": np.linspace(0.5, 2.0, 6), "q.hinge": np.linspace(0.1, 3.0, 10)}  # 60 runs
UNTIL = 20.0  # s: some 20 ms of computing


@pytest.fixture(scope="module")
def pendulum():
    return wt.load(PENDULUM)


@pytest.fixture(scope="module")
def whole(pendulum):
    return wt.sweep(pendulum, VALUES, UNTIL, workers=0)


@pytest.fixture
def started(monkeypatch):
    """All processes that sweeps start here."""
    processes = []

    class Watched(local.Process):
        def __init__(self, recipe):
            super().__init__(recipe)
            processes.append(self.process)

    monkeypatch.setattr(local, "Process", Watched)
    return processes


# ---------------------------------------------------------------- processes


def test_processes_give_the_same_bits_and_one_may_be_killed(pendulum, whole, started):
    seen = []

    def kill_one(reached):
        seen.append(int(reached))
        if reached == 10:
            os.kill(started[0].pid, signal.SIGKILL)

    study = wt.sweep(pendulum, VALUES, UNTIL, workers=2, progress=kill_one)
    assert study.dataset.identical(whole.dataset)
    assert not study.failures
    assert seen == list(range(1, 61))
    assert len(started) == 3  # one was replaced
    assert all(process.poll() is not None for process in started)


@pytest.mark.parametrize("patience", [0.0, 0.05])
def test_long_sweeps_go_on_in_processes(pendulum, whole, monkeypatch, started, patience):
    """Without any patience the first run is begun here, given up, and made in a process."""
    monkeypatch.setattr(sweep, "PATIENCE", patience)
    monkeypatch.setattr(sweep, "processors", lambda: 1)
    assert wt.sweep(pendulum, VALUES, UNTIL).dataset.identical(whole.dataset)
    assert len(started) == 1


def test_an_interrupt_ends_the_processes_and_keeps_the_runs(pendulum, whole, started, tmp_path):
    def stop(reached):
        if reached == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wt.sweep(pendulum, VALUES, UNTIL, workers=1, output=tmp_path / "s.nc", progress=stop)
    assert all(process.poll() is not None for process in started)
    assert wt.Sweep.load(tmp_path / "s.nc").dataset.attrs["done"] == 7
    study = wt.sweep(pendulum, VALUES, UNTIL, workers=0, output=tmp_path / "s.nc", resume=True)
    assert study.dataset.identical(whole.dataset)


def deadly(parent):
    """A function that makes models, and ends any other process that asks for a short rod."""

    def build(length):
        if length < 0.6 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        print("what functions print does not disturb")
        m = wt.Model("rod")
        m.body("rod", **wt.rod(mass=1.0, length=length, axis="-z"))
        m.joint("hinge", "revolute", m.ground, "rod", axis="y")
        return m

    return build


def test_a_run_that_kills_its_worker_is_given_up_and_may_be_tried_again(tmp_path, started, monkeypatch):
    monkeypatch.setattr(local, "ATTEMPTS", 2)
    values, path = {"length": [0.5, 1.0, 1.5], "q.hinge": [1.0]}, tmp_path / "s.nc"
    study = wt.sweep(deadly(os.getpid()), values, 1.0, workers=1, output=path)
    assert len(started) == 3
    (failure,) = study.failures
    assert failure.parameters == {"length": 0.5, "q.hinge": 1.0}
    assert "its process ended with signal SIGKILL, 2 times" in failure.message
    assert not study.complete
    seen = []
    again = wt.sweep(deadly(os.getpid()), values, 1.0, workers=0, output=path, resume=True, progress=seen.append)
    assert len(seen) == 1
    assert again.complete
    assert not again.failures
    assert not (tmp_path / "s.nc.runs").exists()


def test_what_workers_cannot_load_is_reported(pendulum, monkeypatch):
    from numba import cloudpickle

    monkeypatch.setattr(cloudpickle, "dumps", lambda _: b"cnowhere\nfunction\n.")
    with pytest.raises(wt.ModelError, match=r"cannot load what is to be computed\n  got: ModuleNotFoundError"):
        wt.sweep(pendulum, {"q.hinge": [1.0]}, 1.0, workers=1)


def test_processes_that_cannot_start_end_the_sweep(pendulum, monkeypatch):
    monkeypatch.setattr(local, "one_thread", lambda: {"PYTHONHOME": "/nowhere"})
    with pytest.raises(wt.SimulationError, match="processes for the sweep cannot be started"):
        wt.sweep(pendulum, {"q.hinge": [1.0]}, 1.0, workers=1)


def test_a_killed_sweep_goes_on_with_the_runs_that_are_missing(pendulum, whole, tmp_path):
    path = tmp_path / "s.nc"
    command = [sys.executable, "-m", "whippletree", "sweep", str(PENDULUM), "--until", str(UNTIL), "-o", str(path)]
    command += ["--set", "bodies.rod.mass=0.5:2:6", "--set", "q.hinge=0.1:3:10", "--workers", "0"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    beside = tmp_path / "s.nc.runs"
    while not beside.exists() or beside.stat().st_size < 1000:  # the head, and some runs
        assert process.poll() is None
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert not path.exists()
    seen = []
    study = wt.sweep(pendulum, VALUES, UNTIL, workers=0, output=path, resume=True, progress=seen.append, q={}, u={})
    assert 0 < len(seen) < 60
    assert np.array_equal(study["hinge.q.end"], whole["hinge.q.end"])


# ---------------------------------------------------------------- Dask


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster


def test_a_dask_worker_is_killed_and_no_run_is_lost_or_twice(pendulum, whole, cluster, tmp_path):
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        victim = min(client.run(os.getpid).values())
    seen = []

    def kill_one(reached):
        seen.append(int(reached))
        if reached == 10:
            os.kill(victim, signal.SIGKILL)

    path = tmp_path / "s.nc"
    study = wt.sweep(pendulum, VALUES, UNTIL, on=cluster.scheduler_address, progress=kill_one, output=path)
    assert study.dataset.identical(whole.dataset)
    assert not study.failures
    assert seen == list(range(1, 61))
    assert wt.Sweep.load(path).dataset.identical(whole.dataset)
    with Client(cluster, set_as_default=False) as client:
        assert victim not in client.run(os.getpid).values()


def test_failures_on_a_cluster_are_kept_apart(cluster):
    bar = wt.load(MODELS / "four_bar.toml")
    values = {"joints.pin.at.x": [0.3, 3.0, 0.35]}
    options = {"u": {"shaft": 3.0}, "assemble": True, "end": "rock.q"}
    study = wt.sweep(bar, values, 0.2, on=cluster.scheduler_address, **options)
    assert [f.run for f in study.failures] == [1]
    assert study.dataset.identical(wt.sweep(bar, values, 0.2, workers=0, **options).dataset)


def test_warnings_on_a_cluster_are_kept_by_run(cluster):
    """Joints of a loop whose armature does not act."""
    bar = wt.load(MODELS / "four_bar.toml")
    joint = bar.compile().cut_joints[0]
    bar.joints[joint] = replace(bar.joints[joint], armature=0.1)
    options = {"u": {"shaft": 3.0}, "assemble": True, "end": "rock.q"}
    with pytest.warns(wt.ModelWarning, match="2 of 2 runs of the sweep of 'four bar' warned") as caught:
        study = wt.sweep(bar, {"gravity": [1.0, 2.0]}, 0.1, on=cluster.scheduler_address, **options)
    assert len(caught) == 1
    assert [noted.run for noted in study.warnings] == [0, 1]


def test_a_cluster_is_made_here(pendulum, whole):
    study = wt.sweep(pendulum, VALUES, UNTIL, on="dask", workers=1)
    assert study.dataset.identical(whole.dataset)


def test_a_cluster_that_cannot_be_made(pendulum, monkeypatch):
    monkeypatch.setattr(dask_cluster, "one_thread", lambda: {"PYTHONHOME": "/nowhere"})
    with pytest.raises(wt.SimulationError, match=r"a Dask cluster cannot be started here\n  got: \S+"):
        wt.sweep(pendulum, VALUES, UNTIL, on="dask", workers=1)


def test_clusters_that_cannot_be_used(pendulum, monkeypatch, cluster):
    def refused(**options):
        with pytest.raises(wt.ModelError) as reported:
            wt.sweep(pendulum, {"q.hinge": [1.0]}, 1.0, **options)
        return str(reported.value)

    there, begun = cluster.scheduler_address, time.monotonic()
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in refused(on="tcp://127.0.0.1:9")
    assert time.monotonic() - begun < 20.0  # it waits for 3, and the machine may be busy
    assert "no Dask scheduler answers at 'foo://bar:1'\n  got: unknown address" in refused(on="foo://bar:1")
    assert "workers are for this machine" in refused(on=there, workers=2)
    assert "workers are not a number of processes\n  expected: an integer >= 1" in refused(on="dask", workers=0)
    monkeypatch.setattr(dask_cluster, "__version__", "0.0.1")
    assert "Dask workers have another version of whippletree\n  expected: 0.0.1" in refused(on=there)
    monkeypatch.setattr(dask_cluster, "_version", unknown)
    assert "the Dask workers cannot import whippletree" in refused(on=there)
    monkeypatch.setattr(os, "name", "nt")
    assert "a Dask cluster is not made on Windows" in refused(on="dask")
    monkeypatch.setattr(os, "name", "posix")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert (
        "needs the package 'distributed', which is not installed\n  hint: pip install 'whippletree[cluster]'"
        in refused(on="dask")
    )


def unknown():
    raise ModuleNotFoundError("No module named 'whippletree'")


def test_a_scheduler_that_goes_is_named():
    """As its futures show it: cancelled, or with an error of the connection."""

    class Future:
        status = "cancelled"

        def result(self):
            raise OSError("Timed out")

    with pytest.raises(wt.SimulationError, match="the Dask scheduler 'tcp://a:1' has gone, or was asked"):
        dask_cluster._answer(Future(), "tcp://a:1")
    Future.status = "finished"
    with pytest.raises(wt.SimulationError, match=r"the Dask scheduler 'tcp://a:1' has gone\n  got: Timed out"):
        dask_cluster._answer(Future(), "tcp://a:1")


def test_a_scheduler_without_workers(pendulum, monkeypatch):
    import dask
    from distributed import LocalCluster

    monkeypatch.setattr(dask_cluster, "WORKERS_WITHIN", 0.5)
    monkeypatch.setattr(dask_cluster, "ANSWER_WITHIN", 60.0)  # it shares this process, on a busy machine
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=0, dashboard_address=":0", processes=False, protocol="tcp://") as empty,
        pytest.raises(wt.ModelError, match="has no workers\n  hint: start some with 'dask worker ADDRESS'"),
    ):
        wt.sweep(pendulum, {"q.hinge": [1.0]}, 1.0, on=empty.scheduler_address)


def test_a_dask_run_that_kills_its_workers_is_given_up_alone(cluster):
    """Dask blames what was waiting beside it too; these runs are made all the same."""
    cluster.scheduler.allowed_failures = 0
    values = {"length": [1.5, 1.6, 0.5, 1.7, 1.8], "q.hinge": [1.0]}
    study = wt.sweep(deadly(os.getpid()), values, 1.0, on=cluster.scheduler_address)
    assert [f.parameters["length"] for f in study.failures] == [0.5]
    assert "its worker died again and again" in study.failures[0].message
    assert not study.complete
