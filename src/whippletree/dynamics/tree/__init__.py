"""Algorithms for trees: articulated bodies, composite bodies, recursive Newton-Euler, innovations factors."""
