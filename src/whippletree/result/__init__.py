"""Results: labelled arrays over time, files, plots and reports."""

from .result import Result, load_result
from .topology import topology_figure

__all__ = ["Result", "load_result", "topology_figure"]
