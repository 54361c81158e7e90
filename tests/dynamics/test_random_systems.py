"""Five hundred random systems of all classes, and a thousand trees against Pinocchio and MuJoCo.

``python tests/support/soak_agreement.py 20000`` is the long form of the first.
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import soak_agreement
import whippletree as wt
from against_mujoco import Peer
from bridge import columns, coordinates, error
from pin_model import PinModel
from random_systems import CLASSES, Found, agrees, draw
from reference import Reference
from soak_agreement import soak
from whippletree.files import mjcf
from zoo import random_model, random_state, unit

CLOSE = 1e-9  # of the largest entry; accelerations may lose that for each unit of conditioning, which is below 1e5 here


@pytest.mark.parametrize("share", range(5))
def test_all_algorithms_agree_on_random_systems(share):
    reported = []
    compared, failed = soak(100, 600.0, 100 * share, reported.append)
    assert failed is None, reported[-1]
    assert compared == 100


def test_every_class_is_drawn_and_can_fail():
    assert {draw(seed).kind for seed in range(60)} == set(CLASSES)
    assert not agrees(Found("tree", 1e-8, "", 2, 10.0))


def test_the_soak_program_says_which_seed_fails(monkeypatch, capsys):
    assert soak_agreement.main(["3", "--seconds", "600"]) == 0
    assert "3 systems compared" in capsys.readouterr().out
    monkeypatch.setattr(soak_agreement, "compare", lambda drawn: Found("tree", 1e-3, "a against b", 2, 10.0))
    assert soak_agreement.main(["3", "--first", "7"]) == 1
    assert "seed 7: a tree on which a against b differ by 1.00e-03" in capsys.readouterr().out


def worst(theirs, ours, M):
    """The largest difference in mass matrix, bias and, over conditioning, accelerations."""
    off = [error(a, b) for a, b in zip(ours[:2], theirs[:2], strict=True)]
    return max(*off, error(ours[2], theirs[2]) / np.linalg.cond(M))


def ours(system, q, u, tau):
    return wt.mass_matrix(system, q), wt.bias_force(system, q, u), wt.forward_dynamics(system, q, u, tau)


@pytest.mark.parametrize("share", range(5))
def test_a_thousand_trees_equal_pinocchio(share):
    for seed in range(200 * share, 200 * (share + 1)):
        rng = np.random.default_rng([seed, 4])
        model = random_model(rng, int(rng.integers(1, 8)), armature=rng.random() < 0.3, welds=0.15)
        system = model.compile()
        reference = Reference(model)
        peer, order = PinModel(model, reference), columns(system, reference)
        back = np.argsort(order)
        q, u, tau = random_state(system, rng)
        where, _ = coordinates(system, q, u)
        M = peer.mass_matrix(where)[np.ix_(order, order)]
        bias = peer.bias(where, u[back])[order]
        udot = peer.forward(where, u[back], tau[back], pin.Convention.WORLD)[order]
        assert worst((M, bias, udot), ours(system, q, u, tau), M) < CLOSE, f"seed {seed}"


def mjcf_tree(rng):
    """A random tree as MJCF: hinges, slides, balls and free bodies, off centre and turned."""
    parts, tree = [], {}
    for i in range(int(rng.integers(1, 9))):
        near = int(rng.integers(-1, i))
        tree.setdefault(near, []).append(i)
        kinds = ("hinge", "hinge", "slide", "ball", "free") if near < 0 else ("hinge", "hinge", "slide", "ball")
        kind = str(rng.choice(kinds))
        at = f'pos="{numbers(rng.uniform(-0.5, 0.5, 3))}"'
        rotor = f'armature="{rng.uniform(0, 0.3):.17g}"' if kind != "free" and rng.random() < 0.3 else ""
        joint = f'<joint name="j{i}" type="{kind}" {at} axis="{numbers(unit(rng, 3))}" {rotor}/>'
        if kind == "free":
            joint = f'<freejoint name="j{i}"/>'
        a, b = rng.uniform(0.05, 0.3, 2)
        inertia = f'diaginertia="{numbers((a, b, rng.uniform(abs(a - b) + 1e-3, a + b)))}"'
        solid = f'<inertial pos="{numbers(rng.uniform(-0.3, 0.3, 3))}" quat="{numbers(unit(rng, 4))}" '
        solid += f'mass="{rng.uniform(0.3, 3):.17g}" {inertia}/>'
        place = f'pos="{numbers(rng.uniform(-1, 1, 3))}" quat="{numbers(unit(rng, 4))}"'
        parts.append(f'<body name="b{i}" {place}>{joint}{solid}%s</body>')

    def written(near):
        return "".join(parts[i] % written(i) for i in tree.get(near, ()))

    gravity = f'<option gravity="{numbers(rng.uniform(-10, 10, 3))}"/>'
    return f'<mujoco><compiler angle="radian"/>{gravity}<worldbody>{written(-1)}</worldbody></mujoco>'


def numbers(values):
    return " ".join(f"{x:.17g}" for x in values)


@pytest.mark.parametrize("share", range(5))
def test_a_thousand_trees_equal_mujoco(share):
    for seed in range(200 * share, 200 * (share + 1)):
        rng = np.random.default_rng([seed, 5])
        text = mjcf_tree(rng)
        system = mjcf.loads(text, "tree.xml").compile()
        peer = Peer(mujoco.MjModel.from_xml_string(text), system)
        q, u, tau = random_state(system, rng)
        M, bias, udot, _ = peer.answers(q, u, tau)
        assert worst((M, bias, udot), ours(system, q, u, tau), M) < CLOSE, f"seed {seed}"
