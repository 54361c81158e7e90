"""Temporary constraints and friction: state, activation, impulse, release."""
