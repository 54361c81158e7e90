"""The window in the browser: a mechanism in three dimensions, replayed from a result or live."""
