"""Models as TOML: tables ``[bodies.crank]``, ``[joints.pin]``, and so on for all parts of a model."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ..errors import ModelError, nearest
from ..model import FORCE_KINDS, TREES, Limits, Model, Visual, check
from ..model.check_sense import material
from ..model.garbage import without_collections
from ..model.renamed import current
from ..modes.check import moved
from . import toml_tables as tables
from .lines import KeyPath, Lines
from .paths import Roots
from .toml_flexible import FORMS, modes_of
from .toml_writer import dumps

__all__ = ["dumps", "loads"]

DEEPEST = 40  # tables inside tables
# a key of so many parts takes tomllib quadratic time, and no model needs it
LONG_KEY = re.compile(
    r"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+)" + f"{{{DEEPEST}}}", re.ASCII
)


# what tomllib's shortest complaints mostly come from
SLIPS = {
    "Invalid value": "a text needs quotes, and a list needs brackets",
    "Cannot overwrite a value": "the key is defined twice",
    "Cannot declare": "give each a name of its own",
    "Expected newline": "one key on a line; numbers have a point, not a comma",
}
SYNTAX = "tables are [in.brackets], then each line is key = value"
EXPECTED = {
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "dict_type": "a table",
    "model_type": "a table",
    "list_type": "a list of tables",
}


# sections of parts that are written as the Model takes them: word, keys (of each kind), and what adds one
PARTS: dict[str, tuple[str, Any, Callable[..., Any]]] = {
    "joints": ("joint", tables.JointTable, Model.joint),
    "frames": ("frame", tables.FrameTable, Model.frame),
    "couplings": ("coupling of", tables.CouplingTable, Model.couple),
    "forces": ("force", tables.FORCE_TABLES, Model.force),
    "constraints": ("constraint", tables.CONSTRAINT_TABLES, Model.constraint),
    "temporary": ("temporary", tables.TEMPORARY, Model.temporary),
}


def loads(text: str, source: str, packages: Sequence[str | os.PathLike[str]] = ()) -> Model:
    """The Model that ``text`` describes; ``source`` is the file it came from, for messages and for mesh files."""
    with without_collections():
        return _Reader(text, source, packages).model()


class _Reader:
    def __init__(self, text: str, source: str, packages: Sequence[str | os.PathLike[str]]) -> None:
        self.source, self.roots = source, Roots(Path(source).parent, packages)
        self.data = _parse(text, source)
        self.lines = Lines(text)

    def model(self) -> Model:
        top = self._table((), self.data, tables.FileTable, "the file")
        tree = check.known(top.tree, TREES, "tree", self._where(("tree",)))
        check.text(top.name, "model name", self._where(("name",)))
        model = Model(top.name, top.gravity, top.passive, tree, where=self._where(("gravity",)))
        model.where = self._where(())
        sections = {"bodies": self._body, "flexible": self._flexible} | dict.fromkeys(PARTS, self._part)
        for section, add in sections.items():
            for name, table in getattr(top, section).items():
                self._add(model, (section, name), table, add)
        return model

    def _add(self, model: Model, path: KeyPath, table: dict[str, Any], add: Callable[..., None]) -> None:
        """Add one part; a complaint of the Model gets the line of the key it names."""
        try:
            add(model, path, table)
        except ModelError as error:
            about = re.sub(r"'[^']*'", "", error.what.partition(": ")[2])
            named, inside = path, table
            for word in re.findall(r"\w+", about):
                if isinstance(inside, dict) and word in inside:
                    named, inside = (*named, word), inside[word]
            if named == path or error.where not in (None, self._where(path)):
                raise
            raise moved(error, self._where(named)) from None

    def _body(self, model: Model, path: KeyPath, table: dict[str, Any]) -> None:
        name, where = str(path[1]), self._where(path)
        label = f"body '{name}'"
        if "shape" in table:
            shape = check.known(table["shape"], tables.SHAPES, f"{label}: shape", where)
            self._table(path, table, tables.SHAPE_TABLES[shape], label)
            arguments = {key: x for key, x in table.items() if key != "shape"}
            if "path" in arguments:
                name_of_file = check.text(arguments["path"], f"{label}: path", where)
                arguments["path"] = self.roots.find(name_of_file, label, where)
            try:
                model.body(name, **tables.SHAPES[shape](**arguments), where=where)
            except ModelError as error:
                raise moved(error, where, label) from None
            return
        t = self._table(path, table, tables.BodyTable, label)
        visuals = [self._visual(v, f"{label}: visual", (*path, "visuals", i)) for i, v in enumerate(t.visuals)]
        model.body(name, mass=t.mass, com=t.com, inertia=t.inertia, idealized=t.idealized, visuals=visuals, where=where)

    def _flexible(self, model: Model, path: KeyPath, table: dict[str, Any]) -> None:
        name, where = str(path[1]), self._where(path)
        label = f"flexible body '{name}'"
        forms = [form for form in FORMS if form in table]
        if len(forms) != 1:
            got = " and ".join(forms) or "none"
            raise ModelError(f"{label}: one key says what it is", expected=" or ".join(FORMS), got=got, where=where)
        self._table(path, table, tables.FLEXIBLE_TABLES[forms[0]], label)
        if forms[0] == "shape":
            check.known(table["shape"], ("beam",), f"{label}: shape", self._where((*path, "shape")))
        try:
            modes = modes_of(table, label, lambda file: self.roots.find(file, label, where, "modes"))
        except ModelError as error:
            place = where if error.where in (None, where) else f"{where}, in {error.where}"
            raise moved(error, place, label) from None
        material(table, label, where)
        model.flexible(name, modes, where=where)

    def _visual(self, t: Any, label: str, path: KeyPath) -> Visual:
        where = self._where(path)
        sizes = {"box": 3, "sphere": 1, "cylinder": 2, "mesh": 3}
        count = sizes[check.known(t.shape, sizes, f"{label}: shape", where)]
        if (t.path is None) == (t.shape == "mesh"):
            raise ModelError(
                f"{label}: a {t.shape} " + ("needs the path of its file" if t.path is None else "takes no path"),
                where=where,
            )
        size = (1.0, 1.0, 1.0) if t.size is None and t.shape == "mesh" else t.size
        if size is None:
            raise ModelError(f"{label}: key 'size' is missing", where=where)
        color = None if t.color is None else check.numbers(t.color, 4, f"{label}: color", where)
        return Visual(
            t.shape,
            check.numbers(size, count, f"{label}: size", where),
            check.pose(t.at, f"{label}: at", where),
            color,  # type: ignore[arg-type]
            None if t.path is None else self.roots.find(t.path, label, where),
        )

    def _part(self, model: Model, path: KeyPath, table: dict[str, Any]) -> None:
        """All that the Model takes as it is written; a ``kind`` may say which keys there are."""
        word, schema, add = PARTS[str(path[0])]
        label = f"{word} '{path[1]}'"
        kind = str(table.get("kind"))
        if schema is tables.FORCE_TABLES and kind in FORCE_KINDS and kind not in schema:
            raise ModelError(
                f"{label}: kind '{kind}' cannot stand in a file",
                expected="one of " + ", ".join(tables.FORCE_TABLES),
                where=self._where((*path, "kind")),
                hint=f"model files are data; add it in Python: model.force('{path[1]}', '{kind}', ...)",
            )
        if isinstance(schema, dict):
            if "kind" not in table:
                hint = "known: " + ", ".join(schema)
                raise ModelError(f"{label}: key 'kind' is missing", where=self._where(path), hint=hint)
            schema = schema[check.known(table["kind"], schema, f"{label}: kind", self._where((*path, "kind")))]
        if path[0] in ("forces", "constraints", "temporary"):
            table = current(table, label, self._where(path))
        self._table(path, table, schema, label)
        if schema is tables.JointTable and "limits" in table:
            table = table | {"limits": Limits(**table["limits"])}
        add(model, str(path[1]), **table, where=self._where(path))

    def _where(self, path: KeyPath) -> str:
        return f"{self.source}:{self.lines.of(path)}"

    def _table(self, path: KeyPath, table: dict[str, Any], schema: type[tables.Table], label: str) -> Any:
        """The table with its defaults, or one complaint: unknown keys first, since a slip also leaves one missing."""
        try:
            return schema.model_validate(table)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False)
        worst = min(problems, key=lambda p: p["type"] != "extra_forbidden")
        inner = tuple(worst["loc"])
        key, where = ".".join(map(str, inner)), self._where((*path, *inner))
        if worst["type"] == "extra_forbidden":
            known, key = _fields(schema, inner[:-1]), key[:80]
            raise ModelError(f"{label}: key '{key}' is not known", where=where, hint=nearest(str(inner[-1]), known))
        if worst["type"] == "missing":
            takes = ", ".join(_fields(schema, inner[:-1]))
            raise ModelError(
                f"{label}: key '{key}' is missing", expected=f"{key} = ...", where=where, hint=f"known: {takes}"
            )
        expected = EXPECTED.get(worst["type"], worst["msg"])
        if schema is tables.FileTable and worst["type"] == "dict_type":
            expected = f"tables with names, as [{inner[0]}.a]"
        raise ModelError(
            f"{label}: '{key}' has the wrong type", expected=expected, got=check.shown(worst["input"]), where=where
        )


def _fields(schema: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    """The keys of the table at ``path`` inside ``schema``."""
    inner: dict[str, type[BaseModel]] = {"visuals": tables.VisualTable, "limits": tables.LimitsTable}
    for key in path:
        schema = inner.get(str(key), schema)
    return list(schema.model_fields)


def _parse(text: str, source: str) -> dict[str, Any]:
    long = LONG_KEY.search(text)
    if long:
        where = f"{source}:{text.count(chr(10), 0, long.start()) + 1}"
        raise ModelError("the file is nested too deep", expected=f"at most {DEEPEST} levels", where=where)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        at = re.fullmatch(r"line (\d+), column (\d+)\)", place)
        line, column = at.groups() if at else (str(text.count("\n") + 1), "")
        raise ModelError(
            f"the file is not valid TOML: {what or error}",
            where=f"{source}:{line}" + (f", column {column}" if column else ", the end of the file"),
            hint=next((hint for reported, hint in SLIPS.items() if what.startswith(reported)), SYNTAX),
        ) from None
    except ValueError:  # int() takes no more than some thousand digits
        digits = re.search(r"\d[\d_]{4000}", text)
        line = str(text.count("\n", 0, digits.start() if digits else 0) + 1)
        raise ModelError("the file has an integer of too many digits", where=f"{source}:{line}") from None
    except RecursionError:
        raise ModelError("the file is nested too deep", expected=f"at most {DEEPEST} levels", where=source) from None
    return data
