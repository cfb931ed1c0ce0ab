"""What the modules that converge a cluster's resources have in common."""


class ModuleDocFragment:
    """Connecting, the guard, and what is returned."""

    DOCUMENTATION = """
notes:
  - Runs where its requirements are installed and the listeners can be reached, the control node or a host of the
    group admin.
  - Everything that is refused is said at once, and then nothing is written. What brokers can judge beforehand they are
    asked (C(validate_only)), in check mode, too.
  - Where a broker refuses while changes are written, the message names what was done, what failed and what was not
    tried, and C(changed) is true where anything was, or may have been, written; the next run does the rest.
  - Where nobody answers, the message names the rung that fails (DNS, TCP, TLS, SASL, advertised listener, controller)
    within 10 s, and a missing controller within 15 s.
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  cluster_id:
    description: Id of the cluster that is meant; one with another is refused. Not compared where it is empty.
    type: str
    default: ""
attributes:
  check_mode: {description: "Says what a run would do, and writes nothing.", support: full}
  diff_mode: {description: "Before and after as text, in the same order in each run, and no secrets.", support: full}
"""
