"""One wrong inventory for each code that preflight can say of an inventory: what was changed, and where it is said.

One module for each subject, named as the rules' own in plugins/plugin_utils/model: a new rule's row is in the module of
that name. docs/errors.md is made from these tables (tests/generate_errors.py).
"""

from __future__ import annotations

from model.mistakes import (
    access,
    broker_config,
    clients,
    databases,
    directories,
    ensemble,
    exposure,
    firewall,
    grants,
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
from model.mistakes.base import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *words.MISTAKES,
    *identity.MISTAKES,
    *networks.MISTAKES,
    *firewall.MISTAKES,
    *ensemble.MISTAKES,
    *replication.MISTAKES,
    *properties.MISTAKES,
    *machine.MISTAKES,
    *clients.MISTAKES,
    *databases.MISTAKES,
    *security.MISTAKES,
    *access.MISTAKES,
    *directories.MISTAKES,
    *exposure.MISTAKES,
    *jobs.MISTAKES,
    *jvm.MISTAKES,
    *listening.MISTAKES,
    *logins.MISTAKES,
    *losses.MISTAKES,
    *machinery.MISTAKES,
    *permissions.MISTAKES,
    *topics.MISTAKES,
    *topic_safety.MISTAKES,
    *grants.MISTAKES,
    *quotas.MISTAKES,
    *broker_config.MISTAKES,
    *risks.MISTAKES,
    *units.MISTAKES,
    *weakened.MISTAKES,
)
