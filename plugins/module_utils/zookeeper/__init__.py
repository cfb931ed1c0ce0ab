"""Reads and changes a running ZooKeeper ensemble."""
