"""Triangles of mesh files and of basic solids."""
