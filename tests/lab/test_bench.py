"""The benchmark measures the same mechanism in every engine, says what it left out, and complains in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree import ModelError
from whippletree.model import Model
from whippletree_lab import bench
from whippletree_lab.bench import families, measure, rows, simulate
from whippletree_lab.bench.result import OURS, BenchResult, Row
from whippletree_lab.engines import peers
from whippletree_lab.engines.links import CannotHold, links
from whippletree_lab.report import report, tables

PENDULUM = Path(__file__).parents[2] / "models" / "pendulum.toml"
HERE = [name for name in peers.PEERS if peers.installed(name)]
QUESTIONS = ("forward", "inverse", "mass")


def answers(model: Model, engine, question: str) -> list[tuple[str, np.ndarray]]:
    system = model.compile()
    q, u, tau, udot = (x[0] for x in families.states(model, system, 1))
    args = {"forward": (q, u, tau), "inverse": (q, u, udot), "mass": (q,)}[question]
    return [(call.engine, call.value()) for call in getattr(engine(model, system), question)(*args)]


def welded() -> Model:
    """A tree with welds on ground, within, and at a tip, and with armature."""
    model = families.tree(6, seed=5)
    rng = np.random.default_rng(3)
    for name, on, to in (
        ("stand", "ground", None),
        ("plate", "b2", None),
        ("arm", "plate", "revolute"),
        ("tool", "arm", None),
    ):
        model.body(name, mass=0.7, com=rng.normal(size=3) * 0.1, inertia=(0.01, 0.02, 0.025))
        pose = {"at": families._pose(rng), "child_at": families._pose(rng)}
        model.joint(f"{name} on {on}", to or "fixed", on, name, **pose, armature=0.3 if to else 0.0)
    model.joints["j0"].armature = 0.2 if model.joints["j0"].kind != "spherical" else 0.0
    return model


CASES = {
    "chain": lambda: families.chain(7),
    "tree": lambda: families.tree(12, seed=2),
    "floating": lambda: families.tree(9, seed=4, floating=True),
    "welded": welded,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("peer", HERE)
def test_peers_agree_with_ours(peer, case, question):
    model = CASES[case]()
    ((_, ours),) = answers(model, peers.Whippletree, question)
    for _, theirs in answers(model, peers.PEERS[peer], question):
        assert measure.difference(theirs, ours) < 1e-10


@pytest.mark.parametrize("question", QUESTIONS)
def test_peers_agree_with_each_other(question):
    model = families.tree(15, seed=7, floating=True)
    found = [value for peer in HERE for _, value in answers(model, peers.PEERS[peer], question)]
    for value in found[1:]:
        assert measure.difference(value, found[0]) < 1e-10


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("threads", [1, 2])
def test_batches_agree(question, threads):
    pytest.importorskip("pinocchio")
    model = families.chain(5)
    system = model.compile()
    q, u, tau, udot = families.states(model, system, 11)
    x = tau if question == "forward" else udot
    ours, *theirs = (
        call.value()
        for engine in (peers.Whippletree, peers.PEERS["pinocchio"])
        for call in engine(model, system).batch(question, q, u, x, threads)
    )
    assert len(theirs) == (threads == 1) + (question != "mass")
    for value in theirs:
        assert measure.difference(value, ours) < 1e-10


def test_links_merge_welded_bodies():
    model = welded()
    found = links(model)
    assert [x.joint for x in found].count("arm on plate") == 1
    assert len(found) == len(model.bodies) - 3
    stand = model.bodies["stand"].mass
    assert sum(x.mass for x in found) == pytest.approx(sum(b.mass for b in model.bodies.values()) - stand)


def test_links_refuse_what_peers_cannot_hold():
    loop = families.chain(3)
    loop.joint("cut", "revolute", "ground", "b2")
    with pytest.raises(CannotHold, match="closed loop"):
        links(loop)
    backward = Model("backward")
    backward.body("a", mass=1.0, inertia=(1, 1, 1))
    backward.joint("j", "revolute", "a", "ground")
    with pytest.raises(CannotHold, match="towards ground"):
        links(backward)
    screw = Model("screw")
    screw.body("a", mass=1.0, inertia=(1, 1, 1))
    screw.joint("j", "screw", "ground", "a", pitch=0.1)
    with pytest.raises(CannotHold, match="screw joint"):
        links(screw)


def test_pinocchio_is_not_asked_to_fill_the_memory():
    pytest.importorskip("pinocchio")
    model = families.chain(600)
    with pytest.raises(CannotHold, match="its Data would take 10 GB"):
        peers.PEERS["pinocchio"](model, model.compile())


@pytest.mark.parametrize(
    ("text", "family", "expected"),
    [
        ("8:64", "chain", (8, 16, 32, 64)),
        ("7,30,128", "tree", (7, 30, 128)),
        ("7, 8:20", "chain", (7, 8, 16)),
        ([5, 9], "batch", (5, 9)),
        ("ur5,g1", "robot", ("ur5", "g1")),
        (None, "batch", (7, 30)),
    ],
)
def test_sizes_are_read(text, family, expected):
    assert families.sizes(text, family) == expected


@pytest.mark.parametrize("text", ["", "x", "0:8", "8:4", "-3", "1e3", "8:9000000", "3,,4"])
def test_sizes_that_cannot_be_read(text):
    with pytest.raises(ModelError, match="the sizes cannot be read"):
        families.sizes(text, "chain")


def test_unknown_names_have_a_hint():
    with pytest.raises(ModelError, match="did you mean 'chain'"):
        bench.run("chian")
    with pytest.raises(ModelError, match="did you mean 'pinocchio'"):
        bench.run("chain", against=["pinochio"])
    with pytest.raises(ModelError, match="did you mean 'anymal'"):
        bench.run("robot", sizes="anymall")
    with pytest.raises(ModelError, match="rounds and threads are counts"):
        bench.run("chain", rounds=0)


def test_a_missing_peer_is_a_note(monkeypatch):
    monkeypatch.setattr(peers, "installed", lambda name: None)
    result = bench.run("chain", sizes="2", against="drake", rounds=1)
    assert result.notes == ["drake: not installed (pip install 'whippletree[peers]')"]
    assert [list(r.seconds) for r in result.rows] == [[OURS]] * 3
    assert "note: drake: not installed" in report.text(result)


def test_an_engine_that_differs_is_named_and_not_timed():
    result = BenchResult("chain", "", "", 1, {}, {})
    right, wrong = np.ones(3), np.ones(3) + 1e-6
    calls = [measure.Call(OURS, lambda: None, lambda: right), measure.Call("drake", lambda: None, lambda: wrong)]
    rows._measure(result, calls, Row("forward", "3", 3, 3))
    assert list(result.rows[0].seconds) == [OURS]
    assert result.notes == ["drake: forward at 3 differs by 1e-06, not timed"]
    assert tables._beside_ours(result.rows[0], "drake") == "differs"


def test_difference_is_relative_and_sees_what_is_not_finite():
    assert measure.difference(np.array([2.0, 4.0]), np.array([2.0, 4.4])) == pytest.approx(0.4 / 4.4)
    assert measure.difference(np.array([np.nan]), np.array([1.0])) == np.inf
    assert measure.difference(np.zeros(2), np.zeros(3)) == np.inf


def test_every_engine_takes_its_turn():
    turns: list[str] = []
    calls = [measure.Call(name, lambda name=name: turns.append(name), lambda: np.zeros(1)) for name in "abc"]
    times = measure.race(calls, 4)
    assert set(times) == {"a", "b", "c"}
    assert all(0 < t < 1 for t in times.values())
    assert set(turns) == {"a", "b", "c"}


@pytest.fixture(scope="module")
def chain_result() -> BenchResult:
    lines: list[str] = []
    result = bench.run("chain", sizes="2,4", rounds=1, progress=lines.append)
    assert "chain of 2: forward" in lines
    return result


def test_table_holds_every_engine(chain_result, capsys):
    report.table(chain_result)
    out = capsys.readouterr().out
    assert out == report.text(chain_result)
    for word in (
        OURS,
        "forward dynamics",
        "inverse dynamics",
        "mass matrix",
        "fastest peer / ours",
        "command: ",
        *HERE,
    ):
        assert word in out
    assert len({len(r.seconds) for r in chain_result.rows}) >= 1
    assert "\x1b" not in out


def test_file_holds_machine_versions_command_and_numbers(chain_result, tmp_path):
    path = report.save(chain_result, tmp_path / "chain.json")
    read = json.loads(path.read_text())
    assert read["command"].startswith("whippletree bench chain --bodies 2,4 --against")
    assert {"processor", "cores", "lanes", "mhz"} <= set(read["machine"])
    assert read["versions"]["whippletree"]
    assert len(read["rows"]) == 6
    assert report.load(path) == chain_result
    assert [p.name for p in tmp_path.iterdir()] == ["chain.json"]


def test_a_file_that_is_no_result_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(ModelError, match="is not a benchmark result"):
        report.load(tmp_path / "x.json")
    with pytest.raises(ModelError, match="cannot read"):
        report.load(tmp_path / "y.json")


def test_plot_is_written_as_svg_and_png(chain_result, tmp_path):
    svg, png = report.plot(chain_result, tmp_path / "chain.svg")
    assert "forward dynamics" in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")


def test_batch_rows_are_per_state(monkeypatch):
    monkeypatch.setattr(rows, "BATCH", 16)
    result = bench.run("batch", sizes="3", against=[n for n in HERE if n != "drake"], threads=(1, 2), rounds=1)
    assert [(r.question, r.threads, r.states) for r in result.rows[:2]] == [("forward", 1, 16), ("forward", 2, 16)]
    assert any(n.startswith("forward of 3: 2 threads are") for n in result.notes)
    if "mujoco" in HERE:
        assert any(n.startswith("mujoco: has no call for a batch") for n in result.notes)


def test_scaling_gives_slope_and_memory(tmp_path):
    result = bench.run("scaling", sizes="16:64", rounds=1)
    assert result.scaling is not None
    assert result.scaling["to"] == 64
    assert 0 < result.scaling["bytes_per_body"] < 20000
    assert "bytes a body" in report.text(result)
    report.plot(result, tmp_path / "scaling.svg")


def test_a_robot_is_held_by_all():
    try:
        families.robots_folder()
    except ModelError:
        pytest.skip("example-robot-data is not installed")
    result = bench.run("robot", sizes="ur5,solo12", rounds=1)
    for row in result.rows:
        assert all(d < 1e-10 for d in row.differences.values())
    assert {e.split()[0] for e in result.engines()} == {OURS, *HERE}


def test_three_digits():
    assert [tables.three_digits(x) for x in (0.3021, 12.44, 1240.2, 0.0)] == ["0.302", "12.4", "1240", "0"]


@pytest.mark.parametrize("case", ["chain", "tree", "floating"])
def test_rollouts_end_where_mujoco_ends(case):
    """Rounding where coordinates add; with quaternions the methods differ, by the fourth power of the step."""
    pytest.importorskip("mujoco")
    model = CASES[case]()
    system = model.compile()
    q, u, _, _ = families.states(model, system, 5)
    (ours,) = peers.Whippletree(model, system).rollout(q, u, 1e-3, 10, 1)
    for threads in (1, 2):
        (theirs,) = peers.PEERS["mujoco"](model, system).rollout(q, u, 1e-3, 10, threads)
        assert measure.difference(theirs.value(), ours.value()) < (1e-12 if case == "chain" else 1e-8)


def test_rollout_rows_are_per_step(monkeypatch, tmp_path):
    monkeypatch.setattr(rows, "ROLLOUT", (8, 5, 1e-3))
    against = [n for n in HERE if n != "drake"]
    result = bench.run("rollout", sizes=[3, str(PENDULUM)], against=against, threads=(1, 2), rounds=1)
    assert [(r.question, r.threads, r.states) for r in result.rows[:2]] == [("rollout", 1, 40), ("rollout", 2, 40)]
    assert "rollouts are of 8 states, 5 steps of 0.001 s each, Runge-Kutta of order 4" in result.notes
    assert "microseconds per step of a state" in report.text(result)
    if "mujoco" in HERE:
        assert set(result.engines()) == {OURS, "mujoco"}
    if "pinocchio" in HERE:
        assert "pinocchio: has no rollout" in result.notes
    report.plot(result, tmp_path / "rollout.svg")


def test_models_of_a_rollout_are_known():
    assert families.sizes("xarm7, models/arm7.toml,5", "rollout") == ("xarm7", "models/arm7.toml", 5)
    with pytest.raises(ModelError, match="model 'xarm' is not known"):
        families.sizes("xarm", "rollout")


def short_simulation(monkeypatch, against):
    monkeypatch.setattr(simulate, "UNTIL", 0.5)
    return bench.run("simulate", sizes="2", against=against, rounds=1)


def test_simulations_are_compared_at_the_same_accuracy(monkeypatch, tmp_path):
    pytest.importorskip("pinocchio")
    result = short_simulation(monkeypatch, [n for n in HERE if n != "drake"])
    assert len(result.rows) == len(simulate.METHODS) * len(simulate.PEER_METHODS)
    for row in result.rows:
        (peer,) = set(row.seconds) - {OURS}
        assert set(row.differences) == {OURS, peer}
        assert row.differences[OURS] <= row.differences[peer] < 1e-6
        assert row.worst_difference() == row.differences[peer]
        assert row.ratio(peer) > 0
    assert any(n.startswith("pinocchio: the finest run of 2 ends") for n in result.notes)
    if "mujoco" in HERE:
        assert "mujoco: is not put into SciPy's integrators" in result.notes
    assert "microseconds per run" in report.text(result)
    assert report.load(report.save(result, tmp_path / "simulate.json")) == result
    report.plot(result, tmp_path / "simulate.svg")


def test_simulations_without_peers_are_timed(monkeypatch):
    result = short_simulation(monkeypatch, ())
    assert [list(r.seconds) for r in result.rows] == [[OURS]] * len(simulate.METHODS)
    assert [r.label for r in result.rows] == [f"2, {name} at 1.0e-08" for name in simulate.METHODS]


def test_a_peer_that_ends_elsewhere_is_not_timed(monkeypatch):
    pytest.importorskip("pinocchio")
    right = peers.PEERS["pinocchio"].rates

    def heavy(self):
        self.model.gravity.linear = self.model.gravity.linear * (1 + 1e-7)
        return right(self)

    monkeypatch.setattr(peers.PEERS["pinocchio"], "rates", heavy)
    result = short_simulation(monkeypatch, ["pinocchio"])
    assert result.engines() == [OURS]
    assert any("from ours, not timed" in n for n in result.notes)


def test_our_tolerance_is_tightened_until_the_error_is_not_larger(monkeypatch):
    monkeypatch.setattr(simulate, "UNTIL", 0.5)
    motion = simulate.Motion(families.hanging(2).compile())
    asked = motion.error(motion.ours("dopri5", simulate.RTOL)) / 30
    call, error = motion.as_good("dopri5", asked)
    assert error <= asked
    assert call.run.keywords["rtol"] < simulate.RTOL
    assert motion.as_good("dopri5", -1.0) is None


@pytest.mark.parametrize("count", [1, 7, 30])
def test_the_hanging_arm_hangs(count):
    """At rest in q = 0, and back to it from nearby: a motion that is not chaotic."""
    model = families.hanging(count)
    system = model.compile()
    assert np.abs(wt.bias_force(system, np.zeros(count), np.zeros(count))).max() < 1e-12
    assert wt.equilibrium(system).stable
    assert all(model.joints[f"j{k}"].parent == (f"b{k - 1}" if k % 7 else f"b{k - 4}") for k in range(1, count))
