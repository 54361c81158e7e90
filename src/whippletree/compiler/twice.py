"""Numbers of twice the digits: the type ``Twice``, a double and what its rounding left, some 32 digits.

Paper    [dekker1971] A floating-point technique for extending the available precision.
Differs  products by fused multiply-add; quotients and roots by corrections in doubles.

A kernel written with get() and put() computes on them where its arrays are ``(n, 1, 2)``: residuals, whose terms
cancel, come from the same source as the motion. No instruction here may be contracted, which would change what a
rounding leaves: the flag ``nsz`` keeps Numba from adding its own.
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

from .lanes import NUMBERS, Number, llvm_call

PAIR = ir.VectorType(ir.DoubleType(), 2)
EXACT = ("nsz",)


class TwiceType(types.Number):
    """A double and a second one, at most half a unit in the last place of the first."""

    def __init__(self) -> None:
        super().__init__(name="Twice")

    def unify(self, context: Any, other: Any) -> Any:
        return self if isinstance(other, types.Float | types.Integer) else None

    def can_convert_from(self, context: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None


twice_type = TwiceType()
NUMBERS[3] = Number(twice_type, PAIR, (1, 2))


@register_model(TwiceType)
class TwiceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, PAIR)


def room(rows: int) -> np.ndarray:
    """Zeros for so many of them."""
    return np.zeros((rows, 1, 2))


# ---------------------------------------------------------------- arithmetic


def parts(builder: Any, pair: Any) -> tuple[Any, Any]:
    """High and low."""
    high, low = (builder.extract_element(pair, ir.Constant(ir.IntType(32), n)) for n in range(2))
    return high, low


def joined(builder: Any, high: Any, low: Any) -> Any:
    pair = builder.insert_element(ir.Constant(PAIR, ir.Undefined), high, ir.Constant(ir.IntType(32), 0))
    return builder.insert_element(pair, low, ir.Constant(ir.IntType(32), 1))


def add(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=EXACT)


def sub(builder: Any, a: Any, b: Any) -> Any:
    return builder.fsub(a, b, flags=EXACT)


def mul(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b, flags=EXACT)


def two_sum(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """a + b and what its rounding leaves."""
    s = add(builder, a, b)
    t = sub(builder, s, a)
    return s, add(builder, sub(builder, a, sub(builder, s, t)), sub(builder, b, t))


def two_product(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """a b and what its rounding leaves."""
    p = mul(builder, a, b)
    return p, llvm_call(builder, "fma", [a, b, builder.fneg(p)])


def normal(builder: Any, a: Any, b: Any) -> Any:
    """a + b, |b| far below |a|; where a is infinite, what rounding leaves is none."""
    infinite = builder.fcmp_ordered("==", llvm_call(builder, "fabs", [a]), ir.Constant(a.type, math.inf))
    b = builder.select(infinite, ir.Constant(b.type, 0.0), b)
    s = add(builder, a, b)
    low = sub(builder, b, sub(builder, s, a))
    return joined(builder, s, builder.select(infinite, ir.Constant(b.type, 0.0), low))


def called(form: Any) -> Any:
    """A function of LLVM in the place of so many instructions wherever a kernel adds: compiling takes a tenth."""

    def call(builder: Any, *args: Any) -> Any:
        name = f"whippletree_{form.__name__}"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(PAIR, [PAIR] * len(args)), name)
            function.linkage = "internal"
            function.attributes.add("noinline")
            inside = ir.IRBuilder(function.append_basic_block())
            inside.ret(form(inside, *function.args))
        return builder.call(function, args)

    return call


@called
def plus(builder: Any, x: Any, y: Any) -> Any:
    (a, b), (c, d) = parts(builder, x), parts(builder, y)
    s, e = two_sum(builder, a, c)
    return normal(builder, s, add(builder, e, add(builder, b, d)))  # to 2^-104 of |x| + |y|, not of the sum


def minus(builder: Any, x: Any, y: Any) -> Any:
    """x - y"""
    return plus(builder, x, builder.fneg(y))


@called
def times(builder: Any, x: Any, y: Any) -> Any:
    (a, b), (c, d) = parts(builder, x), parts(builder, y)
    p, e = two_product(builder, a, c)
    return normal(builder, p, add(builder, e, add(builder, mul(builder, a, d), mul(builder, b, c))))


@called
def over(builder: Any, x: Any, y: Any) -> Any:
    """A quotient of doubles, corrected twice by what it leaves of x."""
    zero, divisor = ir.Constant(ir.DoubleType(), 0.0), parts(builder, y)[0]
    total, rest = joined(builder, zero, zero), x
    for _ in range(3):
        share = builder.fdiv(parts(builder, rest)[0], divisor, flags=EXACT)
        total = plus(builder, total, joined(builder, share, zero))
        rest = minus(builder, rest, times(builder, joined(builder, share, zero), y))
    return total


@called
def root(builder: Any, x: Any) -> Any:
    """s + (x - s s) / 2 s, with s the root of the high part."""
    zero = ir.Constant(ir.DoubleType(), 0.0)
    s = llvm_call(builder, "sqrt", [parts(builder, x)[0]])
    whole = joined(builder, s, zero)
    rest = parts(builder, minus(builder, x, times(builder, whole, whole)))[0]
    more = builder.fdiv(rest, add(builder, s, s), flags=EXACT)
    return normal(builder, s, builder.select(builder.fcmp_ordered("==", s, zero), zero, more))


@lower_cast(types.Float, TwiceType)
@lower_cast(types.Integer, TwiceType)
def _cast(context: Any, builder: Any, from_type: Any, to_type: Any, value: Any) -> Any:
    return joined(builder, context.cast(builder, value, from_type, types.float64), ir.Constant(ir.DoubleType(), 0.0))


def _arithmetic(op: Any, lower: Any) -> None:
    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            some = any(isinstance(a, TwiceType) for a in args)
            if len(args) == 2 and some and all(isinstance(a, TwiceType | types.Float | types.Integer) for a in args):
                return signature(twice_type, twice_type, twice_type)
            return None

    lower_builtin(op, TwiceType, TwiceType)(lambda context, builder, sig, args: lower(builder, *args))


for _op, _lower in ((operator.add, plus), (operator.sub, minus), (operator.mul, times), (operator.truediv, over)):
    _arithmetic(_op, _lower)


def _unary(op: Any, lower: Any) -> None:
    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 1 and isinstance(args[0], TwiceType):
                return signature(twice_type, twice_type)
            return None

    lower_builtin(op, TwiceType)(lambda context, builder, sig, args: lower(builder, *args))


_unary(operator.neg, lambda builder, x: builder.fneg(x))
_unary(math.sqrt, root)


@intrinsic
def high(typing_context: Any, x: Any) -> Any:
    """The nearest double."""
    return types.float64(x), lambda context, builder, sig, args: parts(builder, args[0])[0]
