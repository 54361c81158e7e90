"""Through time: one method per file, each in INTEGRATORS."""
