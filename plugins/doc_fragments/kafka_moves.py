"""What the modules that move replicas have in common."""


class ModuleDocFragment:
    """Connecting, and where what was begun is noted."""

    DOCUMENTATION = """
options:
  record_directory:
    description: Where what was begun is noted, on the host on which the module runs.
    type: str
    default: ~/.local/state/millrace
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  cluster_id:
    description: Id of the cluster that is meant; one with another is refused. Not compared where it is empty.
    type: str
    default: ""
  write_timeout: {type: int, default: 60, description: Seconds that one request that writes may take.}
requirements: [confluent-kafka, kafka-python]
"""
