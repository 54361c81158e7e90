"""Memory layouts: what compiled kernels read, packed into flat arrays."""
