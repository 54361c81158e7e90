"""Integration methods, one per file; registry.py has the names."""
