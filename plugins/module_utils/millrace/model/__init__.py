"""Checks of the declared model, from the inventory alone; no Ansible import, no host contacted.

One module per subject, one function per rule: a rule reads the model and yields what is wrong. A new rule is a function and a name in
RULES; its row in tests/model/mistakes.py is the test, and the line of docs/errors.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..problems import Problem
from . import access, clients, ensemble, firewall, identity, machine, networks, properties, replication, security, words
from .base import Model, Rule

__all__ = ["Model", "check_model", "model_of"]

RULES: tuple[Rule, ...] = (
    words.names,
    words.secrets,
    identity.functions,
    identity.ids,
    identity.datacenters,
    identity.racks,
    networks.addresses,
    networks.subnets,
    networks.ports,
    networks.listeners,
    firewall.ports,
    firewall.sources,
    firewall.everybody_needed,
    firewall.clients,
    ensemble.size,
    ensemble.hierarchy,
    ensemble.servers,
    ensemble.session,
    replication.factors,
    replication.internal_topics,
    replication.unclean,
    replication.datacenter_loss,
    replication.same_everywhere,
    properties.kafka,
    properties.zookeeper,
    machine.log_dirs,
    machine.heaps,
    machine.versions,
    clients.zookeeper_connect,
    clients.bootstrap,
    clients.client_properties,
    clients.jobs,
    security.profile,
    security.stores,
    security.token_urls,
    security.certificate_names,
    security.principals,
    security.super_users,
    security.client_authorities,
    security.zookeeper,
    security.zookeeper_clients,
    access.users,
    access.acls,
    access.contradictions,
    access.logins,
)


def check_model(model: Model) -> list[Problem]:
    """Return everything that is wrong with the model, in no order."""
    return [problem for rule in RULES for problem in rule(model)]


def model_of(
    hosts: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    all_groups: Mapping[str, Sequence[str]],
    names: Mapping[str, frozenset[str]],
    options: Mapping[str, Mapping[str, Any]],
    prefixes: frozenset[str],
) -> Model:
    """Return the model; `options` are the argument specs of all role inputs and site words."""
    defaults = {name: option["default"] for name, option in options.items() if "default" in option}
    return Model(hosts, groups, all_groups, names, defaults, frozenset(options), prefixes)
