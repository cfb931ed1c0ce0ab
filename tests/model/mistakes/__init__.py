"""One wrong inventory for each code that preflight can report of an inventory: the change, and where it is reported.

Each module here is named as the module of rules in plugins/plugin_utils/model whose mistakes it holds. Exceptions:
bootstrap in clients, certificate_names in security, ciphers in weakened, database_memory in databases, drop_ins in
units, hierarchy in ensemble, holders in access, java_flags in jvm, places in identity, ports in networks, principals
and store_groups in security, sessions in ensemble, topic_replicas in topics. tests/generate_errors.py makes
docs/errors.md from these tables.
"""

from __future__ import annotations

from model.mistakes import (
    access,
    ansible_connection,
    broker_config,
    broker_features,
    broker_limits,
    connect_strings,
    data_loss,
    databases,
    directories,
    ensemble,
    exposure,
    firewall,
    grants,
    host_capacity,
    identity,
    insecure_settings,
    installation,
    job_data,
    jobs,
    jvm,
    kernel,
    listener_values,
    logins,
    mirrors,
    networks,
    permissions,
    properties,
    quotas,
    ranges,
    replication,
    risks,
    security,
    timers,
    topics,
    units,
    variable_names,
)
from model.mistakes.base import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *variable_names.MISTAKES,
    *identity.MISTAKES,
    *networks.MISTAKES,
    *firewall.MISTAKES,
    *ensemble.MISTAKES,
    *replication.MISTAKES,
    *properties.MISTAKES,
    *installation.MISTAKES,
    *connect_strings.MISTAKES,
    *databases.MISTAKES,
    *security.MISTAKES,
    *access.MISTAKES,
    *directories.MISTAKES,
    *exposure.MISTAKES,
    *jobs.MISTAKES,
    *jvm.MISTAKES,
    *listener_values.MISTAKES,
    *logins.MISTAKES,
    *mirrors.MISTAKES,
    *data_loss.MISTAKES,
    *host_capacity.MISTAKES,
    *permissions.MISTAKES,
    *topics.MISTAKES,
    *grants.MISTAKES,
    *quotas.MISTAKES,
    *broker_config.MISTAKES,
    *risks.MISTAKES,
    *units.MISTAKES,
    *insecure_settings.MISTAKES,
    *ansible_connection.MISTAKES,
    *kernel.MISTAKES,
    *ranges.MISTAKES,
    *broker_limits.MISTAKES,
    *broker_features.MISTAKES,
    *job_data.MISTAKES,
    *timers.MISTAKES,
)
