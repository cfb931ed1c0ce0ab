"""Filters of the role mirror_maker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import table
from ansible_collections.millrace.kafka.plugins.plugin_utils.mirror_effects import ineffective, wanted
from ansible_collections.millrace.kafka.plugins.plugin_utils.mirrors import (
    GROUPS_LEFT_OUT,
    INTERNAL,
    Worker,
    heartbeat_interval,
    identity_refusals,
    librdkafka_client,
    properties,
    topics_of,
)


def mirror_maker_properties(
    flows: Sequence[Mapping[str, Any]], worker: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return {"properties": of mirror-maker.properties, "secrets": of the file to which these refer}.

    `flows` are entries of mirror_maker_flows. `worker` is {cluster, client, truststore, secrets, exactly_once, ...}, as
    in the class Worker. `settings` are properties of Kafka Connect's workers, by name.
    """
    return properties(flows, Worker(settings=settings, **worker))


def mirror_maker_compared(properties: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the option `properties` of the module mirror_maker_worker for properties by name."""
    return [asdict(one) for one in wanted(properties)]


def mirror_maker_ineffective(workers: Sequence[Mapping[str, Any]], properties: Mapping[str, Any]) -> list[str]:
    """Return an error text for each of the `properties` that no part of a worker uses.

    `workers` are the results of the module mirror_maker_worker of all hosts.
    """
    settings = [part for worker in workers for part in worker.get("settings") or ()]
    leaders = {pair: url for worker in workers for pair, url in (worker.get("leaders") or {}).items()}
    return ineffective(properties, settings, leaders)


def mirror_maker_status_flows(
    flows: Sequence[Mapping[str, Any]], cluster: str, residency: Sequence[str], ca: str = ""
) -> list[dict[str, Any]]:
    """Return the option `flows` of the module kafka_mirrors for entries of mirror_maker_flows.

    `cluster` is the alias of the target, `residency` are the labels of the data that it may hold. `ca` is the file of
    the control node with this site's CAs, for flows without CAs of their own.
    """
    return [
        {
            "source": flow["source"],
            "target": cluster,
            "client": librdkafka_client(flow, ca),
            "topics": topics_of(flow, residency),
            "topics_exclude": [*INTERNAL, *(flow.get("topics_exclude") or ())],
            "policy": flow.get("policy") or "default",
            "interval": int(heartbeat_interval(flow)),
        }
        for flow in flows
    ]


def mirror_maker_switch_flow(
    flows: Sequence[Mapping[str, Any]], source: str, cluster: str, residency: Sequence[str], ca: str = ""
) -> dict[str, Any]:
    """Return the option `flow` of the module kafka_mirror_switch for the flow from `source`.

    The other arguments are those of mirror_maker_status_flows. Raises AnsibleFilterError if there is no such flow.
    """
    known = {str(flow["source"]): flow for flow in flows}
    if source not in known:
        raise AnsibleFilterError(f"flow={source}: mirror_maker_flows has flows from {', '.join(known)}")
    flow = known[source]
    return {
        **mirror_maker_status_flows([flow], cluster, residency, ca)[0],
        "groups": list(flow.get("groups") or [".*"]),
        "groups_exclude": [*GROUPS_LEFT_OUT, *(flow.get("groups_exclude") or ())],
    }


def mirror_maker_identity_refusals(
    asked: Sequence[Mapping[str, Any]], flows: Sequence[Mapping[str, Any]], cluster: str
) -> list[str]:
    """Return an error text for each reason why flows that keep the names of topics may not start.

    `asked` are the results of the module kafka_mirrors, `flows` the entries of mirror_maker_flows with policy identity,
    `cluster` is the alias of the target.
    """
    return identity_refusals(asked, flows, cluster)


def mirror_switch_lines(positions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the positions of the module kafka_mirror_switch as lines of a table."""
    rows = [
        (
            one["group"],
            one["topic"],
            one["partition"],
            "-" if one["now"] is None else one["now"],
            one["offset"],
            "?" if one["again"] is None else one["again"],
            one["skipped"],
            one["how"],
        )
        for one in positions
    ]
    return table(("group", "topic", "partition", "now", "new", "again", "skips", "by"), rows)


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "mirror_maker_identity_refusals": mirror_maker_identity_refusals,
            "mirror_maker_ineffective": mirror_maker_ineffective,
            "mirror_maker_compared": mirror_maker_compared,
            "mirror_maker_properties": mirror_maker_properties,
            "mirror_maker_status_flows": mirror_maker_status_flows,
            "mirror_maker_switch_flow": mirror_maker_switch_flow,
            "mirror_switch_lines": mirror_switch_lines,
        }
