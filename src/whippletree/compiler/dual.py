"""Dual numbers: the type ``Dual``, a double and its derivatives along TANGENTS directions, in one register.

A kernel written with get() and put() computes on them where its arrays are ``(n, 1, 1, 8)``: one source gives a result
and its exact derivatives. The first double is the value, the others are tangents: products are
(a b, a b' + a' b), and every other function multiplies tangents by its slope at the value. Where a function has a kink,
as max(x, 0) at 0, they are those of the branch that is taken; where a root is zero, they are zero.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

from .lanes import FLAGS, NUMBERS, Number, borrow, llvm_call

WIDTH = 8
DUALS = 0  # in the place of a number of lanes
TANGENTS = WIDTH - 1
REGISTER = ir.VectorType(ir.DoubleType(), WIDTH)
_WORD = ir.IntType(32)
_UNDEFINED = ir.Constant(REGISTER, ir.Undefined)
_ZERO = ir.Constant(REGISTER, [0.0] * WIDTH)
_TANGENT = ir.Constant(ir.VectorType(ir.IntType(1), WIDTH), [0] + [1] * TANGENTS)


class DualType(types.Number):
    """A double and TANGENTS derivatives of it."""

    def __init__(self) -> None:
        super().__init__(name="Dual")

    def unify(self, context: Any, other: Any) -> Any:
        return self if isinstance(other, types.Float | types.Integer) else None

    def can_convert_from(self, context: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None


dual_type = DualType()
NUMBERS[4] = Number(dual_type, REGISTER, (1, 1, WIDTH))
ROWS = types.Array(types.float64, 4, "C")


@register_model(DualType)
class DualModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, REGISTER)


def dual_room(rows: int) -> np.ndarray:
    """Zeros for so many of them, from a cache line on."""
    raw = np.zeros((rows + 1) * WIDTH)
    skip = -raw.ctypes.data % 64 // 8
    return raw[skip : skip + rows * WIDTH].reshape(rows, 1, 1, WIDTH)


# ---------------------------------------------------------------- arithmetic


def value(builder: Any, x: Any) -> Any:
    return builder.extract_element(x, ir.Constant(_WORD, 0))


def spread(builder: Any, x: Any) -> Any:
    """The value everywhere."""
    return builder.shuffle_vector(x, _UNDEFINED, ir.Constant(ir.VectorType(_WORD, WIDTH), [0] * WIDTH))


def everywhere(builder: Any, number: Any) -> Any:
    """A double everywhere."""
    return spread(builder, builder.insert_element(_UNDEFINED, number, ir.Constant(_WORD, 0)))


def tangents(builder: Any, x: Any) -> Any:
    """With a value of zero."""
    return builder.select(_TANGENT, x, _ZERO)


def with_value(builder: Any, x: Any, number: Any) -> Any:
    return builder.insert_element(x, number, ir.Constant(_WORD, 0))


def times(builder: Any, a: Any, b: Any) -> Any:
    left = builder.fmul(tangents(builder, a), spread(builder, b), flags=FLAGS)
    return builder.fadd(builder.fmul(spread(builder, a), b, flags=FLAGS), left, flags=FLAGS)


def over(builder: Any, a: Any, b: Any) -> Any:
    """(a' - (a / b) b') / b"""
    quotient = builder.fdiv(value(builder, a), value(builder, b), flags=FLAGS)
    share = builder.fmul(everywhere(builder, quotient), b, flags=FLAGS)
    slope = builder.fdiv(builder.fsub(a, share, flags=FLAGS), spread(builder, b), flags=FLAGS)
    return with_value(builder, slope, quotient)


def root(builder: Any, x: Any) -> Any:
    s = llvm_call(builder, "sqrt", [value(builder, x)])
    zero = ir.Constant(s.type, 0.0)
    slope = builder.fdiv(ir.Constant(s.type, 0.5), s, flags=FLAGS)
    slope = builder.select(builder.fcmp_ordered("==", s, zero), zero, slope)
    return with_value(builder, builder.fmul(everywhere(builder, slope), x, flags=FLAGS), s)


def _sum(name: str) -> Any:
    return lambda builder, a, b: getattr(builder, name)(a, b, flags=FLAGS)


@lower_cast(types.Float, DualType)
@lower_cast(types.Integer, DualType)
def _cast(context: Any, builder: Any, from_type: Any, to_type: Any, number: Any) -> Any:
    return with_value(builder, _ZERO, context.cast(builder, number, from_type, types.float64))


def _arithmetic(op: Any, lower: Any) -> None:
    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            some = any(isinstance(a, DualType) for a in args)
            if len(args) == 2 and some and all(isinstance(a, DualType | types.Float | types.Integer) for a in args):
                return signature(dual_type, dual_type, dual_type)
            return None

    lower_builtin(op, DualType, DualType)(lambda context, builder, sig, args: lower(builder, *args))


for _op, _lower in (
    (operator.add, _sum("fadd")),
    (operator.sub, _sum("fsub")),
    (operator.mul, times),
    (operator.truediv, over),
):
    _arithmetic(_op, _lower)


def _unary(op: Any, lower: Any) -> None:
    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 1 and isinstance(args[0], DualType):
                return signature(dual_type, dual_type)
            return None

    lower_builtin(op, DualType)(lambda context, builder, sig, args: lower(builder, *args))


_unary(operator.neg, lambda builder, x: builder.fneg(x))
_unary(math.sqrt, root)


# ---------------------------------------------------------------- seeds, slopes and results


@intrinsic
def value_of(typing_context: Any, x: Any) -> Any:
    return types.float64(x), lambda context, builder, sig, args: value(builder, args[0])


@intrinsic
def along(typing_context: Any, x: Any, slope: Any, number: Any) -> Any:
    """A function of x: its value, and its slope times the tangents of x."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return with_value(builder, builder.fmul(everywhere(builder, args[1]), args[0], flags=FLAGS), args[2])

    return x(x, types.float64, types.float64), generate


@intrinsic
def tangent_of(typing_context: Any, x: Any, n: Any) -> Any:
    """Tangent n."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        index = builder.add(builder.trunc(args[1], _WORD), ir.Constant(_WORD, 1))
        return builder.extract_element(args[0], index)

    return types.float64(x, types.intp), generate


@intrinsic
def with_tangent(typing_context: Any, x: Any, n: Any, number: Any) -> Any:
    """x with another tangent n."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        index = builder.add(builder.trunc(args[1], _WORD), ir.Constant(_WORD, 1))
        return builder.insert_element(args[0], args[2], index)

    return x(x, types.intp, types.float64), generate


@intrinsic
def duals_at(typing_context: Any, pointer: Any, count: Any) -> Any:
    """So many of them behind a pointer, borrowed."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return borrow(context, builder, ROWS, args[0], ir.Constant(args[1].type, 0), args[1])

    return ROWS(pointer, types.intp), generate


@intrinsic
def as_floats(typing_context: Any, duals: Any) -> Any:
    """The doubles of an array of them, borrowed."""
    numbers = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source = context.make_array(sig.args[0])(context, builder, args[0])
        word = source.nitems.type
        return borrow(context, builder, numbers, source.data, ir.Constant(word, 0), source.nitems)

    return numbers(duals), generate
