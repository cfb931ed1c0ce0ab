"""Functions about workers of MirrorMaker that run on a managed host."""
