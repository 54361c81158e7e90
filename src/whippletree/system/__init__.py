"""The System: a model compiled to flat arrays."""
