"""Checks of the inventory as it is written, and the selection of the problems that preflight reports."""
