"""Options of modules that connect to one cluster as a super user."""


class ModuleDocFragment:
    """The connection, and the expected cluster."""

    DOCUMENTATION = """
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, with librdkafka's names."}
  cluster_id:
    description: Id of the expected cluster. A cluster with another id is rejected. Empty accepts any.
    type: str
    default: ""
"""
