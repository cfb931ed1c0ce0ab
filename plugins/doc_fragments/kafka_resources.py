"""Notes and attributes of the modules that manage the resources of a cluster."""


class ModuleDocFragment:
    """What the modules have in common, besides the options of kafka_cluster."""

    DOCUMENTATION = """
notes:
  - Runs where its requirements are installed and the listeners can be reached, the control node or a host of the
    group admin.
  - All rejected changes are reported at once, and then nothing is written. Brokers validate the changes first
    (C(validate_only)), also in check mode.
  - If a broker rejects a write, the message names what was written, what failed and what was not tried. C(changed) is
    true if anything was, or may have been, written. The next run writes the rest.
  - If no broker answers, the message names the step that fails (DNS, TCP, TLS, SASL, advertised listener, controller)
    within 10 s, and a missing controller within 15 s.
attributes:
  check_mode: {description: "Reports what a run would change, and writes nothing.", support: full}
  diff_mode:
    description: Shows before and after as text, in the same order in each run, without secrets.
    support: full
"""
