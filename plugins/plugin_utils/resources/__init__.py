"""Topics, ACLs and quotas as an inventory says them, made into what the cluster is to have."""
