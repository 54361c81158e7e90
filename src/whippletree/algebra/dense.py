"""Small dense systems of equations, in place and without allocating: rows of a matrix lie one after another."""

from ..compiler.lanes import get, kernel, put


@kernel
def factorize(n, A, pivot):
    """A = P L U with rows exchanged for the largest pivot; L without its unit diagonal. A singular A shows as inf."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(get(A, i * n + k)) > abs(get(A, best * n + k)):
                best = i
        put(pivot, k, float(best))
        if best != k:
            for j in range(n):
                here = get(A, k * n + j)
                put(A, k * n + j, get(A, best * n + j))
                put(A, best * n + j, here)
        d = 1.0 / get(A, k * n + k)
        for i in range(k + 1, n):
            factor = get(A, i * n + k) * d
            put(A, i * n + k, factor)
            for j in range(k + 1, n):
                put(A, i * n + j, get(A, i * n + j) - factor * get(A, k * n + j))


@kernel
def solve_factors(n, A, pivot, b):
    """b = A^-1 b, by the factors"""
    for k in range(n):
        best = int(get(pivot, k))
        here = get(b, best)
        put(b, best, get(b, k))
        put(b, k, here)
    for i in range(n):
        total = get(b, i)
        for j in range(i):
            total -= get(A, i * n + j) * get(b, j)
        put(b, i, total)
    for i in range(n - 1, -1, -1):
        total = get(b, i)
        for j in range(i + 1, n):
            total -= get(A, i * n + j) * get(b, j)
        put(b, i, total / get(A, i * n + i))
