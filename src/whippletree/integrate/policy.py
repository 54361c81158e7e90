"""A user's compiled policy as an address that compiled loops call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import carray, cfunc, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from ..errors import ModelError

EXPECTED = "a function policy(t, q, u, tau) compiled by numba.njit, which writes tau"
_numbers = types.CPointer(types.float64)
_signature = types.int64(types.float64, _numbers, _numbers, _numbers, types.intp, types.intp)


def compile_policy(policy: Any) -> Any:
    """Something whose ``.address`` compiled code may call for as long as it is held; complains in one form."""
    if not isinstance(policy, Dispatcher) or policy.targetoptions.get("forceobj"):
        hint = "decorate it: @numba.njit" if callable(policy) else None
        raise ModelError(
            "the policy is not compiled",
            expected=EXPECTED,
            got=getattr(policy, "__name__", repr(policy)[:80]),
            hint=hint,
        )
    try:
        return _compiled(policy)
    except NumbaError as error:
        said = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in")]
        raise ModelError(
            f"the policy '{policy.py_func.__name__}' does not compile",
            expected=EXPECTED,
            got=said[0] if said else type(error).__name__,
            hint="numba.njit compiles numbers, arrays and loops of NumPy; see what it says of this function alone",
        ) from error


@lru_cache(maxsize=64)
def _compiled(policy: Any) -> Any:
    def called(t, q, u, tau, nq, nu):
        try:
            policy(t, carray(q, (nq,)), carray(u, (nu,)), carray(tau, (nu,)))
        except Exception:
            return 1
        return 0

    return cfunc(_signature)(called)
