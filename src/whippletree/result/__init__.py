"""Results: labelled arrays over time, files, plots and reports."""

from .netcdf import load_result
from .result import Result

__all__ = ["Result", "load_result"]
