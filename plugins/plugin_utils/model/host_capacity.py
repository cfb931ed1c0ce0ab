"""Rules on hosts as machines: each is one of its own, and what its processes take together is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_memory import shared_buffers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import LEAST_MEMORY, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import driver_memory
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import LOOPBACK
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import holders
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

SSH = 22
OWN = "127.0.0.1"
ARGUMENTS = ("args", "common_args", "extra_args")
WAY = re.compile(r"\bproxy(jump|command)\b|(^|\s)-[JF]", re.IGNORECASE)  # ssh_config(5), ssh(1)


def twice(model: Model) -> Iterator[Problem]:
    """No two hosts are one machine."""
    local = [machine.name for machine in model.functional if machine.inputs.get("ansible_connection") == "local"]
    if len(local) > 1:
        wrong = "all of them are the control node itself, which would be each of these hosts in turn"
        advice = "leave ansible_connection out, or name one host alone"
        yield Problem(tuple(local), "ansible_connection", "MACHINE_TWICE", "local", wrong, advice)
    places = (
        (place, machine.name)
        for machine in model.functional
        if (place := _reached(machine)) and not (machine.name in local and len(local) > 1)
    )
    for (address, *_), hosts in holders(places).items():
        wrong, advice = "one machine under several names", "give each host the address of its own machine"
        yield Problem(tuple(hosts), "ansible_host", "MACHINE_TWICE", address, wrong, advice)


def _reached(machine: Machine) -> tuple[str, int, str] | None:
    """Return address and port at which SSH finds a host, and its way there; None where that is not SSH's.

    Every address of the loopback is the control node, which may be one of the hosts; behind a proxy it is another's.
    """
    told, connection = str(machine.inputs.get("ansible_host") or ""), machine.inputs.get("ansible_connection")
    if connection == "local":
        return OWN, SSH, ""
    if not told or connection not in (None, "ssh", "smart"):
        return None
    arguments = " ".join(str(machine.inputs.get(f"ansible_ssh_{name}") or "") for name in ARGUMENTS).strip()
    way = arguments if WAY.search(arguments) else ""
    return OWN if LOOPBACK.fullmatch(told) else told, machine.inputs.whole("ansible_port") or SSH, way


def heaps(model: Model) -> Iterator[Problem]:
    """What processes of a host with several functions take for good fits into its memory together."""
    drivers = Counter({node.name: sum(driver_memory(node).values()) for node in model.spark_nodes})
    for machine in model.functional:
        total = size(machine.inputs.get("memory"))
        if total is not None and total < LEAST_MEMORY:
            continue  # said as MEMORY_INVALID
        found = {name: size(machine.inputs.get(name)) or 0 for name in model.input_names(machine, "heaps")}
        if model.is_in("database", machine) and (shared := shared_buffers(machine)):
            found["postgresql_config[shared_buffers]"] = shared
        if drivers[machine.name]:
            found["spark_job_jobs"] = drivers[machine.name]
        if total is not None and len(found) > 1 and sum(found.values()) > total > max(found.values()):
            wrong = f"{' and '.join(found)} take more than that together"
            advice = "use half of it for all of them at most"
            yield machine.problem("memory", "HEAP_SUM", machine.inputs.get("memory"), wrong, advice)


def cases(model: Model) -> Iterator[Problem]:
    """Racks and datacenters that differ in case alone are one place that was written twice."""
    for name in ("datacenter", "rack"):
        written: dict[tuple[str, ...], dict[str, list[str]]] = {}
        for machine in model.functional:
            value = machine.inputs.text(name)
            if value is not None:
                place = (str(machine.datacenter).lower(), value.lower()) if name == "rack" else (value.lower(),)
                written.setdefault(place, {}).setdefault(value, []).append(machine.name)
        for found in written.values():
            if len(found) > 1:
                few = min(reversed(found), key=lambda value: len(found[value]))
                others = ", ".join(sorted(value for value in found if value != few))
                wrong = f"{others} is there as well, and the two are different places to Kafka"
                yield Problem(tuple(found[few]), name, "PLACE_CASE", few, wrong, "write both alike")


def certificates(model: Model) -> Iterator[Problem]:
    """Certificates are for what their holders do: those who connect to one another need both directions."""
    wanted: dict[str, dict[str, set[str]]] = {machine.name: {} for machine in model.cluster}
    for broker in model.brokers:
        for item in broker.encrypted:
            both = item.name == str(broker.inter_broker)
            wanted[broker.name].setdefault(broker.keystore(item), set()).update({"server"}, {"client"} if both else ())
    for server in model.servers:
        if server.speaks_tls:
            wanted[server.name][str(server.inputs.get("zookeeper_keystore"))] = {"server", "client"}
    for machine in model.cluster:
        for entry in machine.certificates:
            usage = entry.get("usage")
            given = {*map(str, usage)} if isinstance(usage, (list, tuple)) and usage else {"server", "client"}
            lacking = " and ".join(sorted(wanted[machine.name].get(str(entry.get("path")), set()) - given))
            if lacking:
                wrong = f"its holder is a {lacking} as well, and peers would refuse it there"
                variable, advice = f"pki_certificates[{entry.get('name')}].usage", "leave usage out: [server, client]"
                yield machine.problem(variable, "CERTIFICATE_PURPOSE", ", ".join(sorted(given)), wrong, advice)
    yield from _owners(model)


def _owners(model: Model) -> Iterator[Problem]:
    subjects: dict[str, list[str]] = {}
    for broker in model.brokers:
        for entry in broker.certificates:
            if broker.zookeeper_keystore and entry.get("path") == broker.zookeeper_keystore:
                subjects.setdefault(str(entry.get("subject")), []).append(broker.name)
    if len(subjects) > 1:
        few = min(subjects, key=lambda subject: len(subjects[subject]))
        wrong = "other brokers come to ZooKeeper with another subject, and may not read one another's znodes"
        advice = "give all brokers one subject, as CN=kafka,OU=zkclients,O=..."
        yield Problem(tuple(subjects[few]), "pki_certificates", "ZOOKEEPER_OWNERS", few, wrong, advice)
