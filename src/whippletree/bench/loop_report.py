"""What was found about loops: a line for each algorithm and size, and time and error against the number of loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .loops import SLOPE_FROM, growth
from .picture import legend, picture, plain
from .result import OURS, BenchResult

HEAD = ["model", "algorithm", "loops", "microseconds", "/ reduction", "error"]
NAMES = {OURS: f"{OURS} reduction", f"{OURS} lanes": f"{OURS} reduction, in lanes"}

# Okabe and Ito's colours; ours are warm
STYLES = {
    OURS: ("#D55E00", "o", "-"),
    f"{OURS} lanes": ("#D55E00", "o", ":"),
    f"{OURS} multipliers": ("#E69F00", "s", "-"),
    f"{OURS} nullspace": ("#E69F00", "D", "--"),
    "pinocchio lcaba, deep tree": ("#0072B2", "s", "-"),
    "pinocchio lcaba": ("#0072B2", "s", ":"),
    "pinocchio constraintDynamics": ("#56B4E9", "D", "-"),
    "mujoco": ("#009E73", "^", "-"),
    "exudyn": ("#CC79A7", "v", "-"),
}


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    found = []
    for r in result.rows:
        for e in result.engines():
            if e not in r.seconds:
                continue
            ratio, error = r.ratio(e), r.differences.get(e)
            against, wrong = "-" if ratio is None else f"{ratio:.2f}x", "-" if error is None else f"{error:.0e}"
            found.append([r.label, NAMES.get(e, e), str(r.loops), digits(r.seconds[e] * 1e6), against, wrong])
    return HEAD, found


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """Time and error against the number of loops, log-log, with fitted slopes; writes ``path`` as .svg and as .png."""
    with picture(path, (8.6, 4.6)) as (figure, files):
        time, error = figure.subplots(1, 2)
        for engine in result.engines():
            _lines(result, engine, time, error)
        time.set_ylabel("time per state (µs)")
        time.set_title(f"{result.family}: forward dynamics", loc="left")
        error.set_ylabel("error, relative")
        error.set_title("error of accelerations", loc="left")
        for panel in (time, error):
            panel.set(xscale="log", yscale="log", xlabel="loops")
            plain(panel)
        legend(figure, [time], 3)
    return files


def _lines(result: BenchResult, engine: str, time: Any, error: Any) -> None:
    timed = [r for r in result.rows if engine in r.seconds]
    fitted = growth(result, engine, SLOPE_FROM) or growth(result, engine, 1)
    label = NAMES.get(engine, engine) + (f": slope {fitted[2]:.2f}" if fitted else "")
    colour, marker, line = STYLES.get(engine, ("#000000", "x", "-"))
    style = {"color": colour, "marker": marker, "linestyle": line, "markersize": 4.5}
    time.plot([r.loops for r in timed], [r.seconds[engine] * 1e6 for r in timed], label=label, **style)
    known = [(r.loops, r.differences[engine]) for r in timed if r.differences.get(engine, 0.0) > 0.0]
    if known:
        error.plot(*zip(*known, strict=True), **style)
