"""TLS connections, and the certificates that ports serve."""
