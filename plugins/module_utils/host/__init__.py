"""What runs on a managed host."""
