"""Rules on how brokers find the ensemble, and clients the brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..definitions import Definitions
from ..problems import Problem
from .base import Model
from .properties import judged


def zookeeper_connect(model: Model) -> Iterator[Problem]:
    """Brokers are told of servers that exist, of all of them or of a whole datacenter's, and of a proper chroot."""
    addresses: dict[str, str] = {}
    for server in model.zookeeper:
        for name in ("client_address", "replication_address"):
            if model.get(server, name) is not None:
                addresses |= {f"{model.get(server, name)}:{port}": server for port in model.zookeeper_ports(server).values()}
    for host in model.kafka:
        entries = [str(entry) for entry in model.sequence(host, "kafka_zookeeper_connect")]
        for entry in entries:
            if addresses and entry not in addresses:
                yield Problem(
                    (host,),
                    "kafka_zookeeper_connect",
                    "ZOOKEEPER_CONNECT_UNKNOWN",
                    entry,
                    "no declared ZooKeeper server listens there",
                    "name address:port of the group zookeeper",
                )
        known = {addresses[entry] for entry in entries if entry in addresses}
        missing = [server for server in model.zookeeper if server not in known]
        own = [server for server in model.zookeeper if model.get(server, "datacenter") == model.get(host, "datacenter")]
        if known and missing and (model.layout == "single" or not own or known != set(own)):
            yield Problem(
                (host,),
                "kafka_zookeeper_connect",
                "ZOOKEEPER_CONNECT_PARTIAL",
                None,
                f"the broker is not told of {', '.join(missing)}, and loses its session when the others are down",
                "name every server",
                warning=True,
            )
        chroot = model.get(host, "kafka_zookeeper_chroot")
        if isinstance(chroot, str) and (chroot and (not chroot.startswith("/") or chroot.endswith("/") or "//" in chroot)):
            yield Problem((host,), "kafka_zookeeper_chroot", "CHROOT_INVALID", chroot, "no path of a znode", "write it as /kafka")


def bootstrap(model: Model) -> Iterator[Problem]:
    """Clients are told of listeners that exist."""
    advertised = set()
    for host in model.kafka:
        for item in model.listeners(host):
            advertised.add(f"{item.get('advertised_address') or item.get('address')}:{item.get('advertised_port') or item.get('port')}")
    if not advertised or any("kafka_listeners" not in model.hosts[host] for host in model.kafka):
        return  # what is missing is reported as such
    for host in model.function_hosts:
        places: list[tuple[str, Any]] = [("kafka_client", model.get(host, "kafka_client"))]
        listeners = model.mapping(host, "kafka_admin_listeners") if host in model.kafka else {}
        places += [(f"kafka_admin_listeners[{name}]", settings) for name, settings in listeners.items()]
        for variable, settings in places:
            servers = settings.get("bootstrap.servers") if isinstance(settings, Mapping) else None
            for entry in str(servers).split(",") if servers else []:
                if entry.strip() not in advertised:
                    known = entry.strip().rpartition(":")[0] in {told.rpartition(":")[0] for told in advertised}
                    yield Problem(
                        (host,),
                        f"{variable}[bootstrap.servers]",
                        "BOOTSTRAP_UNKNOWN",
                        entry.strip(),
                        "no declared broker advertises it",
                        "name address:port of a listener",
                        warning=not known,
                    )


def client_properties(model: Model) -> Iterator[Problem]:
    """The site's client settings are Kafka's own, and wait for every acknowledgement."""
    version = next((str(model.get(host, "kafka_version")) for host in model.kafka), None)
    if version is None:
        return
    definitions = Definitions.load("kafka", version)
    for host in model.function_hosts:
        settings = model.mapping(host, "kafka_client")
        yield from judged(model, host, definitions, "client", "kafka_client", settings, "CLIENT")
        yield from _acks(host, "kafka_client", settings)
        for job in model.sequence(host, "spark_job_jobs") if host in model.spark else []:
            config = job.get("config") if isinstance(job, Mapping) else None
            own = config.get("kafka") if isinstance(config, Mapping) else None
            if isinstance(own, Mapping):
                mine = {name: value for name, value in own.items() if settings.get(name) != value}
                variable = f"spark_job_jobs[{job.get('name')}].config.kafka"
                yield from judged(model, host, definitions, "client", variable, mine, "CLIENT")
                yield from _acks(host, variable, mine)


def _acks(host: str, variable: str, settings: Mapping[str, Any]) -> Iterator[Problem]:
    if settings.get("acks") is not None and str(settings["acks"]) not in ("all", "-1"):
        yield Problem(
            (host,),
            f"{variable}[acks]",
            "ACKS_NOT_ALL",
            settings["acks"],
            "records are reported as stored before they are safe",
            "leave it out, or use all",
        )


def jobs(model: Model) -> Iterator[Problem]:
    """The name of a job is the name of its unit on the node, and its checkpoint is its own."""
    for host in model.spark:
        entries = [job for job in model.sequence(host, "spark_job_jobs") if isinstance(job, Mapping)]
        names = [job.get("name") for job in entries]
        for name in sorted({str(n) for n in names if n and names.count(n) > 1}):
            yield Problem((host,), "spark_job_jobs", "JOB_DUPLICATE", name, "two jobs of that name on one node", "give each a name of its own")
        seen: dict[str, str] = {}
        for job in entries:
            config = job.get("config")
            checkpoint = str(config.get("checkpoint") or "") if isinstance(config, Mapping) else ""
            if checkpoint and checkpoint in seen and seen[checkpoint] != str(job.get("name")):
                yield Problem(
                    (host,),
                    f"spark_job_jobs[{job.get('name')}].config.checkpoint",
                    "JOB_CHECKPOINT",
                    checkpoint,
                    f"job {seen[checkpoint]} has the same, and each would take the other's progress for its own",
                    "give each job a checkpoint of its own",
                )
            elif checkpoint:
                seen[checkpoint] = str(job.get("name"))
