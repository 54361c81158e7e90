"""Docstrings as the site shows them: names in code type, examples as code, pages of the documentation as links."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^[ \t]*(?:>>>|\.\.\.) ?.*\n?)+", re.MULTILINE)


def as_markdown(text: str) -> str:
    text = re.sub(r":(?:meth|class|func|attr|mod):`~?([^`]+)`", r"`\1`", text)
    text = re.sub(r"::$", ":", text, flags=re.MULTILINE)
    text = re.sub(r"\(docs/(\S+?)\.md\)", r"([why](../\1.md))", text)
    return EXAMPLE.sub(_fenced, text)


def _fenced(example: re.Match[str]) -> str:
    lines = [re.sub(r"^\s*(?:>>>|\.\.\.) ?", "", line) for line in example[0].rstrip("\n").splitlines()]
    return "\n".join(["```python", *lines, "```", ""])


class Docstrings(griffe.Extension):
    """Called by mkdocstrings for everything it reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
