#!/usr/bin/python
"""Decides whether a datacenter of a stretched cluster is lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils.host.network import reach
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disaster import (
    DEGRADED,
    LOWERED,
    NO_DISASTER,
    STATES,
    Decision,
    Seen,
    Server,
    decide,
    out_of_sync,
    remaining,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.min_isr import KEY, fewest_replicas
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.module import KafkaModule
from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import OwnFileError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import OPTIONS, Wait, now, rest, waiting
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import state

DOCUMENTATION = """
module: kafka_disaster
short_description: Decide whether a datacenter of a stretched cluster is lost
version_added: "1.0.0"
description:
  - Asks every ZooKeeper server (C(srvr)), connects to every broker, makes one write with C(acks=all), and decides
    whether the outage ends by itself, whether a failover is possible, or whether it is forbidden.
  - Uses the metadata of brokers only to see which brokers are registered and which topics reject writes, and only if
    ZooKeeper has a leader. Without a quorum, brokers report the leaders, in-sync replicas and the controller from
    before the outage.
  - The write commits an offset of the consumer group C(millrace-probe), which no consumer uses, to
    C(__consumer_offsets). It changes nothing else.
  - Cannot distinguish a lost datacenter from one that only this host cannot reach. Look from inside each datacenter
    before a failover.
options:
  servers:
    description: >-
      By name of each ZooKeeper server, C(address), C(datacenter), C(votes) (false for an observer), and C(group) in a
      hierarchical ensemble.
    type: dict
    required: true
  port: {type: int, default: 2281, description: Client port of every ZooKeeper server.}
  tls:
    description: "As in M(millrace.kafka.zookeeper_ensemble). Empty for a plaintext port."
    type: dict
    default: {}
  brokers:
    description: "By name of each broker, C(address) and C(port) of a listener, C(datacenter) and C(id)."
    type: dict
    required: true
  admin: {type: dict, required: true, description: "Client properties of a super user, with librdkafka's names."}
  min_isr: {type: int, default: 1, description: Value to which a failover would lower C(min.insync.replicas).}
  taken_over: {type: str, default: "", description: The datacenter that has taken over already; empty for none.}
  failover_state:
    description: >-
      State of the record of the failover to O(taken_over). V(ensemble): the failover was interrupted before it lowered
      C(min.insync.replicas); V(lowered): it did; V(returning): the failback has begun.
    type: str
    choices: [ensemble, lowered, returning]
    default: lowered
  timeout:
    description: >-
      Seconds to wait until writes succeed. During a failover, also until no topic rejects writes. A cut or an election
      can take 60 s to heal. 0 decides at once.
    type: int
    default: 0
  probe_timeout: {type: int, default: 5, description: Seconds within which the write has to be acknowledged.}
extends_documentation_fragment: [millrace.kafka.waits]
attributes:
  check_mode: {description: Decides as usual., support: full}
  diff_mode: {description: Returns no diff., support: none}
requirements: [confluent-kafka]
seealso:
  - {module: millrace.kafka.zookeeper_ensemble}
author: [Millrace developers]
"""

EXAMPLES = """
- name: Decide whether a datacenter is lost
  millrace.kafka.kafka_disaster:
    servers:
      dc1-zk1: {address: 198.18.1.11, datacenter: dc1}
      dc2-zk1: {address: 198.18.1.12, datacenter: dc2}
    port: 2181
    brokers:
      dc1-kafka1: {address: 198.18.1.21, port: 9092, datacenter: dc1, id: 1}
      dc2-kafka1: {address: 198.18.1.22, port: 9092, datacenter: dc2, id: 2}
    admin: {bootstrap.servers: "198.18.1.21:9092,198.18.1.22:9092"}
    timeout: 60
  delegate_to: localhost
  run_once: true
"""

RETURN = """
verdict:
  description: >-
    V(no disaster), V(degraded) (writes succeed), V(heals by itself), V(failover possible), V(failover forbidden) or
    V(unknown).
  type: str
  returned: success
  sample: failover possible
reason: {description: What was seen., type: str, returned: success, sample: no host of dc1 answers}
advice: {description: What to do., type: str, returned: success, sample: nothing to do}
survivors:
  description: Datacenters that could take over.
  type: list
  elements: str
  returned: success
  sample: [dc2]
modes:
  description: Mode of each ZooKeeper server.
  type: dict
  returned: success
  sample: {dc1-zk1: down, dc2-zk1: not serving}
answering:
  description: Brokers whose listener accepts connections.
  type: list
  elements: str
  returned: success
  sample: [dc2-kafka1]
registered:
  description: >-
    Brokers that are registered, as the metadata of a broker list them; null if no broker reports them. Without a
    quorum, these are the brokers from before the outage.
  type: list
  elements: str
  returned: success
  sample: [dc2-kafka1]
silent:
  description: Datacenters in which no host of a ZooKeeper server or broker answers or refuses a connection.
  type: list
  elements: str
  returned: success
  sample: [dc1]
rejecting:
  description: >-
    Topics that reject writes although the write succeeded, because the replicas of a lost datacenter are out of sync.
  type: list
  elements: str
  returned: success
  sample: [orders]
probe:
  description: >-
    Why the write failed, or was not made because C(__consumer_offsets) does not exist; empty if it was acknowledged.
  type: str
  returned: success
  sample: no answer in time
waiting:
  description: >-
    C(what) the module waits for, its C(timeout) in seconds, and C(waited) for the next call.
  type: dict
  returned: with O(pause), if the wait continues
  sample: {what: [no host of dc1 answers], timeout: 60, waited: {begun: 8123.4}}
"""

GROUP = "millrace-probe"
PLACE = ("__consumer_offsets", 0)


@dataclass(frozen=True)
class Probe:
    """What one write returned: why it failed, '' if it did not; the other fields are those of Seen."""

    why: str
    registered: Collection[int] | None = None
    rejecting: Collection[str] = ()
    helped: Collection[str] = ()
    unwritten: bool = False


def probe(properties: Mapping[str, Any], seconds: float, places: Mapping[int, str], to: int) -> Probe:
    """Write one record with acks=all: an offset of the group `millrace-probe`. `places` is {broker: its datacenter}.

    Then read which topics reject writes, and whether min.insync.replicas = `to` would help. Without the topic of
    offsets, and with brokers missing, nothing is written: it could not be created. Raises ClientError for invalid
    properties, ImportError without confluent-kafka.
    """
    admin = Admin(properties, seconds)
    there, why = _metadata(admin, seconds), ""
    unwritten = there is not None and PLACE[0] not in there.topics and not {*places} <= {*there.brokers}
    if unwritten:
        why = f"{PLACE[0]} does not exist, and cannot be created while brokers are missing"
    else:
        try:
            why = groups.commit(admin, {GROUP: {PLACE: 0}}).get(GROUP, "")
        except AdminError as error:
            why = str(error)
        # Sessions can have expired while the write waited for the replicas in sync. After a write that timed out,
        # another request can abort librdkafka.
        there = there if why else _metadata(admin, seconds) or there
    if there is None or (why and not unwritten):
        return Probe(why, there.brokers if there else None)
    rejecting: dict[str, bool] = {}
    with suppress(AdminError):
        rejecting = reject(admin, there, places, to)
    return Probe(why, there.brokers, [*rejecting], [name for name, helps in rejecting.items() if helps], unwritten)


def _metadata(admin: Admin, seconds: float) -> Metadata | None:
    """Return the metadata of the cluster; None without an answer."""
    try:
        return admin.look(seconds)
    except AdminError:
        return None


def reject(admin: Admin, there: Metadata, places: Mapping[int, str], to: int) -> dict[str, bool]:
    """Return {topic that rejects writes: whether it accepts them with min.insync.replicas = `to`}, sorted.

    The other arguments are those of `probe`. Raises AdminError.
    """
    fewest = out_of_sync([(one.topic, one.replicas, one.isr) for one in there.partitions], there.brokers, places)
    placed = [(one.topic, one.replicas) for one in there.partitions]
    replicas = fewest_replicas(placed, remaining(there.brokers, places))
    found = {}
    for name, settings in sorted(topics.describe(admin, "TOPIC", fewest).items()):
        if KEY in settings and fewest[name] < int(settings[KEY].value or 0):
            found[name] = min(to, replicas.get(name, to)) <= fewest[name]
    return found


def look(options: Mapping[str, Any]) -> Seen:
    """Ask all servers and brokers at the same time, and make the write; `options` are the module's."""
    servers, brokers = options["servers"], options["brokers"]
    with ThreadPoolExecutor(len(servers) + 2) as pool:
        ids = {one["id"]: one["datacenter"] for one in brokers.values() if "id" in one}
        written = pool.submit(probe, options["admin"], options["probe_timeout"], ids, options["min_isr"])
        places = {**brokers, **{name: {**one, "port": options["port"]} for name, one in servers.items()}}
        reached = pool.submit(reach, places.values())
        asked = {
            name: pool.submit(state, {name: one["address"]}, options["port"], options["tls"])
            for name, one in servers.items()
        }
        modes = {name: future.result()[name] for name, future in asked.items()}
        ports = {name: reached.result()[f"{one['address']}:{one['port']}"] for name, one in places.items()}
    done = written.result()
    there = {name for name, one in brokers.items() if one.get("id") in (done.registered or ())}
    return Seen(
        {
            name: Server(one["datacenter"], modes[name], bool(one.get("votes", True)), one.get("group"))
            for name, one in servers.items()
        },
        {name: one["datacenter"] for name, one in brokers.items()},
        [name for name in brokers if ports[name] == "open"],
        done.why,
        [name for name, port in ports.items() if port == "refused"],
        None if done.registered is None else sorted(there),
        done.rejecting,
        done.helped,
        done.unwritten,
        options["taken_over"],
        options["failover_state"],
    )


def main() -> None:
    """Run as an Ansible module."""
    module = KafkaModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "port": {"type": "int", "default": 2281},
            "tls": {"type": "dict", "default": {}},
            "brokers": {"type": "dict", "required": True},
            "admin": {"type": "dict", "required": True},
            "min_isr": {"type": "int", "default": 1},
            "taken_over": {"type": "str", "default": ""},
            "failover_state": {"type": "str", "choices": [*STATES], "default": LOWERED},
            "timeout": {"type": "int", "default": 0},
            "probe_timeout": {"type": "int", "default": 5},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    this = Wait(module.params["timeout"], module.params["pause"], module.params["waited"].get("begun"))
    started = now()
    while True:
        try:
            seen = look(module.params)
        except ImportError as error:
            module.fail_json(msg=missing_required_lib(error.name or "confluent-kafka"))
        except (ClientError, OwnFileError) as error:
            module.fail_json(msg=f"nothing was asked: {error}")
        decision = decide(seen)
        if done(seen, decision) or this.left() <= 0:
            module.exit_json(changed=False, **result(seen, decision))
        if module.params["pause"] and now() >= started + this.part:
            module.exit_json(changed=False, waiting=waiting([decision.reason], this.timeout, begun=this.begun))
        rest(1)


def done(seen: Seen, decision: Decision) -> bool:
    """Tell whether to wait no longer. Shortly after a failover, topics reject writes until replicas are in sync."""
    return decision.verdict in (NO_DISASTER, DEGRADED) and not (seen.taken_over and seen.rejecting)


def result(seen: Seen, decision: Decision) -> dict[str, Any]:
    """Return the module's result for what was seen and the decision."""
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "advice": decision.advice,
        "survivors": list(decision.survivors),
        "modes": {name: one.mode for name, one in seen.servers.items()},
        "answering": list(seen.answering),
        "registered": None if seen.registered is None else list(seen.registered),
        "silent": seen.silent(),
        "rejecting": list(seen.rejecting),
        "probe": seen.probe,
    }


if __name__ == "__main__":
    main()
