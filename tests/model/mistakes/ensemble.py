"""Wrong inventories: the ZooKeeper ensemble."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, ZK3, Mistake, config, kafka, zookeeper

NO_ZK3 = {ZK3: "", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}"}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "ZOOKEEPER_SINGLE",
        SERVERS,
        "3, 5 or 7 servers",
        hosts={
            **NO_ZK3,
            "        dc1-zk2: {zookeeper_id: 2, client_address: 198.18.1.12, replication_address: 198.18.2.12}\n": "",
            "{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-kafka2: {}}",
        },
    ),
    Mistake(
        "WORDS_UNANSWERED",
        f"{SERVERS}/zookeeper_config[4lw.commands.whitelist]",
        "add mntr",
        variables=zookeeper(zookeeper_config={"4lw.commands.whitelist": ["srvr", "ruok"]}),
    ),
    Mistake("ZOOKEEPER_EVEN", SERVERS, "3, 5 or 7 servers", hosts=NO_ZK3),
    Mistake(
        "ZOOKEEPER_VOTERS_NONE",
        f"{SERVERS}/zookeeper_observers",
        "remove it",
        variables=zookeeper(zookeeper_observers=[1, 2, 3]),
    ),
    Mistake(
        "ZOOKEEPER_MANY",
        SERVERS,
        "zookeeper_observers",
        hosts={
            ZK3: ZK3
            + "".join(
                f"        dc1-zk{n}: {{zookeeper_id: {n}, "
                f"client_address: 198.18.1.{60 + n}, replication_address: 198.18.2.{60 + n}}}\n"
                for n in range(4, 10)
            )
        },
    ),
    Mistake(
        "ZOOKEEPER_GROUPS_MISSING",
        "zookeeper_groups",
        "one group for each datacenter",
        variables=zookeeper(zookeeper_groups={}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_DATACENTER_MAJORITY",
        SERVERS,
        "no datacenter holds half",
        hosts={
            "        dc3-zk1:": (
                "        dc1-zk2: {zookeeper_id: 4, client_address: 198.18.55.14, replication_address: 198.18.56.14, "
                "datacenter: dc1}\n"
                "        dc1-zk3: {zookeeper_id: 5, client_address: 198.18.55.15, replication_address: 198.18.56.15, "
                "datacenter: dc1}\n"
                "        dc3-zk1:"
            )
        },
        inventory="lab_stretch3",
    ),
    Mistake(
        "ZOOKEEPER_OBSERVER_UNKNOWN",
        f"{SERVERS}/zookeeper_observers",
        "the zookeeper_id of a server",
        variables=zookeeper(zookeeper_observers=[9]),
    ),
    Mistake(
        "ZOOKEEPER_GROUP_NAME",
        f"{SERVERS}/zookeeper_groups",
        "use numbers as keys",
        variables=zookeeper(zookeeper_groups={"west": [1, 2, 3], 2: [4, 5, 6]}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_DECISIVE",
        f"{SERVERS}/zookeeper_weights",
        "remove zookeeper_weights, and give each datacenter a group",
        variables=zookeeper(zookeeper_weights={4: 0, 5: 0, 6: 0}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_RACK_MAJORITY",
        "group rack_a/rack",
        "no rack holds half",
        hosts={
            "hosts: {dc1-zk1: {}, dc1-kafka1: {}}": "hosts: {dc1-zk1: {}, dc1-zk2: {}, dc1-kafka1: {}}",
            "hosts: {dc1-zk2: {}, dc1-kafka2: {}}": "hosts: {dc1-kafka2: {}}",
        },
    ),
    Mistake(
        "ZOOKEEPER_LIMIT",
        f"{SERVERS}/zookeeper_config[syncLimit]",
        "set at least 2",
        variables=config("syncLimit", 1, "zookeeper"),
    ),
    Mistake(
        "BUFFER_DIFFERS",
        f"{BROKERS}/kafka_java_options",
        "set -Djute.maxbuffer=10485760 here",
        variables=zookeeper(zookeeper_java_options=["-Djute.maxbuffer=10485760"]),
    ),
    Mistake(
        "ZOOKEEPER_INDISPENSABLE",
        f"{SERVERS}/zookeeper_weights[7]",
        "remove zookeeper_weights",
        variables=zookeeper(zookeeper_weights={7: 0}),
        inventory="lab_stretch2_5",
    ),
    Mistake(
        "ZOOKEEPER_WEIGHT_UNKNOWN",
        f"{SERVERS}/zookeeper_weights[9]",
        "the zookeeper_id of a server",
        variables=zookeeper(zookeeper_weights={9: 2}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_WEIGHT_RANGE",
        f"{SERVERS}/zookeeper_weights[1]",
        "set a weight",
        variables=zookeeper(zookeeper_weights={1: -1}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_UNKNOWN",
        f"{SERVERS}/zookeeper_groups[2]",
        "the zookeeper_id of a server",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4, 5, 9]}),
        inventory="lab_stretch2",
        also=frozenset({"ZOOKEEPER_GROUP_NONE"}),
    ),
    Mistake(
        "ZOOKEEPER_GROUP_OBSERVER",
        f"{SERVERS}/zookeeper_groups[2]",
        "from the group",
        variables=zookeeper(zookeeper_observers=[6], zookeeper_groups={1: [1, 2, 3], 2: [4, 5, 6]}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_NONE",
        f"{SERVERS}/zookeeper_groups",
        "the group of its datacenter",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4, 5]}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_TWICE",
        f"{SERVERS}/zookeeper_groups",
        "from all groups but one",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [3, 4, 5]}),
        inventory="lab_stretch2",
        also=frozenset({"ZOOKEEPER_GROUP_NONE"}),
    ),
    Mistake(
        "ZOOKEEPER_GROUP_EVEN",
        f"{SERVERS}/zookeeper_groups[1]",
        "odd number",
        variables=zookeeper(zookeeper_groups={1: [1, 2], 2: [4, 5]}, zookeeper_observers=[3, 6]),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_SIZES",
        f"{SERVERS}/zookeeper_groups",
        "the same number",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3], 2: [4]}, zookeeper_observers=[5, 6]),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_GROUP_MIXED",
        f"{SERVERS}/zookeeper_groups[1]",
        "one group for each datacenter",
        variables=zookeeper(zookeeper_groups={1: [1, 2, 3, 4], 2: [5, 6]}),
        inventory="lab_stretch2",
    ),
    Mistake(
        "ZOOKEEPER_SERVERS_DIFFER",
        "dc1-zk2/zookeeper_servers",
        "for the group, not for a host",
        variables={"dc1-zk2": {"zookeeper_observers": [3]}},
    ),
    Mistake(
        "ZOOKEEPER_SERVER_MISSING",
        f"{SERVERS}/zookeeper_servers",
        "add its id",
        variables=zookeeper(zookeeper_servers={1: "198.18.2.11", 2: "198.18.2.12"}),
    ),
    Mistake(
        "ZOOKEEPER_SERVER_UNKNOWN",
        f"{SERVERS}/zookeeper_servers",
        "remove this id",
        variables=zookeeper(zookeeper_servers={1: "198.18.2.11", 2: "198.18.2.12", 3: "198.18.2.13", 4: "198.18.2.14"}),
    ),
    Mistake(
        "ZOOKEEPER_SERVER_ADDRESS",
        f"{SERVERS}/zookeeper_servers[3]",
        "its replication_address",
        variables=zookeeper(zookeeper_servers={1: "198.18.2.11", 2: "198.18.2.12", 3: "198.18.2.33"}),
    ),
    Mistake(
        "ZOOKEEPER_SESSION_RANGE",
        f"{SERVERS}/zookeeper_config[minSessionTimeout]",
        "set it to at most 6000",
        variables=config("minSessionTimeout", 90000, "zookeeper"),
    ),
    Mistake(
        "SESSION_TIMEOUT",
        f"{BROKERS}/kafka_config[zookeeper.session.timeout.ms]",
        "in that range",
        variables=config("zookeeper.session.timeout.ms", 60000),
    ),
    Mistake(
        "SERVERS_DIFFER",
        "dc1-zk2/zookeeper_config[tickTime]",
        "for the group zookeeper",
        variables={"dc1-zk2": {"zookeeper_config": {"tickTime": 3000}}},
    ),
    Mistake(
        "UNREGISTERED_EARLY",
        f"{BROKERS}/kafka_unregistered_timeout",
        "at least 12 seconds",
        variables=kafka(kafka_unregistered_timeout=6),
    ),
    Mistake(
        "ZOOKEEPER_WEIGHTS_IDLE",
        f"{SERVERS}/zookeeper_weights",
        "set zookeeper_groups",
        variables=zookeeper(zookeeper_weights={1: 2}),
    ),
)
