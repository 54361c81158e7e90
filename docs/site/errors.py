"""Writes docs/reference/errors.md: every message the library can raise, found in its source, by what one was doing.

python docs/site/errors.py
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE, PAGE = ROOT / "src" / "whippletree", ROOT / "docs" / "reference" / "errors.md"
ERRORS = ("WhippletreeError", "ModelError", "OffConstraints", "SimulationError", "MissingExtra")
REST = "Everything else"


class Message(NamedTuple):
    """What is said, with … for what depends on the case, and what is said of the cure."""

    file: str
    line: int
    error: str
    what: str
    expected: str
    hint: str


@cache
def messages() -> list[Message]:
    """All of them, in the order of the source; those that pass on what another one said are that other one."""
    found: list[Message] = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for scope in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]:
            for call in _own_calls(scope):
                found += _read(path.relative_to(SOURCE).as_posix(), call, scope)
    return sorted(set(found), key=lambda m: (m.file, m.line, m.what))


def _own_calls(scope: ast.AST) -> Iterator[ast.Call]:
    """Calls that make an error, in a scope but not in a function within it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        name = node.func if isinstance(node, ast.Call) else None
        if isinstance(name, ast.Name) and name.id in ERRORS and (node.args or node.keywords):
            yield node
        waiting += ast.iter_child_nodes(node)


def _read(file: str, call: ast.Call, scope: ast.AST) -> list[Message]:
    if call.func.id == "MissingExtra":
        package, extra, purpose = (next(iter(_texts(a, scope))) for a in call.args)
        what = f"{purpose} needs the package '{package}', which is not installed"
        return [Message(file, call.lineno, "MissingExtra", what, "", f"pip install 'whippletree[{extra}]'")]
    given = {k.arg: k.value for k in call.keywords} | _kept(call, scope)
    expected, hint = (" or ".join(_texts(given[k], scope)) if k in given else "" for k in ("expected", "hint"))
    texts = [what for what in _texts(call.args[0] if call.args else given["what"], scope) if re.search(r"\w", what)]
    return [Message(file, call.lineno, call.func.id, what, expected, hint) for what in texts]


def _kept(call: ast.Call, scope: ast.AST) -> dict[str, ast.AST]:
    """What a call takes by ** from a dict that was written down before."""
    names = [k.value.id for k in call.keywords if k.arg is None and isinstance(k.value, ast.Name)]
    dicts = [a.value for a in ast.walk(scope) if isinstance(a, ast.Assign) and any(_assigns(a, name) for name in names)]
    return {k.value: v for d in dicts if isinstance(d, ast.Dict) for k, v in zip(d.keys, d.values, strict=True)}


def _texts(node: ast.AST, scope: ast.AST) -> list[str]:
    """What a string can be."""
    match node:
        case ast.Constant():
            return [] if node.value is None else [str(node.value)]
        case ast.JoinedStr():
            return ["".join(v.value if isinstance(v, ast.Constant) else "…" for v in node.values)]
        case ast.IfExp():
            return [*_texts(node.body, scope), *_texts(node.orelse, scope)]
        case ast.BoolOp():
            return [text for value in node.values for text in _texts(value, scope)]
        case ast.BinOp(op=ast.Add()):
            return [a + b for a in _texts(node.left, scope) for b in _texts(node.right, scope)]
        case ast.Name():
            values = [a.value for a in ast.walk(scope) if isinstance(a, ast.Assign) and _assigns(a, node.id)]
            return [text for value in values for text in _texts(value, scope)] or ["…"]
        case ast.Call(func=ast.Name(id="nearest")):
            return ["the nearest name that is known"]
    return ["…"]


def _assigns(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)


def page() -> str:
    """The page, with the words of errors.toml before each group."""
    groups = tomllib.loads((Path(__file__).parent / "errors.toml").read_text("utf-8"))
    introduction, cures, rows = groups.pop("introduction"), groups.pop("cures"), messages()
    parts = [introduction.strip()]
    for heading, group in groups.items():
        mine = [m for m in rows if any(fnmatch(m.file, pattern) for pattern in group["files"])]
        rows = [m for m in rows if m not in mine]
        parts.append(_section(heading, group["says"], mine, cures))
    if rows:
        parts.append(_section(REST, "", rows, cures))
    return "\n\n".join(parts) + "\n"


def _section(heading: str, says: str, rows: list[Message], cures: dict[str, str]) -> str:
    together: dict[str, list[str]] = {}  # the same words from several places are one message
    for m in rows:
        reported = together.setdefault(_cell(m.what), [])
        expected = f"expected: {m.expected}" if re.search(r"\w", m.expected) else ""
        cure = "; ".join(_cell(c) for c in (expected, m.hint if re.search(r"\w", m.hint) else "") if c)
        cure = cure or _cell(
            cures.get(m.what, "what is expected comes with the message" if m.expected or m.hint else "")
        )
        if cure and cure not in reported:
            reported.append(cure)
    table = [f"| {what} | {'<br>'.join(reported)} |" for what, reported in together.items()]
    return "\n\n".join([f"## {heading}", *([says.strip()] if says else []), "\n".join([HEAD, *table])])


HEAD = "| message | cure |\n|---|---|"


def _cell(text: str) -> str:
    """Words for a table in Markdown, in one line and with nothing that means markup."""
    text = re.sub(r"…(?:[ ,/]*…)+", "…", re.sub(r"\s+", " ", text))
    return re.sub(r"([|<>*_\[\]`\\])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
