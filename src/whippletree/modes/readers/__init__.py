"""Files of structures and modes: Nastran, Matrix Market, NumPy."""
