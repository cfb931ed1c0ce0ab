"""Rules on the host names and addresses in certificates.

A client or another server compares them with the address to which it connects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.listener_values import shared
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

LISTED = 3  # hosts that a message lists, of more


def missing(model: Model) -> Iterator[Problem]:
    """Yield a problem for each certificate that does not contain all addresses to which others connect.

    The certificate of a ZooKeeper server must also contain the server's own addresses: other ZooKeeper servers compare
    the address from which the server connects.
    """
    required: dict[str, dict[str, list[Any]]] = {machine.name: {} for machine in model.cluster}
    for broker in model.brokers:
        for item in broker.encrypted:
            path = broker.keystore(item)
            # Clients of a listener verify the address that it advertises.
            always = [item.address, *broker.addresses] if path == broker.keystore() else []
            reached = [item.advertised_address] if item.advertised_address == item.address else []
            required[broker.name].setdefault(path, []).extend([*reached, *always])
    yield from _advertised_names(model)
    for server in model.servers:
        if server.speaks_tls:
            # Another rule reports an address that is not the host's.
            ensemble = server.servers.get(server.number, ())
            host_names = [name for name in ensemble if not is_address(name) and ":" not in str(name)]
            path = str(server.inputs.get("zookeeper_keystore"))
            required[server.name].setdefault(path, []).extend([*host_names, *server.addresses])
    by_certificate: dict[str, dict[str, list[str]]] = {}
    for machine in model.cluster:
        for made in machine.certificates:
            reached = required[machine.name].get(str(made.get("path")), [])
            if names := _missing([str(name) for name in reached if name], made.get("names")):
                by_certificate.setdefault(str(made.get("name")), {})[machine.name] = names
    yield from (_incomplete(model, name, hosts) for name, hosts in by_certificate.items())


CERTIFICATE_NAMES = ProblemKind(
    "CERTIFICATE_NAMES",
    "`names` does not contain {names}: peers that reach the host there, or see it connect from "
    "there, would reject the certificate",
    "add every address of the host to `names`",
)
CERTIFICATE_NAMES_VARIABLES = CERTIFICATE_NAMES.variant(advice="add {variables} to `names`")
CERTIFICATE_NAMES_ADVERTISED = CERTIFICATE_NAMES.variant(
    message="the broker's certificate ({certificate}) does not contain this name, so clients would reject the broker",
    advice="add this name to names of {certificate}",
)
CERTIFICATE_NAMES_KEYSTORE = CERTIFICATE_NAMES_ADVERTISED.variant(
    advice="add a certificate with this name to site_certificates, and set keystore of the listener to its path"
)


def _incomplete(model: Model, name: str, hosts: Mapping[str, Sequence[str]]) -> Problem:
    """Return the problem of the certificate `name`, one for all hosts that have a certificate of this name.

    `hosts` is {host: the addresses that its certificate does not contain}.
    """
    several = len(hosts) > 1
    texts = [f"{', '.join(names)}{f' of {host}' if several else ''}" for host, names in hosts.items()]
    if len(texts) > LISTED + 1:
        texts = [*texts[:LISTED], f"and those of {len(texts) - LISTED} more"]
    variables = [
        f"{network}_address"
        for network in NETWORKS
        if all(str(model.machines[host].address(network)) in names for host, names in hosts.items())
    ]
    only_variables = all(len(names) == len(variables) for names in hosts.values())
    kind = CERTIFICATE_NAMES_VARIABLES if variables and only_variables and several else CERTIFICATE_NAMES
    templates = " and ".join(f'"{{{{ {variable} }}}}"' for variable in variables)
    return kind.problem(tuple(hosts), f"pki_certificates[{name}]", names=texts, variables=templates)


def _advertised_names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each advertised address of a listener that the listener's certificate does not contain.

    Only addresses that differ from the listener's own address are checked here.
    """
    twice = {address for address, _ in shared(model)}
    for broker in model.brokers:
        for item in broker.encrypted:
            address, path = str(item.advertised_address), broker.keystore(item)
            if item.advertised_address == item.address or address in twice:
                continue
            # Reported of the certificate.
            own = path == broker.keystore() and address in map(str, broker.addresses)
            for made in (entry for entry in broker.certificates if entry.get("path") == path and not own):
                if _missing([address], made.get("names")):
                    certificate, variable = (
                        f"pki_certificates[{made.get('name')}]",
                        f"{item.variable}.advertised_address",
                    )
                    kind = CERTIFICATE_NAMES_ADVERTISED if item.keystore else CERTIFICATE_NAMES_KEYSTORE
                    yield broker.report(kind, variable, address, certificate=certificate)


def _missing(required: Sequence[str], names: Any) -> list[str]:
    """Return those of `required` that `names`, the names in a certificate, do not contain, not even by a wildcard."""
    known = {str(name).lower() for name in names} if isinstance(names, (list, tuple)) else set()
    return [
        name
        for name in dict.fromkeys(required)
        if name not in WILDCARDS and name.lower() not in known and f"*.{name.lower().partition('.')[2]}" not in known
    ]
