"""Tests of the Spark jobs; the package `millrace_jobs` must be installed."""
