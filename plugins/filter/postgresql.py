"""Filters for the settings, users and databases of PostgreSQL, and for the logins of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils import postgresql
from ansible_collections.millrace.kafka.plugins.plugin_utils.template_failures import NO_USER


def postgresql_hba(users: Sequence[Mapping[str, Any]], sources: Sequence[str]) -> list[str]:
    """Return the lines of pg_hba.conf: one for each user and each address from which this user may log in.

    `users` are entries of postgresql_users, `sources` are the addresses for users without the key `from`. Raises
    AnsibleFilterError if an address is invalid.
    """
    try:
        return postgresql.hba_lines(users, sources)
    except ValueError as error:
        raise AnsibleFilterError(f"postgresql_users: {error}") from error


def postgresql_login(users: Sequence[Mapping[str, Any]] | None, name: str) -> dict[str, str]:
    """Return {dbname, user, password}, libpq's names, of the user `name`; `users` are entries of postgresql_users.

    Raises AnsibleFilterError if `users` has no such user.
    """
    for user in users or []:
        if user["name"] == name:
            return {"dbname": user["database"], "user": name, "password": user["password"]}
    others = ", ".join(dict.fromkeys(str(user.get("name")) for user in users or [])) or "no users"
    raise AnsibleFilterError(NO_USER.format(users="postgresql_users", name=name, others=others))


def postgresql_version(declared: str | None, release: str) -> str:
    """Return the major version of PostgreSQL: `declared` if set, else the version in the host's OS release.

    `release` is the OS, such as "debian 12". Raises AnsibleFilterError if nothing is declared and the OS is not known.
    """
    if version := postgresql.version_of(declared, release):
        return version
    raise AnsibleFilterError(f"the version of PostgreSQL of {release} is not known; set postgresql_version")


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "postgresql_hba": postgresql_hba,
            "postgresql_login": postgresql_login,
            "postgresql_plan": postgresql.plan,
            "postgresql_restarting": postgresql.restart_lines,
            "postgresql_settings": postgresql.config_lines,
            "postgresql_version": postgresql_version,
        }
