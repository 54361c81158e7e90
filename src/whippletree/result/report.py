"""One HTML page about a run, complete in itself: no script, no file beside it, nothing from the network."""

from __future__ import annotations

import io
import os
import re
from html import escape

import numpy as np

from ..files.whole_file import whole_file
from . import cite
from .columns import column_names
from .plot import plot
from .result import Result

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
h1, h2 {{ line-height: 1.2; }} pre {{ background: #f5f5f5; padding: 1rem; overflow-x: auto; font-size: 13px; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .2rem 1rem .2rem 0; text-align: left; vertical-align: top; }}
svg {{ width: 100%; height: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{picture}
<h2>The run</h2>
{run}
<h2>The state at the end</h2>
{state}
<h2>The model</h2>
<pre>{model}</pre>
<h2>References</h2>
<ol>
{references}
</ol>
</body>
</html>
"""


def report(run: Result, path: str | os.PathLike[str]) -> None:
    """Write the page: the picture, how it was computed, the end state, the model, the references."""
    page = PAGE.format(
        title=escape(run.system.name),
        picture=_picture(run),
        run=_table(_facts(run)),
        state=_table(end_state(run)),
        model=escape(run.system.explain()),
        references="\n".join(f"<li>{escape(cite.sentence(entry))}</li>" for entry in _references(run)),
    )
    with whole_file(path, "the report") as part:
        part.write_text(page, "utf-8")


def _references(run: Result) -> list[str]:
    return cite.used(run.system, run.attrs.get("algorithm", "auto"), run.attrs.get("integrator", "dopri5"))


def _picture(run: Result) -> str:
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        plot(run, shown=False).savefig(text, format="svg")
    drawn = text.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)


def _facts(run: Result) -> list[tuple[str, str]]:
    facts = [("time", f"{run.t[0]:g} to {run.t[-1]:g} s, {len(run)} moments kept")]
    facts += [(key, str(run.attrs[key])) for key in ("algorithm", "integrator") if key in run.attrs]
    if "step" in run.attrs:
        facts.append(("step", f"{run.attrs['step']:g} s"))
    if "rtol" in run.attrs:
        facts.append(("tolerances", f"rtol {run.attrs['rtol']:g}, atol {run.attrs['atol']:g}"))
    counts = [f"{run.attrs[key]} {key}" for key in ("accepted", "rejected", "evaluations") if key in run.attrs]
    if counts:
        facts.append(("steps", ", ".join(counts)))
    drift, most = np.abs(run["energy"] - run["energy"][0]).max(), run["energy.kinetic"].max()
    share = f", {drift / most:.2g} of the largest kinetic energy" if most > 0 else ""
    return [*facts, ("energy drift", f"{drift:.2g} J{share}")]


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
