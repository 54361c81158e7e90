"""The house rules that a program can read: import directions, algorithm headers, citation keys, sizes, open ends."""

import ast
import re
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.result import cite

ROOT = Path(__file__).parents[2]
SRC = Path(wt.__file__).parent
SOURCES = sorted(SRC.rglob("*.py"))
# data flows down this list, and so do imports: a room may import itself and the rooms before it
ROOMS = [
    "errors",
    "modes",
    "layout",
    "joints",
    "model",
    "files",
    "compiler",
    "algebra",
    "kernels",
    "system",
    "dynamics",
    "derivatives",
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
    algorithm = wt.ALGORITHMS[name]
    assert algorithm.name == name
    assert isinstance(algorithm.SUPPORTS, set)
    assert callable(algorithm.workspace)
    assert callable(algorithm.accelerations)
    assert Path(algorithm.module.__file__) in ALGORITHMS


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


# ---------------------------------------------------------------- imports in functions

METHOD = "a method of a public class, whose module cannot import what is made of it"
FIRST_CALL = "a call at the bottom whose explanation or measurement is made by the calls above it"
COMMAND = "a command is imported when it is run: the others start without it"
PLOTS = "plots and animations are imported when they are made: a run starts without matplotlib"
CLOSES_A_CYCLE = {
    ("model.model", "system.compile"): METHOD,  # Model.compile
    ("system.system", "system.explain"): METHOD,
    ("system.explain", "analysis.algorithm_words"): METHOD,  # System.explain
    ("system.explain", "analysis.loop_words"): METHOD,
    ("result.result", "result.deformation"): METHOD,
    ("result.result", "result.netcdf"): METHOD,
    ("result.result", "result.pictures.animation"): PLOTS,
    ("result.result", "result.pictures.plot"): PLOTS,
    ("result.result", "result.report"): METHOD,
    ("result.result", "view.window"): METHOD,
    ("result.pictures.animation", "result.pictures.gif"): PLOTS,
    ("result.cite", "integrate.simulate"): "the papers of a run are read from the modules that it uses",
    ("view.window", "view.replay"): "viser is imported when a window is opened",
    ("sweeps.study", "sweeps.plot"): PLOTS,
    ("modes.modes", "modes.readers.npz"): METHOD,
    ("modes.modes", "modes.reference"): METHOD,
    ("modes.structure", "modes.gather"): METHOD,
    ("modes.structure", "modes.make"): METHOD,
    ("model.check", "model.check_kinds"): "checks of parts use those of numbers, and are called by them",
    ("model.check", "model.check_temporary"): "the same",
    ("joints.curve", "model.check"): "the same, of parameters that one kind of joint has",
    ("compiler.disk_cache", "compiler.lanes"): "the folder of kernels is named by the number of lanes",
    ("compiler.shipped", "compiler.lanes"): "kernels of the wheel are for a number of lanes",
    ("dynamics.dispatch", "dynamics.functions"): FIRST_CALL,
    ("dynamics.dispatch", "dynamics.tree.innovations"): FIRST_CALL,
    ("dynamics.inputs", "dynamics.kinematics"): FIRST_CALL,
    ("dynamics.accuracy.trust", "dynamics.functions"): FIRST_CALL,
    ("dynamics.auto.timing", "dynamics.functions"): FIRST_CALL,
    **{("cli.app", f"cli.{name}"): COMMAND for name in ("lab", "live", "results", "run", "studies", "sweep")},
}


def is_upstream(module, target):
    """Whether a module imports one of a room behind its own."""
    first, second = (ROOMS.index(name.split(".")[0]) for name in (module, target))
    return first < second


UPSTREAM = {edge for edge in CLOSES_A_CYCLE if is_upstream(*edge)}
UPSTREAM |= {
    ("result.cite", "integrate.methods.registry"),
    ("result.cite", "integrate.names"),
    ("result.cite", "integrate.stabilize"),
    ("system.flexible", "dynamics.flexible.entry"),  # the address of a kernel, which the System holds
}


def module_of(path):
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES if module_of(path)}


def all_imports(text, module, is_package):
    """(module imported, whether within a function) of a source, without what is imported for types alone."""
    tree, package = ast.parse(text), module.split(".") if is_package else module.split(".")[:-1]
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    within = {id(n) for f in functions for n in ast.walk(f)}
    guards = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    types = {id(n) for guard in guards for statement in guard.body for n in ast.walk(statement)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in types or node.level == 0:
            continue
        stem = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            whole, part = ".".join([*stem, alias.name]), ".".join(stem)
            target = whole if whole in MODULES else part
            if target in MODULES and target != module:
                yield target, id(node) in within


def edges():
    return [
        ((module, target), lazy)
        for module, path in MODULES.items()
        for target, lazy in all_imports(path.read_text("utf-8"), module, path.name == "__init__.py")
    ]


def reachable(graph, start):
    found, waiting = set(), [start]
    while waiting:
        for target in graph.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def test_imports_in_functions_that_close_a_cycle_are_listed():
    graph = {}
    for (module, target), _ in edges():
        graph.setdefault(module, set()).add(target)
    closing = {edge for edge, lazy in edges() if lazy and edge[0] in reachable(graph, edge[1])}
    assert closing == set(CLOSES_A_CYCLE)


def is_formula(edge):
    """Whether a row of the joint table makes its compiled formulas, which it does when a kernel asks for them."""
    return edge[0].startswith("joints.") and edge[1].split(".")[0] in ("algebra", "compiler", "kernels")


def test_imports_in_functions_follow_the_data():
    rooms = ROOMS
    upstream = {
        edge
        for edge, lazy in edges()
        if lazy and rooms.index(edge[0].split(".")[0]) < rooms.index(edge[1].split(".")[0]) and not is_formula(edge)
    }
    assert upstream == UPSTREAM


def test_the_reader_of_imports_sees_functions():
    text = "from .a import b\ndef f():\n    from .registry import ALGORITHMS\n"
    assert list(all_imports(text, "dynamics.x", False)) == [("dynamics.registry", True)]


# ---------------------------------------------------------------- coupling: ceilings that may only sink

MOST_NAMES = 30  # imported by a file; the aim for all
WIDE_FILES = 28  # files that import more, today
WIDEST = 46  # names imported by the widest of them, today
LONGEST = 60  # lines of a function
LONG_FUNCTIONS = {  # those that are longer
    "integrate/simulate.py:simulate": "the public call: half of it is its parameters and docstring",
    "integrate/methods/adaptive.py:march": "one compiled loop: parts of it would be passed two dozen arrays",
    "integrate/rollout_kernel.py:march_states": "one compiled loop: parts of it would be passed two dozen arrays",
    "dynamics/functions.py:forward_dynamics": "the public call: its docstring, and the quick path written out",
    "realtime/live.py:live": "the public call: half of it is its parameters and docstring",
    "cli/run.py:run": "the options of a command",
    "integrate/rollout.py:rollout": "the public call: most of it is its docstring",
    "derivatives/functions.py:forward_dynamics_derivatives": "the public call: half of it is its docstring",
    "derivatives/functions.py:inverse_dynamics_derivatives": "the public call: half of it is its docstring",
    "derivatives/functions.py:jvp": "the public call: half of it is its docstring",
}


def names_imported(path):
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return sum(
        len(node.names)
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__"
    )


def test_files_import_few_names():
    wide = {name_of(path): names_imported(path) for path in SOURCES if path.name != "__init__.py"}
    wide = {name: count for name, count in wide.items() if count > MOST_NAMES}
    assert len(wide) <= WIDE_FILES, wide
    assert max(wide.values()) <= WIDEST


def test_functions_are_short():
    long = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > LONGEST:
                long.add(f"{name_of(path)}:{node.name}")
    assert long <= set(LONG_FUNCTIONS), long - set(LONG_FUNCTIONS)
