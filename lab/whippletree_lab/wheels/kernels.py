"""Compile the kernels of a platform wheel, for each level of x86-64 that this host can run.

``python -m whippletree_lab.wheels.kernels FOLDER`` runs a user's first actions, and more models, under the name of each
level instead of the host's processor. What they compile is left in ``FOLDER/<level>/``, and ``FOLDER/built.json`` says
with which tools; ``hatch build`` puts it all into the wheel where WHIPPLETREE_KERNELS names the folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whippletree.compiler import shipped
from whippletree.sweeps.local import processors

from .first_use import ARM, LOAD, _command, actions, perform

MORE = {
    "calls of a tree": ARM + "wt.warm_up(s)",
    "calls of a loop": LOAD + "wt.warm_up(wt.load(motion('four_bar').model).compile())",
    "stewart": LOAD + "motion('stewart').run()",
    "live of a loop": LOAD + "wt.live(wt.load(motion('four_bar').model).compile(), until=0.1, viewer=False)",
    "explain": _command("'explain'", "str(motion('four_bar').model)"),
}  # beside the first actions


def compile_level(level: str, folder: Path, workers: int) -> int:
    """Compile for one level; how many kernels."""
    there = folder / level
    there.mkdir(parents=True, exist_ok=True, mode=0o700)
    environment = {
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        "WHIPPLETREE_LANES": str(shipped.LANES_OF[level]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    programs = actions() | MORE

    def compiled(name: str) -> int:
        found = perform(programs[name], there, **environment)
        print(f"{level}: {name}: {found.kernels} kernels, {found.clock:.0f} s", flush=True)
        return found.kernels

    with ThreadPoolExecutor(workers) as pool:  # processes that need the same kernel take turns
        count = sum(pool.map(compiled, programs))
    for kept in there.rglob("*"):
        if kept.is_file() and kept.suffix not in (".nbi", ".nbc"):  # measured on this host, or locks
            kept.unlink()
    for kept in there.iterdir():
        if not any(kept.iterdir()):
            kept.rmdir()
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--levels", default=",".join(shipped.FEATURES), help="as x86-64-v4,x86-64-v2")
    given = parser.parse_args()
    able = [n for n in given.levels.split(",") if shipped.FEATURES[n] <= shipped.host_features()]
    for name in set(given.levels.split(",")) - set(able):
        print(f"{name}: left out, this processor does not run it")
    for name in able:
        shutil.rmtree(given.folder / name, ignore_errors=True)
        compile_level(name, given.folder, processors())
    levels = [n for n in shipped.FEATURES if (given.folder / n).is_dir()]
    about = {"tools": shipped.tools(), "levels": levels}
    (given.folder / shipped.BUILT).write_text(json.dumps(about, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
