"""How clients log in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import SCRAM
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch


def scram_login(password: str, user: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    """Return the properties of a Java client that logs in with SCRAM; any character may be in the password."""
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (user, password)]
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{SCRAM} required username="{quoted[0]}" password="{quoted[1]}";',
    }


def kafka_login(users: Sequence[Mapping[str, Any]] | None, name: str) -> dict[str, str]:
    """Return the login of a user of kafka_users, as a Java client's properties."""
    present = [user for user in users or [] if user.get("state") != "absent"]
    found = [user for user in present if user["name"] == name]
    if not found:
        others = ", ".join(dict.fromkeys(str(user.get("name")) for user in present))
        raise AnsibleFilterError(f"kafka_users has no {name}; it has {others or 'nobody'}")
    if switch(found[0].get("credential")) is False:
        raise AnsibleFilterError(f"{name} of kafka_users has no password (credential: false)")
    return scram_login(found[0]["password"], name, found[0].get("mechanism") or "SCRAM-SHA-512")


def librdkafka(client: Mapping[str, Any], truststore: str = "") -> dict[str, str]:
    """Return the properties of a Java client under librdkafka's names, without a login.

    `truststore` is where the CAs are on this machine.
    """
    found = {
        name: str(client[name])
        for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism")
        if name in client
    }
    if client.get("ssl.truststore.location"):
        found["ssl.ca.location"] = truststore or client["ssl.truststore.location"]
    return found


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "scram_login": scram_login,
            "kafka_login": kafka_login,
            "librdkafka": librdkafka,
        }
