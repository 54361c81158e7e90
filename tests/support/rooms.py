"""Every folder of tests on the path: tests and their zoos import each other by name, in pytest and in programs."""

import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in sorted(Path(__file__).parents[1].iterdir()) if folder.is_dir()]
