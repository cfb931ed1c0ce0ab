"""Converts the topics, ACLs, quotas and broker settings of an inventory to the form that modules expect."""
