"""Cost as numbers that no machine changes: operations of an evaluation, and bytes of a body."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree_lab.reproduce.loop_problems import n_four_bar
from zoo import chain, random_model

HERE = Path(__file__).parents[1] / "support"
GROWTH = {"articulated": 1.0}  # operations grow with this power of the number of bodies
SIZES = (50, 100, 200, 400)


def interpreted(program, *arguments):
    """The numbers that a program of the tests prints, by a Python that interprets the kernels' source."""
    path = os.pathsep.join([str(Path(wt.__file__).parent.parent), str(HERE)])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "WHIPPLETREE_LANES": "1", "PYTHONPATH": path}
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return np.array(run.stdout.split(), float)


@pytest.mark.parametrize("algorithm", GROWTH)
def test_operations_grow_as_promised(algorithm):
    slope = np.polyfit(np.log(SIZES), np.log(interpreted("count_operations.py", algorithm, *SIZES)), 1)[0]
    assert abs(slope - GROWTH[algorithm]) < 0.05


def test_reduction_takes_the_operations_that_are_reported():
    """A body's and a joint's are rounded, and tests of health are left out: half a percent."""
    names = ("four_bar", "andrews", "n_four_bar_5", "stewart", "leg", "bricard")
    done, reported = interpreted("count_loop_operations.py", *names).reshape(-1, 2).T
    np.testing.assert_allclose(reported, done, rtol=0.02)


def test_multipliers_cost_the_cube_of_the_loops_and_reduction_does_not():
    few, many = (n_four_bar(n, 0.3) for n in (50, 100))
    less, more = (wt.mobility(*case[:2]).operations for case in (few, many))
    growth = {name: np.log2(more[name] / less[name]) for name in more}
    assert abs(growth["reduction"] - 1) < 0.02
    assert abs(growth["multipliers"] - 3) < 0.05
    assert abs(growth["nullspace"] - 3) < 0.05


def memory(system, workspace):
    """Bytes of a System's arrays and one algorithm's scratch for one state."""
    arrays = [system.packed, *system.arrays.values(), workspace]
    return sum(array.nbytes for array in arrays)


@pytest.mark.parametrize("bodies", [1000, 3000])
def test_a_body_takes_at_most_two_kilobytes(bodies):
    system = chain(bodies).compile()
    assert memory(system, wt.ALGORITHMS["articulated"].workspace(system, 1)) / bodies <= 2000


def test_memory_grows_with_bodies_in_trees_of_all_kinds():
    small, large = (random_model(np.random.default_rng(0), n).compile() for n in (200, 400))
    sizes = [memory(s, wt.ALGORITHMS["articulated"].workspace(s, 1)) / (s.nb + s.nu) for s in (small, large)]
    assert abs(sizes[1] / sizes[0] - 1) < 0.05
