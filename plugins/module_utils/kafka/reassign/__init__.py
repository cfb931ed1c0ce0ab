"""Plans and runs moves of replicas between brokers."""
