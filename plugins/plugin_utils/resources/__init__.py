"""Converts topics, ACLs, quotas and broker settings of an inventory to what the cluster is to have."""
