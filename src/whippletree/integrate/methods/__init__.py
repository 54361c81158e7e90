"""Integration methods, one per file."""
