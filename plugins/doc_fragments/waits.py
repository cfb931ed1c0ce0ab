"""The options that the action of a module that waits sets."""


class ModuleDocFragment:
    """The options `pause` and `waited`, which module_utils/waits.py defines for all modules that wait in parts."""

    DOCUMENTATION = """
options:
  pause:
    description: >-
      Seconds after which the module returns RV(waiting) if the wait continues; 0 waits to the end. The action of the
      same name sets this and O(waited), to report every 10 s what the module waits for.
    type: int
    default: 0
  waited: {type: dict, default: {}, description: "With O(pause), the RV(waiting.waited) of the previous call."}
"""
