"""What may be deleted because it is not declared."""


class ModuleDocFragment:
    """The option `prune`, the same for all modules that have it."""

    DOCUMENTATION = """
options:
  prune:
    description: >-
      What may be deleted because it is not declared, by names, or beginnings of names with a star at the end. Each
      module takes its own kinds from it. Never topics whose name begins with C(_); never what is a super user's or of
      who asks, nor ACLs of other kinds than can be declared.
    type: dict
    suboptions:
      topics: {type: list, elements: str, default: [], description: Topics.}
      acls: {type: list, elements: str, default: [], description: "ACLs of principals, as C(User:orders-*)."}
      users: {type: list, elements: str, default: [], description: SCRAM users.}
      quotas:
        description: Quotas of users, those with a client id too; never defaults, nor those of client ids alone.
        type: list
        elements: str
        default: []
      max_deletes: {type: int, default: 0, description: "Where it would be more of one kind, nothing is written."}
"""
