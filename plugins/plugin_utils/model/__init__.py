"""Checks of the declared model, from the inventory alone; no Ansible import, no host contacted.

One module per subject, one function per rule: a rule reads the model and yields what is wrong. A new rule is a
function and a name in RULES; its row in tests/model/mistakes/<subject>.py is the test, and the line of docs/errors.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model import (
    access,
    clients,
    directories,
    ensemble,
    exposure,
    firewall,
    grants,
    hierarchy,
    identity,
    jobs,
    jvm,
    listening,
    logins,
    losses,
    machine,
    machinery,
    networks,
    permissions,
    places,
    ports,
    principals,
    properties,
    quotas,
    replication,
    risks,
    security,
    topic_safety,
    topics,
    units,
    weakened,
    words,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, Rule
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typed import Typed
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

__all__ = ["Model", "check_model", "model_of"]

RULES: tuple[Rule, ...] = (
    words.names,
    words.lists,
    words.secrets,
    words.types,
    identity.functions,
    identity.ids,
    identity.organization,
    identity.pki_directory,
    places.declared,
    places.layout,
    places.racks,
    places.rack_groups,
    places.rack_typos,
    networks.addresses,
    networks.outside,
    networks.versions,
    networks.subnets,
    ports.taken,
    networks.listeners,
    networks.replication_network,
    firewall.ports,
    firewall.sources,
    firewall.named,
    firewall.everybody_needed,
    firewall.clients,
    ensemble.size,
    hierarchy.observers,
    hierarchy.weights,
    hierarchy.membership,
    hierarchy.shapes,
    ensemble.servers,
    ensemble.words,
    ensemble.session,
    replication.factors,
    replication.least_in_sync,
    replication.internal_topics,
    replication.unclean,
    replication.datacenter_loss,
    replication.same_everywhere,
    properties.kafka,
    properties.replaced,
    properties.zookeeper,
    machine.log_dirs,
    machine.gc_logs,
    machine.heaps,
    machine.versions,
    machine.archives,
    clients.zookeeper_connect,
    clients.bootstrap,
    clients.client_properties,
    clients.jobs,
    security.profile,
    security.stores,
    security.token_urls,
    security.certificate_names,
    security.super_users,
    security.client_authorities,
    security.zookeeper,
    principals.mapping_rules,
    principals.brokers,
    principals.zookeeper_clients,
    access.users,
    access.acls,
    access.contradictions,
    access.logins,
    permissions.matching,
    permissions.jobs,
    topics.topic_names,
    topics.shapes,
    topics.properties,
    topics.contradictions,
    topic_safety.replicas,
    topic_safety.losses,
    grants.users,
    grants.whole,
    grants.topics,
    grants.administration,
    quotas.values,
    quotas.users,
    quotas.prune,
    hierarchy.numbers,
    hierarchy.decisive,
    machinery.twice,
    machinery.heaps,
    machinery.cases,
    machinery.certificates,
    directories.written,
    directories.kept,
    directories.of_locks,
    listening.listeners,
    listening.mechanisms,
    listening.among_brokers,
    listening.addresses,
    ports.privileged,
    jvm.heaps,
    jvm.flags,
    jvm.strangers,
    units.secrets,
    units.sections,
    jobs.loops,
    jobs.directories,
    jobs.groups,
    jobs.connections,
    jobs.memory,
    losses.zookeeper,
    losses.retention,
    logins.almighty,
    logins.passwords,
    principals.anybody,
    exposure.archives,
    exposure.sources,
    exposure.authorities,
    exposure.lives,
    weakened.settings,
    weakened.client_auth,
    weakened.tokens,
    weakened.zookeeper,
    risks.known,
)


def check_model(model: Model) -> list[Problem]:
    """Return everything that is wrong with the model, in no order."""
    return list(risks.weighed(model, (problem for rule in RULES for problem in rule(model))))


def model_of(
    hosts: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    all_groups: Mapping[str, Sequence[str]],
    names: Mapping[str, frozenset[str]],
    options: Mapping[str, Mapping[str, Any]],
    prefixes: frozenset[str],
    said: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Model:
    """Return the model, values in their declared types; `options` are the specs of all role inputs and site words."""
    defaults = {name: option["default"] for name, option in options.items() if "default" in option}
    typed = Typed(options)
    values, mistyped = {}, []
    for host, found in hosts.items():
        values[host], faults = typed.of(found)
        mistyped += [words.mistyped(host, *fault) for fault in faults]
    return Model(values, groups, all_groups, names, defaults, frozenset(options), prefixes, tuple(mistyped), said)
