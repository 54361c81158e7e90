"""One run on several MPI ranks."""
