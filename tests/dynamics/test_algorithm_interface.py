"""A new algorithm is one folder and one line: dense_kkt/ does all that others do by the defaults of the interface."""

import ast
import pickle
import re
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import whippletree as wt
from dense_kkt import DENSE_KKT
from whippletree.analysis.reactions import reactions
from whippletree.dynamics import registry
from whippletree.dynamics.accuracy.certificate import Certificate
from whippletree.dynamics.stepping.by_calls import Places
from whippletree.integrate.project import project
from whippletree.result import cite
from zoo import LOOPS, ZOO, chain, four_bar, random_state

SRC = Path(wt.__file__).parent
# its own bounds (the certificate corrects beyond 1e-13 per degree of freedom), against an algorithm that has others
AGREE = 1e-9


@pytest.fixture(autouse=True)
def order():
    """The registry afterwards as it was, in its order too: a monkeypatch puts deleted rows back at the end."""
    rows = dict(wt.ALGORITHMS)
    yield
    wt.ALGORITHMS.clear()
    wt.ALGORITHMS.update(rows)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(wt.ALGORITHMS, DENSE_KKT.name, DENSE_KKT)  # the line


def near(a, b, scale=1.0):
    return np.abs(a - b).max() <= AGREE * max(scale, np.abs(b).max())


@pytest.mark.parametrize("name", ZOO)
def test_it_agrees_on_trees(name):
    system = ZOO[name]().compile()
    q, u, tau = random_state(system, np.random.default_rng(0))
    ours = wt.forward_dynamics(system, q, u, tau, algorithm="dense_kkt")
    assert near(ours, wt.forward_dynamics(system, q, u, tau, algorithm="articulated"))


@pytest.mark.parametrize("name", LOOPS)
def test_it_agrees_on_loops(name):
    system = LOOPS[name]().compile()
    state, rng = wt.assemble(system), np.random.default_rng(1)
    tau = rng.normal(size=system.nu)
    ours = wt.forward_dynamics(system, state.q, state.u, tau, algorithm="kkt")  # by its acronym
    assert near(ours, wt.forward_dynamics(system, state.q, state.u, tau, algorithm="multipliers"))


def test_batches_are_solved_state_by_state():
    system = chain(4).compile()
    q, u, tau = random_state(system, np.random.default_rng(2), 9)
    batch = wt.forward_dynamics(system, q, u, tau, algorithm="dense_kkt", threads=2)
    single = [wt.forward_dynamics(system, *state, algorithm="dense_kkt") for state in zip(q, u, tau, strict=True)]
    assert near(batch, np.array(single))


def test_it_has_certificates():
    system = four_bar().compile()
    state = wt.assemble(system)
    udot, proof = wt.forward_dynamics(
        system, state.q, state.u, np.zeros(system.nu), algorithm="dense_kkt", certificate=True
    )
    assert isinstance(proof, Certificate)
    assert proof.algorithm == "dense_kkt"
    assert proof.error.max() < 1e-9 * np.abs(udot).max()  # what a plain call promises


@pytest.mark.parametrize("make", [lambda: chain(3), four_bar], ids=["chain", "four_bar"])
def test_simulate_by_calls_keeps_the_laws(make):
    system = make().compile()
    state = wt.assemble(system)
    ours, theirs = (
        wt.simulate(system, 0.3, q=state.q, u=state.u, algorithm=a, output_step=0.05) for a in ("dense_kkt", "auto")
    )
    assert ours.attrs["algorithm"] == "dense_kkt"
    assert np.abs(ours.q - theirs.q).max() < 1e-7  # rtol is 1e-8, and steps are chosen alike
    assert np.abs(ours["energy.balance"]).max() < 1e-6 * max(1.0, np.abs(ours["energy.kinetic"]).max())
    if system.constraints.count:
        assert ours["closure"].max() < 1e-9


def test_a_run_under_forces_and_prescribed_motion():
    """The buffer is read where the compiled loop writes: forces on bodies, functions of time, motions."""
    model = chain(3)
    joint = next(iter(model.joints))
    model.force("drive", "motion", joint=joint, position=wt.Sine(0.3, 1.5))
    system = model.compile()
    ours, theirs = (wt.simulate(system, 0.3, algorithm=a, output_step=0.05) for a in ("dense_kkt", "articulated"))
    assert np.abs(ours.q - theirs.q).max() < 1e-7
    assert np.abs(ours["energy.balance"]).max() < 1e-6 * max(1.0, np.abs(ours["energy.kinetic"]).max())
    assert Places(system).driven


def test_what_it_raises_in_a_run_is_raised(monkeypatch):
    def broken(*given):
        raise ZeroDivisionError("a bug in an algorithm")

    system = chain(2).compile()
    monkeypatch.setitem(
        wt.ALGORITHMS, "broken", DENSE_KKT.__class__(**{**vars(DENSE_KKT), "name": "broken", "accelerations": broken})
    )
    with pytest.raises(ZeroDivisionError):
        wt.simulate(system, 0.1, algorithm="broken")


def test_it_is_verified_and_explained():
    system = four_bar().compile()
    found = wt.verify(system, states=3, until=0.0)
    assert "dense_kkt" in found.algorithms
    assert found.holds, str(found)
    assert re.search(r"dense_kkt\s+not counted", system.explain())


def test_reactions_and_projection_do_not_depend_on_it():
    system = four_bar().compile()
    state = wt.assemble(system)
    q, u = state.q + 1e-4, state.u.copy()
    assert project(system, q, u) < 1e-9
    udot = wt.forward_dynamics(system, state.q, state.u, np.zeros(system.nu), algorithm="dense_kkt")
    given = wt.reactions(system, state.q, state.u)
    assert given
    assert np.isfinite(udot).all()
    assert reactions is wt.reactions


def test_its_paper_is_cited():
    assert any("kelly" in entry.lower() for entry in cite.used(four_bar().compile(), "dense_kkt"))


def test_auto_takes_it_only_where_nothing_else_can(monkeypatch):
    system = chain(2).compile()
    for name in list(wt.ALGORITHMS):
        if name != "dense_kkt":
            monkeypatch.delitem(wt.ALGORITHMS, name)
    from whippletree.dynamics.auto.choose import decide

    assert decide(system).algorithm == "dense_kkt"


def test_what_it_does_not_support_is_refused(monkeypatch):
    monkeypatch.setitem(wt.ALGORITHMS, "dense_kkt", DENSE_KKT.__class__(**{**vars(DENSE_KKT), "SUPPORTS": {"trees"}}))
    with pytest.raises(wt.ModelError, match="'dense_kkt' cannot solve"):
        wt.forward_dynamics(four_bar().compile(), np.zeros(3), np.zeros(3), algorithm="dense_kkt")


# ---------------------------------------------------------------- names of algorithms

OWN = {  # where an algorithm may name itself
    "articulated": "dynamics/tree/",
    "composite": "dynamics/tree/",
    "multipliers": "dynamics/constraints/",
    "nullspace": "dynamics/constraints/",
    "reduction": "dynamics/reduction/",
    "divide": "dynamics/divide/",
    "subchains": "dynamics/subchains/",
}
ALLOWED = {
    ("files/mjcf_source.py", "composite"),  # an element of MJCF
    ("dynamics/divide/options.py", "subchains"),  # a value of its option ``leaves``
    ("dynamics/divide/memory.py", "subchains"),  # the same
    ("dynamics/two_handle/partition.py", "subchains"),  # the same
    ("integrate/run/subchain_motion.py", "subchains"),  # an attribute of a Result: how many there were
    ("mpi/ranks.py", "subchains"),  # "expected: subchains, which each rank has some of", a plain word
}


def literals(text):
    """Strings of a source but docstrings."""
    tree = ast.parse(text)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef))
    reported = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in reported:
            yield node.lineno, node.value


def names_in(text, names):
    """Names of algorithms that a string is, quotes, or begins with options."""
    return [n for n in names if text == n or re.search(rf"['\"]{n}['\"(]|^{n}\(", text)]


def test_only_the_registry_and_their_own_folders_name_algorithms():
    names = {a.name: a.name for a in wt.ALGORITHMS.values()} | registry.aliases()
    found = []
    for path in sorted(SRC.rglob("*.py")):
        here = path.relative_to(SRC).as_posix()
        for line, text in literals(path.read_text("utf-8")):
            for name in names_in(text, names):
                home = OWN.get(names[name])
                if not (home and here.startswith(home)) and (here, name) not in ALLOWED:
                    found.append(f"{here}:{line}: {text!r}")
    assert not found, "\n".join(found)


def test_the_reader_of_names_can_fail():
    text = 'def f():\n    "reduction"\n    return x == "reduction" or y(hint="take \'divide\'")\n'
    assert [names_in(t, ("reduction", "divide")) for _, t in literals(text)] == [["reduction"], ["divide"]]


def test_every_algorithm_has_its_header():
    for algorithm in wt.ALGORITHMS.values():
        assert cite.keys(algorithm.module.__doc__), algorithm.name


# ---------------------------------------------------------------- System and Workspaces


def test_a_system_is_frozen():
    system = four_bar().compile()
    for name in ("nu", "forces", "constraints", "workspaces", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(system, name, None)
    with pytest.raises(AttributeError, match="immutable"):
        del system.nu
    with pytest.raises(TypeError):
        system.held["more"] = None
    for array in (system.q0, *system.arrays.values()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    other = system.holding(system.held)
    assert other.workspaces is not system.workspaces
    with pytest.raises(AttributeError, match="immutable"):
        other.nu = 1


def test_a_pickle_has_no_workspaces():
    system = chain(3).compile()
    before = pickle.dumps(system)
    q, u, tau = random_state(system, np.random.default_rng(4))
    wt.forward_dynamics(system, q, u, tau)
    assert system.workspaces.ready
    assert pickle.dumps(system) == before
    assert not pickle.loads(before).workspaces.ready


def test_threads_share_workspaces():
    system, found = chain(7).compile(), []
    q, u, tau = random_state(system, np.random.default_rng(5))
    right = wt.forward_dynamics(system, q, u, tau)

    def work():
        found.extend(np.array_equal(wt.forward_dynamics(system, q, u, tau), right) for _ in range(500))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2000
    assert all(found)
