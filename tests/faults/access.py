"""Users and ACLs that tests make and take away, by the product's own plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import access_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Outcome
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins


def unread(changes: Sequence[Change], why: Outcome) -> Outcome:
    """Read nothing back: what was not answered fails the test."""
    return {change.name: why[change.name] for change in changes}


class Access:
    """Users and ACLs of one cluster."""

    def __init__(self, admin: Mapping[str, Any], login: Mapping[str, Any]) -> None:
        """`admin` are properties of a super user, `login` those of the users' listener, without a login."""
        self.admin, self.login = Admin(admin), Logins(login)

    def converge(self, users: Sequence[Mapping[str, Any]], acls: Sequence[Mapping[str, Any]]) -> list[str]:
        """Bring both to what is declared; return the changes."""
        logins = access_control.plan_users(self.admin, self.login, users, None, [])
        rights = access_control.plan_acls(self.admin, acls, None, "User:admin", ["User:admin"])
        for plan in (logins, rights):
            assert not plan.refusals, plan.refusals
        for done in (
            access_control.write_users(self.admin, self.login, logins.changes, unread),
            access_control.write_acls(self.admin, rights.changes, unread),
        ):
            assert not done.failed, done.failed
        return [str(change) for change in [*logins.changes, *rights.changes]]

    def logs_in(self, user: str, password: str, mechanism: str) -> bool:
        """Tell whether a password works."""
        return self.login.work(user, password, mechanism)
