"""What auto takes: by rule, and by predictions from given rates. Nothing is timed here but where a test says so."""

import json

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import MECHANISMS
from test_cost import interpreted
from whippletree.analysis import algorithm_words
from whippletree.dynamics.auto import calibrate, choose, timing
from whippletree.dynamics.auto import cost_model as predict
from whippletree.dynamics.auto.choose import decide
from whippletree.dynamics.auto.rates import BENDING, Use
from whippletree.dynamics.auto.tree_operations import of_articulated, of_composite, of_divide
from whippletree.dynamics.divide.options import Division
from whippletree.integrate.simulate import A_RUN
from whippletree.system.explain import as_dict
from whippletree_lab.bench import choice, families
from whippletree_lab.bench.result import BenchResult
from whippletree_lab.report import report
from zoo import ZOO, chain, random_model

HOST = dict(predict.TYPICAL)


@pytest.fixture
def rates(monkeypatch):
    """Rates as if this host had been measured; asks for others are kept."""
    asked = []

    def given(names):
        asked.append(list(names))
        return HOST

    monkeypatch.setattr(calibrate, "measured", given)
    return asked


@pytest.fixture
def no_rates(monkeypatch):
    def refuse(names):
        raise AssertionError(f"{list(names)} must not be measured")

    monkeypatch.setattr(calibrate, "measured", refuse)


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize("name", ZOO)
def test_small_trees_are_swept_by_rule(name, no_rates):
    decision = decide(ZOO[name]().compile())
    assert decision.algorithm == "articulated"
    assert decision.why.startswith("by rule")
    assert decision.seconds == {}


@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_are_reduced_by_rule(name, no_rates):
    assert decide(MECHANISMS[name]()[0]).algorithm == "reduction"


def test_many_loops_are_reduced_by_rule(no_rates):
    system = timing.ladder(100).compile()
    assert decide(system) == ("reduction", "by rule: its cost grows as the mechanism does", {})


def test_the_only_one_that_can_is_taken(no_rates):
    assert decide(chain(2).compile(), Use(among=("composite",))) == ("composite", "no other can", {})


def test_runs_take_what_can_run(rates):
    system = families.chain(1024).compile()
    assert decide(system).algorithm == "divide"
    assert decide(system, A_RUN).algorithm in A_RUN.among


# ---------------------------------------------------------------- predictions


@pytest.mark.parametrize(("bodies", "taken"), [(64, "articulated"), (512, "divide"), (1024, "divide")])
def test_long_chains_are_divided(bodies, taken, rates):
    """With four lanes or more; the host is asked only where typical rates promise a gain."""
    system = families.chain(bodies).compile()
    divides = taken == "divide" and wt.LANES >= 4
    decision = decide(system)
    assert decision.algorithm == (taken if divides else "articulated")
    assert bool(rates) == divides
    if divides:
        assert decision.seconds["divide"] < decision.seconds["articulated"]
        assert "times as fast as articulated on this host" in decision.why


def test_a_tree_without_equal_subchains_is_swept(no_rates):
    decision = decide(families.tree(300).compile())
    assert decision.algorithm == "articulated"
    assert decision.why == "no other promises to be 1.25 times as fast"


def test_a_host_that_gains_little_keeps_the_sweep(monkeypatch):
    call, wide, single = HOST["divide"]
    slow = HOST | {"divide": (call, 10 * wide, 10 * single)}
    monkeypatch.setattr(calibrate, "measured", lambda names: slow)
    decision = decide(families.chain(512).compile())
    assert decision.algorithm == "articulated"
    if wt.LANES >= 4:
        assert decision.why == "no other is 1.1 times as fast on this host, as predicted"


def test_a_decision_is_made_once(rates):
    system = families.chain(256).compile()
    first = decide(system)
    count = len(rates)
    assert decide(system) is first
    wt.forward_dynamics(system, system.q0, np.zeros(256), np.zeros(256))
    assert len(rates) == count


def test_auto_divides_and_finds_its_memory_again(rates):
    """The same bits as by name, also when another algorithm has been used in between."""
    system = families.chain(300).compile()
    q, u, tau = np.linspace(-1, 1, 300), np.ones(300), np.zeros(300)
    by_name = {a: wt.forward_dynamics(system, q, u, tau, algorithm=a) for a in ("articulated", "divide")}
    taken = decide(system).algorithm
    for _ in range(3):
        assert np.array_equal(wt.forward_dynamics(system, q, u, tau), by_name[taken])
    wt.forward_dynamics(system, q, u, tau, algorithm="articulated")
    assert np.array_equal(wt.forward_dynamics(system, q, u, tau), by_name[taken])
    assert ("auto", None) in system.workspaces.quick or taken == "articulated"


def test_auto_sweeps_after_reduction_was_named(no_rates):
    """What was used by name does not become what auto takes."""
    system = chain(5).compile()
    state = np.full(5, 0.3), np.ones(5), np.zeros(5)
    swept = wt.forward_dynamics(system, *state, algorithm="articulated")
    fresh = chain(5).compile()
    wt.forward_dynamics(fresh, *state, algorithm="reduction")
    assert np.array_equal(wt.forward_dynamics(fresh, *state), swept)


def test_batches_fill_lanes_with_states(rates):
    system = families.chain(1024).compile()
    assert decide(system, Use(wt.LANES)).algorithm == "articulated"
    assert choose.use_of(np.zeros((1000, 3)), None) == Use(wt.LANES, 1)
    assert choose.use_of(np.zeros((2, 3)), 3) == Use(2, 3)
    assert choose.use_of(np.zeros(3), None) == Use()


def test_a_body_without_inertia_about_an_axis_is_no_tip_for_auto(no_rates):
    """Rods without thickness: a subchain that ends in one may have a motion without inertia in some pose."""
    system = chain(300).compile()
    divided = of_divide(system, Division())
    assert divided is not None
    assert not divided.blunt
    assert decide(system).algorithm == "articulated"


def test_predictions_grow_with_the_system():
    for name in ("articulated", "composite", "divide", "multipliers", "nullspace", "reduction"):
        took = [predict.seconds(families.chain(n).compile(), name, Use(), HOST) for n in (8, 32, 128, 512)]
        assert took == sorted(took)
        assert took[0] > 0.0
    loops = [predict.seconds(timing.ladder(n).compile(), "multipliers", Use(), HOST) for n in (2, 8, 32)]
    assert loops == sorted(loops)


def test_threads_share_one_state_and_wait_for_each_other():
    system = families.chain(4096).compile()
    one, two = (predict.seconds(system, "divide", Use(threads=n), HOST) for n in (1, 2))
    assert 0.5 * one < two < one
    short = families.chain(64).compile()
    assert predict.seconds(short, "divide", Use(threads=2), HOST) > predict.seconds(short, "divide", Use(), HOST)


def test_what_is_not_counted_is_not_predicted():
    looped = timing.ladder(16).compile()
    assert predict.seconds(looped, "reduction", Use(), HOST) is None
    assert predict.seconds(looped, "divide", Use(), HOST) is None
    assert predict.seconds(looped, "reduction", Use(), HOST, {"reduction": 1000.0}) == pytest.approx(
        HOST["reduction"][0] + 1000 * HOST["reduction"][1]
    )


# ---------------------------------------------------------------- our own counts


def test_trees_take_the_operations_that_are_reported():
    """Of branched trees of many kinds; what a body adds to a parent that has others is rounded: 2 percent."""
    kinds = ("revolute", "spherical", "universal", "free", "planar")
    for algorithm, reported in (("articulated", of_articulated), ("composite", of_composite)):
        done = interpreted("count_operations.py", algorithm, 20, 40)
        systems = [random_model(np.random.default_rng(n), n, kinds).compile() for n in (20, 40)]
        np.testing.assert_allclose([reported(s) for s in systems], done, rtol=0.02)


def test_subchains_in_lanes_are_counted_once():
    system = families.chain(400).compile()
    whole, divided = of_divide(system, Division(lanes=False)), of_divide(system, Division())
    assert whole.registers == 0.0
    assert whole.floats > of_articulated(system)
    if wt.LANES > 1:
        assert divided.subchains == wt.LANES
        assert divided.registers < 2.0 * of_articulated(system) / wt.LANES
    assert of_divide(MECHANISMS["four_bar"]()[0], Division()) is None


# ---------------------------------------------------------------- the host


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file for rates of its own, and calibrations that only count."""
    path, made = tmp_path / "folder" / "rates.json", []
    monkeypatch.setattr(calibrate, "FILE", path)
    monkeypatch.setattr(calibrate, "_measured", {})
    monkeypatch.setitem(calibrate.CALIBRATIONS, "articulated", lambda: made.append(1) or (1e-6, 2e-10))
    return path, made, lambda: monkeypatch.setattr(calibrate, "_measured", {})


def test_rates_are_measured_once_and_kept(file):
    path, made, forget = file
    assert calibrate.known()["articulated"] == predict.TYPICAL["articulated"]
    assert calibrate.measured(["articulated", "not known"])["articulated"] == (1e-6, 2e-10)
    forget()
    assert calibrate.known()["articulated"] == (1e-6, 2e-10)
    assert calibrate.measured(["articulated"])["articulated"] == (1e-6, 2e-10)
    assert calibrate.is_measured("articulated")
    deformed, typical = calibrate.known()[BENDING], predict.TYPICAL[BENDING]
    assert deformed[1] / typical[1] == pytest.approx(2e-10 / predict.TYPICAL["articulated"][1])
    assert len(made) == 1
    assert json.loads(path.read_text())["host"] == calibrate.host()


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", '{"rates": 3}', '{"host": null, "rates": {"articulated": [1e-6, 2e-10]}}',
        '{"host": HOST, "rates": {"articulated": [1e-6]}}', '{"host": HOST, "rates": {"articulated": [NaN, 2e-10]}}',
        '{"host": HOST, "rates": {"articulated": ["a", 1]}}', '{"host": HOST, "rates": {"articulated": [-1, 1e-10]}}',
        '{"host": HOST, "rates": {"other": [1e-6, 2e-10]}}',
    ],
)  # fmt: skip
def test_a_file_that_is_not_of_this_host_is_measured_anew(file, text):
    path, made, _ = file
    path.parent.mkdir()
    path.write_text(text.replace("HOST", json.dumps(calibrate.host())))
    assert calibrate.known() == predict.TYPICAL
    assert calibrate.measured(["articulated"])["articulated"] == (1e-6, 2e-10)
    assert len(made) == 1


def test_a_folder_that_cannot_be_written_is_no_error(file, monkeypatch):
    path, made, _ = file
    path.parent.parent.joinpath("folder").write_text("a file where the folder should be")
    assert calibrate.measured(["articulated"])["articulated"] == (1e-6, 2e-10)
    assert calibrate.measured(["articulated"])["articulated"] == (1e-6, 2e-10)  # this process keeps it
    assert len(made) == 1


def test_calibration_times_the_algorithm_itself(monkeypatch):
    """Two sizes of chains; a rate is a time."""
    monkeypatch.setattr(timing, "ROUNDS", 1)
    call, each = calibrate.CALIBRATIONS["articulated"]()
    assert 0.0 <= call < 1.0
    assert 0.0 <= each < 1e-3


def test_a_line_through_two_times():
    assert timing.line([3.0, 7.0], [1.0, 5.0]) == (2.0, 1.0)
    assert timing.line([3.0, 2.0], [1.0, 5.0]) == (3.0, 0.0)  # noise makes no negative rate


# ---------------------------------------------------------------- explain


def test_explain_lists_who_can_and_who_cannot(no_rates, monkeypatch):
    monkeypatch.setattr(calibrate, "_measured", {})
    monkeypatch.setattr(calibrate, "_read", lambda: None)
    lines = MECHANISMS["four_bar"]()[0].explain().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("algorithm"))
    assert lines[start].startswith("algorithm  reduction: O(n + m): 3 degrees of freedom and 5 rows")
    assert lines[start + 1] == "           by rule: nothing is faster below 64 bodies and rows of constraints"
    assert lines[start + 2].split() == ["costs", "of", "one", "state", "operations", "predicted"]
    assert [line.split()[0] for line in lines[start + 3 : start + 6]] == ["reduction", "multipliers", "nullspace"]
    assert all(line.endswith("µs") for line in lines[start + 3 : start + 6])
    assert any(line.startswith("           cannot: articulated, composite") for line in lines)
    assert lines[-1] == "           predicted from rates of a typical host: --measure measures this one"


def test_explain_measures_when_asked(rates):
    reported = as_dict(chain(3).compile(), measure=True)
    assert (reported["algorithm"], reported["why"][:7]) == ("articulated", "by rule")
    for name in ("articulated", "composite", "divide"):
        assert reported["algorithms"][name]["able"]
        assert 0.0 < reported["algorithms"][name]["measured"] < 1.0
        assert reported["algorithms"][name]["operations"] > 1000
    assert set(rates[0]) >= {"articulated", "composite"}


def test_explain_says_what_keeps_an_algorithm_from_it(no_rates):
    reported = as_dict(MECHANISMS["four_bar"]()[0])
    assert reported["algorithms"]["articulated"] == {"able": False, "reason": "closed loops"}
    assert reported["algorithms"]["reduction"]["measured"] is None
    assert reported["algorithm"] == "reduction"


def test_the_command_measures(command, tmp_path, monkeypatch, rates):
    wt.save(chain(2), tmp_path / "two.toml")
    code, out, _ = command("explain", "two.toml", "--measure")
    assert code == 0
    assert "operations   predicted    measured" in out
    reported = json.loads(command("explain", "two.toml", "--measure", "--json")[1])
    assert reported["algorithms"]["articulated"]["measured"] > 0.0


def test_times_are_written_short():
    assert [algorithm_words._time(s) for s in (1.234e-6, 5.6e-3, 2.0, None, 0.99951e-3)] == [
        "1.23 µs", "5.6 ms", "2 s", "-", "1 ms",
    ]  # fmt: skip


# ---------------------------------------------------------------- the bench


def test_the_bench_holds_auto_against_the_best(rates, tmp_path):
    case = choice._tree("chain", "4", families.chain(4))
    row = choice.timed(case, 1)
    assert row.taken == "articulated"
    assert set(row.seconds) >= {"articulated", "auto"}
    assert max(row.differences.values()) < 1e-10
    looped = choice.timed(choice.looped("ladder", "1", choice.loop_families.ladder(1)), 1)
    assert looped.taken == "reduction"
    result = BenchResult("choose", "", "", 1, {"processor": "x", "lanes": 4}, {}, [row, looped])
    row.seconds = {"articulated": 1.1, "divide": 1.0, "auto": 1.3}
    looped.seconds = {"reduction": 3.0, "multipliers": 2.0, "auto": 3.0}
    assert choice.ratio(looped) == 1.5
    assert choice.summary(result)[0].startswith(
        "auto is within 15% of the best in 1 of 2 cases (50%); at worst 1.50 times"
    )
    assert "1.50x" in report.text(result)
    assert all(path.stat().st_size > 1000 for path in report.plot(result, tmp_path / "choose.svg"))
    assert report.load(report.save(result, tmp_path / "choose.json")).rows == result.rows


def test_cases_are_of_all_families():
    found = {case.family for case in choice.cases((4,))}
    assert found >= {"row of one kind", "chain", "tree", "hanging tree", "ladder", "lattice", "flexible chain", "batch"}
