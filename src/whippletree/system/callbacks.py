"""A user's functions as addresses that compiled loops call: compiled by Numba, or plain Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import carray, cfunc, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from ..compiler.function_pointers import ANSWERED, PASSED
from ..errors import ModelError, SimulationError

POLICY = "a function policy(t, q, u, tau), which writes tau"
COMPILED_POLICY = "a function policy(t, q, u, tau) compiled by numba.njit, which writes tau"
FORCE = "a function force(t, position, rotation, velocity, wrench), which writes wrench"
_numbers = types.CPointer(types.float64)
_pointer = ctypes.POINTER(ctypes.c_double)
_policy_type = types.int64(types.float64, _numbers, _numbers, _numbers, types.intp, types.intp)
_force_type = types.int64(types.float64, _numbers)
_policy_ctype = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_double, _pointer, _pointer, _pointer, ctypes.c_ssize_t, ctypes.c_ssize_t
)
_force_ctype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, _pointer)


class Callback:
    """Something whose ``address`` compiled code may call for as long as it is held.

    ``error`` is what a plain function raised last; ``name`` is for messages.
    """

    def __init__(
        self, function: Any, what: str, expected: str, compiled: Callable[..., Any], plain: Callable[..., Any]
    ) -> None:
        self.name = f"{what} '{function_name(function)}'"
        self.error: BaseException | None = None
        if isinstance(function, Dispatcher) and not function.targetoptions.get("forceobj"):
            self._held = _numba(compiled, function, self.name, expected)
            self.address = self._held.address
        else:
            self._held = plain(function, self)
            self.address = ctypes.cast(self._held, ctypes.c_void_p).value


def joint_forces(function: Any, what: str = "the function") -> Callback:
    """Of ``policy(t, q, u, tau)``."""
    return Callback(function, what, POLICY, _compiled_policy, _plain_policy)


def body_force(function: Any, force: str) -> Callback:
    """Of ``force(t, position, rotation, velocity, wrench)``."""
    return Callback(function, f"force '{force}': the function", FORCE, _compiled_force, _plain_force)


def compiled_joint_forces(function: Any) -> Callback:
    """Of a policy that must be compiled, as many states call it at once."""
    if not isinstance(function, Dispatcher) or function.targetoptions.get("forceobj"):
        raise ModelError(
            "the policy is not compiled",
            expected=COMPILED_POLICY,
            got=getattr(function, "__name__", repr(function)[:80]),
            hint="decorate it: @numba.njit" if callable(function) else None,
        )
    return joint_forces(function, "the policy")


def _numba(make: Callable[..., Any], function: Any, name: str, expected: str) -> Any:
    try:
        return make(function)
    except NumbaError as error:
        reported = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in")]
        raise ModelError(
            f"{name} does not compile",
            expected=expected,
            got=reported[0] if reported else type(error).__name__,
            hint="numba.njit compiles numbers, arrays and loops of NumPy; see what it says of this function alone",
        ) from error


@lru_cache(maxsize=64)
def _compiled_policy(policy: Any) -> Any:
    def called(t, q, u, tau, nq, nu):
        try:
            policy(t, carray(q, (nq,)), carray(u, (nu,)), carray(tau, (nu,)))
        except Exception:
            return 1
        return 0

    return cfunc(_policy_type)(called)


@lru_cache(maxsize=64)
def _compiled_force(force: Any) -> Any:
    def called(t, numbers):
        x = carray(numbers, (PASSED + ANSWERED,))
        try:
            force(t, x[9:12], x[:9].reshape((3, 3)), x[12:18], x[18:])
        except Exception:
            return 1
        return 0

    return cfunc(_force_type)(called)


def _plain_policy(policy: Any, callback: Callback) -> Any:
    def called(t: float, q: Any, u: Any, tau: Any, nq: int, nu: int) -> int:
        return _guarded(callback, policy, t, *(_array(x, n) for x, n in ((q, nq), (u, nu), (tau, nu))))

    return _policy_ctype(called)


def _plain_force(force: Any, callback: Callback) -> Any:
    def called(t: float, numbers: Any) -> int:
        x = _array(numbers, PASSED + ANSWERED)
        return _guarded(callback, force, t, x[9:12], x[:9].reshape(3, 3), x[12:18], x[18:])

    return _force_ctype(called)


def _array(pointer: Any, count: int) -> np.ndarray:
    return np.ctypeslib.as_array(pointer, (count,)) if count else np.zeros(0)


def _guarded(callback: Callback, function: Any, *args: Any) -> int:
    """0 if the function returns; what it raises is kept for the one who started the loop."""
    try:
        function(*args)
    except BaseException as error:  # an interrupt too must not be lost in compiled code
        callback.error = error
        return 1
    return 0


def user_error(name: str, when: str, error: Exception) -> SimulationError:
    """The error that says which of a user's functions raised another, and when; that one is its cause."""
    made = SimulationError(f"{name} raised an error {when}", got=f"{type(error).__name__}: {error}")
    made.__cause__ = error
    return made


def raised_in(callback: Callback, when: str) -> BaseException:
    """What the function of a callback raised, named; an interrupt stays one."""
    error, callback.error = callback.error, None
    assert error is not None
    return user_error(callback.name, when, error) if isinstance(error, Exception) else error


def function_name(function: Any) -> str:
    """Its name for messages; that of its class, if it has none."""
    return str(getattr(function, "__name__", type(function).__name__))


def call_tau(function: Any, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> None:
    """Let the function tau(t, q, u, tau) of a run write tau."""
    try:
        function(t, q.copy(), u.copy(), tau)
    except Exception as e:
        raise user_error(f"the function tau, '{function_name(function)}'", f"at t = {t:.6g} s", e) from e
