"""Which replicas go where, under a plan, and how they get there."""
