"""A run: its task, output, events, checkpoints and checks along the way."""
