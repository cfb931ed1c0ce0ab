"""Filters for the logins of clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils.client_login import scram_login
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.template_failures import ABSENT_USER, NO_PASSWORD, NO_USER


def kafka_login(users: Sequence[Mapping[str, Any]] | None, name: str) -> dict[str, str]:
    """Return the properties with which a Java client logs in as the user `name`; `users` are those of kafka_users.

    Raises AnsibleFilterError if `users` has no such user, its state is absent, or it has no password.
    """
    return scram_login(*_login(users, name))


def librdkafka_login(users: Sequence[Mapping[str, Any]] | None, name: str) -> dict[str, str]:
    """Return the properties with which a client of librdkafka logs in as the user `name`, as `kafka_login` does."""
    password, user, mechanism = _login(users, name)
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


def _login(users: Sequence[Mapping[str, Any]] | None, name: str) -> tuple[str, str, str]:
    """Return password, name and mechanism of a user."""
    present = [user for user in users or [] if user.get("state") != "absent"]
    matching = [user for user in present if user["name"] == name]
    if not matching and any(user.get("name") == name for user in users or []):
        raise AnsibleFilterError(ABSENT_USER.format(name=name))
    if not matching:
        others = ", ".join(dict.fromkeys(str(user.get("name")) for user in present)) or "no users"
        raise AnsibleFilterError(NO_USER.format(users="kafka_users", name=name, others=others))
    user = matching[0]
    if switch(user.get("credential")) is False:
        raise AnsibleFilterError(NO_PASSWORD.format(name=name))
    return user["password"], name, user.get("mechanism") or "SCRAM-SHA-512"


def librdkafka(client: Mapping[str, Any], truststore: str = "") -> dict[str, str]:
    """Return the properties of a Java client under the names of librdkafka, without user and password.

    `client` is {Java property: value}. `truststore` is the file with CA certificates on the machine that connects; ''
    keeps the path that `client` contains.
    """
    properties = {
        name: str(client[name])
        for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism")
        if name in client
    }
    if client.get("ssl.truststore.location"):
        properties["ssl.ca.location"] = truststore or client["ssl.truststore.location"]
    return properties


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "scram_login": scram_login,
            "kafka_login": kafka_login,
            "librdkafka": librdkafka,
            "librdkafka_login": librdkafka_login,
        }
