"""Stretched sites, records of a failover, and results of kafka_disaster, for the tests of failover and failback."""

from typing import Any

GROUPS = {
    "zookeeper": ["dc1-zk1", "dc1-zk2", "dc1-zk3", "dc2-zk1", "dc2-zk2", "dc2-zk3"],
    "kafka": ["dc1-kafka1", "dc1-kafka2", "dc2-kafka1", "dc2-kafka2"],
}
WITNESS = {**GROUPS, "zookeeper": [*GROUPS["zookeeper"], "dc3-zk1"]}
FILE = "/pki/failover.json"
AT = "20281128T120000Z"
NEW = f"{AT}-dc2"
"""The name of a failover to dc2 that begins at AT."""
LOCK: dict[str, Any] = {
    "survivor": "dc2",
    "lost": ["dc1"],
    "fenced": "power",
    "started": "2026-11-28 12:00:00 UTC",
    "name": "20261128T120000Z",
    "state": "separated",
    "hosts": ["dc2-zk1", "dc2-zk2"],
    "unfenced": [],
}
VALUES = {"default": "", "topics": {"orders": "3"}}
SAVED = {**LOCK, "state": "lowered", "min_isr": VALUES}
ENDED = {**SAVED, "state": "ended", "hosts": []}
LATER = {**LOCK, "survivor": "dc1", "lost": ["dc2"], "name": "20271128T120000Z", "hosts": ["dc1-zk1"]}
"""A failover to the other datacenter, one year later."""
STATES = ("separated", "ensemble", "lowered", "returning", "ended")


def site(lock: str = "", layout: str = "stretch2", groups: dict[str, list[str]] = GROUPS) -> dict[str, Any]:
    hostvars: dict[str, Any] = {}
    for number, host in enumerate(groups["zookeeper"], 1):
        hostvars[host] = {
            "zookeeper_id": number,
            "client_address": f"198.18.51.1{number}",
            "host_addresses": [f"198.18.51.1{number}", f"198.18.52.1{number}"],
            "zookeeper_observers": [3],
            "zookeeper_secure_client_port": 2281,
        }
    for number, host in enumerate(groups["kafka"], 1):
        hostvars[host] = {
            "kafka_broker_id": number,
            "client_address": f"198.18.51.2{number}",
            "host_addresses": [f"198.18.51.2{number}"],
            "kafka_inter_broker_listener": "REPLICATION",
            "kafka_listeners": [{"name": "REPLICATION", "address": f"198.18.52.2{number}", "port": 9093}],
            "kafka_replication_factor": 4,
        }
    return {
        host: {**variables, "datacenter": host[:3], "layout": layout, "failover_lock": lock}
        for host, variables in hostvars.items()
    }


def with_witness() -> dict[str, Any]:
    """Return the variables of a site with a witness."""
    hostvars = site(layout="stretch2_5", groups=WITNESS)
    for host in WITNESS["zookeeper"]:
        hostvars[host]["zookeeper_observers"] = []
    return hostvars


def in_state(state: str) -> dict[str, Any]:
    lock = {**LOCK, "state": state, **({"min_isr": VALUES} if state in STATES[2:] else {})}
    return {**lock, "hosts": []} if state == "ended" else lock


WITH_QUORUM = {
    **dict.fromkeys(["dc1-zk1", "dc1-zk2", "dc1-zk3"], "down"),
    "dc2-zk1": "leader",
    **dict.fromkeys(["dc2-zk2", "dc2-zk3", "dc3-zk1"], "follower"),
}


def looked(**changes: Any) -> dict[str, Any]:
    """Return a result of kafka_disaster after the loss of dc1, with changes."""
    return {
        "verdict": "failover possible",
        "reason": "REASON",
        "advice": "ADVICE",
        "survivors": ["dc2"],
        "modes": WITH_QUORUM,
        "answering": ["dc2-kafka1", "dc2-kafka2"],
        "registered": ["dc2-kafka1", "dc2-kafka2"],
        **changes,
    }
