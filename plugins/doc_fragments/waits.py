"""What the action of a module that waits gives it."""


class ModuleDocFragment:
    """The options `pause` and `waited`, as module_utils/waits.py has them for all modules that wait in parts."""

    DOCUMENTATION = """
options:
  pause:
    description: >-
      The action of the same name gives it, and I(waited), to say each 10 s what is waited for. Seconds after which the
      module returns C(waiting), where the wait goes on; 0 waits to the end.
    type: int
    default: 0
  waited: {type: dict, default: {}, description: "With I(pause), what C(waiting.waited) of the call before was."}
"""
