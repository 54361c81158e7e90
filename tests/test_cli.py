"""The command line: every command, exit codes, wrong input, one message and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whippletree import cli
from whippletree.errors import SimulationError

ROOT = Path(__file__).parent.parent
PENDULUM = str(ROOT / "models" / "pendulum.toml")
SHELL = [sys.executable, "-c", "from whippletree.cli import main; main()"]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the program in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("whippletree.kernels.lanes.kernels_cached", lambda: True)  # whoever comes first

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["whippletree", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return stop.value.code or 0, out, err

    return call


def test_help_names_the_commands_and_imports_nothing_heavy():
    heavy = "numpy", "numba", "xarray", "matplotlib", "rich"
    program = "\n".join(
        [
            "import sys",
            "from whippletree.cli import main",
            "try: main()",
            f"finally: print([m for m in {heavy} if m in sys.modules])",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True)
    for name in (
        "run",
        "check",
        "explain",
        "cite",
        "plot",
        "report",
        "animate",
        "bench",
        "equilibrium",
        "linearize",
        "modes",
    ):
        assert f"  {name} " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(command):
    code, out, _ = command("--version")
    assert (code, out.split()[0]) == (0, "whippletree")


@pytest.mark.parametrize("name", ["run", "check", "explain", "cite", "plot", "report", "animate", "bench"])
def test_every_command_has_help(command, name):
    code, out, _ = command(name, "--help")
    assert code == 0
    assert "Usage: whippletree " + name in out


# ---------------------------------------------------------------- commands


def test_check(command):
    assert command("check", PENDULUM) == (0, "ok: pendulum: 1 bodies, 1 joints, 1 freedoms\n", "")


def test_check_counts_loops(command):
    code, out, _ = command("check", ROOT / "models" / "four_bar.toml")
    assert code == 0
    assert "(1 of them closing a loop)" in out


def test_explain(command):
    code, out, err = command("explain", PENDULUM)
    assert (code, err) == (0, "")
    assert "pendulum" in out
    assert "articulated" in out


def test_explain_draws_the_tree(command, tmp_path):
    code, out, err = command("explain", ROOT / "models" / "four_bar.toml", "--plot", "tree.svg")
    assert (code, err) == (0, "wrote tree.svg\n")
    assert "loops      1" in out
    assert ">coupler<" in (tmp_path / "tree.svg").read_text("utf-8")


def test_cite_prints_what_a_run_uses(command):
    code, out, err = command("cite", PENDULUM)
    assert (code, err) == (0, "")
    assert "{featherstone2008," in out
    other = command("cite", PENDULUM, "--algorithm", "composite")[1]
    assert "{walker1982," in other
    assert other.count("@") == other.count("year")


def test_run_prints_the_end_when_no_file_is_asked_for(command):
    code, out, err = command("run", PENDULUM, "--until", 0.1, "--q", "hinge=0.5", "--u", "hinge=-1")
    assert (code, err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in out.replace("q hinge", "q_hinge").splitlines())
    assert rows["time"] == "0.1 s"
    assert rows["q_hinge"].endswith(" rad")


def test_run_writes_all_its_files(command, tmp_path):
    code, out, err = command(
        "run", PENDULUM, "--until", 0.1, "--q", "hinge=0.5", "--step", "1e-3", "--algorithm", "composite",
        "-o", "a.nc", "--plot", "a.svg", "--plot", "a.png", "--report", "a.html", "--animate", "a.gif",
    )  # fmt: skip
    assert (code, out, err) == (0, "", "wrote a.nc, a.svg, a.png, a.html, a.gif\n")
    assert {p.name for p in tmp_path.iterdir()} == {"a.nc", "a.svg", "a.png", "a.html", "a.gif"}
    code, _, err = command("plot", "a.nc", "hinge.q", "tip.position", "-o", "b.pdf")
    assert (code, err) == (0, "wrote b.pdf\n")
    assert command("plot", "a.nc")[0] == 0
    assert (tmp_path / "b.pdf").exists()


def test_a_result_file_gives_a_report_and_an_animation(command, tmp_path):
    assert command("run", PENDULUM, "--until", 0.1, "--q", "hinge=0.5", "-o", "a.nc")[0] == 0
    assert command("report", "a.nc", "-o", "page.html") == (0, "", "wrote page.html\n")
    assert command("report", "a.nc") == (0, "", "wrote a.html\n")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page == (tmp_path / "a.html").read_text("utf-8")
    assert "dopri5" in page
    assert command("animate", "a.nc", "-o", "a.gif") == (0, "", "wrote a.gif\n")
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF89a")
    assert command("animate", "a.nc") == (0, "", "wrote a.animation.html\n")
    code, out, err = command("plot", "a.nc", "hinge.qq")
    assert (code, out) == (2, "")
    assert "hint: did you mean 'hinge.q'?" in err
    assert not (tmp_path / "a.svg").exists()


def test_bench_prints_a_table_and_writes_its_files(command, tmp_path):
    code, out, err = command("bench", "chain", "--bodies", "2,4", "--rounds", "2", "-o", "b.json", "--plot", "b.svg")
    assert code == 0
    assert "chain" in out
    assert "wrote b.json, b.svg, b.png" in err
    assert {p.name for p in tmp_path.iterdir()} == {"b.json", "b.svg", "b.png"}


# ---------------------------------------------------------------- mistakes

BAD_MODEL = """name = "bad"
[bodies.arm]
mass = -1.0
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "arm"
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "missing.toml"], "there is no file 'missing.toml'"),
        (["check", "."], "is a folder"),
        (["check", "bad.toml"], "mass must be positive"),
        (["check", "notes.txt"], "is of no known format"),
        (["explain", PENDULUM, "--plot", "tree.txt"], "'tree.txt' is not the name of a picture"),
        (["check", PENDULUM, "--base", "floating"], "base 'floating' is not known"),
        (["run", PENDULUM, "--until", "1", "--q", "hinge"], "--q 'hinge' cannot be read"),
        (["run", PENDULUM, "--until", "1", "--q", "hinge=fast"], "--q 'hinge=fast' cannot be read"),
        (["run", PENDULUM, "--until", "1", "--q", "hing=1"], "hing"),
        (["run", PENDULUM, "--until", "1", "--q", "hinge=1,2"], "hinge"),
        (["run", PENDULUM, "--until", "1", "--q", "hinge=nan"], "finite"),
        (["run", PENDULUM, "--until", "-1"], "until"),
        (["run", PENDULUM, "--until", "nan"], "until"),
        (["run", PENDULUM, "--until", "1", "--step", "0"], "step"),
        (["run", PENDULUM, "--until", "1", "--algorithm", "articulate"], "articulate"),
        (["run", PENDULUM, "--until", "1", "--integrator", "eulr"], "did you mean 'euler'?"),
        (["run", PENDULUM, "--until", "1", "--rtol", "0"], "rtol is not a tolerance"),
        (["run", PENDULUM, "--until", "1", "--atol", "-1"], "atol is not a tolerance"),
        (["run", PENDULUM, "--until", "1", "--integrator", "rk4", "--rtol", "1e-6"], "has a fixed step"),
        (["run", PENDULUM, "--until", "1", "--plot", "a.gif"], "'a.gif' is not the name of a picture"),
        (["run", PENDULUM, "--until", "1", "--animate", "a.mp4"], "expected: a name ending in .html or .gif"),
        (["run", PENDULUM, "--until", "1", "-o", "no/a.nc"], "there is no folder 'no'"),
        (["run", PENDULUM, "--until", "1", "-o", "."], "is a folder"),
        (["run", str(ROOT / "models" / "four_bar.toml"), "--until", "1"], "loop"),
        (["cite", PENDULUM, "--algorithm", "magic"], "magic"),
        (["plot", "missing.nc"], "there is no result file 'missing.nc'"),
        (["plot", "notes.txt"], "is damaged or not a NetCDF file"),
        (["plot", "missing.nc", "-o", "a.gif"], "'a.gif' is not the name of a picture"),
        (["report", "missing.nc"], "there is no result file 'missing.nc'"),
        (["report", "missing.nc", "-o", "no/a.html"], "there is no folder 'no'"),
        (["animate", "missing.nc"], "there is no result file 'missing.nc'"),
        (["animate", "missing.nc", "-o", "a.mp4"], "'a.mp4' is not the name of an animation"),
        (["bench", "chian"], "benchmark 'chian' is not known"),
        (["bench", "chain", "--against", "bullet"], "bullet"),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_2(command, tmp_path, arguments, said):
    (tmp_path / "bad.toml").write_text(BAD_MODEL)
    (tmp_path / "notes.txt").write_text("not a model")
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert {p.name for p in tmp_path.iterdir()} == {"bad.toml", "notes.txt"}


@pytest.mark.parametrize("arguments", [[], ["rum"], ["run"], ["run", PENDULUM], ["run", PENDULUM, "--until", "soon"]])
def test_wrong_usage_is_exit_code_2(command, arguments):
    assert command(*arguments)[0] == 2


def test_a_failed_simulation_is_exit_code_1(command, monkeypatch):
    def fail(*_, **__):
        raise SimulationError("the mass matrix is singular", where="joint 'hinge', t = 0.1 s")

    monkeypatch.setattr(cli, "_simulate", fail)
    code, out, err = command("run", PENDULUM, "--until", 1)
    assert (code, out) == (1, "")
    assert err == "error: the mass matrix is singular\n  where: joint 'hinge', t = 0.1 s\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SimulationError("the motion ceased to be finite", where="joint 'hinge'"), 1, "error: the motion ceased"),
        (KeyboardInterrupt(), 130, "stopped; kept: a.partial.nc, which ends at t = 0.05 s"),
    ],
)
def test_what_was_computed_before_the_end_is_kept(command, monkeypatch, tmp_path, error, code, said):
    simulate = cli._simulate

    def fail(system, until, **options):
        error.partial = simulate(system, 0.05, **options)
        raise error

    monkeypatch.setattr(cli, "_simulate", fail)
    got, out, err = command("run", PENDULUM, "--until", 1, "-o", "a.nc")
    assert (got, out) == (code, "")
    assert said in err
    assert "a.partial.nc" in err
    assert [p.name for p in tmp_path.iterdir()] == ["a.partial.nc"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (MemoryError(), 1), (OSError(5, "I/O"), 1)])
def test_a_stop_is_one_line(command, monkeypatch, error, code):
    def stop(*_):
        raise error

    monkeypatch.setattr(cli, "_system", stop)
    got, out, err = command("explain", PENDULUM)
    assert (got, out) == (code, "")
    assert len(err.splitlines()) == 1


def test_a_reader_that_leaves_early_gets_no_traceback():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*SHELL, "explain", PENDULUM], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- progress


def test_the_bar_waits_a_second_and_needs_a_terminal(monkeypatch):
    clock = iter([0.0, 0.5, 1.5])
    monkeypatch.setattr(cli.time, "monotonic", lambda: next(clock, 2.0))
    monkeypatch.setattr(cli.sys.stderr, "isatty", lambda: True, raising=False)
    with cli.Bar("run", 1.0) as bar:
        bar(0.1)
        assert bar.shown is None
        bar(0.2)
        assert bar.shown is not None
    monkeypatch.setattr(cli.sys.stderr, "isatty", lambda: False, raising=False)
    with cli.Bar("run", 1.0) as bar:
        bar.start = -10.0
        bar(0.5)
        assert bar.shown is None


def test_the_first_run_says_that_it_compiles(command, monkeypatch):
    monkeypatch.setattr("whippletree.kernels.lanes.kernels_cached", lambda: False)
    assert "compiling kernels, once" in command("run", PENDULUM, "--until", 0.01)[2]
