"""Functions that run on a managed host."""
