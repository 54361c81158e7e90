"""Writes docs/notebooks/*.ipynb: guides as notebooks, their code to be run cell by cell.

python docs/site/notebooks.py
"""

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
GUIDES = ("first-model", "loops", "reading-results")
BLOCK = re.compile(r"^```(python|console|toml|xml)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
HAND_TYPED = ("make ", ". ")  # commands that have been given before a notebook opens
START = """\
# in a folder of its own, beside which the models stand
import os
import tempfile
from pathlib import Path

clone = next(folder for folder in [Path.cwd(), *Path.cwd().parents] if (folder / "models").is_dir())
os.chdir(tempfile.mkdtemp())
os.symlink(clone / "models", "models")"""


def notebook(guide: str) -> str:
    """The text of a notebook, without outputs."""
    parts = BLOCK.split((DOCS / "guides" / f"{guide}.md").read_text("utf-8"))
    cells = [_markdown(parts[0])]
    cells.append(_cell("code", START))
    for kind, text, words in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        code = _code(kind, text.rstrip("\n"))
        cells += [_cell("code", code)] if code else []
        cells += [_markdown(words)] if words.strip() else []
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _code(kind: str, text: str) -> str:
    """What a block is in a cell: a file is written, a command goes to the shell, its output is not kept."""
    if kind in ("toml", "xml"):
        return f"%%writefile {re.match(r'(?:# |<!-- )([^ :]+[.][a-z]+)', text)[1]}\n{text}"
    if kind == "console":
        commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        return "\n".join(f"!{command}" for command in commands if not command.startswith(HAND_TYPED))
    return text


def _markdown(text: str) -> dict[str, Any]:
    """Pages beside a guide are no longer beside its notebook."""
    return _cell("markdown", re.sub(r"\]\(([\w-]+\.md)", r"](../guides/\1", text.strip()))


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


if __name__ == "__main__":
    for name in GUIDES:
        (DOCS / "notebooks" / f"{name}.ipynb").write_text(notebook(name), "utf-8")
