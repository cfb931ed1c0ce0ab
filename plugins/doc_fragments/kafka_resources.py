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
    tried; the next run does the rest.
  - Where nobody answers, the message names the rung that fails (DNS, TCP, TLS, SASL, advertised listener, controller)
    within 10 s, and a missing controller within 15 s.
options:
  admin: {type: dict, required: true, description: "Client properties of a super user, under librdkafka's names."}
  cluster_id:
    description: Id of the cluster that is meant; one with another is refused. Not compared where it is empty.
    type: str
    default: ""
attributes:
  check_mode: {description: Says what a run would do, and writes nothing., support: full}
  diff_mode: {description: "Before and after as text, in the same order in each run, and no secrets.", support: full}
"""

    RETURN = """
changes: {description: 'One line per change, without passwords.', type: list, elements: str, returned: always}
cluster_id: {description: Id of the cluster that answered., type: str, returned: when it answered}
plan:
  description: Names by what happens to them.
  type: dict
  returned: when it answered
  contains:
    create: {description: What is not there., type: list, elements: str}
    update: {description: What is otherwise than declared., type: list, elements: str}
    delete: {description: "What is declared absent, or pruned.", type: list, elements: str}
    unchanged: {description: What is as declared., type: list, elements: str}
    unmanaged: {description: "What is on the cluster and not declared, or not managed.", type: list, elements: str}
outcome:
  description: Where writing failed, what became of the changes, each as kind and name.
  type: dict
  returned: where writing failed
  contains:
    done: {description: What was written., type: list, elements: str}
    failed: {description: "What was not, and why.", type: dict}
    not_tried: {description: What was not begun., type: list, elements: str}
"""
