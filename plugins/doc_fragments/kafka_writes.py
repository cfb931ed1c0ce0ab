"""The option of the modules that write to a cluster."""


class ModuleDocFragment:
    """The timeout of a write, and what happens to a write without an answer."""

    DOCUMENTATION = """
notes:
  - If a write is not answered in time, the module reads the cluster again (except for offsets of groups). If the write
    arrived, the run continues. Otherwise its result is unknown, since it may still arrive, and later writes are not
    started.
options:
  write_timeout: {type: int, default: 60, description: Maximum duration of one write request in seconds.}
"""
