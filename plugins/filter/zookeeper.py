"""Filters for zoo.cfg, the configuration of a ZooKeeper server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import ELECTION_PORT, QUORUM_PORT
from ansible_collections.millrace.kafka.plugins.plugin_utils.store_kinds import zookeeper_store_type


def zookeeper_ensemble_lines(
    servers: Mapping[Any, Any],
    groups: Mapping[Any, Sequence[Any]],
    weights: Mapping[Any, Any],
    observers: Sequence[Any],
) -> dict[str, str]:
    """Return {key: value} of the keys server.N, group.N and weight.N of zoo.cfg.

    - `servers`: {id: address, or list of addresses};
    - `groups`: {group number: ids of its servers}; `weights`: {id: weight};
    - `observers`: ids of the servers that do not vote.
    """
    lines, watching = {}, {str(number) for number in observers}
    for number, addresses in servers.items():
        role = ":observer" if str(number) in watching else ""
        several = [addresses] if isinstance(addresses, str) else addresses
        lines[f"server.{number}"] = "|".join(f"{address}:{QUORUM_PORT}:{ELECTION_PORT}{role}" for address in several)
    lines |= {f"group.{number}": ":".join(str(member) for member in members) for number, members in groups.items()}
    return lines | {f"weight.{number}": str(weight) for number, weight in weights.items()}


def zookeeper_groups(
    hosts: Sequence[str], hostvars: Mapping[str, Any], observers: Sequence[Any]
) -> dict[int, list[Any]]:
    """Return {group number: ids of the voting servers of one datacenter}, for a hierarchical quorum.

    `hostvars` is {host: variables}, `observers` are ids of servers that do not vote. Datacenters and ids are sorted:
    another order in the inventory causes no restart.
    """
    by_datacenter: dict[str, list[Any]] = {}
    for host in hosts:
        number = hostvars[host]["zookeeper_id"]
        if str(number) not in map(str, observers):
            by_datacenter.setdefault(str(hostvars[host]["datacenter"]), []).append(number)
    groups = (
        sorted(by_datacenter[name], key=lambda number: (len(str(number)), str(number)))
        for name in sorted(by_datacenter)
    )
    return dict(enumerate(groups, start=1))


def zookeeper_tls(keystore: str, truststore: str, password: str, secure_port: int, quorum: bool) -> dict[str, Any]:
    """Return {key: value} of zoo.cfg for TLS with clients, and with `quorum` also between the servers.

    `secure_port` is the TLS port for clients, 0 for none; `password` opens `keystore`. The address of a client is not
    compared with the names in its certificate, since the certificate alone identifies the client. The address of a
    server is compared; fips-mode, which would silently disable that, is turned off.
    """
    stores = {"keyStore.location": keystore, "trustStore.location": truststore, "keyStore.password": password or None}
    kinds = {"keyStore.type": zookeeper_store_type(keystore), "trustStore.type": zookeeper_store_type(truststore)}
    stores |= {name: kind for name, kind in kinds.items() if kind}
    keys: dict[str, Any] = {"fips-mode": False} if secure_port or quorum else {}
    if secure_port:
        keys |= {
            "secureClientPort": secure_port,
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        }
        keys |= {f"ssl.{name}": value for name, value in stores.items()}
        keys |= {"ssl.clientAuth": "need", "ssl.hostnameVerification": True, "ssl.clientHostnameVerification": False}
        keys |= {"ssl.allowReverseDnsLookup": False, "client.certReload": True}
    if quorum:
        keys |= {"sslQuorum": True, "sslQuorumReloadCertFiles": True}
        keys |= {f"ssl.quorum.{name}": value for name, value in stores.items()}
        keys |= {
            "ssl.quorum.clientAuth": "need",
            "ssl.quorum.hostnameVerification": True,
            "ssl.quorum.allowReverseDnsLookup": False,
        }
    return keys


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "zookeeper_ensemble_lines": zookeeper_ensemble_lines,
            "zookeeper_groups": zookeeper_groups,
            "zookeeper_tls": zookeeper_tls,
        }
