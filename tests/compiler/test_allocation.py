"""Compiled loops allocate nothing: 1 and 100 evaluations take the same memory."""

import tracemalloc

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import whippletree as wt
from whippletree.dynamics.loads.applied import tiled_signals
from whippletree.dynamics.registry import stepping
from whippletree.integrate.run.task import make_task
from zoo import random_state, tree

ALGORITHMS = [*stepping()]  # those that are compiled
COMPILED = [name for name, module in wt.INTEGRATORS.items() if getattr(module, "RESUMES", True)]


def allocations(call):
    """Blocks that compiled code asked for, and the peak of what Python and NumPy did, in bytes."""
    call()  # compiles, and fills what is kept
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    return after.alloc - before.alloc, after.mi_alloc - before.mi_alloc, peak


@pytest.fixture(scope="module")
def system():
    return tree().compile()


def compare(one, many):
    """Nothing by compiled code; by Python the same for both, within a few small objects."""
    assert one[:2] == many[:2] == (0, 0)
    assert abs(many[2] - one[2]) < 1000


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a != "reduction"])  # it has a number for each state
def test_batch_of_states_allocates_like_one_block(system, algorithm):
    module, most = wt.ALGORITHMS[algorithm], 100 * wt.LANES
    q, u, tau = random_state(system, np.random.default_rng(0), most)
    wt.forward_dynamics(system, q, u, tau, algorithm=algorithm)  # compiles for batches
    udot, memory = np.empty_like(u), module.workspace(system, wt.LANES)
    inputs = (q, u, tau, tiled_signals(system, 0.0, q)) if "loops" in module.SUPPORTS else (q, u, tau)
    runs = [
        allocations(lambda stop=stop: module.accelerations(memory, *inputs, udot, 0, stop)) for stop in (wt.LANES, most)
    ]
    compare(*runs)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("integrator", COMPILED)
def test_steps_allocate_nothing(system, integrator, algorithm):
    """The compiled time loop: one step against a hundred."""
    q, u, tau = random_state(system, np.random.default_rng(1))
    run = wt.INTEGRATORS[integrator].begin(
        make_task(system, algorithm, integrator, np.array([0, 1e3]), q, u, tau=tau, step=1e-4)
    )
    start = run.state.copy()

    def march(steps):
        run.state[:] = start
        run.proceed(steps)

    compare(allocations(lambda: march(1)), allocations(lambda: march(100)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_kernels_are_compiled_without_a_memory_manager(algorithm):
    """With it off, Numba refuses to compile anything that allocates."""
    module = wt.ALGORITHMS[algorithm].module
    compiled = {"reduction": "recursion", "divide": "solve"}.get(algorithm, "accelerations")
    assert getattr(module, compiled).targetoptions["_nrt"] is False
