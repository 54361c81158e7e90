"""Tables and pictures of benchmarks."""
