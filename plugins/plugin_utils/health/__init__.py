"""The health page of check.yml: compares what hosts and the cluster reported with the inventory."""
