"""What a newcomer gets wrong: each call is refused by name, with what to do instead."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, ModelWarning, SimulationError, nearest
from whippletree.result import cite
from whippletree.result.records import Change
from whippletree.result.summary import happenings, summary

MODELS = Path(__file__).parents[2] / "models"
PENDULUM = MODELS / "pendulum.toml"
NO_NAMES = ([1], {"a": 1}, 5, None, b"aba", np.array([1, 2]))
ARGUMENTS = {"q": [0.0], "u": [0.0], "udot": [0.0], "tau": [0.0], "rhs": [0.0], "body": "rod", "step": 1e-3, "steps": 2}
ARGUMENTS |= {"until": 0.1, "t": [0.0]}


@pytest.fixture
def pendulum():
    return wt.load(PENDULUM).compile()


def taking_a_system():
    for name in wt.__all__:
        found = getattr(wt, name)
        if callable(found) and next(iter(inspect.signature(found).parameters), "") == "system":
            yield pytest.param(found, id=name)


def call(function, system, **more):
    needed = [p for p in list(inspect.signature(function).parameters.values())[1:] if p.default is p.empty]
    return function(system, **{p.name: ARGUMENTS[p.name] for p in needed if p.kind is not p.VAR_KEYWORD} | more)


# ---------------------------------------------------------------- a System is expected


@pytest.mark.parametrize("function", [*taking_a_system()])
@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (str(PENDULUM), f"got: str '.*\n  hint: load and compile the file: wt.load\\('{PENDULUM}'\\).compile\\(\\)"),
        (
            PENDULUM,
            f"got: (Posix|Windows)Path .*\n  hint: load and compile the file: wt.load\\('{PENDULUM}'\\).compile\\(\\)",
        ),
        (wt.load(PENDULUM), r"got: Model 'pendulum'\n  hint: compile it first: model\.compile\(\)"),
        (None, r"got: NoneType None\n  hint: model\.compile\(\) makes one"),
        ([1.0], r"got: list \[1\.0\]"),
    ],
    ids=["str", "Path", "Model", "None", "list"],
)
def test_what_is_no_system_is_refused_by_name(function, given, reported):
    with pytest.raises(ModelError, match=reported):
        call(function, given)
    if function is wt.forward_dynamics:  # which has three ways to its System
        for more in ({"tau": [0.0]}, {"tau": [0.0], "threads": 1}, {"tau": [0.0], "certificate": True}):
            with pytest.raises(ModelError, match="System"):
                call(function, given, **more)


def test_a_plain_call_of_forward_dynamics_is_not_checked(pendulum, monkeypatch):
    from whippletree.dynamics import functions

    zero = np.zeros(1)

    def plain():
        wt.forward_dynamics(pendulum, zero, zero, zero)
        wt.inverse_dynamics(pendulum, zero, zero, zero)
        wt.mass_matrix(pendulum, zero)

    plain()  # the first calls make their memory
    for name in ("require_system", "require_algorithm_name"):
        monkeypatch.setattr(functions, name, lambda given: pytest.fail("the plain call asks"))
    plain()


# ---------------------------------------------------------------- a path, a Model


PATHS = {
    "load": lambda x: wt.load(x),
    "packages": lambda x: wt.load(PENDULUM, packages=[x]),
    "load_result": lambda x: wt.load_result(x),
    "save": lambda x: wt.save(wt.load(PENDULUM), x),
    "output": lambda x: wt.simulate(wt.load(PENDULUM).compile(), 0.01, output=x) if x is not None else wt.load(x),
    "run.save": lambda x: wt.simulate(wt.load(PENDULUM).compile(), 0.01).save(x),
    "report": lambda x: wt.simulate(wt.load(PENDULUM).compile(), 0.01).report(x),
    "animate": lambda x: wt.simulate(wt.load(PENDULUM).compile(), 0.01).animate(x),
    "linear": lambda x: wt.linearize(wt.load(PENDULUM).compile()).save(x),
    "modes": lambda x: wt.Modes.load(x),
    "sweep": lambda x: wt.Sweep.load(x),
    "mesh": lambda x: wt.mesh(x, mass=1.0),
    "nastran": lambda x: wt.nastran(x, matrices=x),
}


@pytest.mark.parametrize("given", [None, 5, [1], b"x", wt.Model("m")], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_path_is_refused(name, given):
    with pytest.raises(ModelError, match=r"is not named by a path\n  expected: a str or pathlib.Path\n  got: "):
        PATHS[name](given)


def test_a_system_is_not_saved_as_a_model(pendulum, tmp_path):
    with pytest.raises(ModelError, match=r"wt\.save\(system\.model, path\)"):
        wt.save(pendulum, tmp_path / "x.toml")
    with pytest.raises(ModelError, match="this is no Model"):
        wt.save("x.toml", tmp_path / "x.toml")


def test_a_model_in_the_place_of_a_result_says_so(pendulum, tmp_path):
    with pytest.raises(ModelError, match=r"is a model, not a result(.|\n)*whippletree run .* -o pendulum\.nc"):
        wt.load_result(PENDULUM)
    run = wt.simulate(pendulum, 0.01)
    run.save(tmp_path / "run.nc")
    (tmp_path / "run.nc").rename(tmp_path / "run.toml")
    for file in (tmp_path / "run.toml", tmp_path / "no.nc"):
        with pytest.raises(ModelError, match=r"is a result, not a model(.|\n)*wt\.load_result reads it"):
            wt.load(file)
    assert len(wt.load_result(tmp_path / "run.toml")) == len(run)  # the name does not matter to what is one
    with pytest.raises(ModelError, match=r"is the result of one run, not a sweep\n  hint: wt\.load_result"):
        wt.Sweep.load(tmp_path / "run.toml")
    wt.sweep(pendulum, {"q.hinge": [0.1, 0.2]}, 0.01, workers=0, output=tmp_path / "sweep.nc")
    with pytest.raises(ModelError, match=r"is a sweep, not a result\n  hint: wt\.Sweep\.load"):
        wt.load_result(tmp_path / "sweep.nc")


def test_columns_are_written_after_the_run(pendulum):
    with pytest.raises(
        ModelError, match=r"write 'x\.nc', then its columns: wt\.load_result\('x\.nc'\)\.save\('x\.csv'\)"
    ):
        wt.simulate(pendulum, 0.01, output="x.csv")
    with pytest.raises(ModelError, match=r"hint: take 'x\.nc'"):
        wt.simulate(pendulum, 0.01, output="x")


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("model", ["pendulum", "four_bar"])
@pytest.mark.parametrize("given", NO_NAMES, ids=lambda x: type(x).__name__)
def test_an_algorithm_that_is_no_name_is_refused_with_those_there_are(model, given):
    system = wt.load(MODELS / f"{model}.toml").compile()
    state = wt.assemble(system)
    calls = (
        lambda: wt.forward_dynamics(system, state.q, state.u, algorithm=given),
        lambda: wt.forward_dynamics(system, state.q, state.u, state.u, algorithm=given),
        lambda: wt.forward_dynamics(system, state.q, state.u, state.u, algorithm=given, threads=1),
        lambda: wt.reactions(system, state.q, state.u, algorithm=given),
        lambda: wt.simulate(system, 0.01, q=state.q, algorithm=given),
        lambda: wt.simulate_on_ranks(system, 0.01, algorithm=given),
        lambda: wt.live(system, until=0.01, realtime=False, q=state.q, algorithm=given),
        lambda: cite.used(system, given),
    )
    for one in calls:
        with pytest.raises(ModelError, match=r"algorithm is not a name\n  expected: .auto. or one of articulated, "):
            one()


@pytest.mark.parametrize("given", NO_NAMES, ids=lambda x: type(x).__name__)
def test_what_is_no_name_is_refused_wherever_one_is_expected(pendulum, given):
    q = u = np.zeros(1)
    calls = (
        lambda: wt.simulate(pendulum, 0.01, integrator=given),
        lambda: wt.simulate(pendulum, 0.01, stabilization=given),
        lambda: wt.simulate(pendulum, 0.01, check=1, check_action=given),
        lambda: wt.rollout(pendulum, q, u, None, 1e-3, 2, integrator=given),
        lambda: wt.rollout(pendulum, q, u, None, 1e-3, 2, tau_rows=5 if given is None else given),
        lambda: wt.live(pendulum, until=0.01, integrator=given),
        lambda: wt.live(pendulum, until=0.01, overrun=given),
        lambda: wt.sweep(pendulum, {"q.hinge": [0.1]}, 0.01, design=given),
        lambda: cite.used(pendulum, "auto", given),
        lambda: wt.Event("e", "hinge.q", direction=given),
        lambda: wt.Event("e", "hinge.q", then=given),
        lambda: wt.simulate(pendulum, 0.01, events=[given]),
        lambda: wt.jacobian(pendulum, q, given),
        lambda: pendulum.q_index(given),
        lambda: wt.Result(pendulum, [0.0], [q], [u])[given],
        lambda: wt.linearize(pendulum, inputs=[given]),
        lambda: wt.equilibrium(pendulum, fixed=[given]),
    )
    for one in calls:
        with pytest.raises(ModelError):
            one()


@pytest.mark.parametrize("given", [None, 5])
def test_events_that_are_no_list_are_refused(pendulum, given):
    with pytest.raises(ModelError, match="events is not a list"):
        wt.simulate(pendulum, 0.01, events=given)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("RK45", "did you mean 'dopri5' or 'scipy-RK45'?"),
        ("ode45", "did you mean 'dopri5'?"),
        ("BDF", "did you mean 'cvode'?"),
        ("Dopri5", "did you mean 'dopri5'?"),
        ("LSODA", "did you mean 'scipy-LSODA'?"),
        ("rk5", "did you mean 'rk4'?"),
        ("generalised_alpha", "did you mean 'generalized_alpha'?"),
    ],
)
def test_integrators_by_their_names_elsewhere(pendulum, given, meant):
    for one in (lambda: wt.simulate(pendulum, 0.01, integrator=given), lambda: cite.used(pendulum, "auto", given)):
        with pytest.raises(ModelError) as caught:
            one()
        assert caught.value.hint == meant
    with pytest.raises(ModelError, match="is not known to rollout"):
        wt.rollout(pendulum, [0.0], [0.0], None, 1e-3, 2, integrator=given)


def test_case_does_not_hide_what_is_meant():
    assert nearest("HINGE", ["hinge", "rod"]) == "did you mean 'hinge'?"
    assert nearest("hinge", ["Hinge", "rod"]) == "did you mean 'Hinge'?"
    assert nearest("x", ["Hinge", "rod"]) == "known: Hinge, rod"


# ---------------------------------------------------------------- functions of the user


def fails(*args):
    raise LookupError("not in my table")


def fails_late(t, *args):
    if t > 0.3:
        raise LookupError("not in my table")
    return 1.0


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (
            {"events": [wt.Event("down", "hinge.q", 0.5, then=fails)]},
            "event 'down': the function 'fails' .* at t = 0.2937",
        ),
        ({"events": [wt.Event("down", fails_late)]}, "event 'down': the output 'fails_late' .* at t = 0.3"),
        ({"tau": fails_late}, "the function tau, 'fails_late' .* near t = 0.3"),
        ({"tau": fails_late, "check": 1}, "the function tau, 'fails_late' .* t = 0.(3|29)"),
    ],
    ids=["then", "output", "tau", "checked"],
)
@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_an_error_of_a_function_says_where_and_when(pendulum, options, reported, integrator):
    with pytest.raises(SimulationError, match=reported) as caught:
        wt.simulate(pendulum, 1.0, q=[1.0], integrator=integrator, **options)
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.got == "LookupError: not in my table"
    assert 0.2 < caught.value.partial.t[-1] <= 0.31


def test_a_function_of_an_event_that_leaves_no_state_is_named(pendulum):
    event = wt.Event("down", "hinge.q", 0.5, then=lambda t, q, u: u.fill(np.nan))
    with pytest.raises(
        SimulationError, match=r"event 'down': .* leaves a wrong state at t = 0\.2937.*: u is not finite"
    ) as c:
        wt.simulate(pendulum, 1.0, q=[1.0], events=[event])
    assert c.value.partial.t[-1] > 0.2
    with pytest.raises(SimulationError, match=r"event 'down': the output .* raised an error at t = 0 s"):
        wt.simulate(pendulum, 1.0, events=[wt.Event("down", lambda t, q, u: None)])


def test_tau_in_a_run_with_temporary_constraints_is_named():
    m = wt.load(PENDULUM)
    m.constraint("lock", "relative", joint="hinge")
    m.temporary("lock", here=True, activate_at=0.5, release_torque=1.0)
    with pytest.raises(SimulationError, match="the function tau, 'fails_late' raised an error") as caught:
        wt.simulate(m.compile(), 1.0, q=[1.0], tau=fails_late)
    assert isinstance(caught.value.__cause__, LookupError)


def test_a_force_that_raises_is_named_in_every_call():
    m = wt.load(PENDULUM)
    m.force("gust", "function", body="rod", function=fails)
    system, zero = m.compile(), np.zeros(1)
    calls = (
        lambda: wt.forward_dynamics(system, zero, zero, zero),
        lambda: wt.inverse_dynamics(system, zero, zero, zero),
        lambda: wt.applied_force(system, zero, zero),
        lambda: wt.energy(system, zero, zero),
        lambda: wt.reactions(system, zero, zero),
        lambda: wt.live(system, until=0.01, realtime=False),
    )
    for one in calls:
        with pytest.raises(SimulationError, match="force 'gust': the function 'fails' raised an error") as caught:
            one()
        assert isinstance(caught.value.__cause__, LookupError)


# ---------------------------------------------------------------- temporary constraints


def test_a_constraint_that_cannot_be_activated_names_its_opponents():
    m = wt.Model("two", gravity=(0, 0, 0))
    m.body("a", mass=1.0, inertia=(1, 1, 1))
    m.joint("flight", "free", m.ground, "a")
    m.constraint("rod", "distance", body="a", length=1.0)
    m.constraint("hook", "latch", body="a", to_at=(1.5, 0, 0))
    m.temporary("hook", activate_at=0.5)
    reported = "it stays violated by 0.25 m at best: it contradicts 'rod'"
    with pytest.warns(ModelWarning, match=f"temporary 'hook' is not activated at t = 0.5 s: {reported}"):
        run = wt.simulate(m.compile(), 1.0, q={"flight": (1, 0, 0, 1, 0, 0, 0)})
    assert [(c.what, c.why) for c in run.changes] == [("refused", reported)]


def test_a_constraint_that_a_prescribed_motion_opposes_names_it():
    m = wt.Model("driven", gravity=(0, 0, 0))
    m.body("a", mass=1.0, inertia=(1, 1, 1))
    m.joint("rail", "prismatic", m.ground, "a", axis="x")
    m.force("drive", "motion", joint="rail", position=wt.Ramp(1.0))
    m.constraint("hook", "latch", body="a", to_at=(1.5, 0, 0))
    m.temporary("hook", activate_at=0.5)
    m.constraint("stop", "relative", joint="rail")
    m.temporary("stop", here=True, activate_at=0.7)
    with pytest.warns(ModelWarning) as reported:
        wt.simulate(m.compile(), 1.0)
    assert "violated by 1 m at best: it contradicts prescribed motion 'drive'" in str(reported[0].message)
    assert "it contradicts prescribed motion 'drive'" in str(reported[1].message)


# ---------------------------------------------------------------- the command line


def test_run_prints_events_and_changes(command):
    code, out, _ = command("run", MODELS / "clutch.toml", "--until", "10", "--u", "motor_shaft=60", "-o", "run.nc")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["time", "constraint", "or", "event", "change", "impulse"]
    assert [(float(row[0]), row[2], row[3]) for row in rows[1:]] == [
        (1.0, "plates", "activated"),
        (1.54545455, "plates", "sticks"),
        (7.66666667, "plates", "slips"),
        (8.0, "plates", "released"),
    ]
    code, out, _ = command("run", PENDULUM, "--until", "3", "--q", "hinge=1", "--stop", "hinge.q < 0")
    assert out.splitlines()[1].split() == ["0.436649634", "s", "hinge.q", "<", "0", "event"]
    code, out, _ = command("run", PENDULUM, "--until", "0.1")
    assert "constraint or event" not in out


def test_ten_rows_are_printed_and_the_rest_counted(pendulum):
    impulse = np.array([0.0, 0.0, 0.0, 0.0, 3.0, 4.0])
    m = wt.load(PENDULUM)
    m.constraint("lock", "relative", joint="hinge")
    m.temporary("lock")
    changes = [Change("lock", "bounced", 0.1 * n, impulse, 0.0, None) for n in range(13)]
    run = wt.Result(m.compile(), [0.0], [[0.0]], [[0.0]], attrs={"changes": Change.text(changes)})
    rows = happenings(run)
    assert len(rows) == 12
    assert rows[1] == ("0 s", "lock", "bounced", "5 N s")
    assert rows[-1] == ("and 3 more", "", "", "")
    assert [c["impulse"] for c in summary(run)["changes"]] == [impulse.tolist()] * 13
    assert happenings(wt.Result(pendulum, [0.0], [[0.0]], [[0.0]])) == []


@pytest.mark.parametrize("name", ["plot", "report", "animate"])
def test_commands_that_want_a_result_say_so(command, name):
    code, _, err = command(name, PENDULUM, "-o", "x.html" if name != "plot" else "x.svg")
    assert code == 2
    assert "is a model, not a result" in err
    assert "whippletree run" in err


def test_a_longer_run_is_reported_from_a_stopped_one(pendulum, tmp_path):
    path = tmp_path / "run.nc"
    wt.simulate(pendulum, 0.1, output=path)
    for more in ({}, {"integrator": "rk4"}):
        with pytest.raises(ModelError) as caught:
            wt.simulate(pendulum, 0.2, output=path, resume=True, **more)
        assert "step" not in str(caught.value)
        assert "until 0.1" in caught.value.expected
    with pytest.raises(
        ModelError, match=r"was computed until t = 0.1 s(.|\n)*resume completes a run and does not change its end"
    ):
        wt.simulate(pendulum, 0.2, output=path, resume=True)
