"""One paper, or one section of it, per file."""
