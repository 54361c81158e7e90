"""The validation page: every case P01 to P11 beside its reference, and the same models in other engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..bench.result import machine
from ..engines import peers
from ..report.picture import plain
from . import comparison
from .checks import Outcome
from .page import Page, digits, small
from .problems import case
from .validate_flexible import beams
from .validate_loops import bricard_swing, five_bars, ladders, squeezer
from .validate_trees import chains, docked, floating, gliding, puma, top

TITLE = "Validation"
COLUMNS = 3  # of panels
FINEST = 1e-8  # of a tolerance, in the picture


class Case(NamedTuple):
    """A validation problem: what it is, where its reference numbers come from, and how ours are found."""

    title: str
    reference: str
    run: Callable[[], Outcome]


CASES: dict[str, Case] = {
    "P01": Case("five-bar linkage, two variants", "two formulations, exact at the start", five_bars),
    "P02": Case("Andrews' squeezing mechanism", "published end state (IVP test set)", squeezer),
    "P03": Case("Bricard mechanism, overconstrained", "two formulations", bricard_swing),
    "P04": Case("ladders of four-bars, singular twice a turn", "closed form, elliptic functions", ladders),
    "P05": Case("fast heavy top", "published engine values, closed form", top),
    "P06": Case("Puma 560", "published toolbox values, two engines", puma),
    "P07": Case("chains of up to 1,024 bodies", "closed form, three computations", chains),
    "P08": Case("floating tree with springs", "two engines", floating),
    "P09": Case("Chaplygin's sleigh, nonholonomic", "closed form", gliding),
    "P10": Case("beam: modes, hub, static load, rotation", "exact roots, published table", beams),
    "P11": Case("docking and release", "momentum balance", docked),
}


def write(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    """The page."""
    outcomes = {}
    for name, made in CASES.items():
        tell(f"{name}: {made.title}")
        made.run()  # loads what it needs, so that the next one shows its own time
        outcomes[name] = made.run()
    _summary(page, outcomes)
    _pictures(page, outcomes)
    _all(page, outcomes)
    _engines(page, quick, tell)


def _summary(page: Page, outcomes: dict[str, Outcome]) -> None:
    m = machine()
    checks = [c for o in outcomes.values() for c in o.checks]
    held = sum(c.holds for c in checks)
    page.text(
        f"Eleven problems with numbers that this library did not make. {held} of {len(checks)} comparisons are within "
        "their tolerances. A tolerance is that of the case: looser than the agreement of the computations behind it. "
        "Runs are as a user makes them, without naming an algorithm. Each comparison is also a test "
        "(`tests/lab/test_validation.py`); models and numbers are in `src/whippletree/reproduce/`.",
        f"Times are of all runs and evaluations of a case, kernels loaded, on {m['processor']}, {m['cores']} cores, "
        "which others used at the same time.",
    )
    rows = []
    for name, outcome in outcomes.items():
        worst = max(outcome.checks, key=lambda c: c.difference / c.tolerance)
        held = sum(c.holds for c in outcome.checks)
        words = f"{name} {CASES[name].title}"
        near = f"{worst.difference:.2g} of {worst.tolerance:.2g} ({worst.what})"
        took = f"{digits(outcome.seconds, 2)} s"
        rows.append([words, CASES[name].reference, f"{held} of {len(outcome.checks)}", near, took])
    page.table(["case", "reference", "within tolerance", "nearest to its tolerance", "time"], rows, 4)


def _pictures(page: Page, outcomes: dict[str, Outcome]) -> None:
    shown = [curve for outcome in outcomes.values() for curve in outcome.curves]
    lines = -(-len(shown) // COLUMNS)
    with page.figure("curves", "Ours as lines, references as dots", (8.6, 2.3 * lines)) as figure:
        panels = figure.subplots(lines, COLUMNS).ravel()
        for panel, curve in zip(panels, shown, strict=False):
            panel.plot(*curve.ours, color="#0072B2", linewidth=1.2)
            every = max(1, len(curve.reference[0]) // 20)
            panel.plot(*(x[::every] for x in curve.reference), "o", color="#D55E00", markersize=3.5, fillstyle="none")
            panel.set_title(curve.title, loc="left", fontsize=9)
            plain(panel, xlabel=curve.axes[0], ylabel=curve.axes[1])
        for panel in panels[len(shown) :]:
            panel.set_visible(False)
    caption = "Each comparison as a dot: its difference over its tolerance. Left of 1 it holds"
    with page.figure("differences", caption, (8.6, 3.6)) as figure:
        panel = figure.subplots()
        points = [(c.difference / c.tolerance, k) for k, o in enumerate(outcomes.values()) for c in o.checks]
        x, y = zip(*((max(share, FINEST), k) for share, k in points), strict=True)
        panel.scatter(x, y, s=26, color="#0072B2", alpha=0.6, linewidth=0)
        panel.axvline(1.0, color="#D55E00", linewidth=1.2)
        panel.set_yticks(range(len(outcomes)), [f"{n}  {CASES[n].title}" for n in outcomes], fontsize=8)
        panel.invert_yaxis()
        plain(panel, xscale="log", xlabel="difference / tolerance", xlim=(FINEST / 2, 10))


def _all(page: Page, outcomes: dict[str, Outcome]) -> None:
    page.text("## All comparisons", "Of many numbers the two that are furthest apart are shown.")
    for name, outcome in outcomes.items():
        page.text(f"### {name} {case(name)['title']}", f"Source: {case(name)['source']}.")
        page.table(
            ["what", "reference", "ours", "difference", "tolerance", "holds"],
            [
                [c.what, f"{c.reference:.10g}", f"{c.ours:.10g}", small(c.difference), small(c.tolerance),
                 "yes" if c.holds else "**no**"]
                for c in outcome.checks
            ],
        )  # fmt: skip


def _engines(page: Page, quick: bool, tell: Callable[[str], None]) -> None:
    kept = comparison.Kept(page.folder / page.name / "engines.json")
    page.text(
        "## The same models in other engines",
        "Answers of two programs that share no line. Differences are relative to the largest number, or in the unit "
        "that is named; times are of one call, or of the whole motion, the best of several. *Error* is against a "
        "closed form where there is one, or what is named.",
    )
    for engine in comparison.ENGINES:
        version = peers.installed(engine)
        fresh = version is not None and not quick
        if version is not None and fresh:
            tell(f"{engine} {version}")
            kept.rows[engine] = comparison.compare(engine)
            m = machine()
            kept.versions[engine], kept.machines[engine] = version, f"{m['processor']}, {m['cores']} cores"
        if engine not in kept.rows:
            page.text(f"### {engine}", f"Not compared: {'not asked for' if version else 'not installed'} in this run.")
            continue
        earlier = "" if fresh else " Numbers of an earlier run: the engine was not asked now."
        page.text(f"### {engine} {kept.versions[engine]}", f"On {kept.machines[engine]}.{earlier}")
        page.table(
            ["model", "what", "difference", "ours", engine, "error, ours", f"error, {engine}"],
            [
                [r.model, r.what, _or_dash(r.difference, small), _or_dash(r.ours, _time), _or_dash(r.theirs, _time),
                 _or_dash(r.error, small), _or_dash(r.their_error, small)]
                for r in kept.rows[engine]
            ],
            2,
        )  # fmt: skip
    kept.save()
    page.written.append(kept.path)


def _or_dash(x: float | None, words: Callable[[float], str]) -> str:
    return "-" if x is None or not np.isfinite(x) else words(x)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.9 * size:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds * 1e6)} µs"
