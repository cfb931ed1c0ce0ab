"""Options of the modules that move replicas."""


class ModuleDocFragment:
    """The record of moves that were started, and the time limit of writes; kafka_cluster has the connection."""

    DOCUMENTATION = """
options:
  record_directory:
    description: Directory for the record of moves that were started, on the host on which the module runs.
    type: str
    default: ~/.local/state/millrace
  write_timeout: {type: int, default: 60, description: Maximum duration of one write request in seconds.}
requirements: [confluent-kafka, kafka-python]
"""
