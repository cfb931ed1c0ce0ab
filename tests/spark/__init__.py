"""Tests of the Spark jobs; the package `millrace` must be installed."""
