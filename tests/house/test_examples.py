"""The examples run, and so do all blocks of code and commands in the README and the documentation, in their order."""

import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.cli.app import main

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN, SHOWN = {"toml", "xml", "python", "console"}, {"text"}  # a block is run, or says that it is only shown
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


LONGER = {"13_controller": 95, "14_swing_up": 60}  # lines of programs that control: a loop, a law and what is printed


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_is_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= LONGER.get(path.stem, 40)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_block_is_run_or_marked_as_shown(page):
    text = page.read_text("utf-8")
    blocks = BLOCK.findall(text)
    assert 2 * len(blocks) == len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)), "a fence in another form"
    for kind, body in blocks:
        assert kind in RUN | SHOWN, f"{page.name}: a block of kind '{kind}': {body[:60]}"
        if kind in SHOWN and re.search(r"^\$ ", body, re.MULTILINE):
            assert "^C" in body, (
                f"{page.name}: a command in a block that is not run: {body[:60]}"
            )  # nobody types it here


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text("utf-8"))], ids=lambda p: p.stem)
def test_blocks_of_the_docs_run(page, folder, capsys, monkeypatch):
    known: dict = {}
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
        if kind in ("toml", "xml"):
            (folder / FILE_NAME.match(text)[1]).write_text(text, "utf-8")
        elif kind == "python":
            exec(compile(text, f"{page.name}, python block", "exec"), known)
        elif kind == "console":
            for command, shown in commands(text):
                capsys.readouterr()
                assert run(command, monkeypatch) == 0, f"{page.name}: {' '.join(command)}"
                if shown:
                    assert capsys.readouterr().out.strip() == shown


def commands(text):
    """Commands of a console block, each with the output that the page shows for it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield shlex.split(line, comments=True), shown.strip()


def run(words, monkeypatch):
    """Exit code of a command; of those that install, whether what they name is there."""
    match words:
        case ["whippletree", *arguments]:
            monkeypatch.setattr("sys.argv", ["whippletree", *quicker(arguments, monkeypatch)])
            with pytest.raises(SystemExit) as stop:
                main()
            return stop.value.code
        case ["mpiexec", "-n", _, "whippletree", *arguments]:
            program = [f"{sys.prefix}/bin/mpiexec", "-n", "2", sys.executable, "-m", "whippletree", *arguments]
            return subprocess.run(program, check=False, timeout=300).returncode
        case ["make", *targets]:
            made = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
            return int(not set(targets) <= set(made))
        case ["pip", "install", what]:
            extra = re.fullmatch(r"whippletree\[(\w+)\]", what)[1]
            return int(
                extra
                not in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
            )
        case ["pre-commit", "install"]:
            return int(not (ROOT / ".pre-commit-config.yaml").is_file())
        case [".", script]:
            return int(script != ".venv/bin/activate")
    raise AssertionError(f"a command that this test does not know: {words}")


def quicker(arguments, monkeypatch):
    """The same command, but a bench takes its smallest sizes once, in short runs, and a live run has no window."""
    if arguments[0] == "live":
        return [*arguments, "--no-window", "--fast", "--until", "0.05"]
    if arguments[0] == "view":
        return [*arguments, *([] if "--html" in arguments else ["--html", "shown.html"])]
    if arguments[0] != "bench":
        return arguments
    monkeypatch.setattr("whippletree_lab.bench.rows.BATCH", 16)
    monkeypatch.setattr("whippletree_lab.bench.rows.ROLLOUT", (8, 5, 1e-3))
    monkeypatch.setattr("whippletree_lab.bench.simulate.UNTIL", 0.5)
    small = {"GROWTH_MODES": (2, 4), "GROWTH_BODIES": (2, 4), "MANY": 4}
    brief = {"UNTIL": 0.02, "MODES": 3, "PEER_STEPS": (2e-3, 1e-3), "STEPS": (1e-3,), "TOLERANCES": (1e-4,)}
    for module, values in (("flexible", small), ("flexible_motion", brief)):
        for name, value in values.items():
            monkeypatch.setattr(f"whippletree_lab.bench.{module}.{name}", value)
    sizes = [k for k, word in enumerate(arguments) if word in ("--bodies", "--sizes", "--modes")]
    least = [re.split("[:,]", word)[0] if k - 1 in sizes else word for k, word in enumerate(arguments)]
    return [*least, *([] if sizes else ["--sizes", "2"]), "--rounds", "1"]


def commands_in_comments(path):
    """Commands that a model file tells of itself, each in one line."""
    lines = [line[1:].strip() for line in path.read_text("utf-8").splitlines() if line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return re.findall(r"^(?:\$ )?((?:mpiexec -n \d+ )?whippletree [a-z]+ .*models/.*)$", text, re.MULTILINE)


MODELS = [(path.stem, line) for path in sorted((ROOT / "models").glob("*.toml")) for line in commands_in_comments(path)]


def test_models_tell_commands():
    """The reader above must find them: as many as there are names of the program before a file."""
    text = "".join(path.read_text("utf-8") for path in (ROOT / "models").glob("*.toml"))
    assert len(MODELS) == len(re.findall(r"^#.*whippletree \w+ models/", text, re.MULTILINE)) > 5


@pytest.mark.parametrize(("model", "line"), MODELS, ids=[name for name, _ in MODELS])
def test_commands_in_model_files_run(model, line, folder, monkeypatch):
    words = shlex.split(line.partition("whippletree ")[2].replace("--on mpi", ""))  # on ranks: see test_mpi
    assert f"models/{model}.toml" in words
    words[words.index("--until") + 1] = "0.002"
    assert run(["whippletree", *words], monkeypatch) == 0


def test_links_of_the_docs_lead_somewhere():
    for page in PAGES:
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
