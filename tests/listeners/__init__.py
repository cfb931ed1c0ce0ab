"""Listeners beside CLIENT and REPLICATION: by a client's certificate, and by a token."""
