"""Calls from compiled loops by address, to a user's functions and to ours; and one lane of a block as numbers."""

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import cfunc, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from ..layout.system import ADDRESS, PLACING
from .disk_cache import on_disk
from .dual import value_of
from .lanes import ALWAYS, LANES, OPTIONS, borrow, get, put

PASSED, ANSWERED = 18, 6  # numbers that a force on a body is reported, and that it answers


def read_lane(block, j, lane):
    """Number j of one lane; where registers are off, a block is one state."""


def write_lane(block, j, lane, value):
    """The way back of :func:`read_lane`."""


@overload(read_lane, jit_options=ALWAYS)
def _read_lane(block, j, lane):
    if block.ndim == 4:
        return lambda block, j, lane: value_of(get(block, j))
    if block.ndim == 1:
        return lambda block, j, lane: block[j]
    return lambda block, j, lane: block[j, lane]


@overload(write_lane, jit_options=ALWAYS)
def _write_lane(block, j, lane, value):
    if block.ndim == 4:
        return lambda block, j, lane, value: put(block, j, value)
    if block.ndim == 1:

        def one(block, j, lane, value):
            block[j] = value

        return one

    def many(block, j, lane, value):
        block[j, lane] = value

    return many


@intrinsic
def call_policy(typing_context: Any, address: Any, t: Any, q: Any, u: Any, tau: Any) -> Any:
    """Call a function of joint forces, policy(t, q, u, tau). 0 if all went well."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        arrays = [context.make_array(a)(context, builder, v) for a, v in zip(sig.args[2:], args[2:], strict=True)]
        counts = [arrays[0].nitems, arrays[1].nitems]
        numbers = ir.DoubleType().as_pointer()
        word = args[0].type
        shape = ir.FunctionType(word, [ir.DoubleType(), numbers, numbers, numbers, word, word])
        function = builder.inttoptr(args[0], shape.as_pointer())
        return builder.call(function, [args[1], *(a.data for a in arrays), *counts])

    return types.int64(types.int64, types.float64, q, u, tau), generate


@intrinsic
def call_force(typing_context: Any, address: Any, t: Any, block: Any, lane: Any) -> Any:
    """Call a force on a body with one lane of a block: PASSED numbers, then room for ANSWERED. 0 if all went well."""
    width = 1 if block.ndim == 1 else LANES

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[2])(context, builder, args[2]).data
        word = args[0].type
        room = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), PASSED + ANSWERED))
        first = builder.bitcast(room, ir.DoubleType().as_pointer())

        def places(n: int) -> tuple[Any, Any]:
            row = builder.add(ir.Constant(word, n * width), args[3])
            return builder.gep(data, [row]), builder.gep(first, [ir.Constant(word, n)])

        for n in range(PASSED + ANSWERED):
            there, here = places(n)
            builder.store(builder.load(there), here)
        shape = ir.FunctionType(word, [ir.DoubleType(), first.type])
        status = builder.call(builder.inttoptr(args[0], shape.as_pointer()), [args[1], first])
        for n in range(PASSED, PASSED + ANSWERED):
            there, here = places(n)
            builder.store(builder.load(here), there)
        return status

    return types.int64(types.int64, types.float64, block, types.intp), generate


# ---------------------------------------------------------------- solvers that are compiled apart
# A kernel that another calls is optimized again with each of its callers, and theirs. A solver of some size is compiled
# once, and called by its address.

_NUMBERS = types.CPointer(types.float64)
_SOLVER = types.float64(
    _NUMBERS, types.int64, _NUMBERS, types.int64, types.float64, _NUMBERS, types.int64, _NUMBERS, types.int64, _NUMBERS
)  # fmt: skip


@cache
def address_of(solver: Callable[..., float], shape: Any = _SOLVER) -> int:
    """Where a compiled ``solver(memory, buffer, t, q, u, out)``, or one of another shape, is. It stays there."""
    compiled = on_disk(solver, lambda cached: cfunc(shape, cache=cached, **OPTIONS)(solver))
    _kept.append(compiled)
    return int(compiled.address)


_kept: list[Any] = []


@intrinsic
def numbers_at(typing_context: Any, pointer: Any, count: Any) -> Any:
    """So many doubles behind a pointer, borrowed."""
    numbers = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return borrow(context, builder, numbers, args[0], ir.Constant(args[1].type, 0), args[1])

    return numbers(pointer, types.intp), generate


@intrinsic
def call_solver(typing_context: Any, address: Any, memory: Any, buffer: Any, t: Any, q: Any, u: Any, out: Any) -> Any:
    """Call a solver of one state; returns what it returns."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        arrays = {n: context.make_array(sig.args[n])(context, builder, args[n]) for n in (1, 2, 4, 5, 6)}
        data = {n: builder.bitcast(a.data, ir.DoubleType().as_pointer()) for n, a in arrays.items()}
        word, numbers = args[0].type, ir.DoubleType().as_pointer()
        pair = [numbers, word]
        shape = ir.FunctionType(ir.DoubleType(), [*pair, *pair, ir.DoubleType(), *pair, *pair, numbers])
        given: list[Any] = []
        for n in (1, 2, 4, 5):
            given += [data[n], arrays[n].nitems]
            if n == 2:
                given.append(args[3])
        return builder.call(builder.inttoptr(args[0], shape.as_pointer()), [*given, data[6]])

    return types.float64(types.int64, memory, buffer, types.float64, q, u, out), generate


MOTION_CALL = types.float64(
    _NUMBERS, types.int64, _NUMBERS, types.int64, _NUMBERS, types.int64, types.int64, types.float64, _NUMBERS,
    types.int64, _NUMBERS, types.int64, _NUMBERS,
)  # fmt: skip


@intrinsic
def call_motion(
    typing_context: Any,
    address: Any,
    memory: Any,
    buffer: Any,
    tau: Any,
    call: Any,
    solver: Any,
    t: Any,
    q: Any,
    u: Any,
    out: Any,
) -> Any:
    """Call what finds u' of one state, or of one in each lane, under all forces, by a solver; returns their power."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        arrays = {n: context.make_array(sig.args[n])(context, builder, args[n]) for n in (1, 2, 3, 7, 8, 9)}
        word, numbers, real = args[0].type, ir.DoubleType().as_pointer(), ir.DoubleType()
        pair = [numbers, word]
        shape = ir.FunctionType(real, [*pair, *pair, numbers, word, word, real, *pair, *pair, numbers])
        rows = {n: builder.extract_value(a.shape, 0) for n, a in arrays.items()}
        (whole, size), (room, rest), (q_, nq), (u_, nu) = ((arrays[n].data, rows[n]) for n in (1, 2, 7, 8))
        given = [whole, size, room, rest, arrays[3].data, *args[4:7], q_, nq, u_, nu, arrays[9].data]
        return builder.call(builder.inttoptr(args[0], shape.as_pointer()), given)

    words = types.int64, types.int64
    return types.float64(types.int64, memory, buffer, tau, *words, types.float64, q, u, out), generate


@intrinsic
def call_division(
    typing_context: Any,
    place: Any,
    memory: Any,
    q: Any,
    u: Any,
    forces: Any,
    udot: Any,
    shared_state: Any,
    member: Any,
    members: Any,
) -> Any:
    """Call the compiled entry of dynamics/divide/steps.py, which lies at ``place`` as Numba wraps it for C."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        shape = ir.FunctionType(ir.DoubleType(), [a.type for a in args[1:]])
        return builder.call(builder.inttoptr(args[0], shape.as_pointer()), args[1:])

    given = (memory, q, u, forces, udot, shared_state, types.int64, types.int64)
    return types.float64(types.int64, *given), generate


SUBCHAIN_CALL = types.float64(
    _NUMBERS, types.int64, types.int64, types.int64, _NUMBERS, types.int64, _NUMBERS, types.int64
)  # fmt: skip


@intrinsic
def call_subchain(typing_context: Any, place: Any, memory: Any, kind: Any, start: Any, forces: Any, udot: Any) -> Any:
    """Do a step of one subchain by the function at an address, of dynamics/divide/subchain_loops.py."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        whole, given, out = (context.make_array(sig.args[n])(context, builder, args[n]) for n in (1, 4, 5))
        word, numbers = args[0].type, ir.DoubleType().as_pointer()
        shape = ir.FunctionType(ir.DoubleType(), [numbers, word, word, word, numbers, word, numbers, word])
        arrays = [given.data, given.nitems, out.data, out.nitems]
        function = builder.inttoptr(args[0], shape.as_pointer())
        return builder.call(function, [whole.data, whole.nitems, args[2], args[3], *arrays])

    return types.float64(types.int64, memory, types.int64, types.int64, forces, udot), generate


# ---------------------------------------------------------------- flexible bodies, compiled apart as well
# Kernels that meet one call by the address in the System's header: those of rigid bodies do not grow by it.

(ELIMINATE, PRESS, PRESS_ALONE, ACCELERATE, NEED, NEED_IN, PUSH, CARRY, HOLD, MASS, ALONG, INNOVATE, BODY_OUTPUT,
 HALF, HALF_BACK, MODAL, SETTLE, STIFFEN) = range(18)  # fmt: skip
FLEXIBLE_CALL = types.float64(
    types.int64, types.int64, types.int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, types.int64, _NUMBERS, _NUMBERS,
    _NUMBERS,
)  # fmt: skip


@intrinsic
def rows_at(typing_context: Any, pointer: Any, count: Any) -> Any:
    """So many rows of a register each behind a pointer, borrowed."""
    rows = types.Array(types.float64, 2, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return borrow(context, builder, rows, args[0], ir.Constant(args[1].type, 0), args[1])

    return rows(pointer, types.intp), generate


def _call_at(slot: int, signature: Any) -> Any:
    """Call by the address in a slot of the header, the fourth argument; of the seventh the number of rows goes too."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        arrays = [context.make_array(sig.args[n])(context, builder, args[n]) for n in range(3, 10)]
        numbers, word = ir.DoubleType().as_pointer(), args[0].type
        data = [builder.bitcast(x.data, numbers) for x in arrays]
        rows = builder.extract_value(arrays[3].shape, 0)
        shape = ir.FunctionType(ir.DoubleType(), [word, word, word, *[numbers] * 4, word, *[numbers] * 3])
        there = builder.bitcast(builder.gep(arrays[0].data, [ir.Constant(word, slot)]), word.as_pointer())
        function = builder.inttoptr(builder.load(there), shape.as_pointer())
        return builder.call(function, [*args[:3], *data[:4], rows, *data[4:]])

    return signature, generate


@intrinsic
def call_flexible(
    typing_context: Any, op: Any, i: Any, n: Any, header: Any, k: Any, a: Any, b: Any, c: Any, d: Any, e: Any
) -> Any:
    """Do ``op`` of dynamics/flexible/entry.py at body i. Kinematics begin at ``k``; ``b`` passes its length."""
    return _call_at(ADDRESS, types.float64(types.int64, types.int64, types.int64, header, k, a, b, c, d, e))


@intrinsic
def call_placing(
    typing_context: Any, op: Any, i: Any, n: Any, header: Any, k: Any, a: Any, b: Any, c: Any, d: Any, e: Any
) -> Any:
    """Place a flexible body: compiled apart, since registers are few and each part of a large function spills more."""
    return _call_at(PLACING, types.float64(types.int64, types.int64, types.int64, header, k, a, b, c, d, e))
