"""Beams as structures."""
