"""The bytes that brokers hold of a topic."""

from concurrent.futures import ThreadPoolExecutor

from .stretched import Stretched


def digests(cluster: Stretched, topic: str) -> dict[str, dict[str, str]]:
    """Return {partition: {broker: digest of its log}}. Nobody may write meanwhile."""
    hosts = list(cluster.inventory.hosts("kafka"))
    folders = " ".join(cluster.inventory.variables[hosts[0]]["kafka_log_dirs"])
    command = (
        f"for d in $(find {folders} -maxdepth 1 -name '{topic}-*'); do "
        'echo "${d##*-} $(cat $(ls $d/*.log | sort) | sha256sum)"; done'
    )
    with ThreadPoolExecutor(len(hosts)) as pool:
        texts = list(pool.map(lambda host: cluster.inventory.run(host, command), hosts))
    found: dict[str, dict[str, str]] = {}
    for host, text in zip(hosts, texts, strict=True):
        for line in text.splitlines():
            partition, digest, _ = line.split()
            found.setdefault(partition, {})[host] = digest
    return found


def unlike(cluster: Stretched, topic: str) -> list[str]:
    """Return the partitions whose replicas are not of the same bytes, or of which a replica is missing."""
    found, wanted = digests(cluster, topic), cluster.lab.partitions(topic)
    return [
        f"{topic}-{number}: {found.get(str(number))}"
        for number, partition in wanted.items()
        if len(found.get(str(number), {})) != len(partition.replicas) or len(set(found[str(number)].values())) != 1
    ]
