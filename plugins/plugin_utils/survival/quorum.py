"""Decides whether some servers of a layout hold a quorum of its ZooKeeper ensemble."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper import quorum as ensemble
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout


def quorum(layout: Layout, alive: AbstractSet[str]) -> bool:
    """Tell whether the servers named in `alive` are a quorum of the layout's ZooKeeper ensemble."""
    voters = [ensemble.Voter(voter.name, voter.group, voter.weight) for voter in layout.voters]
    return ensemble.quorum(voters, alive)
