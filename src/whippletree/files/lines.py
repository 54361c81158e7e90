"""Where each key of a TOML file stands. tomllib gives values without positions; this walks the same text again."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

KeyPath = tuple[str | int, ...]

TOKEN = re.compile(
    r"""(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}\"{0,2}|'{3}.*?'{3}'{0,2}|"(?:\\.|[^"\\])*"|'[^']*')"""
    r"""|(?P<skip>\#[^\n]*|[ \t\r]+)|(?P<mark>[\[\]{}=,.\n])|(?P<bare>[^\s\[\]{}=,.\#"']+)""",
    re.DOTALL,
)


class Lines:
    """Line numbers of the tables and keys of a TOML text that tomllib has accepted.

    ``Lines(text).of(("bodies", "crank", "mass"))`` is the line of that key, or of the nearest table around it.
    """

    def __init__(self, text: str) -> None:
        self.known: dict[KeyPath, int] = {(): 1}
        self._lengths: dict[KeyPath, int] = {}  # entries so far of each [[array of tables]]
        self._tokens = _tokens(text)
        self._step()
        table: KeyPath = ()
        while self._word:
            if self._word == "[":
                table = self._header()
            elif self._word == "\n":
                self._step()
            else:
                self._pair(table)

    def of(self, path: KeyPath) -> int:
        while path not in self.known:
            path = path[:-1]
        return self.known[path]

    def _step(self) -> None:
        self._word, self._line = next(self._tokens, ("", 0))

    def _key(self, table: KeyPath, closing: str) -> KeyPath:
        """Read ``a."b".c`` and the mark that closes it; note the line of each table on the way."""
        path = table
        while self._word != closing:
            if self._word != ".":
                path = (*path, tomllib.loads("k=" + self._word)["k"] if self._word[0] in "\"'" else self._word)
                self.known.setdefault(path, self._line)
            elif path in self._lengths:  # a table below an array of tables is below its last entry
                path = (*path, self._lengths[path] - 1)
            self._step()
        self._step()
        return path

    def _header(self) -> KeyPath:
        line = self._line
        self._step()
        if self._word != "[":
            path = self._key((), "]")
        else:
            self._step()
            array = self._key((), "]")
            self._step()
            index = self._lengths.get(array, 0)
            self._lengths[array] = index + 1
            path = (*array, index)
        self.known[path] = line
        return path

    def _pair(self, table: KeyPath) -> None:
        """Read ``key = value`` to the end of the value; inside inline tables, note their keys as well."""
        path = self._key(table, "=")
        opened: list[tuple[str, KeyPath]] = []  # brackets not closed yet, and the path each stands at
        while self._word and (opened or self._word != "\n"):
            if self._word in ("[", "{"):
                self.known.setdefault(path, self._line)
                opened.append((self._word, path))
                path = (*path, 0) if self._word == "[" else path
            elif self._word in ("]", "}"):
                path = opened.pop()[1]
            elif self._word == ",":
                bracket, outer = opened[-1]
                path = (*outer, int(path[len(outer)]) + 1) if bracket == "[" else outer
            elif opened and opened[-1] == ("{", path) and self._word != "\n":
                path = self._key(path, "=")
                continue
            self._step()


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in TOKEN.finditer(text):
        word = match.group()
        if match.lastgroup != "skip":
            yield word, line
        line += word.count("\n")
