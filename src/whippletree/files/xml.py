"""XML to elements that know their line. Strict: no document type, no entities, nothing read from elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from ..errors import ModelError
from ..model import check
from ..model.pose import Vector

DEEPEST = 64  # elements inside elements
MOST_ELEMENTS = 2_000_000


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.ASCII | re.IGNORECASE)


@dataclass(slots=True)
class Element:
    """One element: its name, attributes and children, and where it starts, as file:line."""

    tag: str
    attributes: dict[str, str]
    where: str
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        return next(self.all(tag), None)

    def child(self, tag: str, label: str) -> Element:
        """The first child of that name, which must be there; ``label`` is the part that messages name."""
        found = self.first(tag)
        if found is None:
            raise ModelError(f"{label}: <{self.tag}> has no <{tag}>", expected=f"<{tag} .../>", where=self.where)
        return found

    def text(self, key: str, label: str) -> str:
        """An attribute that must be there."""
        if key not in self.attributes:
            got = ", ".join(self.attributes)[:80] or "none"
            expected = f'<{self.tag} {key}="...">'
            raise ModelError(
                f"{label}: <{self.tag}> has no attribute '{key}'", expected=expected, got=got, where=self.where
            )
        return self.attributes[key]

    def numbers(self, key: str, count: int, label: str, *, finite: bool = True) -> tuple[float, ...]:
        """An attribute of ``count`` numbers, which are finite or, if that is allowed, infinite; never NaN."""
        words = self.text(key, label).split()
        what, expected = f"{label}: {self.tag} {key}", "a number" if count == 1 else f"{count} numbers"
        if len(words) != count:
            raise ModelError(f"{what} has the wrong length", expected=expected, got=len(words), where=self.where)
        for word in words:
            if not NUMBER.fullmatch(word):
                raise ModelError(f"{what} is not a number", expected=expected, got=repr(word[:80]), where=self.where)
        values = (float(word) for word in words)
        return tuple(x if math.isinf(x) and not finite else check.number(x, what, where=self.where) for x in values)

    def number(self, key: str, label: str, default: float | None = None) -> float:
        if default is not None and key not in self.attributes:
            return default
        return self.numbers(key, 1, label)[0]

    def vector(self, key: str, label: str, default: Vector | None = None) -> Vector:
        if default is not None and key not in self.attributes:
            return default
        x, y, z = self.numbers(key, 3, label)
        return (x, y, z)


def root_tag(text: str) -> str:
    """The name of the first element, "" where there is none; the rest of ``text`` is not looked at."""
    found: list[str] = []

    def stop(tag: str, *ignored: Any) -> None:
        found.append(tag)
        raise StopIteration

    parser = expat.ParserCreate()
    parser.StartElementHandler = stop
    parser.StartDoctypeDeclHandler = lambda *ignored: stop("")
    with suppress(StopIteration, expat.ExpatError):
        parser.Parse(text, True)
    return found[0] if found else ""


def parse(text: str, source: str, deepest: int = DEEPEST) -> Element:
    """The root element of ``text``; ``source`` is the file that messages name."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = Element("", {}, source)
    stack, count = [top], 0

    def here() -> str:
        return f"{source}:{parser.CurrentLineNumber}"

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > deepest:
            raise ModelError("the file is nested too deep", expected=f"at most {deepest} levels", where=here())
        if count > MOST_ELEMENTS:
            raise ModelError("the file has too many elements", expected=f"at most {MOST_ELEMENTS}", where=here())
        element = Element(tag, attributes, here())
        stack[-1].children.append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def refuse(*ignored: Any) -> Any:
        raise ModelError(
            "the file has a document type or entities, which are refused",
            expected="plain XML elements",
            where=here(),
            hint="remove <!DOCTYPE ...> and write entities out",
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    # every road to an entity, internal or external, starts with a document type; the others are held shut as well
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.UnparsedEntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ModelError(
            f"the file is not well-formed XML: {expat.errors.messages[error.code]}",
            expected="elements inside each other, each of them closed",
            where=f"{source}:{error.lineno}, column {error.offset + 1}",
        ) from None
    return top.children[0]
