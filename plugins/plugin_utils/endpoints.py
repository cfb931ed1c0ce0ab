"""Where a site's brokers and servers speak TLS, and what is on their disks for it. For the control node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listeners import client_auth, encrypted
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input


def broker_endpoints(
    hosts: Sequence[str], hostvars: Mapping[str, Any], made: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the listeners with TLS of all brokers.

    Each is {host, broker, listener, inter_broker, address, port, keystore, truststore, serial, issuer, until,
    trusted}. `made` is what the
    action certificates answered for each host.
    """
    found = []
    for host in hosts:
        values, answer = hostvars[host], made.get(host) or {"held": {}, "trusted": {}}
        by_path = {held["path"]: held for held in answer["held"].values() if held["path"]}
        for listener in values["kafka_listeners"]:
            path = listener.get("keystore") or role_input(values, "kafka_keystore")
            if not encrypted(listener) or path not in by_path:
                continue
            trusts = listener.get("truststore") or role_input(values, "kafka_truststore")
            trusts = trusts if client_auth(listener) != "none" else ""
            found.append(
                {
                    "host": host, "broker": int(values["kafka_broker_id"]), "listener": listener["name"],
                    "inter_broker": listener["name"] == values["kafka_inter_broker_listener"],
                    "address": listener.get("advertised_address") or listener["address"],
                    "port": listener.get("advertised_port") or listener["port"],
                    "keystore": path, "truststore": trusts, "trusted": answer["trusted"].get(trusts, []),
                    **{name: by_path[path][name] for name in ("serial", "issuer", "until")},
                }
            )  # fmt: skip
    return found


def zookeeper_endpoints(
    hosts: Sequence[str], hostvars: Mapping[str, Any], made: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the client port of every ZooKeeper server with TLS: {host, address, port, serial, until, trusted}."""
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
