"""Recursive coordinate reduction: loops in O(n + m)."""
