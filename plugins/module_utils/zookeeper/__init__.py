"""A running ensemble, asked and changed."""
