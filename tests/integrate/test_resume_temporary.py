"""Runs whose constraints are activated and released, stopped and gone on with to the same bits."""

import json

import h5py
import numpy as np
import pytest

import whippletree as wt
from test_friction import ball, clutch
from test_resume import same_data, stopped
from whippletree.errors import ModelError
from whippletree.result.spans import parts, system_after


def juggled():
    """All at once: a ball that bounces and rubs, a clutch that slips, a lock and a latch that hold what they find."""
    m = clutch(activate_at=0.2, release_at=1.1)
    m.name, m.gravity = "juggled", (0.0, 0.0, -9.81)
    m.constraint("lock", "relative", joint="load_shaft")
    m.temporary("lock", here=True, activate_at=1.2)
    m.body("ball", **wt.sphere(mass=0.4, radius=0.05))
    m.joint("flight", "free", "ground", "ball")
    m.constraint("floor", "roll", body="ball", radius=0.05)
    m.temporary("floor", unilateral=True, restitution=0.6, friction=0.2)
    m.body("ship", **wt.box(mass=2.0, size=(0.3, 0.2, 0.1)))
    m.joint("drift", "free", "ground", "ship")
    m.constraint("berth", "latch", body="ship", at=(0.1, 0.0, 0.0), to="ball")
    m.temporary("berth", here=True, activate_at=0.5, release_at=1.4)
    system = m.compile()
    start = {"q": {"flight": (0, 0, 0.3, 1, 0, 0, 0)}}
    return system, start | {"u": {"flight": (0, 5, 0, 1.0, 0, 0), "motor_shaft": 8.0}, "output_step": 0.01}


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_run_with_changes_goes_on_to_the_same_bits(tmp_path, integrator):
    system, how = juggled()
    how |= {"integrator": integrator, "events": [wt.Event("turns", "motor_shaft.q", 1.0)], "save_every": 1e-3}
    for time in (0.1, 0.25, 0.6, 0.9, 1.15, 1.3, 1.5):
        stopped(system, tmp_path / "run.nc", time, resume=True, **how)
    run = wt.simulate(system, 2.0, output=tmp_path / "run.nc", resume=True, **how)
    alone = wt.simulate(system, 2.0, output=tmp_path / "alone.nc", **how)
    assert {(c.name, c.what) for c in run.changes} >= {
        ("floor", "bounced"), ("floor", "activated"), ("plates", "activated"), ("plates", "sticks"),
        ("plates", "released"), ("lock", "activated"), ("berth", "activated"), ("berth", "released"),
    }  # fmt: skip
    assert len(run.changes) == len(alone.changes)
    assert [o.t for o in run.events] == [o.t for o in alone.events]
    np.testing.assert_array_equal(run.q, alone.q)
    assert run.attrs == alone.attrs
    assert same_data(tmp_path / "run.nc", tmp_path / "alone.nc")


def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path):
    how = {"q": {"flight": (0, 0, 0.3, 1, 0, 0, 0)}}
    stopped(ball(), tmp_path / "run.nc", 0.5, **how)
    with h5py.File(tmp_path / "run.nc", "a") as file:
        memo = json.loads(file.attrs["state_memo"])
        del memo["part"]
        file.attrs["state_memo"] = json.dumps(memo)
    with pytest.raises(ModelError, match="it does not tell which of its constraints held"):
        wt.simulate(ball(), 2.0, output=tmp_path / "run.nc", resume=True, **how)


def test_changes_before_the_first_row_that_is_kept():
    """Rows of a part of a run are of the system that moved in them, though what made it happened before all of them."""
    system, how = juggled()
    run = wt.simulate(system, 0.6, **how)
    early = [c for c in run.changes if c.t < 0.4]
    assert {c.what for c in early} >= {"activated", "bounced"}
    (first, moved), *later = parts(system, run.t[45:], run.changes)
    assert first.start == 0
    assert list(moved.held) == list(system_after(system, early).held) == ["plates"]
    assert sum(rows.stop - rows.start for rows, _ in (*later, (first, moved))) == len(run.t) - 45
    whole = [s for rows, s in parts(system, run.t, run.changes) for _ in run.t[rows]]
    kept = [s for rows, s in parts(system, run.t[45:], run.changes) for _ in run.t[45:][rows]]
    assert [list(s.held) for s in kept] == [list(s.held) for s in whole[45:]]
    assert [s.sliding for s in kept] == [s.sliding for s in whole[45:]]
