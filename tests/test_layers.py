"""The house rules that a program can read: import directions, algorithm headers, citation keys, sizes, open ends."""

import ast
import re
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.result import cite

ROOT = Path(__file__).parent.parent
SRC = Path(wt.__file__).parent
SOURCES = sorted(SRC.rglob("*.py"))
# data flows down this list, and so do imports: a room may import itself and the rooms before it
ROOMS = [
    "errors",
    "modes",
    "model",
    "files",
    "layout",
    "compiler",
    "algebra",
    "joints",
    "kernels",
    "system",
    "dynamics",
    "result",
    "integrate",
    "analysis",
    "sweeps",
    "mpi",
    "view",
    "realtime",
    "gallery",
    "cli",
    "__main__",
]
ALGORITHMS = [p for p in SRC.glob("dynamics/**/*.py") if re.search(r"^SUPPORTS\b", p.read_text("utf-8"), re.MULTILINE)]


def name_of(path):
    return path.relative_to(SRC).as_posix()


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def module_level(tree):
    """Import statements that run when the module is imported: not in functions, not under TYPE_CHECKING."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def rooms_imported(path):
    package = ("whippletree", *path.relative_to(SRC).parts[:-1])
    for node in module_level(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        else:
            above = list(package[: len(package) - node.level + 1]) if node.level else []
            stem = above + (node.module.split(".") if node.module else [])
            targets = [[*stem, alias.name] for alias in node.names]
        ours = [t for t in targets if t[0] == "whippletree" and t[1:] != ["__version__"]]
        yield from ((node.lineno, t[1] if len(t) > 1 else "") for t in ours)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_follow_the_data(path):
    room = room_of(path)
    if room == "__init__":
        pytest.skip("the public names come from every room")
    assert room in ROOMS, f"{name_of(path)} is in no room of the map"
    for line, target in rooms_imported(path):
        known = target in ROOMS and ROOMS.index(target) <= ROOMS.index(room)
        assert known, f"{name_of(path)}:{line} imports '{target or 'whippletree'}', which is downstream of '{room}'"


def test_the_import_reader_sees_what_it_should(tmp_path):
    """The check above must be able to fail."""
    text = (
        "from ..result import plot\nif TYPE_CHECKING:\n    from ..cli import app\ndef f():\n    from .. import bench\n"
    )
    assert [n.module for n in module_level(ast.parse(text))] == ["result"]


def test_there_are_algorithms():
    assert {"articulated.py", "composite.py"} <= {p.name for p in ALGORITHMS}


@pytest.mark.parametrize("path", ALGORITHMS, ids=name_of)
def test_algorithm_says_where_it_comes_from(path):
    header = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    for line in ("Paper", "Symbols", "Differs"):
        assert re.search(rf"^{line}\b", header, re.MULTILINE), f"{name_of(path)}: no line '{line}' in the header"
    assert cite.keys(header), f"{name_of(path)}: no [key] on the Paper line"


@pytest.mark.parametrize("name", wt.ALGORITHMS)
def test_algorithms_are_interchangeable(name):
    module = wt.ALGORITHMS[name]
    assert isinstance(module.SUPPORTS, set)
    assert callable(module.workspace)
    assert callable(module.accelerations)
    assert Path(module.__file__) in ALGORITHMS


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_citation_keys_exist(path):
    header = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    missing = set(cite.keys(header)) - cite.bibliography().keys()
    assert not missing, f"{name_of(path)} cites {missing}, not in references.bib"


def test_docs_show_the_packaged_bibliography():
    assert (ROOT / "docs" / "references.bib").read_text("utf-8") == (SRC / "references.bib").read_text("utf-8")


@pytest.mark.parametrize("folder", sorted({path.parent for path in SOURCES}), ids=name_of)
def test_folders_are_small(folder):
    assert len(list(folder.glob("*.py"))) <= 20


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_are_small_and_finished(path):
    text = path.read_text("utf-8")
    assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", text)
    assert path.stem not in ("utils", "misc", "common", "manager", "helpers")
