"""From Python functions to machine code: SIMD lanes, the cache on disk, function pointers, threads."""
