"""Where each key of a TOML file stands. tomllib gives values without positions; this walks the same text again."""

from __future__ import annotations

import re
import tomllib

KeyPath = tuple[str | int, ...]

TOKEN = re.compile(
    r"""(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}\"{0,2}|'{3}.*?'{3}'{0,2}|"(?:\\.|[^"\\])*"|'[^']*')"""
    r"""|(?P<skip>\#[^\n]*|[ \t\r]+)|(?P<mark>[\[\]{}=,.\n])|(?P<bare>[^\s\[\]{}=,.\#"']+)""",
    re.DOTALL,
)


# what most lines are: a header of a table in a section, or a key with a number, a text or a list of numbers
PLAIN = re.compile(
    r"""(?:\[([\w-]+)\.([\w-]+)\]"""
    r"""|([\w-]+)[ \t]*=[ \t]*(?:"[^"\\\n]*"|\[[^\[\]{}"'\#\n]*\]|[^\[\]{}"'\#\n]+))[ \t\r]*\n""",
    re.ASCII,
)


class Lines:
    """Line numbers of the tables and keys of a TOML text that tomllib has accepted.

    ``Lines(text).of(("bodies", "crank", "mass"))`` is the line of that key, or of the nearest table around it.
    """

    def __init__(self, text: str) -> None:
        self.known: dict[KeyPath, int] = {(): 1}
        self._lengths: dict[KeyPath, int] = {}  # entries so far of each [[array of tables]]
        self._text, self._at, self._next = text, 0, 1  # where the next word begins, and in which line
        table: KeyPath = self._plain(())
        self._step()
        while self._word:
            if self._word == "[":
                table = self._header()
            elif self._word == "\n":
                table = self._plain(table)
                self._step()
            else:
                self._pair(table)

    def _plain(self, table: KeyPath) -> KeyPath:
        """At the beginning of a line, read all plain lines that follow, in a tenth of the time."""
        while (found := PLAIN.match(self._text, self._at)) and not (found[1] and self._lengths):
            if found[1]:
                table = found[1], found[2]
                self.known.setdefault(table[:1], self._next)
                self.known[table] = self._next
            else:
                self.known.setdefault((*table, found[3]), self._next)
            self._at, self._next = found.end(), self._next + 1
        return table

    def of(self, path: KeyPath) -> int:
        while path not in self.known:
            path = path[:-1]
        return self.known[path]

    def _step(self) -> None:
        """On to the next word; none are left where it is empty."""
        while match := TOKEN.match(self._text, self._at):
            self._word, self._line = match.group(), self._next
            self._at, self._next = match.end(), self._next + self._word.count("\n")
            if match.lastgroup != "skip":
                return
        self._word, self._line = "", 0

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
