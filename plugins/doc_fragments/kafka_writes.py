"""What the modules that write to a cluster have in common."""


class ModuleDocFragment:
    """How long a write may take, and what is said of one without an answer."""

    DOCUMENTATION = """
notes:
  - What was written and not answered in time is read back, but for offsets of groups. Where it was done all the same,
    the run goes on; else it is unknown, for it may be done later, and what comes
    after it is not begun.
options:
  write_timeout: {type: int, default: 60, description: Seconds that one request that writes may take.}
"""
