"""Exact derivatives of dynamics."""
