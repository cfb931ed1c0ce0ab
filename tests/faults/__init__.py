"""Faults made on purpose, and the ledger that says whether an acknowledged record was lost."""
