"""Old public names are read for one release, and each use names the new one: a test for every row of the tables."""

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import pytest

import whippletree as wt
from whippletree import ModelError
from whippletree.files import toml
from whippletree.model import renamed
from whippletree.model.numbers import changed
from whippletree.realtime.messages import Catalogue, parse
from whippletree.sweeps.targets import find_targets

MODELS = Path(__file__).parents[2] / "models"


def base():
    """Two sliding bodies, the second on the first, and a hinge between the second and a third."""
    m = wt.Model("old")
    for name in ("a", "b"):
        m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.joint("table", "planar", m.ground, "a")
    m.joint("hinge", "revolute", "a", "b", axis="y")
    return m


# of each key: how a part that takes it is added, with its other parameters, and a value
TAKERS = {
    "freedom": ("force", "motor", {"joint": "table", "torque": 1.0}, 2),
    "of_freedom": ("constraint", "gear", {"joint": "hinge", "of": "table", "ratio": 2.0}, 1),
    "turning_stiffness": ("force", "bushing", {"body": "a", "stiffness": 1.0}, (1.0, 2.0, 3.0)),
    "turning_damping": ("force", "bushing", {"body": "a", "stiffness": 1.0}, (1.0, 2.0, 3.0)),
    "one_sided": ("temporary", "distance", {}, True),
    "make_at": ("temporary", "distance", {}, 0.5),
    "make_within": ("temporary", "distance", {}, 0.5),
    "make_below": ("temporary", "distance", {"activate_within": 0.1}, 0.5),
    "break_at": ("temporary", "distance", {}, 0.5),
    "break_force": ("temporary", "distance", {}, 0.5),
    "break_torque": ("temporary", "distance", {}, 0.5),
}


def add(m, room, kind, parameters):
    if room == "temporary":
        m.constraint("x", "distance", body="a", to_at=(0.0, 0.0, 1.0), length=1.0)
        return m.temporary("x", **parameters)
    return getattr(m, room)("x", kind, **parameters)


def test_every_key_has_a_taker():
    assert TAKERS.keys() == renamed.KEYS.keys()


@pytest.mark.parametrize("old", TAKERS)
def test_calls_read_the_old_key(old):
    new, (room, kind, others, value) = renamed.KEYS[old], TAKERS[old]
    with pytest.warns(DeprecationWarning, match=f"'x': '{old}' is now '{new}'") as caught:
        part = add(base(), room, kind, others | {old: value})
    assert caught[0].filename == __file__  # so that Python shows it to the caller
    assert part == add(base(), room, kind, others | {new: value})
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now '{new}'"):
        assert getattr(part, old) == getattr(part, new) == value
    both = f"{room} 'x': '{old}' and '{new}' are the same key"
    with pytest.raises(ModelError, match=both):
        add(base(), room, kind, others | {old: value, new: value})


@pytest.mark.parametrize("old", TAKERS)
def test_model_files_read_the_old_key(old):
    new, (room, kind, others, value) = renamed.KEYS[old], TAKERS[old]
    m = base()
    add(m, room, kind, others | {new: value})
    text = toml.dumps(m)
    assert re.search(rf"(?m)^{new} = ", text)
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now '{new}' \\(m.toml:\\d+\\)"):
        assert toml.loads(re.sub(rf"(?m)^{new} = ", f"{old} = ", text), "m.toml") == m
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert toml.loads(text, "m.toml") == m


def test_an_attribute_that_never_was_is_none():
    part = add(base(), *TAKERS["freedom"][:2], TAKERS["freedom"][2])
    for name in ("freedoms", "one_sided", "nothing"):
        with pytest.raises(AttributeError, match=f"'Motor' object has no attribute '{name}'"):
            getattr(part, name)


@pytest.mark.parametrize(("key", "old"), renamed.VALUES)
def test_values_of_keys(key, old):
    m = base()
    m.constraint("x", "distance", body="a", to_at=(0.0, 0.0, 1.0), length=1.0)
    with pytest.warns(DeprecationWarning, match=f"temporary 'x': {key}: '{old}' is now '{renamed.VALUES[key, old]}'"):
        assert getattr(m.temporary("x", **{key: old}), key) == renamed.VALUES[key, old]


@pytest.mark.parametrize("key", ["turning_stiffness", "turning_damping"])
def test_sweeps_read_the_old_path(key):
    m, new = base(), renamed.KEYS[key]
    m.force("x", "bushing", body="a", stiffness=1.0)
    with pytest.warns(DeprecationWarning, match=f"parameter 'forces.x.{key}.y': '{key}' is now '{new}'"):
        (found,) = find_targets([f"forces.x.{key}.y"], m.compile(), ())
    (same,) = find_targets([f"forces.x.{new}.y"], m.compile(), ())
    assert found == same._replace(name=found.name)
    assert getattr(changed(m, {found: 3.0}).forces["x"], new) == (0.0, 3.0, 0.0)


@pytest.mark.parametrize("old", renamed.ACTIONS)
def test_events_read_the_old_action(old):
    with pytest.warns(DeprecationWarning, match=f"event 'e': '{old}' is now '{renamed.ACTIONS[old]}'"):
        event = wt.Event("e", "hinge.q", then=f"{old} grip")
    assert event.then == f"{renamed.ACTIONS[old]} grip"


def gripping():
    m = base()
    m.constraint("grip", "latch", body="b")
    m.temporary("grip")
    return Catalogue(m.compile())


@pytest.mark.parametrize("old", renamed.ACTIONS)
def test_live_commands_read_the_old_action(old):
    catalogue = gripping()
    with pytest.warns(DeprecationWarning, match=f"live command: '{old}' is now '{renamed.ACTIONS[old]}'"):
        command = parse({"do": old, "name": "grip"}, catalogue)
    assert (command.do, command.given["name"]) == (renamed.ACTIONS[old], "grip")


def test_controls_are_given_back_by_the_old_command():
    catalogue = gripping()
    with pytest.warns(DeprecationWarning, match="live command: 'release' is now 'release_control'"):
        assert parse({"do": "release"}, catalogue).do == "release_control"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse({"do": "release", "name": "grip"}, catalogue).do == "release"


@pytest.fixture(scope="module")
def docking(tmp_path_factory):
    """A run in which a lock is activated and released, checked by another algorithm, as a file."""
    m = wt.Model("lock")
    m.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.joint("axle", "revolute", m.ground, "wheel", axis="z")
    m.constraint("brake", "relative", joint="axle")
    m.temporary("brake", activate_at=0.1, release_at=0.2, here=True)
    path = tmp_path_factory.mktemp("old") / "run.nc"
    wt.simulate(m.compile(), 0.3, integrator="rk4", step=0.05, u={"axle": 1.0}, check=1).save(path)
    return path


def rewritten(path, target, **attrs):
    target.write_bytes(path.read_bytes())
    with h5py.File(target, "r+") as file:
        for name, change in attrs.items():
            change(file.attrs, name)
    return target


def test_results_of_older_files(docking, tmp_path):
    """Changes and attributes under their names of before."""
    new = wt.load_result(docking)
    assert [c.what for c in new.changes] == list(renamed.HAPPENED.values())

    def older(attrs, name):
        for old, now in renamed.HAPPENED.items():
            attrs[name] = str(attrs[name]).replace(f'"{now}"', f'"{old}"')

    path = rewritten(docking, tmp_path / "old.nc", changes=older)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = wt.load_result(path)
        assert [c.what for c in run.changes] == [c.what for c in new.changes]
    assert {str(w.message) for w in caught} == {
        f"change of 'brake' in the file: '{old}' is now '{now}'" for old, now in renamed.HAPPENED.items()
    }


@pytest.mark.parametrize("old", renamed.ATTRIBUTES)
def test_attributes_of_older_files(docking, tmp_path, old):
    now = renamed.ATTRIBUTES[old]

    def older(attrs, name):
        attrs[old] = attrs[name]
        del attrs[name]

    path = rewritten(docking, tmp_path / "old.nc", **{now: older})
    with pytest.warns(DeprecationWarning, match=f"'{old}' is now '{now}'"):
        run = wt.load_result(path)
    assert run.attrs[now] == 0
    assert old not in run.attrs


@pytest.mark.parametrize("old", renamed.RESULT)
def test_attributes_of_results(docking, old):
    run = wt.load_result(docking)
    with pytest.warns(DeprecationWarning, match=f"Result: '{old}' is now '{renamed.RESULT[old]}'"):
        assert getattr(run, old) == getattr(run, renamed.RESULT[old])
    with pytest.raises(AttributeError, match="'Result' object has no attribute 'nothing'"):
        run.nothing  # noqa: B018


def test_json_has_both_names():
    for new, old in renamed.JSON.items():
        assert renamed.beside({new: 3, "other": 1}) == {new: 3, old: 3, "other": 1}
    assert renamed.beside({"other": 1}) == {"other": 1}


def test_the_command_line_shows_the_warning(tmp_path):
    text = (MODELS / "pendulum.toml").read_text("utf-8")
    path = tmp_path / "old.toml"
    path.write_text(text + '\n[forces.drive]\nkind = "motor"\njoint = "hinge"\ntorque = 1.0\nfreedom = 0\n')
    call = [sys.executable, "-m", "whippletree", "check", str(path), "--json"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert "note: force 'drive': 'freedom' is now 'dof'" in done.stderr
    printed = json.loads(done.stdout)
    assert printed["dof"] == printed["freedoms"] == 1
