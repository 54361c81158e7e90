"""Plots, drawings and animations of a run."""
