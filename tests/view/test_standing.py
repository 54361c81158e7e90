"""Where bodies stand by NumPy alone, as a window first draws them: the same as what is compiled finds."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import whippletree as wt
from random_systems import MAKERS
from view_model import swinging
from waiting import eventually
from whippletree.view import standing
from zoo import LOOPS, ZOO, random_state

ROUNDING = 1e-13  # of the largest distance, for each body from ground to tip


def agree(system, q):
    k, plain = wt.kinematics(system, q), standing.stand(system, q)
    depth = system.nb
    assert np.abs(plain.R - k._R).max() < ROUNDING * depth
    assert np.abs(plain.o - k._o).max() < ROUNDING * depth * max(1.0, np.abs(k._o).max())


@pytest.mark.parametrize("name", [*ZOO, *LOOPS])
def test_rigid_bodies_stand_where_kernels_put_them(name):
    system = (ZOO | LOOPS)[name]().compile()
    q = random_state(system, np.random.default_rng(4), 3)[0]
    agree(system, q)
    agree(system, q[0])


@pytest.mark.parametrize("seed", range(12))
def test_nodes_of_flexible_bodies_stand_where_kernels_put_them(seed):
    system, q, *_ = MAKERS["flexible"](np.random.default_rng([seed, 31]))
    agree(system, q)
    agree(system, np.stack([q, system.q0]))


@pytest.mark.parametrize(("wrong", "what"), [(1.7, "the quaternion in q is not unit"), (np.nan, "q is not finite")])
def test_what_is_no_configuration_is_refused_in_the_same_words(wrong, what):
    system = ZOO["free_body"]().compile()
    q = random_state(system, np.random.default_rng(6), 3)[0]
    q[1, 3:] *= wrong
    reported = []
    for find in (wt.kinematics, standing.stand):
        with pytest.raises(wt.ModelError, match=what) as refused:
            find(system, q)
        reported.append(str(refused.value))
    assert reported[0] == reported[1]


def test_what_is_compiled_is_used_once_it_is_loaded(monkeypatch):
    system = ZOO["reversed_kinds"]().compile()
    q = random_state(system, np.random.default_rng(5))[0]
    wt.kinematics(system, q)
    with monkeypatch.context() as patch:
        patch.setattr(standing, "stand", None)
        assert np.array_equal(standing.standing(system, q).o, wt.kinematics(system, q)._o)
    monkeypatch.setitem(sys.modules, standing.COMPILED, None)
    assert np.array_equal(standing.standing(system, q).o, standing.stand(system, q).o)


def test_a_window_opens_without_the_compiler(tmp_path):
    """Which takes as long to load as all the rest."""
    pytest.importorskip("viser")
    swinging().save(tmp_path / "run.nc")
    program = f"""if True:
        import sys
        import whippletree as wt
        from whippletree.view.window import view
        replay = view(lambda: wt.load_result({str(tmp_path / "run.nc")!r}), open_browser=False, wait=False)
        print([m for m in ("numba", "scipy.linalg", "xarray", "matplotlib") if m in sys.modules])
        replay.stop()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_window_of_many_bodies_goes_on_while_what_is_compiled_is_loaded(monkeypatch):
    system, q = ZOO["chain_20"]().compile(), np.zeros(20)
    asked, may_end = [], threading.Event()

    class Compiled:
        def kinematics(system, q):
            may_end.wait(60.0)
            asked.append(system.name)
            return wt.kinematics(system, q)

    monkeypatch.setattr(standing, "MANY", 19)
    monkeypatch.setattr(standing, "COMPILED", "compiled")
    monkeypatch.setattr(standing, "import_module", lambda name: sys.modules.setdefault(name, Compiled))
    standing.quicken(ZOO["pendulum"]().compile())
    assert not standing._loading.is_set()
    standing.quicken(system)
    try:
        assert eventually(lambda: "compiled" in sys.modules)
        assert np.array_equal(standing.standing(system, q).o, standing.stand(system, q).o)
        may_end.set()
        assert eventually(lambda: not standing._loading.is_set())
        standing.standing(system, q)
        assert asked == [system.name, system.name]
    finally:
        may_end.set()
        sys.modules.pop("compiled", None)


def test_a_model_is_checked_without_the_compiler():
    """It is read, checked and made a System of."""
    program = """if True:
        import sys
        import whippletree as wt
        model = wt.Model("m")
        model.body("b", mass=1.0, inertia=(1.0, 1.0, 1.0))
        model.joint("j", "revolute", "ground", "b", axis="z")
        print(model.compile().nu, "numba" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]
