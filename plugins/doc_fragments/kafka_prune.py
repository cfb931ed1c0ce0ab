"""The option `prune`: what may be deleted because it is not declared."""


class ModuleDocFragment:
    """The option `prune`, the same in all modules that have it."""

    DOCUMENTATION = """
options:
  prune:
    description: >-
      What may be deleted because it is not declared: names, or prefixes that end with C(*). Each module reads its own
      kinds of it. Never deleted are topics whose name begins with C(_), users, ACLs and quotas of super users and of
      the user of this connection, and ACLs of kinds that cannot be declared.
    type: dict
    suboptions:
      topics: {type: list, elements: str, default: [], description: Topics.}
      acls: {type: list, elements: str, default: [], description: "ACLs of principals, as C(User:orders-*)."}
      users: {type: list, elements: str, default: [], description: SCRAM users.}
      quotas:
        description: Quotas of users, also with a client id; never defaults or quotas of client ids without a user.
        type: list
        elements: str
        default: []
      max_deletes:
        description: Maximum number of deletions of one kind. If more would be deleted, nothing is written.
        type: int
        default: 0
"""
