"""Other engines, and references, built from our Model."""
