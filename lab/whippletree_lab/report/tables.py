"""Tables of benches: for each family the headings, and rows of cells in the same words everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..bench import choice
from ..bench.flexible import COMPOSITE, DENSE
from ..bench.live import RATE
from ..bench.loop_families import LOOPS
from ..bench.measure import AGREE
from ..bench.result import OURS, BenchResult, Row

Table = tuple[list[str], list[list[str]]]  # headings, and rows

QUESTIONS = {
    "forward": "forward dynamics",
    "inverse": "inverse dynamics",
    "mass": "mass matrix",
    "rollout": "rollout",
    "simulate": "simulation",
}
PER = {"rollout": "step of a state", "live": "step", "simulate": "run", "whole": "model", "flexible": "state or motion"}
LOOP_NAMES = {OURS: f"{OURS} reduction", f"{OURS} lanes": f"{OURS} reduction, in lanes"}
MOMENTS = {
    "listens": "the server takes connections",
    "page": "the browser has its first bytes",
    "canvas": "the page has something to draw with",
    "drawn": "the mechanism is handed to the graphics",
    "seen": "its colours are in the picture",
}


def per(result: BenchResult) -> str:
    """What times are of."""
    return PER.get(result.family, "state")


def table_of(result: BenchResult) -> Table:
    """Headings and rows of a result."""
    return TABLES.get(result.family, _side_by_side)(result)


def three_digits(x: float) -> str:
    """A number with three digits and no exponent: 0.302, 12.4, 1240."""
    return f"{x:.{max(0, 2 - math.floor(math.log10(x))) if x > 0 else 0}f}"


def _time(seconds: float | None) -> str:
    """In microseconds."""
    return "-" if seconds is None else three_digits(seconds * 1e6)


def _times(x: float | None) -> str:
    return "-" if x is None else f"{x:.2f}x"


def _small(error: float | None) -> str:
    return "-" if error is None else f"{error:.0e}"


def _over(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


def _side_by_side(result: BenchResult) -> Table:
    """Engines beside each other, questions below each other."""
    engines, rows = result.engines(), []
    order = list(QUESTIONS | {r.question: r.question for r in result.rows})  # what has no other words stands last
    for r in sorted(result.rows, key=lambda r: order.index(r.question)):
        ratio, worst = _times(r.ratio(r.fastest_peer() or "")), _small(r.worst_difference())
        label = f"{r.label}, {r.states} states" if result.family == "calls" and r.states > 1 else r.label
        question = QUESTIONS.get(r.question, r.question)
        rows.append([question, label, *(_beside_ours(r, e) for e in engines), ratio, worst])
    last = "error" if result.family == "simulate" else "difference"
    return ["what", "model", *engines, "fastest peer / ours", last], rows


def _beside_ours(row: Row, engine: str) -> str:
    if engine not in row.seconds:
        return "differs" if row.differences.get(engine, 0.0) >= AGREE else "-"
    ratio = row.ratio(engine)
    behind = "" if engine == OURS or ratio is None else f" ({ratio:.1f}x)"
    return _time(row.seconds[engine]) + behind


def _loops(result: BenchResult) -> Table:
    rows = []
    for r in result.rows:
        for e in (e for e in result.engines() if e in r.seconds):
            against, error = _times(r.ratio(e)), _small(r.differences.get(e))
            rows.append([r.label, LOOP_NAMES.get(e, e), str(r.loops), _time(r.seconds[e]), against, error])
    return ["model", "algorithm", "loops", "microseconds", "/ reduction", "error"], rows


def _named(way: str) -> str:
    return f"{OURS} articulated" if way == OURS else way


def _divided(result: BenchResult) -> Table:
    rows = []
    for r in result.rows:
        for way in dict.fromkeys([*r.seconds, *r.differences]):
            error = r.differences.get(way)
            worse = _over(error, r.differences.get(OURS))
            cells = [r.label, _named(way), _time(r.seconds.get(way)), _times(_over(1.0, r.ratio(way)))]
            rows.append([*cells, _small(error), "-" if worse is None else three_digits(worse)])
    return ["bodies", "way", "microseconds", "times as fast", "error", "/ articulated"], rows


def whole_chains(result: BenchResult) -> dict[int, float]:
    """Seconds of the articulated recursion, by bodies."""
    return {r.bodies: r.seconds[OURS] for r in reversed(result.rows) if OURS in r.seconds}


def _subchains(result: BenchResult) -> Table:
    rows, whole = [], whole_chains(result)
    for r in result.rows:
        for way, seconds in r.seconds.items():
            cells = [r.label, _named(way), "-" if r.pieces == 1 else str(r.pieces), _time(seconds)]
            iterations = [f"{r.operations[k]:.0f}" if way == "pcg" else "-" for k in ("cold", "warm")]
            rows.append([*cells, _times(whole[r.bodies] / seconds), *iterations, _small(r.differences.get(way))])
        if r.question == "run":
            iterations = [f"mean {r.operations['mean']:.1f}", f"most {r.operations['most']:.0f}"]
            residual = _small(r.differences["residual"])
            rows.append([r.label, "run, residual", str(r.pieces), "-", "-", *iterations, residual])
    return ["bodies", "way", "subchains", "microseconds", "times as fast", "iterations cold", "warm", "error"], rows


def _ranks(result: BenchResult) -> Table:
    rows = []
    for r in result.rows:
        alone, counts = r.seconds.get(OURS), [_counted(r, what) for what in ("messages", "numbers")]
        for way, took in ((way, took) for way, took in r.seconds.items() if way != OURS):
            cells = [r.label, way, _time(took), _time(alone), _times(_over(alone, took))]
            rows.append([*cells, _small(r.differences.get(way)), *counts])
    return ["bodies", "ranks", "microseconds", "one rank", "times as fast", "difference", "messages", "numbers"], rows


def _counted(row: Row, what: str) -> str:
    """In all steps of an evaluation; in brackets the paper's."""
    ours, paper = (sum(n for k, n in row.operations.items() if k.endswith(end)) for end in (what, f"{what}, table 3"))
    return f"{ours:g} ({paper:g})" if row.operations else "-"


def _flexible(result: BenchResult) -> Table:
    rows, engines = [], {OURS: "articulated", COMPOSITE: "composite", DENSE: "LAPACK", "exudyn": "exudyn"}
    for r in result.rows:
        what = "forward dynamics" if r.question == "modes" else r.question
        counted = _over(r.operations.get(COMPOSITE), r.operations.get(OURS))
        ratios = [_times(r.ratio(COMPOSITE) or r.ratio("exudyn")), _times(counted)]
        rows.append([what, r.label, *(_time(r.seconds.get(e)) for e in engines), *ratios, _small(r.worst_difference())])
    return ["what", "bodies x modes", *engines.values(), "ratio", "counted", "error"], rows


def _choices(result: BenchResult) -> Table:
    names = list(dict.fromkeys(name for r in result.rows for name in r.seconds if name != choice.AUTO))
    return ["what", "model", "auto takes", "of the best", *names], [
        [r.question, r.label, r.taken, _times(choice.ratio(r)), *(_time(r.seconds.get(n)) for n in names)]
        for r in result.rows
    ]


def _theory(result: BenchResult) -> Table:
    """Operations against processors; shares and growth are in the picture and in the file. Whole numbers, in full."""
    rows = result.asked("processors")
    names = list(rows[0].operations) if rows else []
    return ["bodies", "processors", *names], [
        [str(r.bodies), str(r.threads), *(f"{r.operations[n]:,.0f}" for n in names)] for r in rows
    ]


def _live(result: BenchResult) -> Table:
    rows = []
    for r in result.rows:
        rate = 1 / r.seconds[OURS]
        rows.append([r.question, r.label, _time(r.seconds[OURS]), f"{rate:.0f}", f"{rate / RATE:.1f}", "-", "-"])
    for length, s in (result.paced or {}).items():
        late = [f"{100 * s['on_time']:.3f} %", f"{1e3 * s['worst_lateness']:.2f}"]
        times = [f"{s['steps_per_second']:.0f}", f"{s['times_real_time']:.3f}"]
        rows.append([f"paced, {length} s", "euler", "-", *times, *late])
    return ["question", "method", "microseconds", "per second", "times real time", "on time", "worst (ms)"], rows


def _moments(result: BenchResult) -> Table:
    rows = [[r.question, r.label, three_digits(r.seconds[OURS]), MOMENTS[r.question]] for r in result.rows]
    return ["moment", "file", "seconds", "what"], rows


TABLES: dict[str, Callable[[BenchResult], Table]] = {
    **dict.fromkeys(LOOPS, _loops),
    "divide": _divided,
    "subchains": _subchains,
    "mpi": _ranks,
    "flexible": _flexible,
    "choose": _choices,
    "theory": _theory,
    "live": _live,
    "view": _moments,
}
