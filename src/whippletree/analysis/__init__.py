"""Studies of a system about one state: equilibrium, linear models, natural modes."""
