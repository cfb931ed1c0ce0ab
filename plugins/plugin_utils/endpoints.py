"""Lists the ports at which brokers and servers of a site speak TLS, with the certificates in their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input


def broker_endpoints(
    hosts: Sequence[str], hostvars: Mapping[str, Any], made: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the TLS listeners of all brokers.

    Each is {host, broker, listener, inter_broker, address, port, keystore, truststore, serial, issuer, until,
    trusted}. `made` is the result of the action certificates for each host.
    """
    found = []
    for host in hosts:
        values, answer = hostvars[host], made.get(host) or {"held": {}, "trusted": {}}
        by_path = {held["path"]: held for held in answer["held"].values() if held["path"]}
        for listener in map(Listener.of, values["kafka_listeners"]):
            path = listener.keystore or role_input(values, "kafka_keystore")
            if not listener.encrypted or path not in by_path:
                continue
            trusts = listener.truststore or role_input(values, "kafka_truststore")
            trusts = trusts if listener.asks_for_certificates else ""
            found.append(
                {
                    "host": host, "broker": int(values["kafka_broker_id"]), "listener": listener.name,
                    "inter_broker": listener.name == values["kafka_inter_broker_listener"],
                    "address": listener.advertised_address, "port": listener.advertised_port,
                    "keystore": path, "truststore": trusts, "trusted": answer["trusted"].get(trusts, []),
                    **{name: by_path[path][name] for name in ("serial", "issuer", "until")},
                }
            )  # fmt: skip
    return found


def zookeeper_endpoints(
    hosts: Sequence[str], hostvars: Mapping[str, Any], made: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the TLS client port of every ZooKeeper server: {host, address, port, serial, until, trusted}."""
    found = []
    for host in hosts:
        values, answer = hostvars[host], made.get(host) or {"held": {}, "trusted": {}}
        port = role_input(values, "zookeeper_secure_client_port")
        truststore = role_input(values, "zookeeper_truststore")
        for held in answer["held"].values() if port else ():
            if held["path"] == role_input(values, "zookeeper_keystore"):
                where = {"host": host, "address": values["client_address"], "port": port}
                found.append(
                    {
                        **where,
                        "serial": held["serial"],
                        "until": held["until"],
                        "trusted": answer["trusted"].get(truststore, []),
                    }
                )
    return found
