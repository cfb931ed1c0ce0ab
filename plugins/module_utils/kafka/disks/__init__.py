"""Replaces failed disks of a broker, and moves replicas between its log dirs."""
