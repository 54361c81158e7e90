"""Constraint equations of a state, and the algorithms that solve them densely: multipliers and null space."""
