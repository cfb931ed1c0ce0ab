"""Options of the modules that move replicas."""


class ModuleDocFragment:
    """Options of the connection and of the record of moves that were started."""

    DOCUMENTATION = """
options:
  record_directory:
    description: Directory for the record of moves that were started, on the host on which the module runs.
    type: str
    default: ~/.local/state/millrace
  admin: {type: dict, required: true, description: "Client properties of a super user, with librdkafka's names."}
  cluster_id:
    description: Id of the expected cluster. A cluster with another id is rejected. Empty accepts any.
    type: str
    default: ""
  write_timeout: {type: int, default: 60, description: Maximum duration of one write request in seconds.}
requirements: [confluent-kafka, kafka-python]
"""
