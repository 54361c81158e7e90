"""Flexible bodies in every algorithm."""
