"""The two exceptions a user meets, both in one form: what, expected, got, where, hint."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
OWN = f"{__name__.partition('.')[0]}."


def printable(text: str) -> str:
    """The text as a terminal may have it: what is no character of a line, or turns it round, is escaped.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


class WhippletreeError(Exception):
    """Base of everything Whippletree raises on purpose.

    Attributes
    ----------
    what : what is wrong, in one sentence that names the part.
    expected, got : what should have stood there, and what stood there.
    where : file and line, or the part of the model.
    hint : what to change.
    """

    def __init__(
        self,
        what: str,
        *,
        expected: object = None,
        got: object = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what, self.expected, self.got, self.where, self.hint = printable(what), expected, got, where, hint
        parts = (("expected", expected), ("got", got), ("where", where), ("hint", hint))
        lines = [what] + [f"  {label}: {value}" for label, value in parts if value is not None]
        super().__init__(printable("\n".join(lines)))


class ModelError(WhippletreeError, ValueError):
    """The input is wrong: a model, a file, a state or an argument (exit code 2)."""


class NotCompiled(ModelError, AttributeError):
    """A Model where a System is needed."""

    def __init__(self, model: object, name: str = "") -> None:
        super().__init__(
            f"a Model has no '{name}'" if name else "a Model stands where a System is needed",
            expected="a System, wherever something is computed",
            got=f"Model '{getattr(model, 'name', '')}'",
            hint="compile it first: model.compile()",
        )
        self.name, self.obj = name, model  # with which Python finds what a misspelt name may have meant


def described(given: object) -> str:
    """The type of what was passed, and a short form of it, for messages."""
    return f"{type(given).__name__} {str(given) if isinstance(given, os.PathLike) else given!r}"[:120]


def path_of(given: object, what: str) -> Path:
    """The path that a str or PathLike names; ``what`` is for the message."""
    try:
        return Path(given)  # type: ignore[arg-type]
    except TypeError:
        reported = f"{what} is not named by a path"
        raise ModelError(reported, expected="a str or pathlib.Path", got=described(given)) from None


class OffConstraints(ModelError):
    """A state that the loops and constraints of its model do not allow."""


class SimulationError(WhippletreeError, RuntimeError):
    """The input was right and the computation failed (exit code 1)."""


class MissingExtra(ModelError, ImportError):
    """A feature needs a package that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed",
            hint=f"pip install 'whippletree[{extra}]'",
        )


class ModelWarning(UserWarning):
    """What a caller has to know of an answer that is returned: digits that are lost, a file that is read in part.

    To make it an error: ``warnings.simplefilter("error", whippletree.ModelWarning)``.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


# texts kept, the innermost last; whether the caller is warned besides
_keeping: ContextVar[tuple[list[str], ...]] = ContextVar("keeping", default=())
_shown: ContextVar[bool] = ContextVar("shown", default=True)


@contextmanager
def kept_warnings(shown: bool = True) -> Iterator[list[str]]:
    """The texts of :func:`warn` within, each once, whatever filters do to warnings; ``shown``: to the caller too."""
    texts: list[str] = []
    kept, told = _keeping.set((*_keeping.get(), texts)), _shown.set(shown and _shown.get())
    try:
        yield texts
    finally:
        _keeping.reset(kept)
        _shown.reset(told)


def keeps_warnings(call: Callable[P, R]) -> Callable[P, R]:
    """The function, within which :func:`warnings_so_far` are its own."""

    @wraps(call)
    def keeping(*args: P.args, **kwargs: P.kwargs) -> R:
        with kept_warnings():
            return call(*args, **kwargs)

    return keeping


def warnings_so_far() -> list[str]:
    """The list into which texts are kept now."""
    return _keeping.get()[-1] if _keeping.get() else []


def callers_level() -> int:
    """The ``stacklevel`` of the first line outside this package, for a warning by the function that asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OWN):
        frame, level = frame.f_back, level + 1
    return level


def warn(text: str) -> None:
    """Give the caller of the library a ModelWarning, once in a run, which keeps its text."""
    warning = ModelWarning(text)
    if _keeping.get() and str(warning) in _keeping.get()[-1]:
        return
    for texts in _keeping.get():
        if str(warning) not in texts:
            texts.append(str(warning))
    if _shown.get():
        warnings.warn(warning, stacklevel=callers_level())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest known name, or lists the few there are."""
    known = [str(k) for k in known]
    folded = {k.casefold(): k for k in known}
    close = get_close_matches(name, known, n=1, cutoff=0.6) or get_close_matches(
        name.casefold(), folded, n=1, cutoff=0.6
    )
    if close:
        return f"did you mean '{folded.get(close[0].casefold(), close[0])}'?"
    if known and len(known) <= 12:
        return "known: " + ", ".join(known)
    return None
