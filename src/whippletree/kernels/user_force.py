"""A user's force on a body: called with one state, or with its tangents, for which it is called beside the state too.

Such a function has no derivative of its own. Its tangents are central differences of four points, see
analysis/differences.py: some 1e-11 of force / displacement.
"""

from numba.extending import overload

from ..compiler.dual import TANGENTS, as_floats, tangent_of, value_of, with_tangent
from ..compiler.function_pointers import ANSWERED, PASSED, call_force
from ..compiler.lanes import ALWAYS, get, kernel, put, view

ROOM = PASSED + ANSWERED  # numbers that a call needs
DUAL_ROOM = ROOM + 6  # rows of duals: six of them as doubles
STEP = 2.0**-11  # of the largest change of anything that the force is reported
FACTORS, WEIGHTS = (1.0, -1.0, 2.0, -2.0), (8.0 / 12.0, -8.0 / 12.0, -1.0 / 12.0, 1.0 / 12.0)


def ask_force(address, t, spare, lane):
    """Call it with one lane of a block, or with its tangents. 0 if all went well."""


@overload(ask_force, jit_options=ALWAYS)
def _ask_force(address, t, spare, lane):
    if spare.ndim < 4:
        return lambda address, t, spare, lane: call_force(address, t, spare, lane)
    return lambda address, t, spare, lane: ask_with_tangents(address, t, spare)


@kernel
def ask_with_tangents(address, t, spare):
    room, failed = as_floats(view(spare, ROOM, DUAL_ROOM - ROOM)), 0
    for j in range(PASSED):
        room[j] = value_of(get(spare, j))
    failed += call_force(address, t, room, 0)
    for j in range(PASSED, ROOM):
        put(spare, j, room[j])
    for n in range(TANGENTS):
        size = 0.0
        for j in range(PASSED):
            size = max(size, abs(tangent_of(get(spare, j), n)))
        if size == 0.0:
            continue
        for j in range(ANSWERED):
            room[ROOM + j] = 0.0
        for point in range(4):
            for j in range(PASSED):
                x = get(spare, j)
                room[j] = value_of(x) + FACTORS[point] * STEP / size * tangent_of(x, n)
            failed += call_force(address, t, room, 0)
            for j in range(ANSWERED):
                room[ROOM + j] += WEIGHTS[point] * room[PASSED + j]
        for j in range(ANSWERED):
            put(spare, PASSED + j, with_tangent(get(spare, PASSED + j), n, room[ROOM + j] * size / STEP))
    return failed
