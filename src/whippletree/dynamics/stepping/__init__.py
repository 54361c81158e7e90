"""What an algorithm and the integrators share inside a run: a Mechanism, the way back onto constraints, samples."""
