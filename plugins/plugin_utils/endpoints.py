"""Lists the TLS ports of the brokers and ZooKeeper servers of a site, with the certificates in their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input


def broker_endpoints(
    hosts: Sequence[str], hostvars: Mapping[str, Any], certificates: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return one dict for each TLS listener of the brokers on `hosts`, unless its key store is unknown.

    - host, broker (id), listener (name), inter_broker (whether brokers use this listener), address, port;
    - keystore, truststore: paths; truststore is '' if the listener requests no certificates from clients;
    - serial, issuer, until (end date): of the certificate in the key store;
    - trusted: subjects of the CAs in the trust store.

    `hostvars` is {host: variables}, `certificates` is {host: its result of the action plugin `certificates`}.
    """
    endpoints = []
    for host in hosts:
        values, answer = hostvars[host], certificates.get(host) or {"held": {}, "trusted": {}}
        by_path = {certificate["path"]: certificate for certificate in answer["held"].values() if certificate["path"]}
        for listener in map(Listener.of, values["kafka_listeners"]):
            path = listener.keystore or role_input(values, "kafka_keystore")
            if not listener.encrypted or path not in by_path:
                continue
            truststore = listener.truststore or role_input(values, "kafka_truststore")
            truststore = truststore if listener.asks_for_certificates else ""
            endpoints.append(
                {
                    "host": host, "broker": int(values["kafka_broker_id"]), "listener": listener.name,
                    "inter_broker": listener.name == values["kafka_inter_broker_listener"],
                    "address": listener.advertised_address, "port": listener.advertised_port,
                    "keystore": path, "truststore": truststore, "trusted": answer["trusted"].get(truststore, []),
                    **{name: by_path[path][name] for name in ("serial", "issuer", "until")},
                }
            )  # fmt: skip
    return endpoints


def zookeeper_endpoints(
    hosts: Sequence[str], hostvars: Mapping[str, Any], certificates: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return one dict for the TLS client port of the ZooKeeper server on each of `hosts`.

    - host, address, port;
    - serial, until (end date): of the server's certificate;
    - trusted: subjects of the CAs in the server's trust store.

    `hostvars` is {host: variables}, `certificates` is {host: its result of the action plugin `certificates`}.
    """
    endpoints = []
    for host in hosts:
        values, answer = hostvars[host], certificates.get(host) or {"held": {}, "trusted": {}}
        port = role_input(values, "zookeeper_secure_client_port")
        truststore = role_input(values, "zookeeper_truststore")
        for certificate in answer["held"].values() if port else ():
            if certificate["path"] == role_input(values, "zookeeper_keystore"):
                place = {"host": host, "address": values["client_address"], "port": port}
                endpoints.append(
                    {
                        **place,
                        "serial": certificate["serial"],
                        "until": certificate["until"],
                        "trusted": answer["trusted"].get(truststore, []),
                    }
                )
    return endpoints
