"""Log dirs of one broker: a new disk in place of one that failed, replicas that go from one dir to another."""
