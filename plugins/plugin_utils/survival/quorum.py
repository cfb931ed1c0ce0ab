"""Who holds a quorum of the ZooKeeper ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout


def quorum(layout: Layout, alive: AbstractSet[str]) -> bool:
    """Tell whether these servers hold a quorum of the ensemble.

    Without groups it is more than half of the voters; with groups more than half of the weight in more than half of
    the groups, where groups without weight are not counted (ZooKeeper: Hierarchical Quorums).
    """
    voters = layout.voters
    if all(voter.group is None for voter in voters):
        return 2 * sum(voter.name in alive for voter in voters) > len(voters)
    whole, there = Counter[int | None](), Counter[int | None]()
    for voter in voters:
        whole[voter.group] += voter.weight
        there[voter.group] += voter.weight if voter.name in alive else 0
    counted = [group for group, weight in whole.items() if weight > 0]
    return 2 * sum(2 * there[group] > whole[group] for group in counted) > len(counted)
