"""Rules on the names in certificates: peers compare them with the address at which they reach a host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.listener_values import shared
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

ADDRESSES = ("client_address", "replication_address")
FEW = 3  # hosts that are named of more


def lacking(model: Model) -> Iterator[Problem]:
    """A certificate names every address that its host is reached at or connects from.

    Peers compare it, and ZooKeeper both ways.
    """
    wanted: dict[str, dict[str, list[Any]]] = {machine.name: {} for machine in model.cluster}
    for broker in model.brokers:
        for item in broker.encrypted:
            path = broker.keystore(item)
            # Whoever comes to a listener was told what it advertises, and that is what he verifies.
            always = [item.address, *broker.addresses] if path == broker.keystore() else []
            reached = [item.advertised_address] if item.advertised_address == item.address else []
            wanted[broker.name].setdefault(path, []).extend([*reached, *always])
    yield from _advertised_names(model)
    for server in model.servers:
        if server.speaks_tls:
            # An address that is not the host's is another mistake.
            ensemble = server.servers.get(server.number, ())
            named = [name for name in ensemble if not is_address(name) and ":" not in str(name)]
            path = str(server.inputs.get("zookeeper_keystore"))
            wanted[server.name].setdefault(path, []).extend([*named, *server.addresses])
    lacks: dict[str, dict[str, list[str]]] = {}
    for machine in model.cluster:
        for made in machine.certificates:
            reached = wanted[machine.name].get(str(made.get("path")), [])
            if own := _lacking([str(name) for name in reached if name], made.get("names")):
                lacks.setdefault(str(made.get("name")), {})[machine.name] = own
    yield from (_unnamed(model, name, hosts) for name, hosts in lacks.items())


def _unnamed(model: Model, name: str, hosts: Mapping[str, Sequence[str]]) -> Problem:
    """Return what is said of a certificate, once for all hosts that have one of this name."""
    several = len(hosts) > 1
    told = [f"{', '.join(own)}{f' of {host}' if several else ''}" for host, own in hosts.items()]
    more = [f"and those of {len(told) - FEW} more"] if len(told) > FEW + 1 else []
    shown = [*told[:FEW], *more] if more else told
    wrong = f"names lack {', '.join(shown)}, where "
    wrong += "the host is reached or connects from, and peers would refuse it there"
    words = [word for word in ADDRESSES
             if all(str(model.machines[host].inputs.get(word)) in own for host, own in hosts.items())]  # fmt: skip
    alone = all(len(own) == len(words) for own in hosts.values())
    advice = " and ".join(f'"{{{{ {word} }}}}"' for word in words)
    advice = f"add {advice}" if advice and alone and several else "add every address of the host"
    return Problem(tuple(hosts), f"pki_certificates[{name}]", "CERTIFICATE_NAMES", None, wrong, advice)


def _advertised_names(model: Model) -> Iterator[Problem]:
    """Yield what listeners advertise besides their own address, and their certificate does not name."""
    twice = {address for address, _ in shared(model)}
    for broker in model.brokers:
        for item in broker.encrypted:
            told, path = str(item.advertised_address), broker.keystore(item)
            if item.advertised_address == item.address or told in twice:
                continue
            own = path == broker.keystore() and told in map(str, broker.addresses)  # said of the certificate
            for made in (one for one in broker.certificates if one.get("path") == path and not own):
                if _lacking([told], made.get("names")):
                    name = f"pki_certificates[{made.get('name')}]"
                    wrong = f"its certificate ({name}) lacks this name, and clients would refuse the broker there"
                    advice = "make one with it (site_certificates), and name its path as keystore of the listener"
                    advice = f"add it to the names of {name}" if item.keystore else advice
                    place = f"{item.variable}.advertised_address"
                    yield broker.problem(place, "CERTIFICATE_NAMES", told, wrong, advice)


def _lacking(wanted: Sequence[str], names: Any) -> list[str]:
    known = {str(name).lower() for name in names} if isinstance(names, (list, tuple)) else set()
    return [
        name
        for name in dict.fromkeys(wanted)
        if name not in WILDCARDS and name.lower() not in known and f"*.{name.lower().partition('.')[2]}" not in known
    ]
