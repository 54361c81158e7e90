"""One HTML page about a run, complete in itself: no script, no file beside it, nothing from the network."""

from __future__ import annotations

import io
import os
import platform
import re
from contextlib import suppress
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__
from ..files.whole_file import whole_file
from . import cite
from .columns import column_names
from .pictures.plot import draw_panels, energy_names, first_names, panels_of, write_figure
from .pictures.topology import topology_figure
from .result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --soft: #f4f5f7; --line: #d8dbe0; --warn: #fff1d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dcdcdc; --paper: #1a1c1f; --soft: #25282c; --line: #43474d; --warn: #4a3a12; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; font-size: 13px; border-radius: 6px; }
table { border-collapse: collapse; }
td, th { padding: .2rem 1.2rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; } td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
figure { margin: 1rem 0; padding: .6rem; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
svg { display: block; max-width: 100%; height: auto; margin: auto; }
.warning { background: var(--warn); padding: .8rem 1rem; border-radius: 6px; font-weight: 600; }
@media print {
  :root { --ink: #000; --paper: #fff; --soft: #fff; --line: #bbb; --warn: #fff; }
  body { max-width: none; margin: 0; font-size: 11pt; } pre { white-space: pre-wrap; border: 1px solid var(--line); }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } .warning { border: 2px solid #000; }
}
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{warning}<p>{summary}</p>
<h2>The motion</h2>
{motion}
<h2>Energy balance</h2>
<p>{balance}</p>
{energies}
<h2>The model</h2>
{topology}
<pre>{model}</pre>
<h2>How it was computed</h2>
{facts}
<h2>The state at the end</h2>
{state}
<h2>References</h2>
<ol>
{references}
</ol>
</body>
</html>
"""


def report(run: Result, path: str | os.PathLike[str], scale: float = 1.0) -> None:
    """Write the page: motion, energy balance, the model and its tree, how it was computed, end state, references.

    Flexible bodies are drawn deformed ``scale`` times as much as they are.
    """
    panels = panels_of(run, first_names(run) or energy_names(run))
    used = cite.used(run.system, run.algorithm, run.attrs.get("integrator", "dopri5"))
    page = PAGE.format(
        style=STYLE,
        title=escape(run.system.name),
        warning=_warning(run),
        summary=_summary(run),
        motion=_inline(draw_panels(run, panels, mechanism=True, shown=False, scale=scale), "motion"),
        balance=escape(balance_in_words(run)),
        energies=_inline(_energy_figure(run), "energies"),
        topology=_inline(topology_figure(run.system), "topology"),
        model=escape(run.system.explain()),
        facts=_table(_facts(run)),
        state=_table(end_state(run)),
        references="\n".join(f"<li>{escape(cite.sentence(entry))}</li>" for entry in used),
    )
    with whole_file(path, "the report") as part:
        part.write_text(page, "utf-8")


def _warning(run: Result) -> str:
    if run.attrs.get("complete", 1):
        return ""
    planned = f", before its end at {run.attrs['until']:g} s" if "until" in run.attrs else ""
    return f'<p class="warning">This run stopped early: it is known up to t = {run.t[-1]:.6g} s{planned}.</p>\n'


def _summary(run: Result) -> str:
    system, loops = run.system, len(run.system.cut_joints)
    counts = [(system.model.size, "body", "bodies"), (len(system.model.joints), "joint", "joints")]
    counts += [(system.nu, "degree of freedom", "degrees of freedom"), *([(loops, "loop", "loops")] if loops else [])]
    reported = ", ".join(f"{n} {one if n == 1 else more}" for n, one, more in counts)
    return f"{reported}; from {run.t[0]:g} to {run.t[-1]:g} s in {len(run)} output samples."


# ---------------------------------------------------------------- pictures


def _energy_figure(run: Result) -> Figure:
    """The energies, and below them what should be zero."""
    panels = [("J", [(name, run[name]) for name in names]) for names in (energy_names(run), ["energy.balance"])]
    figure = draw_panels(run, panels, mechanism=False, shown=False)
    figure.set_size_inches(9.0, 4.2)
    return figure


def _inline(figure: Figure, salt: str) -> str:
    """A figure as SVG within the page; what it refers to within itself has names of its own."""
    text = io.StringIO()
    write_figure(figure, text, "svg", salt)
    drawn = text.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    return "<figure>\n" + re.sub(r'<g id="[^"]*"', "<g", drawn) + "</figure>"


# ---------------------------------------------------------------- words


def balance_in_words(run: Result) -> str:
    """How far the energy balance is from zero, at most, and when."""
    values, most = np.abs(run["energy.balance"]), float(run["energy.kinetic"].max())
    k = int(values.argmax())
    share = f", {values[k] / most:.2g} of the largest kinetic energy" if most > 0 else ""
    return (
        "Energy, less energy at the start, less the work done on the system: zero but for errors of integration. "
        f"It is at most {values[k]:.2g} J{share}, at t = {run.t[k]:.4g} s."
    )


def _facts(run: Result) -> list[tuple[str, str]]:
    facts = [("time", f"{run.t[0]:g} to {run.t[-1]:g} s, {len(run)} output samples")]
    facts += [(key, str(run.attrs[key])) for key in ("integrator", "algorithm") if key in run.attrs]
    facts += [("warning", text) for text in run.attrs.get("warnings", ())]
    if "step" in run.attrs:
        facts.append(("step", f"{run.attrs['step']:g} s"))
    if tolerances := [f"{key} {run.attrs[key]:g}" for key in ("rtol", "atol") if key in run.attrs]:
        facts.append(("tolerances", ", ".join(tolerances)))
    counts = [f"{run.attrs[key]} {key}" for key in ("accepted", "rejected", "evaluations") if key in run.attrs]
    if counts:
        facts.append(("steps", ", ".join(counts)))
    error = np.abs(run["energy.balance"]).max()
    return [*facts, ("largest error of energy", f"{error:.2g} J"), ("versions", _versions(run))]


def _versions(run: Result) -> str:
    """Those that a result file names, else those at work."""
    own = f"whippletree {run.attrs.get('version', __version__)}"
    if "versions" in run.attrs:
        return f"{own}, {run.attrs['versions']}"
    found = [own, f"Python {platform.python_version()}"]
    for package in ("numpy", "numba"):
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)


def end_state(run: Result, most: int = 40) -> list[tuple[str, str]]:
    """Name and value with its unit, of each coordinate and speed at the last moment."""
    rows = []
    for letter, values in (("q", run.q[-1]), ("u", run.u[-1])):
        names, units = column_names(run.system, letter)
        for name, unit, value in zip(names, units, values, strict=True):
            rows.append((f"{letter} {name}", f"{value:.9g}" + ("" if unit == "1" else f" {unit}")))
    return rows[:most] + ([("...", f"{len(rows) - most} more in the result file")] if len(rows) > most else [])


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "\n".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in rows)
    return f"<table>\n{cells}\n</table>"
