"""The benchmark of loops: its mechanisms, its exact accelerations, its engines, and what it says of them."""

from functools import cache

import numpy as np
import pytest

from loop_reference import constraint_rows, solve
from whippletree import ModelError, SimulationError
from whippletree.model import Model
from whippletree_lab import bench
from whippletree_lab.bench import families, loops
from whippletree_lab.bench.loop_families import LOOPS, AllJoints, Posed, ladder, stewart, tower
from whippletree_lab.bench.measure import Call, difference
from whippletree_lab.bench.result import OURS, BenchResult, Row
from whippletree_lab.engines import exact, loop_peers, peers
from whippletree_lab.engines.links import CannotHold, links_and_closings
from whippletree_lab.engines.loop_peers import Ours, PinocchioLoops, planar, points
from whippletree_lab.report import report, tables
from whippletree_lab.reproduce.loop_problems import start

HERE = [name for name in peers.LOOP_PEERS if peers.installed(name)]
SMALL = {"ladder": 3, "tower": 2, "lattice": 2, "stewart": 1}
# largest errors: rounding; a proximal method (lcaba), soft constraints (mujoco), finite differences (exudyn)
ERRORS = {OURS: 1e-12, "constraintDynamics": 1e-12, "lcaba": 1e-7, "mujoco": 5e-3, "exudyn": 1e-6}


@cache
def posed(family):
    return LOOPS[family](SMALL[family])


@cache
def truth(family):
    return exact.accelerations(posed(family))


def rows_of(every, joints):
    return np.concatenate([np.r_[every.u_index(j)] for j in joints])


# ---- mechanisms


@pytest.mark.parametrize("family", LOOPS)
def test_mechanisms_are_closed_and_stay_so(family):
    it = posed(family)
    system = it.model.compile()
    _, _, gap, speed = constraint_rows(it.model, system, *start(system, it.q, it.u))
    assert np.abs(gap).max() < 1e-15 * 10  # rounding of lengths of some metres
    assert np.abs(speed).max() < 1e-15 * 10


@pytest.mark.parametrize(
    ("family", "size", "counted"), [("ladder", 7, 7), ("tower", 5, 5), ("lattice", 3, 9), ("stewart", 2, 10)]
)
def test_mechanisms_have_as_many_loops_as_reported(family, size, counted):
    it = LOOPS[family](size)
    assert len(it.model.compile().cut_joints) == counted
    for deep in (False, True) if planar(it.model) else (False,):
        tree, closings = links_and_closings(it.model, deep)
        assert len(closings) == counted
        assert len(tree) == len(it.model.bodies)


def test_only_the_first_loop_of_a_tower_is_based_on_ground():
    topology = tower(4).model.compile().topology
    assert sorted(topology.loop(joint)[0] for joint in topology.cuts)[:2] == [0, 2]


# ---- exact accelerations


@pytest.mark.parametrize("family", LOOPS)
def test_exact_accelerations_are_those_of_50_digits(family):
    """Both start from doubles, of which the poses of a Model are rounded differently; conditioning is some 1e2."""
    it = posed(family)
    system = it.model.compile()
    answer = solve(it.model, system, *start(system, it.q, it.u))
    _, expected = start(system, {}, truth(family))
    assert difference(expected, np.array(answer.udot, float)) < 1e-13


@pytest.mark.parametrize("size", [1, 30])
def test_exact_accelerations_are_those_of_the_formula(size):
    """Cranks of a ladder: to rounding of the formula."""
    it = ladder(size)
    found = exact.accelerations(it)
    assert max(abs(found[name][0] - it.udot[name]) for name in it.udot) < 1e-14


def test_exact_accelerations_are_not_given_where_they_do_not_converge(monkeypatch):
    monkeypatch.setattr(exact, "ROUNDS", 1)
    with pytest.raises(SimulationError, match="the exact accelerations were not found"):
        exact.accelerations(posed("tower"))


# ---- engines


def errors(engine, family):
    every = AllJoints(posed(family).model)
    rows = rows_of(every, engine.joints)
    known = every.vector(truth(family))[rows]
    return {call.engine: difference(call.value()[rows], known) for call in engine.calls()}


@pytest.mark.parametrize("family", LOOPS)
def test_ours_are_right(family):
    found = errors(Ours(posed(family)), family)
    assert list(found) == [OURS, f"{OURS} lanes", f"{OURS} multipliers", f"{OURS} nullspace"]
    assert max(found.values()) < ERRORS[OURS]


@pytest.mark.parametrize("family", LOOPS)
@pytest.mark.parametrize("peer", HERE)
def test_peers_are_as_right_as_they_can_be(peer, family):
    for kind in peers.LOOP_PEERS[peer]:
        if getattr(kind, "deep", False) and not planar(posed(family).model):
            continue
        for name, error in errors(kind(posed(family)), family).items():
            (bound,) = (e for part, e in ERRORS.items() if part in name)
            assert error < bound


def test_loops_that_no_point_closes_are_refused():
    with pytest.raises(CannotHold, match="spherical joint that points towards ground"):
        links_and_closings(stewart(1).model, deep=True)
    hinged = Model("hinged")
    for name in "abc":
        hinged.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
    for near, far, axis in (("ground", "a", "x"), ("a", "b", "y"), ("ground", "c", "z"), ("c", "b", "x")):
        hinged.joint(f"{near}{far}", "revolute", near, far, axis=axis)
    with pytest.raises(CannotHold, match="loop closed by the revolute joint 'cb' of a mechanism in space"):
        points(hinged, links_and_closings(hinged)[1])


def test_pinocchio_is_not_asked_to_fill_the_memory(monkeypatch):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(PinocchioLoops, "largest_data", 4e9)
    with pytest.raises(CannotHold, match="its Data would take 6 GB"):
        PinocchioLoops(ladder(256))


def test_mujoco_is_not_asked_to_build_for_minutes(monkeypatch):
    monkeypatch.setattr(loop_peers, "LARGEST_SPEC", 4)
    with pytest.raises(CannotHold, match="building its model takes minutes above 4 bodies"):
        loop_peers.MujocoLoops(posed("ladder"))


def test_a_pinocchio_without_lcaba_is_not_asked(monkeypatch):
    monkeypatch.delattr(pytest.importorskip("pinocchio"), "lcaba")
    with pytest.raises(CannotHold, match="this version has no lcaba"):
        PinocchioLoops(posed("ladder"))


# ---- what is said


@pytest.fixture(scope="module")
def ladders():
    return bench.run("ladder", sizes="1,2", against=HERE, rounds=1)


def test_rows_hold_times_and_errors_of_all(ladders):
    assert [(r.label, r.loops, r.bodies) for r in ladders.rows] == [("1", 1, 3), ("2", 2, 5)]
    assert {e.split()[0] for e in ladders.engines()} == {OURS, *HERE}
    for row in ladders.rows:
        assert set(row.seconds) == set(row.differences)
        assert row.fastest_peer() is None or not row.fastest_peer().startswith(OURS)


def test_the_table_has_a_line_for_each_algorithm(ladders):
    lines = report.text(ladders).splitlines()
    assert lines[2].split() == ["model", "algorithm", "loops", "microseconds", "/", "reduction", "error"]
    assert sum(line.startswith("1 ") for line in lines) == len(ladders.engines())
    assert any("whippletree reduction, in lanes" in line for line in lines)
    assert lines[-1].startswith("command: whippletree bench ladder --sizes 1,2")


def test_files_are_read_back_and_drawn(ladders, tmp_path):
    assert report.load(report.save(ladders, tmp_path / "ladder.json")) == ladders
    svg, png = report.plot(ladders, tmp_path / "ladder.svg")
    text = svg.read_text()
    assert "ladder: forward dynamics" in text
    assert "error of accelerations" in text
    assert "whippletree reduction: slope" in text
    assert png.read_bytes().startswith(b"\x89PNG")


def test_lanes_are_timed_by_the_state(monkeypatch):
    result = BenchResult("ladder", "", "", 1, {}, {})
    monkeypatch.setattr(loops, "race", lambda calls, rounds: {c.engine: 1.0 for c in calls})
    loops.measure(result, [1], [], lambda line: None)
    assert result.rows[0].seconds == {OURS: 1.0, f"{OURS} lanes": 1.0 / loops.BATCH} | {
        f"{OURS} {name}": 1.0 for name in ("multipliers", "nullspace")
    }


def test_slopes_are_fitted():
    result = BenchResult("ladder", "", "", 1, {}, {})
    for n in (1, 64, 128, 1024):
        result.rows.append(Row("forward", str(n), n, n, loops=n, seconds={OURS: 1.0 + n**1.5 * 1e3, "mujoco": 1.0}))
    assert loops.growth(result, OURS, 64) == (64, 1024, pytest.approx(1.5, abs=1e-3))
    assert loops.growth(result, "mujoco", 1)[2] == pytest.approx(0.0, abs=1e-12)
    assert loops.growth(result, OURS, 1024) is None
    assert tables.table_of(result)[1][0][:3] == ["1", "whippletree reduction", "1"]


def asked(name, spent, took=0.0, count=10):
    """Whether a call is timed, and what is noted."""
    result, it = BenchResult("ladder", "", "", 1, {}, {}), Posed(Model("none"))
    row = Row("forward", str(count), count, count, loops=count)
    engine = type("Engine", (), {"posed": it, "joints": ()})
    call = Call(name, lambda: None, lambda: np.zeros(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "took", lambda run: took)
        return loops._asked(result, call, engine, row, None, spent), result.notes


def test_slow_algorithms_are_noted_and_not_asked():
    cubic = loops.CUBIC[0]
    assert asked(cubic, {cubic: (5, 0.1)}) == (True, [])
    assert asked(cubic, {cubic: (5, 0.2)}) == (False, [f"{cubic}: not from 10 on: a call would take some 1.6 s"])
    assert asked(cubic, {}, count=10 * loops.MANY)[0] is False
    assert asked("exudyn", {"exudyn": (5, 0.2)}) == (True, [])
    assert asked("exudyn", {}, took=3.0) == (False, ["exudyn: not timed at 10: a call takes 3.0 s"])
    assert asked(f"{OURS} lanes", {}, took=3.0) == (True, [])
    assert asked(f"{OURS} lanes", {}, took=5.0)[0] is False


def test_a_size_that_is_too_slow_for_all_has_an_empty_row(monkeypatch, tmp_path):
    monkeypatch.setattr(loops, "LONGEST", -1.0)
    result = bench.run("ladder", sizes="1,2", against=(), rounds=1)
    assert [r.seconds for r in result.rows] == [{}, {}]
    assert sum("not from 1 on: a call would take" in n for n in result.notes) == 4
    assert report.text(result).splitlines()[2].startswith("model")
    report.plot(result, tmp_path / "empty.svg")


def test_errors_that_are_not_known_are_noted(monkeypatch):
    monkeypatch.setattr(loops, "EXACT_UP_TO", 1)
    result = bench.run("tower", sizes="2", against=(), rounds=1)
    assert "errors: not known above 1 loops" in result.notes
    assert result.rows[0].differences == {}
    assert report.text(result).splitlines()[3].split()[-1] == "-"
    monkeypatch.undo()
    monkeypatch.setattr(exact, "ROUNDS", 1)
    result = bench.run("tower", sizes="2", against=(), rounds=1)
    assert any(n.startswith("errors: not known at 2 loops: the exact acc") for n in result.notes)


def test_peers_that_are_not_asked_are_noted():
    assert "drake: is not asked about loops" in bench.run("ladder", sizes="1", against="drake", rounds=1).notes
    assert "exudyn: is not asked about trees" in bench.run("chain", sizes="1", against="exudyn", rounds=1).notes
    with pytest.raises(ModelError, match="did you mean 'exudyn'"):
        bench.run("ladder", against="exudin")
    with pytest.raises(ModelError, match="did you mean 'lattice'"):
        bench.run("latice")
    assert families.sizes(None, "ladder")[-1] == 10000


@pytest.mark.skipif("pinocchio" not in HERE, reason="Pinocchio is not installed")
def test_the_deep_tree_is_for_planar_mechanisms():
    result = bench.run("stewart", sizes="1", against="pinocchio", rounds=1)
    assert "pinocchio: on the deep tree, planar mechanisms only" in result.notes
    assert result.rows[0].label == "1 platforms"
    assert bench.run("lattice", sizes="1", against="pinocchio", rounds=1).rows[0].label == "1 x 1"


def test_a_peer_that_cannot_hold_a_mechanism_is_noted(monkeypatch):
    def refuse(posed):
        raise CannotHold("too many loops\nfor it")

    refuse.name = "mujoco"
    monkeypatch.setitem(peers.LOOP_PEERS, "mujoco", (refuse,))
    monkeypatch.setattr(peers, "installed", lambda name: "1.0")
    assert "mujoco: not at 1: too many loops" in bench.run("ladder", sizes="1", against="mujoco", rounds=1).notes
