"""One SIMD register as a number: the type ``Lanes``, and how kernels load, store and view memory.

A kernel written with :func:`get` and :func:`put` computes on floats when its arrays are 1-D, and
on registers of ``LANES`` doubles, one state per lane, when they are ``(n, LANES)``. One source
serves one state and a batch (docs/decisions/0002-lanes.md).
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

from . import cache_integrity as damaged  # noqa: F401, before the first kernel is looked for on disk
from .deferred import InnerCompiler
from .disk_cache import on_disk


def host_lanes() -> int:
    """Doubles in one register of this host: 8 with AVX-512, 4 with AVX2, else 2; WHIPPLETREE_LANES overrides.

    1 turns registers off: a batch then runs state by state on floats.
    """
    asked = os.environ.get("WHIPPLETREE_LANES", "")
    if asked in ("1", "2", "4", "8"):
        return int(asked)
    try:
        features = llvm.get_host_cpu_features()
    except RuntimeError:
        return 1
    return 8 if features.get("avx512f") else 4 if features.get("avx2") else 2


LANES = host_lanes()

# Fused multiply-add is welcome; NaN and infinity must survive, so that a singular pivot shows.
FLAGS = ("contract", "nsz")


# ---------------------------------------------------------------- compiling


# Kernels allocate nothing, so nothing counts references; and Python sees only their entries.
OPTIONS: Any = {"fastmath": set(FLAGS), "error_model": "numpy", "_nrt": False}
INNER: Any = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": InnerCompiler}
ALWAYS: Any = INNER | {"forceinline": True}


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls: cached on disk, without the GIL."""
    return on_disk(function, lambda cached: njit(nogil=True, cache=cached, **OPTIONS)(function))


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only other kernels call."""
    return njit(**INNER)(function)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of a few lines that is always placed into its caller."""
    return njit(forceinline=True, **INNER)(function)


# ---------------------------------------------------------------- the type


class LanesType(types.Number):
    """A register of LANES doubles."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")

    def unify(self, context: Any, other: Any) -> Any:
        return self if isinstance(other, types.Float | types.Integer) else None

    def can_convert_from(self, context: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None


lanes_type = LanesType()
VECTOR = ir.VectorType(ir.DoubleType(), LANES)


class Number(NamedTuple):
    """What a row of an array holds."""

    numba_type: Any
    stored: Any  # as LLVM loads it
    shape: tuple[int, ...]  # of doubles


# by the rank of an array; twice.py and dual.py add their own
NUMBERS = {1: Number(types.float64, ir.DoubleType(), ()), 2: Number(lanes_type, VECTOR, (LANES,))}


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, VECTOR)


def splat(builder: Any, value: Any) -> Any:
    """All lanes equal to one double."""
    undefined = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def llvm_call(builder: Any, name: str, args: list[Any]) -> Any:
    """Call an LLVM arithmetic function (sqrt, fma, ...) on doubles or on registers."""
    number = args[0].type
    suffix = "f64" if isinstance(number, ir.DoubleType) else f"v{LANES}f64"
    shape = ir.FunctionType(number, [number] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, shape, f"llvm.{name}.{suffix}"), args)


@lower_cast(types.Float, LanesType)
@lower_cast(types.Integer, LanesType)
def _cast(context: Any, builder: Any, from_type: Any, to_type: Any, value: Any) -> Any:
    return splat(builder, context.cast(builder, value, from_type, types.float64))


def _arithmetic(op: Any, instruction: str) -> None:
    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            some = any(isinstance(a, LanesType) for a in args)
            if len(args) == 2 and some and all(isinstance(a, LanesType | types.Float | types.Integer) for a in args):
                return signature(lanes_type, lanes_type, lanes_type)
            return None

    @lower_builtin(op, LanesType, LanesType)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args, flags=FLAGS)


for _op, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_op, _instruction)


def _unary(op: Any, lower: Any) -> None:
    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 1 and isinstance(args[0], LanesType):
                return signature(lanes_type, lanes_type)
            return None

    lower_builtin(op, LanesType)(lower)


_unary(operator.neg, lambda context, builder, sig, args: builder.fneg(args[0]))
_unary(math.sqrt, lambda context, builder, sig, args: llvm_call(builder, "sqrt", args))


# ---------------------------------------------------------------- memory


def pointer_to(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """The address of element ``index`` of a 1-D array, or of row ``index`` of another."""
    data = context.make_array(array_type)(context, builder, array).data
    if array_type.ndim == 1:
        return builder.gep(data, [index])
    number = NUMBERS[array_type.ndim]
    row = builder.gep(data, [builder.mul(index, ir.Constant(index.type, math.prod(number.shape)))])
    return builder.bitcast(row, number.stored.as_pointer())


@intrinsic
def get(typing_context: Any, array: Any, index: Any) -> Any:
    """A float or an integer from a 1-D array, a register from an (n, LANES) array; of other ranks as NUMBERS says."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(pointer_to(context, builder, sig.args[0], *args), align=8)

    return (array.dtype if array.ndim == 1 else NUMBERS[array.ndim].numba_type)(array, types.intp), generate


@intrinsic
def _store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], pointer_to(context, builder, sig.args[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, NUMBERS[array.ndim].numba_type), generate


@intrinsic
def get_run(typing_context: Any, array: Any, index: Any) -> Any:
    """LANES neighbours of a 1-D array as one register."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], *args)
        return builder.load(builder.bitcast(pointer, VECTOR.as_pointer()), align=8)

    return lanes_type(array, types.intp), generate


@intrinsic
def put_run(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """The way back of :func:`get_run`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(pointer, VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


@inline
def put(array, index, value):
    """Store a float or a register; a float goes to all lanes."""
    _store(array, index, value)


@intrinsic
def lane_sum(typing_context: Any, value: Any) -> Any:
    """The sum over lanes, or of a number and its tangents; a float is its own."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if value is types.float64:
            return args[0]
        count = args[0].type.count
        parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), n)) for n in range(count)]
        return reduce(builder.fadd, parts)

    return types.float64(value), generate


@intrinsic
def lane_count(typing_context: Any, value: Any) -> Any:
    """How many numbers a value has: LANES in a register, else 1."""
    count = LANES if value is lanes_type else 1
    return types.intp(value), lambda context, builder, sig, args: context.get_constant(types.intp, count)


@intrinsic
def lane_of(typing_context: Any, value: Any, lane: Any) -> Any:
    """The double in one lane; a float is its own, and of a number of more digits the nearest."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if value is types.float64:
            return args[0]
        index = builder.trunc(args[1], ir.IntType(32)) if value is lanes_type else ir.Constant(ir.IntType(32), 0)
        return builder.extract_element(args[0], index)

    return types.float64(value, types.intp), generate


@intrinsic
def with_lane(typing_context: Any, value: Any, lane: Any, number: Any) -> Any:
    """The value with another double in one lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if value is types.float64:
            return args[2]
        if value is lanes_type:
            return builder.insert_element(args[0], args[2], builder.trunc(args[1], ir.IntType(32)))
        return context.cast(builder, args[2], types.float64, value)

    return value(value, types.intp, types.float64), generate


@intrinsic
def view(typing_context: Any, buffer: Any, start: Any, count: Any) -> Any:
    """Rows ``start`` to ``start + count`` of a buffer, borrowed: no reference is counted, nothing allocated."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array_type = sig.args[0]
        source = context.make_array(array_type)(context, builder, args[0])
        return borrow(context, builder, array_type, source.data, args[1], args[2])

    return buffer(buffer, types.intp, types.intp), generate


@intrinsic
def view_integers(typing_context: Any, buffer: Any, start: Any, count: Any) -> Any:
    """Like :func:`view`, of a 1-D buffer of doubles whose 64 bits are integers."""
    integers = types.Array(types.int64, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source = context.make_array(sig.args[0])(context, builder, args[0])
        data = builder.bitcast(source.data, ir.IntType(64).as_pointer())
        return borrow(context, builder, integers, data, args[1], args[2])

    return integers(buffer, types.intp, types.intp), generate


@inline
def take(buffer, start, count):
    """The next ``count`` rows of a buffer, and where the rest starts."""
    return view(buffer, start, count), start + count


def borrow(context: Any, builder: Any, array_type: Any, data: Any, start: Any, count: Any) -> Any:
    """An array over rows of data that somebody else owns."""
    word = start.type
    inner = NUMBERS[array_type.ndim].shape
    width = ir.Constant(word, math.prod(inner))
    eight = ir.Constant(word, 8)
    shape = [count, *(ir.Constant(word, n) for n in inner)]
    strides = [ir.Constant(word, 8 * math.prod(inner[axis:])) for axis in range(len(shape))]
    result = context.make_array(array_type)(context, builder)
    result.meminfo = ir.Constant(result.meminfo.type, None)
    result.parent = ir.Constant(result.parent.type, None)
    result.nitems = builder.mul(count, width)
    result.itemsize = eight
    result.data = builder.gep(data, [builder.mul(start, width)])
    result.shape = ir.Constant(ir.ArrayType(word, len(shape)), ir.Undefined)
    result.strides = ir.Constant(ir.ArrayType(word, len(shape)), ir.Undefined)
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        result.shape = builder.insert_value(result.shape, extent, axis)
        result.strides = builder.insert_value(result.strides, stride, axis)
    return result._getvalue()


LINE = 8  # doubles in a cache line


def aligned(count: int) -> np.ndarray:
    """Zeroed doubles that start on a cache line, so that no register is loaded from two."""
    raw = np.zeros(count + LINE)
    return raw[(skip := -raw.ctypes.data % (8 * LINE) // 8) : skip + count]


@intrinsic
def scratch(typing_context: Any, memory: Any, used: Any, states: Any) -> Any:
    """What lies behind the first ``used`` numbers of a memory, from the next cache line on.

    Floats if ``states`` is one state; rows of a register each if it is a batch.
    """
    result = types.Array(types.float64, 1 if LANES == 1 else states.ndim, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source = context.make_array(sig.args[0])(context, builder, args[0])
        word = source.nitems.type
        line = ir.Constant(word, LINE)
        start = builder.mul(builder.udiv(builder.add(args[1], ir.Constant(word, LINE - 1)), line), line)
        width = ir.Constant(word, 1 if result.ndim == 1 else LANES)
        rows = builder.udiv(builder.sub(source.nitems, start), width)
        return borrow(context, builder, result, builder.gep(source.data, [start]), ir.Constant(word, 0), rows)

    return result(memory, types.intp, states), generate
