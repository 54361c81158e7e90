"""The command line: every command, exit codes, wrong input, one message and no traceback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import whippletree as wt
from whippletree import load_result
from whippletree.cli import app as cli
from whippletree.cli import progress as cli_progress
from whippletree.cli import run as cli_run
from whippletree.compiler import notice
from whippletree.errors import SimulationError

ROOT = Path(__file__).parents[2]
PENDULUM = str(ROOT / "models" / "pendulum.toml")
SHELL = [sys.executable, "-c", "from whippletree.cli import main; main()"]


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
        "sweep",
    ):
        assert f"  {name} " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(command):
    code, out, _ = command("--version")
    assert (code, out.split()[0]) == (0, "whippletree")


@pytest.mark.parametrize("name", ["run", "check", "explain", "cite", "plot", "report", "animate", "bench", "sweep"])
def test_every_command_has_help(command, name):
    code, out, _ = command(name, "--help")
    assert code == 0
    assert "Usage: whippletree " + name in out


# ---------------------------------------------------------------- commands


def test_check(command):
    assert command("check", PENDULUM) == (0, "ok: pendulum: 1 bodies, 1 joints, 1 degrees of freedom\n", "")


def test_check_counts_loops(command):
    code, out, _ = command("check", ROOT / "models" / "four_bar.toml")
    assert code == 0
    assert "(1 of them closing a loop), 3 degrees of freedom, of which 1 is left" in out


LOCKED = """
name = "truss"
bodies.a = {mass = 1.0, inertia = [1, 1, 1]}
bodies.b = {mass = 1.0, inertia = [1, 1, 1]}
joints.left = {kind = "revolute", parent = "ground", child = "a", axis = "y"}
joints.top = {kind = "revolute", parent = "a", child = "b", axis = "y", at = [1, 0, 0]}
joints.right = {kind = "revolute", parent = "b", child = "ground", axis = "y", at = [1, 0, 0], child_at = [1.2, 0, 0]}
"""


def test_check_says_what_is_locked(command, tmp_path):
    (tmp_path / "truss.toml").write_text(LOCKED, "utf-8")
    code, out, _ = command("check", "truss.toml")
    assert (code, out.endswith("2 degrees of freedom, of which none are left: locked\n")) == (0, True)
    assert json.loads(command("check", "truss.toml", "--json")[1])["mobility"] == 0


def test_check_refuses_what_cannot_close(command, tmp_path):
    (tmp_path / "truss.toml").write_text(LOCKED.replace("1.2, 0, 0", "3, 0, 0"), "utf-8")
    code, out, err = command("check", "truss.toml")
    assert (code, out) == (2, "")
    assert "the loop that joint 'right' closes cannot be closed" in err
    code, out, _ = command("explain", "truss.toml")
    assert code == 0
    assert "mobility   not known: the loop that joint 'right' closes cannot be closed" in out


def test_check_does_not_close_what_is_large(command, tmp_path, monkeypatch):
    from whippletree.analysis import mobility

    monkeypatch.setattr(mobility, "MOST_OPEN", 4)
    (tmp_path / "truss.toml").write_text(LOCKED, "utf-8")
    code, out, err = command("check", "truss.toml")
    assert (code, out.endswith("2 degrees of freedom\n")) == (0, True)
    assert "note: 'truss' is not closed at this pose" in err


def test_explain(command):
    code, out, err = command("explain", PENDULUM)
    assert (code, err) == (0, "")
    assert "pendulum" in out
    assert "articulated" in out


def test_explain_draws_the_tree(command, tmp_path):
    code, out, err = command("explain", ROOT / "models" / "four_bar.toml", "--plot", "tree.svg")
    assert code == 0
    assert err.endswith("wrote tree.svg\n")
    assert "loops      1" in out
    assert ">coupler<" in (tmp_path / "tree.svg").read_text("utf-8")


def test_cite_prints_what_a_run_uses(command):
    code, out, err = command("cite", PENDULUM)
    assert (code, err) == (0, "")
    assert "{featherstone2008," in out
    other = command("cite", PENDULUM, "--algorithm", "composite")[1]
    assert "{walker1982," in other
    assert other.count("@") == other.count("year")


@pytest.mark.parametrize(
    ("model", "options", "keys"),
    [
        ("four_bar", [], {"critchley2003", "yamashita2001", "dormand1980", "hairer1996"}),
        ("four_bar", ["--algorithm", "multipliers", "--stabilization", "baumgarte"], {"kelly1987", "baumgarte1972"}),
        ("docking", ["--integrator", "rk4"], {"kelly1987", "trefethen2013"}),
        ("clutch", [], {"lotstedt1981"}),
    ],
)
def test_cite_names_the_papers_of_all_that_a_run_uses(command, model, options, keys):
    code, out, err = command("cite", ROOT / "models" / f"{model}.toml", *options)
    assert (code, err) == (0, "")
    assert keys <= set(re.findall(r"^@\w+{(\w+),", out, re.MULTILINE))
    assert ("baumgarte1972" in out) == ("baumgarte" in options)


def test_commands_of_the_laboratory_say_where_it_is_when_it_is_not_installed(command, monkeypatch):
    for name in [*sys.modules]:
        if name.partition(".")[0] == "whippletree_lab":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "whippletree_lab", None)
    for call in (["bench", "chain"], ["reproduce", "grcr"]):
        code, out, err = command(*call)
        assert (code, out) == (2, "")
        assert "not installed with the library" in err
        assert "pip install --editable ." in err


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
    ("arguments", "reported"),
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
        (["run", PENDULUM, "--until", "1", "-o", "a.txt"], "expected: a name ending in .nc"),
        (["run", PENDULUM, "--until", "1", "-o", "a.nc", "--save-every", "-1"], "save_every must be positive"),
        (["run", PENDULUM, "--until", "1", "--resume"], "--resume needs the file to go on from"),
        (["run", PENDULUM, "--until", "1", "--resume", "-o", "old.nc"], "is damaged or not a NetCDF file"),
        (["run", PENDULUM, "--until", "1", "--integrator", "scipy-RK45", "--resume", "-o", "a.nc"], "cannot go on"),
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
def test_wrong_input_is_one_message_and_exit_code_2(command, tmp_path, arguments, reported):
    (tmp_path / "bad.toml").write_text(BAD_MODEL)
    (tmp_path / "notes.txt").write_text("not a model")
    (tmp_path / "old.nc").write_text("not a result")
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert "error: " in err
    assert reported in err
    assert {p.name for p in tmp_path.iterdir()} == {"bad.toml", "notes.txt", "old.nc"}


@pytest.mark.parametrize("arguments", [[], ["rum"], ["run"], ["run", PENDULUM], ["run", PENDULUM, "--until", "soon"]])
def test_wrong_usage_is_exit_code_2(command, arguments):
    assert command(*arguments)[0] == 2


def test_a_failed_simulation_is_exit_code_1(command, monkeypatch):
    def fail(*_, **__):
        raise SimulationError("the mass matrix is singular", where="joint 'hinge', t = 0.1 s")

    monkeypatch.setattr(cli_run, "_simulate", fail)
    code, out, err = command("run", PENDULUM, "--until", 1)
    assert (code, out) == (1, "")
    assert err == "error: the mass matrix is singular\n  where: joint 'hinge', t = 0.1 s\n"


LONG = ["run", PENDULUM, "--until", "1000", "--q", "hinge=1", "--output-step", "0.5", "-o", "a.nc"]


def stop_early(monkeypatch, error):
    """The bar raises once the run has come to 0.5 s."""

    class Stop(cli_progress.Bar):
        def __call__(self, reached):
            if reached > 0.5:
                raise error

    monkeypatch.setattr(cli_run.progress, "Bar", Stop)


@pytest.mark.parametrize(
    ("error", "code", "reported"),
    [
        (SimulationError("the motion ceased to be finite"), 1, "error: the motion ceased to be finite\n  kept: a.nc, "),
        (KeyboardInterrupt(), 130, "stopped; kept: a.nc, which ends at t = "),
        (cli_progress.Terminated(), 143, "stopped; kept: a.nc, which ends at t = "),
    ],
)
def test_what_was_computed_before_the_end_is_kept_and_gone_on_with(
    command, monkeypatch, tmp_path, error, code, reported
):
    with monkeypatch.context() as patch:
        stop_early(patch, error)
        got, out, err = command(*LONG)
    assert (got, out) == (code, "")
    assert err.startswith(reported)
    assert err.endswith(" s; resume goes on from there\n")
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
    before = (tmp_path / "a.nc").read_bytes()
    code, out, err = command(*LONG, "--resume", "--rtol", "1e-6")
    assert (code, out) == (2, "")
    assert "rtol differs\n  expected: rtol 1e-08\n  got: rtol 1e-06" in err
    assert (tmp_path / "a.nc").read_bytes() == before
    code, out, err = command(*LONG, "--resume", "--save-every", "0.5")
    assert (code, out) == (0, "")
    assert re.fullmatch(r"going on from a.nc, t = [0-9.]+ s\nwrote a.nc\n", err)
    code, out, err = command(*LONG, "--resume", "--report", "a.html")
    assert (code, out, err) == (0, "", "a.nc was complete already\nwrote a.html\n")


def test_sigterm_ends_a_run_in_order(tmp_path):
    arguments = [*LONG, "--until", "1e9", "--output-step", "1e5", "--save-every", "0.05"]
    run = subprocess.Popen([*SHELL, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not (tmp_path / "a.nc").exists():
        time.sleep(0.02)
    run.send_signal(signal.SIGTERM)
    err = run.communicate(timeout=60)[1]
    assert run.returncode == 143, err
    assert "stopped; kept: a.nc, which ends at t = " in err
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]


def test_resume_without_a_file_starts_anew(command):
    code, _, err = command("run", PENDULUM, "--until", "0.1", "-o", "a.nc", "--resume")
    assert (code, err) == (0, "there is no a.nc yet: starting anew\nwrote a.nc\n")


def test_a_full_disk_is_exit_code_1(command, monkeypatch, tmp_path):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, out, err = command("run", PENDULUM, "--until", "0.1", "-o", "a.nc")
    assert (code, out) == (1, "")
    assert err == "error: the result cannot be written: No space left on device\n  where: a.nc\n"
    assert not list(tmp_path.iterdir())


def test_json_of_a_run(command):
    code, out, err = command("run", PENDULUM, "--until", 0.1, "--q", "hinge=0.5", "-o", "a.nc", "--json")
    assert (code, err) == (0, "wrote a.nc\n")
    reported = json.loads(out)
    run = load_result("a.nc")
    assert reported["time"] == 0.1
    assert reported["complete"] is True
    assert reported["q"] == {"hinge": [run.q[-1, 0]]}
    assert reported["u"] == {"hinge": [run.u[-1, 0]]}
    assert reported["steps"] == run.attrs["accepted"]
    assert reported["files"] == ["a.nc"]
    assert reported["energy"]["largest_error"] < 1e-7 * abs(reported["energy"]["start"])  # ten times rtol
    fixed = json.loads(command("run", PENDULUM, "--until", 0.1, "--integrator", "rk4", "--step", 0.01, "--json")[1])
    assert (fixed["steps"], fixed["files"]) == (10, [])


def test_json_of_a_model(command):
    reported = json.loads(command("check", ROOT / "models" / "four_bar.toml", "--json")[1])
    assert reported.items() >= {"ok": True, "bodies": 3, "joints": 4, "loops": 1, "mobility": 1}.items()
    reported = json.loads(command("explain", ROOT / "models" / "four_bar.toml", "--json")[1])
    assert len(reported["cut_joints"]) == 1
    assert reported["mobility"]["loops"]["rock"]["rank"] == 2
    assert reported["algorithm"] == "reduction"
    reported = json.loads(command("explain", PENDULUM, "--json")[1])
    assert (reported["algorithm"], reported["mobility"]) == ("articulated", None)
    assert reported["tree"] == {
        "hinge": {"kind": "revolute", "parent": "ground", "child": "rod", "q": [0, 1], "u": [0, 1]}
    }


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
    monkeypatch.setattr(cli_progress.time, "monotonic", lambda: next(clock, 2.0))
    monkeypatch.setattr(cli_progress.sys.stderr, "isatty", lambda: True, raising=False)
    with cli_progress.Bar("run", 1.0) as bar:
        bar(0.1)
        assert bar.shown is None
        bar(0.2)
        assert bar.shown is not None
    monkeypatch.setattr(cli_progress.sys.stderr, "isatty", lambda: False, raising=False)
    with cli_progress.Bar("run", 1.0) as bar:
        bar.start = -10.0
        bar(0.5)
        assert bar.shown is None


def test_the_bar_tells_time_and_steps():
    class Reached(float):
        steps = 12

    bar = cli_progress.Bar("run", 4.0)
    assert bar.details(0.5) == ""
    assert bar.details(Reached(0.5)) == "0.5 of 4 s, 12 steps, time left"


def test_the_first_run_says_that_it_compiles(command, monkeypatch):
    command("run", PENDULUM, "--until", 0.01)
    assert "compiles" not in command("run", PENDULUM, "--until", 0.01)[2]
    simulate = wt.simulate

    def compiling_anew(*args, **options):
        notice.begin("accelerations")
        return simulate(*args, **options)

    monkeypatch.setattr(wt, "simulate", compiling_anew)
    reported = command("run", PENDULUM, "--until", 0.01)[2]
    assert reported.count("the first run by dopri5 compiles its kernels: once") == 1


def test_a_run_stops_where_a_condition_says(command):
    code, out, err = command("run", PENDULUM, "--until", 5, "--q", "hinge=1", "--stop", "hinge.q < 0", "--json")
    assert code == 0
    assert "stopped at t = " in err
    assert json.loads(out)["q"]["hinge"] == pytest.approx([0.0], abs=1e-12)
    code, _, err = command("run", PENDULUM, "--until", 5, "--stop", "hing.q < 0")
    assert code == 2
    assert "hinge.q" in err
    code, _, err = command("run", PENDULUM, "--until", 5, "--stop", "hinge.q")
    assert code == 2
    assert "name < number" in err
