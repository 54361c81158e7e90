"""A user's first actions, each in a fresh process: processor seconds, seconds on the clock, kernels that it compiled.

``python -m whippletree_lab.wheels.first_use [ACTION...]`` measures each with an empty folder for compiled kernels, and
once more with what the first has left there. ``--python`` names the interpreter of another environment.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
LOAD = "import numpy as np, whippletree as wt; from whippletree.gallery import motion\n"
ARM = LOAD + "s = wt.load(motion('arm7').model).compile(); q, u = np.zeros(s.nq), np.zeros(s.nu)\n"
COMMAND = "import sys; from whippletree.gallery import motion; from whippletree.cli import app\nsys.argv = [{words}]\n"
RUN_COMMAND = "try:\n    app.main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
COUNTED = (
    "\nimport json, resource; from whippletree.compiler import notice\n"
    "own, kids = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))\n"
    "cpu = sum(x.ru_utime + x.ru_stime for x in (own, kids))\n"
    "print('\\n' + json.dumps({'cpu': cpu, 'kernels': notice.compiled()}))\n"
)


def _command(*words: str) -> str:
    return COMMAND.format(words=", ".join(("'whippletree'", *words))) + RUN_COMMAND


def ten_lines() -> str:
    """The program under "Ten lines" of the README."""
    found = re.search(r"## Ten lines\s+```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found, "the README has no block of code under 'Ten lines'"
    return found.group(1)


def actions() -> dict[str, str]:
    """Programs by what they show."""
    four_bar = "str(motion('four_bar').model)"
    return {
        "ten lines": ten_lines(),
        "loop": LOAD + "motion('four_bar').run()",
        "flexible": LOAD + "motion('flexible_arm').run()",
        "rollout": ARM + "wt.rollout(s, np.tile(q, (64, 1)), np.tile(u, (64, 1)), None, 1e-3, 100)",
        "live": LOAD + "wt.live(wt.load(motion('double_pendulum').model).compile(), until=0.1, viewer=False)",
        "verify": _command("'verify'", four_bar),
        "check": _command("'check'", four_bar),
        "forward dynamics": ARM + "wt.forward_dynamics(s, q, u)",
    }


class Found(NamedTuple):
    """What an action took."""

    cpu: float  # s, of all its processes
    clock: float  # s
    kernels: int  # compiled by the process itself


def perform(program: str, cache: Path, python: str = sys.executable, **environment: str) -> Found:
    """Run a program in a process and folder of its own."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        around = os.environ | {"WHIPPLETREE_CACHE": str(cache), "MPLBACKEND": "agg"} | environment
        done = subprocess.run([python, "-c", program + COUNTED], cwd=folder, env=around, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program}\n{done.stdout}\n{done.stderr}")
    counted = json.loads(done.stdout.splitlines()[-1])
    return Found(counted["cpu"], time.monotonic() - begun, counted["kernels"])


def table(names: Iterable[str], python: str = sys.executable, again: bool = True) -> dict[str, list[Found]]:
    """Each action with an empty cache, and again with what it left there; printed as they come."""
    programs = actions()
    found: dict[str, list[Found]] = {}
    print(f"{'':18}{'CPU s':>8}{'clock s':>9}{'kernels':>9}" + "   with kernels on disk" * again, flush=True)
    for name in names:
        with tempfile.TemporaryDirectory() as cache:
            found[name] = [perform(programs[name], Path(cache), python) for _ in range(1 + again)]
        cold, *warm = found[name]
        line = f"{name:18}{cold.cpu:8.1f}{cold.clock:9.1f}{cold.kernels:9d}"
        print(line + "".join(f"{w.cpu:8.1f}{w.clock:9.1f}" for w in warm), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("actions", nargs="*", metavar="ACTION", help=", ".join(actions()))
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environment that is measured")
    given = parser.parse_args()
    if unknown := set(given.actions) - set(actions()):
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    table(given.actions or actions(), given.python)


if __name__ == "__main__":
    main()
