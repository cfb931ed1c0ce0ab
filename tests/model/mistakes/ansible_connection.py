"""Wrong inventories: how Ansible connects."""

from __future__ import annotations

from model.mistakes.base import Mistake

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "CONNECTION_WORD",
        "group all/ansible_become_methd",
        "did you mean ansible_become_method",
        variables={"all": {"ansible_become_methd": "sudo"}},
    ),
)
