"""The examples run, and so do the python and console blocks of the README and the guides, in their order."""

import os
import pkgutil
import re
import runpy
import shlex
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.cli import main

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(toml|xml|python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"^(?:# |<!-- )(\S+\.(?:toml|urdf|xml))")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder beside which the models stand, as in a clone."""
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path, folder, capsys):
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    for name in re.findall(r"wrote (.*)", printed):
        assert all((folder / n).stat().st_size > 1000 for n in name.split(", "))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_is_short(path):
    assert len(path.read_text("utf-8").splitlines()) < 40


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_blocks_of_the_docs_run(page, folder, capsys, monkeypatch):
    known: dict = {}
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
        if kind in ("toml", "xml"):
            (folder / FILE_NAME.match(text)[1]).write_text(text, "utf-8")
        elif kind == "python":
            exec(compile(text, f"{page.name}, python block", "exec"), known)
        else:
            for command, shown in commands(text):
                capsys.readouterr()
                assert run(command, monkeypatch) == 0, f"{page.name}: {' '.join(command)}"
                if shown:
                    assert capsys.readouterr().out.strip() == shown


def commands(text):
    """Commands of a console block, each with the output that the page shows for it; make has its own tests."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = shlex.split(line, comments=True)
        if words[0] != "make":
            assert words[0] == "whippletree"
            yield words[1:], shown.strip()


def run(arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", ["whippletree", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_links_of_the_docs_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert os.path.exists(page.parent / target), f"{page.name}: {target}"


def test_names_in_the_reference_exist():
    text = (ROOT / "docs/reference/api.md").read_text()
    names = re.findall(r"^::: (\S+)", text, re.MULTILINE)
    assert len(names) > 8
    for name in names:
        assert pkgutil.resolve_name(name) is not None
    public = {n for n in wt.__all__ if callable(getattr(wt, n)) and getattr(wt, n).__module__.startswith("whippletree")}
    shown = {getattr(wt, n).__module__ + "." + n for n in public}
    missing = [n for n in shown if n not in names and n.rpartition(".")[0] not in names]
    assert not missing, "public, but not in the reference"
