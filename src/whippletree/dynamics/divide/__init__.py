"""Divide and conquer: subchains on the lanes of a core and on threads."""
