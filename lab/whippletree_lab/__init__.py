"""What measures and proves the library, and is not shipped with it: benchmarks and reproductions."""
