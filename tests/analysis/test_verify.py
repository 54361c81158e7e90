"""The cross-examination of a system: it holds for what is right, and names what is not."""

import json
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.analysis import verify as room
from whippletree.analysis.random_states import random_states
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.errors import ModelError, SimulationError
from whippletree_lab.bench.loop_families import ladder

MODELS = Path(__file__).parents[2] / "models"


def system_of(name):
    return wt.load(MODELS / f"{name}.toml").compile()


LARGE = {"long_chain", "ladder", "flexible_chain"}  # a minute or more


@pytest.mark.parametrize("model", sorted({path.stem for path in MODELS.glob("*.toml")} - LARGE))
def test_our_models_hold(model):
    found = wt.verify(system_of(model), states=4, until=0.002 if "flexible" in model else 0.05)
    assert found.holds, str(found)
    assert len(found.algorithms) >= 3
    assert "all agree" in str(found)
    assert {c.what for c in found.checks} >= {"forces balance", "kinetic energy", "mass matrix is symmetric"}


def test_a_state_of_balance_is_not_judged_by_its_rounding():
    """It hangs at rest, and forces of 1e-15 N m were all that algorithms could differ in."""
    found = wt.verify(system_of("whippletree"), states=1, until=0.0)
    assert found.holds, str(found)


def test_momentum_is_looked_at_where_nothing_pushes():
    assert any(c.what.startswith("momentum") for c in wt.verify(system_of("satellite"), states=1, until=0.05).checks)
    pushed = wt.verify(system_of("double_pendulum"), states=1, until=0.05)
    assert not any(c.what.startswith("momentum") for c in pushed.checks)
    assert "from outside" in pushed.notes[0]


@pytest.mark.parametrize("model", ["flexible_four_bar", "flexible_slider_crank"])
def test_flexible_loops_are_deformed_a_little(model):
    """They closed by bending bodies until the mass matrix was no longer positive, and the SVD did not converge."""
    system = system_of(model)
    Q, _ = random_states(system, 6, np.random.default_rng(0))
    for name, flexible in system.model.flexibles.items():
        deformed = flexible.modes.largest_strain(Q[:, system.q_index(name)])
        assert 0.0 < deformed[1:].min() <= deformed.max() < 1e-3
    assert min(np.linalg.eigvalsh(wt.mass_matrix(system, q))[0] for q in Q) > 0.0


def test_constraints_that_be_temporary_are_run_by_those_that_can():
    """One that cannot hold a latch kept all others from running."""
    found = wt.verify(system_of("docking"), states=3, until=0.05)
    assert "no run: algorithm 'articulated' cannot solve 'docking'" in found.notes
    assert {"run by multipliers against reduction", "energy by multipliers"} <= {c.what for c in found.checks}


def test_the_run_begins_far_from_singular_poses(monkeypatch):
    """A ladder that lay almost flat was run for ever by multipliers."""
    begun = []
    monkeypatch.setattr(room, "simulate", lambda system, until, **given: begun.append(given["q"]) or 1 / 0)
    system = system_of("four_bar")
    with pytest.raises(ZeroDivisionError):
        wt.verify(system, states=6)
    Q, U = random_states(system, 6, np.random.default_rng(0))
    far = [room.singular(system, q, u) for q, u in zip(Q, U, strict=True)]
    np.testing.assert_array_equal(begun[0], Q[1 + np.argmin(far[1:])])


def test_random_states_keep_away_from_singular_poses():
    """Those of a ladder lay flat, all of them."""
    system = ladder(8).model.compile()
    Q, U = random_states(system, 3, np.random.default_rng(0))
    start, *others = (room.singular(system, q, u) for q, u in zip(Q, U, strict=True))
    assert max(others) < 100 * start
    flat = Q[0].copy()
    for name, sign in (("foot0", 1), ("left1", -1), ("right1", 1)):
        flat[system.q_index(name)] = sign * (np.pi / 2 - 1e-7)
    assert room.singular(system, flat, U[0]) > 100 * start


def test_a_run_that_breaks_off_does_not_hold(monkeypatch):
    right = room.simulate

    def breaks(system, until, *, algorithm, **options):
        if algorithm == "composite":
            raise SimulationError("the motion ceases to be finite")
        return right(system, until, algorithm=algorithm, **options)

    monkeypatch.setattr(room, "simulate", breaks)
    found = wt.verify(system_of("double_pendulum"), states=2, until=0.05)
    (bad,) = [c for c in found.checks if not c.holds]
    assert (bad.what, bad.where) == ("run by composite", "the motion ceases to be finite")
    reported = json.loads(json.dumps(found.as_dict(), allow_nan=False))  # infinity is not JSON
    assert [c["worst"] for c in reported["checks"] if not c["holds"]] == [None]


def test_a_mass_matrix_that_is_singular_is_named():
    m = wt.Model("rod that floats")
    m.body("rod", **wt.rod(mass=1.0, length=1.0))  # no inertia about its axis
    m.joint("free", "free", m.ground, "rod")
    with pytest.raises(SimulationError, match="the mass matrix of 'rod that floats' is singular") as caught:
        wt.verify(m.compile())
    assert caught.value.where == "joint 'free' (free) of body 'rod'"


def test_states_close_and_differ():
    system = system_of("four_bar")
    Q, U = random_states(system, 6, np.random.default_rng(1))
    rows = rows_of(system, Q, U, matrix=False)
    assert np.abs(rows.g).max() < 1e-9
    assert np.abs(rows.rate).max() < 1e-9
    assert np.ptp(Q[:, 0]) > 0.1


def test_an_algorithm_that_is_wrong_is_named(monkeypatch):
    right = room.dynamics.forward_dynamics

    def wrong(system, q, u, tau, *, algorithm, certificate=False):
        out = right(system, q, u, tau, algorithm=algorithm, certificate=certificate)
        if algorithm == "composite" and not certificate:
            out[1] += 1e-6 * np.abs(out).max()
        return out

    monkeypatch.setattr(room.dynamics, "forward_dynamics", wrong)
    found = wt.verify(system_of("double_pendulum"), states=3, until=0.0)
    assert not found.holds
    (bad,) = [c for c in found.checks if not c.holds]
    assert bad.what == "composite against articulated"
    assert bad.worst == pytest.approx(1e-6, rel=1e-3)
    assert "joint 'elbow'" in bad.where
    assert "NOT in agreement: composite against articulated" in str(found)


def test_a_mass_matrix_that_is_wrong_is_named(monkeypatch):
    right = room.dynamics.mass_matrix
    monkeypatch.setattr(
        room.dynamics, "mass_matrix", lambda s, q: right(s, q) + np.triu(np.full((s.nu, s.nu), 1e-5), 1)
    )
    found = wt.verify(system_of("double_pendulum"), states=3, until=0.0)
    assert {"mass matrix is symmetric", "kinetic energy"} <= {c.what for c in found.checks if not c.holds}


@pytest.mark.parametrize(
    ("options", "message"),
    [({"states": 0}, "states is not a count"), ({"until": -1.0}, "until"), ({"states": 2.5}, "states is not a count")],
)
def test_wrong_input_is_named(options, message):
    with pytest.raises(ModelError, match=message):
        wt.verify(system_of("pendulum"), **options)


def test_nothing_that_moves_is_nothing_to_verify():
    m = wt.Model("rock")
    m.body("rock", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("glue", "fixed", m.ground, "rock")
    with pytest.raises(ModelError, match="nothing of 'rock' can move"):
        wt.verify(m.compile())


def test_on_the_command_line(command):
    code, out, _ = command("verify", MODELS / "double_pendulum.toml", "--states", "2", "--until", "0.05", "--json")
    reported = json.loads(out)
    assert code == 0
    assert reported["holds"] is True
    assert reported["algorithms"][0] == "articulated"
    assert all(c["worst"] <= c["allowed"] for c in reported["checks"])
