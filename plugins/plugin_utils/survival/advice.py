"""Computes what the operator must do after a failure."""

from __future__ import annotations

from itertools import combinations

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout, Server
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum

NOBODY = "nobody"
REPAIR = "operator: repair the network"


def advice(layout: Layout, kind: str, lost: frozenset[str], serves: bool, left: int) -> str:
    """Return what the operator must do after a failure, as text.

    `kind` is the kind of failure (the field `kind` of failures.Row), `lost` are the names of the lost servers, `serves`
    is whether ZooKeeper still has a quorum, and `left` is the smallest number of replicas that any partition still has.
    """
    lower = serves and left >= 1
    isr = f" (min.insync.replicas to {left})" if left < layout.min_isr else ""
    if kind == "cut":
        return REPAIR + (f", or lower min.insync.replicas to {left}" if lower else "")
    if lost >= set(layout.names):
        return "operator: restore from a mirror"
    survivor = _surviving_group(layout, lost)
    if not serves and survivor and left >= 1:
        return f"operator: failover.yml -e survivor={survivor}{isr}"
    left_over = {server.datacenter for server in layout.brokers if server.name not in lost}
    grouped = all(voter.group is not None for voter in layout.voters) and _same_weights(layout)
    if kind == "datacenter" and lower and grouped and len(left_over) == 1:
        return f"operator: failover.yml -e survivor={left_over.pop()}{isr}"
    back = f"bring {_needed(layout, lost, serves, left)} back"
    return f"operator: lower min.insync.replicas to {left}, or {back}" if lower else f"operator: {back}"


def _surviving_group(layout: Layout, lost: frozenset[str]) -> str:
    """Return the datacenter of a ZooKeeper group that lost no member, if another group lost all of them; else ''.

    Return '' also if the servers outside of this group have a quorum, or if votes have different weights: then a
    failover to it is refused.
    If the group spans several datacenters, their names are joined by "and".
    """
    groups: dict[int, list[Server]] = {}
    for voter in layout.voters:
        if voter.group is not None and voter.weight > 0:
            groups.setdefault(voter.group, []).append(voter)
    if _same_weights(layout) and any(all(voter.name in lost for voter in members) for members in groups.values()):
        for members in groups.values():
            others = set(layout.names) - {voter.name for voter in members}
            if not any(voter.name in lost for voter in members) and not quorum(layout, others):
                return " and ".join(dict.fromkeys(voter.datacenter for voter in members))
    return ""


def _same_weights(layout: Layout) -> bool:
    """Tell whether all votes weigh the same, as failover.yml requires."""
    return len({voter.weight for voter in layout.voters}) == 1


def _needed(layout: Layout, lost: frozenset[str], serves: bool, left: int) -> str:
    """Return the smallest number of servers that must return to restore quorum and writes, such as "a broker".

    The arguments are those of `advice`.
    """
    down = [voter.name for voter in layout.voters if voter.name in lost]
    alive = set(layout.names) - lost
    enough = (
        number
        for number in range(1, len(down) + 1)
        if any(quorum(layout, alive | {*some}) for some in combinations(down, number))
    )
    parts = [(next(enough, 0), "ZooKeeper server")] if not serves else []
    parts += [(layout.min_isr - left, "broker")]
    return " and ".join(f"a {noun}" if number == 1 else f"{number} {noun}s" for number, noun in parts if number > 0)
