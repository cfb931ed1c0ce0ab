"""Reads and changes a running Kafka cluster: its topics, users, ACLs, quotas, settings, leaders and replicas."""
