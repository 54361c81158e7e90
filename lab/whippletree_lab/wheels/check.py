"""Install a wheel into a new environment, and do a user's first actions there.

``python -m whippletree_lab.wheels.check WHEEL [ACTION...]``: no action may compile anything where the wheel carries
kernels. The package is made read-only first, and each action begins with an empty folder for compiled kernels.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from .first_use import actions, table


def install(wheel: Path, folder: Path) -> Path:
    """Its interpreter, in a new environment without write permissions for the package."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel.resolve()], check=True)
    program = "import whippletree; print(whippletree.__file__)"
    reported = subprocess.run(
        [python, "-I", "-c", program], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    package = Path(reported.strip()).parent
    if not package.is_relative_to(folder):
        raise RuntimeError(f"another whippletree is found first: {package}")
    for path in (package, *package.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("actions", nargs="*", metavar="ACTION", help="all of them, if none is named")
    given = parser.parse_args()
    carries = not given.wheel.name.endswith("-none-any.whl")
    with tempfile.TemporaryDirectory() as folder:
        python = install(given.wheel, Path(folder).resolve())
        found = table(given.actions or actions(), str(python), again=False)
    if carries and (compiled := [name for name, (first,) in found.items() if first.kernels]):
        sys.exit(f"compiled in spite of the wheel's kernels: {', '.join(compiled)}")


if __name__ == "__main__":
    main()
