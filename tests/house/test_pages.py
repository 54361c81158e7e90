"""Pages that are made from the code are as the code is: gallery, errors, benchmarks, notebooks."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import whippletree as wt
from whippletree.cli.app import main
from whippletree.gallery import gallery, motion

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
AGAIN = "run: make pages"


def program(name):
    """A program of docs/site, as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_site_{name}", DOCS / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


errors, benchmarks, notebooks, pictures = map(program, ("errors", "benchmarks", "notebooks", "gallery"))


def test_the_gallery_shows_every_motion():
    assert (DOCS / "gallery.md").read_text("utf-8") == pictures.page(), AGAIN
    for name in gallery():
        path = DOCS / "images" / "gallery" / f"{name}.gif"
        assert path.stat().st_size <= 300_000
        with Image.open(path) as picture:
            assert picture.n_frames > 40
    assert (DOCS / "images" / "first_look.gif").stat().st_size < 1_000_000


@pytest.mark.parametrize("name", gallery())
def test_every_motion_starts(name):
    m = motion(name)
    system = wt.load(m.model).compile()
    start = wt.assemble(system, m.q, m.u) if m.assemble else None
    q, u = (m.q, m.u) if start is None else (start.q, start.u)
    run = wt.simulate(system, m.until / 500, q=q, u=u)
    assert run.t[-1] == m.until / 500


def test_demo_lists_and_runs(command, tmp_path):
    code, out, _ = command("demo")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(gallery())
    code, out, err = command("demo", "double_pendulum", "-o", tmp_path / "shown")
    assert code == 0
    assert "whippletree run models/double_pendulum.toml --until 5 --q shoulder=2.0 --q elbow=0.5" in err
    files = {path.name: path for path in (tmp_path / "shown").iterdir()}
    assert set(files) == {f"double_pendulum{end}" for end in (".nc", ".svg", ".html", "_moving.html")}
    assert all(path.stat().st_size > 5000 for path in files.values())
    assert all(str(path) in out for path in files.values())
    assert wt.load_result(files["double_pendulum.nc"]).t[-1] == 5.0


def test_demo_of_nothing_names_what_there_is(command, tmp_path):
    code, _, err = command("demo", "four_ber")
    assert code == 2
    assert err.strip() == "error: the gallery has no 'four_ber'\n  hint: did you mean 'four_bar'?"
    assert not list(tmp_path.iterdir())


def test_the_options_that_demo_tells_are_those_of_run(command, tmp_path):
    m = motion("satellite")
    options = m.options().split()
    options[options.index("--until") + 1] = "0.01"
    code, _, _ = command("run", m.model, *options, "-o", "short.nc")
    assert code == 0
    long = m.run()
    short = wt.load_result(tmp_path / "short.nc")
    assert (short.q[0] == long.q[0]).all()
    assert (short.u[0] == long.u[0]).all()


def test_the_errors_are_those_of_the_source():
    assert (DOCS / "reference" / "errors.md").read_text("utf-8") == errors.page(), AGAIN


def test_every_place_that_raises_is_read():
    """Found a second time by their look alone, without a syntax tree; to pass on another's words says nothing new."""
    call = re.compile(rf"(?<!class )\b(?:{'|'.join(errors.ERRORS)})\(")
    given = re.compile(r"Error\(\w+[,)\[]|Error\(.*?\w\.what\b|Constraints\(e\.what\b")  # another's words
    for path in sorted((ROOT / "src" / "whippletree").rglob("*.py")):
        file = path.relative_to(ROOT / "src" / "whippletree").as_posix()
        lines = path.read_text("utf-8").splitlines()
        seen = {n for n, line in enumerate(lines, 1) if call.search(line)}
        read = {m.line for m in errors.messages() if m.file == file}
        assert read <= seen, file
        assert all(given.search("".join(lines[n - 1 : n + 1])) for n in seen - read), file


def test_the_tables_of_speed_are_those_of_the_numbers():
    assert (DOCS / "benchmarks.md").read_text("utf-8") == benchmarks.page(), AGAIN
    assert (ROOT / "README.md").read_text("utf-8") == benchmarks.readme(), AGAIN


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: wt.Model("m").body("b", mass=-1.0),
        lambda: wt.Model("m").joint("j", "revolut", "ground", "b"),
        lambda: wt.load("nowhere.toml"),
        lambda: wt.beam(1.0, section="tube", radius=0.01, wall=0.02),
        lambda: wt.simulate(wt.load(ROOT / "models/pendulum.toml").compile(), -1.0),
        lambda: wt.simulate(wt.load(ROOT / "models/four_bar.toml").compile(), 1.0, q={"shaft": 0.1}),
        lambda: wt.forward_dynamics(wt.load(ROOT / "models/pendulum.toml").compile(), [1.0, 2.0], [0.0]),
        lambda: wt.sweep(ROOT / "models/pendulum.toml", {"bodies.rod.mas": "1:2:3"}, until=1.0),
    ],
    ids=["mass", "kind", "no file", "beam", "until", "off", "shape", "sweep"],
)  # fmt: skip
def test_what_is_reported_is_on_the_page(mistake):
    with pytest.raises(wt.WhippletreeError) as caught:
        mistake()
    reported = [re.escape(m.what).replace("…", ".*") for m in errors.messages() if m.what.strip("… :'")]
    assert any(re.fullmatch(words, caught.value.what, re.DOTALL) for words in reported), caught.value.what


@pytest.mark.parametrize("guide", notebooks.GUIDES)
def test_notebooks_are_as_their_guides(guide):
    assert (DOCS / "notebooks" / f"{guide}.ipynb").read_text("utf-8") == notebooks.notebook(guide), AGAIN


@pytest.mark.parametrize("guide", notebooks.GUIDES)
def test_notebooks_run(guide, monkeypatch):
    monkeypatch.chdir(DOCS / "notebooks")
    known: dict = {}
    for cell in json.loads((DOCS / "notebooks" / f"{guide}.ipynb").read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
                assert (DOCS / "notebooks" / target).exists(), target
        elif text.startswith("%%writefile "):
            name, _, text = text.removeprefix("%%writefile ").partition("\n")
            Path(name).write_text(text, "utf-8")
        elif text.startswith("!"):
            for line in text.splitlines():
                monkeypatch.setattr("sys.argv", shell_words(line))
                with pytest.raises(SystemExit) as stop:
                    main()
                assert not stop.value.code, line
        else:
            exec(compile(text, f"{guide}, cell", "exec"), known)


def shell_words(line):
    words = shlex.split(line.removeprefix("!"), comments=True)
    assert words[0] == "whippletree"
    return words


def test_docstrings_become_markdown():
    pytest.importorskip("griffe")
    text = "Runs :meth:`Model.run`::\n\n    a\n\nSee (docs/decisions/0001-frames.md).\n\n>>> x = 1\n>>> y = 2\n\nEnd."
    shown = program("docstrings").as_markdown(text)
    assert "`Model.run`:\n" in shown
    assert "([why](../decisions/0001-frames.md))" in shown
    assert "```python\nx = 1\ny = 2\n```" in shown


def test_models_come_with_the_package(tmp_path):
    """As a wheel has them: the folder of models inside the package, and no clone around it."""
    package = tmp_path / "whippletree"
    package.mkdir()
    for name in ("gallery.py", "gallery.toml", "errors.py"):
        (package / name).write_bytes((ROOT / "src" / "whippletree" / name).read_bytes())
    (package / "__init__.py").touch()
    (package / "models").symlink_to(ROOT / "models")
    code = "from whippletree.gallery import gallery; print(all(m.model.is_file() for m in gallery().values()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "True"
