"""Wrong inventories: functions, ids, datacenters and racks."""

from __future__ import annotations

from model.mistakes.base import BROKERS, ZK3, Mistake, kafka

ENSEMBLE = "    zookeeper:\n      hosts:\n" + "".join(
    f"        dc1-zk{n}: {{zookeeper_id: {n}, client_address: 198.18.1.1{n}, replication_address: 198.18.2.1{n}}}\n"
    for n in (1, 2, 3)
)
MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "HOST_WITHOUT_FUNCTION",
        "dc1-kafka4",
        "rename the group kafak to kafka",
        hosts={"    rack_a:\n": "    kafak:\n      hosts: {dc1-kafka4: {client_address: 198.18.1.24}}\n    rack_a:\n"},
    ),
    Mistake(
        "FUNCTIONS_NONE",
        "the whole inventory",
        "rename the group brokers to kafka, create a group spark with the children spark_producer and ",
        hosts={"    zookeeper:\n": "    zk:\n", "    kafka:\n": "    brokers:\n", "    spark:\n": "    jobs:\n"},
    ),
    Mistake(
        "HOST_CASE",
        "dc1-kafka1, dc1-KAFKA1",
        "rename all but one",
        hosts={"        dc1-kafka2:": "        dc1-KAFKA1:", "dc1-kafka2: {}": "dc1-KAFKA1: {}"},
    ),
    Mistake(
        "HOST_GROUP",
        "rack_b",
        "rename the host",
        hosts={"        dc1-kafka2:": "        rack_b:", "dc1-kafka2: {}": "rack_b: {}"},
    ),
    Mistake(
        "HOST_NAME",
        "dc1*kafka2",
        "rename the host in the inventory",
        hosts={"        dc1-kafka2:": "        dc1*kafka2:", "dc1-kafka2: {}": "dc1*kafka2: {}"},
    ),
    Mistake(
        "HOST_LOCAL",
        "localhost",
        "another name in the inventory",
        hosts={"        dc1-kafka2:": "        localhost:", "dc1-kafka2: {}": "localhost: {}"},
    ),
    Mistake(
        "ORGANIZATION_INVALID",
        "group all/organization",
        "for example Example Inc.",
        variables={"all": {"organization": "Example, Inc."}},
    ),
    Mistake(
        "PKI_DIRECTORY_DIFFERS",
        "dc1-kafka2/pki_directory",
        "set it once",
        variables={"dc1-kafka2": {"pki_directory": "/srv/millrace-pki/dc2"}},
    ),
    Mistake(
        "GROUP_EMPTY",
        "group zookeeper",
        "declare the ZooKeeper servers",
        hosts={"    zookeeper:\n": "    quorum:\n"},
        also=frozenset({"HOST_WITHOUT_FUNCTION"}),
    ),
    Mistake(
        "ENSEMBLE_ELSEWHERE",
        "group kafka/kafka_zookeeper_connect",
        "hosts of the group zookeeper",
        hosts={ENSEMBLE: "", "{dc1-zk1: {}, ": "{", "{dc1-zk2: {}, ": "{", "{dc1-zk3: {}, ": "{"},
        variables={"kafka": {"kafka_zookeeper_connect": [f"192.0.2.{number}:2281" for number in (1, 2, 3)]}},
    ),
    Mistake(
        "COLOCATED",
        "dc1-kafka3",
        "allow_colocated: true",
        hosts={ZK3: "        dc1-kafka3: {zookeeper_id: 3}\n", "{dc1-zk3: {}, dc1-kafka3: {}}": "{dc1-kafka3: {}}"},
    ),
    Mistake("KAFKA_ID_MISSING", "dc1-kafka2/kafka_broker_id", "an id of its own", hosts={"kafka_broker_id: 2, ": ""}),
    Mistake(
        "KAFKA_ID_RANGE",
        "dc1-kafka2/kafka_broker_id",
        "an id of its own",
        hosts={"kafka_broker_id: 2": "kafka_broker_id: 2147483648"},
    ),
    Mistake(
        "KAFKA_ID_DUPLICATE",
        "dc1-kafka1, dc1-kafka2/kafka_broker_id",
        "an id of its own",
        hosts={"kafka_broker_id: 2": "kafka_broker_id: 1"},
    ),
    Mistake("ZOOKEEPER_ID_MISSING", "dc1-zk2/zookeeper_id", "an id of its own", hosts={"zookeeper_id: 2, ": ""}),
    Mistake(
        "ZOOKEEPER_ID_RANGE", "dc1-zk2/zookeeper_id", "an id of its own", hosts={"zookeeper_id: 2": "zookeeper_id: 0"}
    ),
    Mistake(
        "ZOOKEEPER_ID_DUPLICATE",
        "dc1-zk1, dc1-zk3/zookeeper_id",
        "an id of its own",
        hosts={"zookeeper_id: 3": "zookeeper_id: 1"},
    ),
    Mistake(
        "DATACENTER_MISSING",
        "groups zookeeper and kafka/datacenter",
        "a group of hosts",
        hosts={"    datacenter: dc1\n": ""},
    ),
    Mistake(
        "DATACENTER_TYPO",
        "dc2-spark1/datacenter",
        "did you mean dc1?",
        inventory="lab_stretch2",
        variables={"dc2-spark1": {"datacenter": "dc11"}},
    ),
    Mistake(
        "DATACENTER_GROUP",
        "dc2-spark1/datacenter",
        "remove the host from group dc2",
        inventory="lab_stretch2",
        variables={"dc2-spark1": {"datacenter": "dc1"}},
    ),
    Mistake(
        "LAYOUT_DATACENTERS",
        "layout",
        "correct layout or datacenter",
        hosts={"layout: stretch2": "layout: stretch3"},
        inventory="lab_stretch2",
    ),
    Mistake(
        "DATACENTER_WITHOUT_ZOOKEEPER",
        "group dc3/datacenter",
        "servers in each datacenter with brokers",
        inventory="lab_stretch3",
        variables={"dc3-zk1": {"datacenter": "dc2"}},
        also=frozenset({"DATACENTER_GROUP", "ZOOKEEPER_DATACENTER_MAJORITY"}),
    ),
    Mistake(
        "RACK_MISSING",
        "dc1-kafka2/kafka_rack",
        "rack_* group",
        hosts={"{dc1-zk2: {}, dc1-kafka2: {}}": "{dc1-zk2: {}}"},
    ),
    Mistake(
        "RACK_TWICE",
        "dc1-kafka2/rack",
        "remove the host",
        hosts={"dc1-zk1: {}, dc1-kafka1: {}}": "dc1-zk1: {}, dc1-kafka1: {}, dc1-kafka2: {}}"},
    ),
    Mistake(
        "RACK_SINGLE",
        f"{BROKERS}/kafka_rack",
        "failure domain of each host",
        variables=kafka(kafka_rack="{{ datacenter }}"),
    ),
    Mistake(
        "CLIENT_RACK",
        "group spark/client_rack",
        "set client_rack to the kafka_rack of near brokers",
        variables={"spark": {"client_rack": "dc9"}},
        inventory="lab_stretch3",
    ),
    Mistake("RACK_UNEVEN", f"{BROKERS}/kafka_rack", "at least 3 racks", variables={"dc1-kafka3": {"rack": "b"}}),
    Mistake(
        "RACK_TOO_MANY",
        "kafka_rack",
        "use the datacenter as the rack",
        inventory="stretch2",
        variables=kafka(kafka_rack="{{ inventory_hostname }}"),
        also=frozenset({"CLIENT_RACK"}),
    ),
    Mistake(
        "RACK_IN_TWO_DATACENTERS",
        "dc1-kafka1, dc2-kafka1/kafka_rack",
        "begin the name of each rack with its datacenter, for example dc1-a",
        inventory="lab_stretch2",
        variables={
            "dc1-kafka1": {"kafka_rack": "a"},
            "dc2-kafka1": {"kafka_rack": "a"},
            "dc1-kafka2": {"kafka_rack": "b"},
            "dc2-kafka2": {"kafka_rack": "c"},
        },
        also=frozenset({"CLIENT_RACK"}),
    ),
    Mistake(
        "NUMBER_OTHER",
        "dc1-kafka2/kafka_broker_id",
        "write 10",
        hosts={"kafka_broker_id: 2,": "kafka_broker_id: 010,"},
    ),
    Mistake(
        "RACK_ODD",
        "dc1-kafka2/kafka_rack",
        "set it to dc1",
        inventory="stretch2",
        variables={"dc1-kafka2": {"kafka_rack": "dc-1"}},
    ),
    Mistake(
        "RACK_TYPO",
        "dc1-kafka3/rack",
        "did you mean south?",
        variables={
            "dc1-kafka1": {"rack": "north"},
            "dc1-zk1": {"rack": "north"},
            "dc1-kafka2": {"rack": "south"},
            "dc1-zk2": {"rack": "south"},
            "dc1-kafka3": {"rack": "soutth"},
            "dc1-zk3": {"rack": "south"},
        },
    ),
    Mistake(
        "RACK_GROUP",
        "dc1-zk1/rack",
        "remove this line",
        inventory="dc1",
        variables={"dc1-zk1": {"rack": "c"}},
    ),
    Mistake(
        "RACK_SAME",
        "group rack_b/rack",
        "give each rack its own name",
        hosts={"vars: {rack: b}": "vars: {rack: a}"},
    ),
    Mistake("KEEPER_UNKNOWN", "group all/admin_keeper", "did you mean", variables={"all": {"admin_keeper": "dc1-zk9"}}),
    Mistake("SITE_DIFFERS", "dc1-zk3/promise", "for all hosts", variables={"dc1-zk3": {"promise": "available"}}),
)
