"""Sine and cosine together, on floats and on lanes, to about one unit in the last place for every finite number.

``x = n pi/2 + r`` with ``|r| <= pi/4``; two polynomials in r; the quadrant n mod 4 picks and signs them.
Up to |x| = 2^20 pi/2 the reduction subtracts three parts of pi/2 with fused multiply-adds (Cody and
Waite); beyond, lane by lane, the C library reduces.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ..compiler.dual import along, dual_type, spread, value, value_of, with_value
from ..compiler.lanes import INNER, LANES, VECTOR, get, get_run, inline, llvm_call, put, put_run
from ..compiler.twice import twice_type
from .compare import exceeds
from .twice_trig import sincos_twice

# pi/2 in three parts of 33, 33 and 53 bits: n times the first two is exact for |n| < 2^20
PIO2_1, PIO2_2, PIO2_3 = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21
TWO_OVER_PI = 6.36619772367581382433e-01
LARGEST = 2.0**20 * math.pi / 2
ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits

# minimax coefficients of sin r / r and cos r on |r| <= pi/4 (those of fdlibm's kernels)
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


def _shape(numba_type: Any) -> tuple[ir.Type, ir.Type, Any]:
    """LLVM types of the number and of its bits, and a maker of constants."""
    if numba_type is types.float64:
        return ir.DoubleType(), ir.IntType(64), lambda t, c: ir.Constant(t, c)
    return VECTOR, ir.VectorType(ir.IntType(64), LANES), lambda t, c: ir.Constant(t, [c] * LANES)


@intrinsic
def reduce_quadrant(typing_context: Any, x: Any) -> Any:
    """(r, n): x = n pi/2 + r; n comes as the bits of a number whose low two say the quadrant."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number, _, constant = _shape(x)
        shift = constant(number, ROUND)
        bits = llvm_call(builder, "fma", [args[0], constant(number, TWO_OVER_PI), shift])
        n = builder.fsub(bits, shift)
        r = args[0]
        for part in (PIO2_1, PIO2_2, PIO2_3):
            r = llvm_call(builder, "fma", [n, constant(number, -part), r])
        return context.make_tuple(builder, sig.return_type, [r, bits])

    return types.UniTuple(x, 2)(x), generate


@intrinsic
def pick_quadrant(typing_context: Any, sine: Any, cosine: Any, n: Any) -> Any:
    """(sin x, cos x) from those of r: odd quadrants swap, the upper ones change sign."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number, integer, constant = _shape(n)
        s, c, quadrant = args[0], args[1], builder.bitcast(args[2], integer)
        one, two, top = constant(integer, 1), constant(integer, 2), constant(integer, 62)
        odd = builder.icmp_signed("!=", builder.and_(quadrant, one), constant(integer, 0))
        s, c = builder.select(odd, c, s), builder.select(odd, s, c)
        signs = builder.shl(builder.and_(quadrant, two), top)
        signc = builder.shl(builder.and_(builder.add(quadrant, one), two), top)
        flip = [
            builder.bitcast(builder.xor(builder.bitcast(v, integer), g), number) for v, g in ((s, signs), (c, signc))
        ]
        return context.make_tuple(builder, sig.return_type, flip)

    return types.UniTuple(n, 2)(n, n, n), generate


@intrinsic
def library_sincos(typing_context: Any, x: Any) -> Any:
    """Lane by lane through the C library."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        results = []
        for name in ("sin", "cos"):
            if x is types.float64:
                results.append(llvm_call(builder, name, [args[0]]))
                continue
            value = ir.Constant(VECTOR, ir.Undefined)
            for lane in range(LANES):
                index = ir.Constant(ir.IntType(32), lane)
                result = llvm_call(builder, name, [builder.extract_element(args[0], index)])
                value = builder.insert_element(value, result, index)
            results.append(value)
        return context.make_tuple(builder, sig.return_type, results)

    return types.UniTuple(x, 2)(x), generate


@intrinsic
def arctangent(typing_context: Any, y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in (-pi, pi], lane by lane through the C library"""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = context.get_function(math.atan2, types.float64(types.float64, types.float64))
        if y is types.float64:
            return one(builder, args)
        if y is dual_type:
            return _dual_arctangent(builder, one, *args)
        value = ir.Constant(VECTOR, ir.Undefined)
        for lane in range(LANES):
            index = ir.Constant(ir.IntType(32), lane)
            result = one(builder, [builder.extract_element(a, index) for a in args])
            value = builder.insert_element(value, result, index)
        return value

    return y(y, y), generate


def _dual_arctangent(builder: Any, one: Any, y: Any, x: Any) -> Any:
    """Of slope (x y' - y x') / (x^2 + y^2)"""
    angle, (a, b) = one(builder, [value(builder, v) for v in (y, x)]), (spread(builder, v) for v in (y, x))
    size = builder.fadd(builder.fmul(a, a), builder.fmul(b, b))
    across = builder.fsub(builder.fmul(b, y), builder.fmul(a, x))
    return with_value(builder, builder.fdiv(across, size), angle)


def sincos(x):
    """(sin x, cos x)"""


@overload(sincos, jit_options=INNER | {"forceinline": True})
def _sincos(x):
    if x is twice_type:
        return lambda x: sincos_twice(x)
    if x is dual_type:
        return lambda x: sincos_dual(x)
    return lambda x: sincos_double(x)


@inline
def sincos_dual(x):
    """The same with their tangents"""
    s, c = sincos_double(value_of(x))
    return along(x, c, s), along(x, -s, c)


@inline
def sincos_double(x):
    """The same of doubles, or lane by lane"""
    if exceeds(x, LARGEST):
        return library_sincos(x)
    r, n = reduce_quadrant(x)
    z = r * r
    s = r + r * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    c = 1.0 - (0.5 * z - z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6))))))
    return pick_quadrant(s, c, n)


def sincos_all(angles, sines, cosines):
    """Sine and cosine of a whole array: of one state, LANES neighbours at a time."""


@overload(sincos_all, jit_options=INNER)
def _sincos_all(angles, sines, cosines):
    runs = angles.ndim == 1 and LANES > 1

    def compute(angles, sines, cosines):
        done = 0
        if runs:
            done = angles.shape[0] - angles.shape[0] % LANES
            for j in range(0, done, LANES):
                s, c = sincos(get_run(angles, j))
                put_run(sines, j, s)
                put_run(cosines, j, c)
        for j in range(done, angles.shape[0]):
            s1, c1 = sincos(get(angles, j))
            put(sines, j, s1)
            put(cosines, j, c1)

    return compute
