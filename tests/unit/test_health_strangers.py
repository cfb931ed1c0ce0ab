"""Who is there and is not in the inventory, on the page of check.yml."""

from unit.healthy import cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import page


def test_a_broker_that_is_not_in_the_inventory() -> None:
    """It is a row of its own while it is registered, and named with what it holds and how to go on."""
    found = cluster() | {"undeclared": {"4": 12, "5": 0, "6": 3}}
    for number in ("4", "5"):
        found["brokers"][number] = {"rack": "dc1-c", "CLIENT": f"10.0.1.2{number}:9092"}
    found["leaders"] |= {"4": 0, "5": 0}
    text, problems = page(declared(), probes(), found)
    assert problems == [
        "broker 4 is registered (CLIENT://10.0.1.24:9092) but not in the inventory, and has 12 replicas: add its "
        "host to the group kafka again; or move its replicas to the others (reassign.yml -e drain=4 -e rate=50MB), "
        "then stop and disable its kafka.service",
        "broker 5 is registered (CLIENT://10.0.1.25:9092) but not in the inventory, and has no replicas: stop and "
        "disable its kafka.service, or add its host to the group kafka again",
        "broker 6 is neither in the inventory nor registered, but 3 partitions have a replica on it: add its "
        "host to the group kafka again, or move its replicas to the others (reassign.yml -e drain=6 -e rate=50MB)",
    ]
    assert "\n  4   -       dc1-c  CLIENT://10.0.1.24:9092 " in text


def test_a_zookeeper_server_that_is_not_in_the_inventory() -> None:
    """Only the leader sees it."""
    answers = probes()
    answers["zk2"]["zookeeper_undeclared"] = 1
    assert page(declared(), answers, cluster())[1] == [
        "ZooKeeper on zk2, the leader, serves 1 server that the inventory does not have: stop and disable "
        "zookeeper.service there, or add the host to the group zookeeper again (`ss -tn` on zk2 shows the connections)"
    ]
