"""Results: labelled arrays over time, files, plots and reports."""

from .pictures.topology import topology_figure
from .result import Result, load_result

__all__ = ["Result", "load_result", "topology_figure"]
