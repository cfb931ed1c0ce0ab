"""TLS as it is served."""
