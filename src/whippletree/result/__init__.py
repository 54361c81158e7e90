"""Results: labelled arrays over time, files, plots and reports."""

from .result import Result, load_result

__all__ = ["Result", "load_result"]
