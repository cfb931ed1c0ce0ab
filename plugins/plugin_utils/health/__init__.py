"""The health page of check.yml: what hosts and the cluster answered, compared with the inventory."""
