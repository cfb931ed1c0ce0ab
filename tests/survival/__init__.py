"""What a layout survives, computed and seen on running containers."""
