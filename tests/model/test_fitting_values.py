"""Values that products take one by one, and that undo one another, or what they are for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, batched, judge
from model.mistakes.base import JOB, listeners
from model.mistakes.databases import settings
from model.mistakes.jobs import job
from model.test_meant import KAFKA, PLACE, SPARK, SYSCTL, config, kernel, reported, said, topics
from model.test_values import service

USERS = ("count_words", "lab", "publish_lines")
UNIT, JAVA = "group kafka/kafka_unit_overrides[Service]", "group kafka/kafka_java_options"
CIPHERS = f"CIPHER_UNFIT {KAFKA}[ssl.cipher.suites]"
OF_ALL = "group spark_consumer/spark_job_unit_overrides[Service]"
OF_ONE = "group spark_consumer/spark_job_jobs[count_words].unit_overrides[Service]"
GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
PARTNERS = {"name": "PARTNERS", "address": "{{ client_address }}", "port": 9095, "protocol": "SASL_SSL"}


def java(*options: str) -> dict[str, Any]:
    """Return options of brokers."""
    return {"kafka": {"kafka_java_options": list(options)}}


def unit(**settings: Any) -> dict[str, Any]:
    """Return a drop-in of brokers."""
    return {"kafka": service(**settings)}


def denied(of_all: dict[str, Any], of_one: dict[str, Any]) -> dict[str, Any]:
    """Return the drop-ins of all jobs and of one."""
    one = {**JOB, "unit_overrides": {"Service": of_one}}
    return {"spark_consumer": {"spark_job_unit_overrides": {"Service": of_all}, "spark_job_jobs": [one]}}


def keystore(function: str, name: str, password: str = "{{ vault.pki_passphrase }}") -> dict[str, Any]:
    """Return a keystore of a function that somebody else puts there."""
    path = f"/etc/{function}/tls/{name}"
    return {function: {f"{function}_keystore": path, f"{function}_keystore_password": password}}


def rule(text: str) -> dict[str, Any]:
    """Return a listener more, by which a rule maps certificates."""
    return {"kafka": {"site_listeners": [{**PARTNERS, "principal_mapping_rules": [text]}]}}


@pytest.mark.parametrize(
    "batches",
    batched([
        # Suites that Java has, for what is spoken.
        (config(ssl_cipher_suites=f"TLS_AES_256_GCM_SHA384,{GCM}"), []),
        (config(ssl_cipher_suites="TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384"), []),  # disabled, and known
        (config(ssl_cipher_suites="TLS_RSA_WITH_AES_128_CBC_SHA,SSL_RSA_WITH_3DES_EDE_CBC_SHA"),
         [f"warn CIPHER_WEAK {KAFKA}[ssl.cipher.suites]"]),
        # Of another provider, which somebody has to bring.
        (config(ssl_cipher_suites="TLS_RSA_WITH_CAMELLIA_256_CBC_SHA"), [f"warn {CIPHERS}"]),
        (config(ssl_cipher_suites="TLS_RSA_WITH_CHACHA20_POLY1305_SHA256"), [f"warn {CIPHERS}"]),
        (config(ssl_cipher_suites="TLS_RSA_WITH_CAMELLIA_256_CBC_SHA", ssl_provider="BCJSSE"), []),
        (config(ssl_cipher_suites=GCM, ssl_enabled_protocols="TLSv1.3"), [CIPHERS]),
        (config(ssl_cipher_suites="TLS_AES_256_GCM_SHA384", ssl_enabled_protocols="TLSv1.2"), [CIPHERS]),
        (config(ssl_cipher_suites="TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA385"), [CIPHERS]),
        ({"zookeeper": {"zookeeper_config": {"ssl.ciphersuites": GCM, "ssl.enabledProtocols": "TLSv1.3"}}},
         ["CIPHER_UNFIT group zookeeper/zookeeper_config[ssl.ciphersuites]"]),
        (config(zookeeper_ssl_cipher_suites="TLS_AES_256_GCM_SHA384"),
         [f"CIPHER_UNFIT {KAFKA}[zookeeper.ssl.cipher.suites]"]),
        (config(zookeeper_ssl_cipher_suites="TLS_AES_256_GCM_SHA384", zookeeper_ssl_protocol="TLSv1.3"), []),
        (config(zookeeper_ssl_cipher_suites=GCM), []),
        # Rules for certificates.
        (rule("RULE:^CN=[^,]+,OU=partners,O=lab$/$1/"),
         ["PRINCIPAL_RULE group kafka/site_listeners[PARTNERS].principal_mapping_rules"]),
        (rule("RULE:^CN=([^,]+),OU=partners,O=lab$/partner-$1/L"), []),
        (rule(r"RULE:^CN=svc(.*)$/cost\$1/"), []),  # escaped
        (rule(r"RULE:^CN=svc.*$/cost\$9/"), []),
        (rule(r"RULE:^CN=svc(.*)$/cost\$9/"),  # which Kafka escapes once more
         ["PRINCIPAL_RULE group kafka/site_listeners[PARTNERS].principal_mapping_rules"]),
        # Options of Java.
        (java("-Xss128k"), [f"OPTION_FORM {JAVA}"]),
        (java("-Xss512k"), []),
        (java("-Xss0"), []),  # as much as it takes by itself
        (java("-javaagent:jmx.jar=7071:a.yml"), [f"OPTION_FORM {JAVA}"]),
        (java("-javaagent:/opt/jmx.jar=7071:/etc/a.yml"), []),
        (java("-Dx='a"), [f"OPTION_FORM {JAVA}"]),
        (java('-Dx="a b'), [f"OPTION_FORM {JAVA}"]),
        (java(r"-Da=it\'s -Dhome=${HOME} -Dsite.pattern=\s+ '-Dx=a b'"), []),
        (java("-XX:MaxDirectMemorySize=1m"), [f"BUFFERS_SMALL {JAVA}"]),
        (java("-XX:MaxDirectMemorySize=0"), []),  # as much as the heap
        # Units.
        (unit(ExecStartPost="/bin/sh -c 'a"), [f"UNIT_VALUE {UNIT}[ExecStartPost]"]),
        (unit(Environment='A="b c'), [f"UNIT_VALUE {UNIT}[Environment]"]),
        (unit(Environment="A=1\nNice=5"), [f"UNIT_VALUE {UNIT}[Environment]"]),
        (unit(Environment=["A=1\n", 'B="b c"']), []),
        (unit(Nice="5\nNice=40"), [f"UNIT_VALUE {UNIT}[Nice]"]),
        (unit(CPUAffinity="all"), [f"UNIT_VALUE {UNIT}[CPUAffinity]"]),
        (unit(CPUAffinity="0-3 8", AllowedCPUs="0,2-5", ProtectHome="tmpfs"), []),
        (unit(ProtectHome="maybe"), [f"UNIT_VALUE {UNIT}[ProtectHome]"]),
        (unit(NUMAMask="all", AllowedCPUs="0-3,", CPUAffinity="numa", ProtectHome="Yes"), []),
        (unit(NUMAMask="0-1", CPUAffinity="0,,2", ProtectHome="TRUE"), []),
        (unit(NUMAMask="numa"), [f"UNIT_VALUE {UNIT}[NUMAMask]"]),
        (unit(AllowedCPUs="all"), [f"UNIT_VALUE {UNIT}[AllowedCPUs]"]),
        (unit(AllowedCPUs="numa"), [f"UNIT_VALUE {UNIT}[AllowedCPUs]"]),
        (unit(CPUAffinity="3-0"), [f"UNIT_VALUE {UNIT}[CPUAffinity]"]),
        (unit(ProtectHome="Read-Only"), [f"UNIT_VALUE {UNIT}[ProtectHome]"]),
        (unit(TasksMax=50), [f"UNIT_STOPS {UNIT}[TasksMax]"]),
        (unit(TasksMax="50%"), []),
        (unit(MemoryMax="40.4G"), []),
        (unit(MemoryMax="6G 600M"), []),
        (unit(MemoryMax="0.2G"), [f"UNIT_MEMORY {UNIT}[MemoryMax]"]),
        (unit(MemoryMax="lots"), [f"UNIT_VALUE {UNIT}[MemoryMax]"]),
        (unit(LimitAS="8G:16G"), []),
        (unit(LimitAS="200M:16G"), [f"UNIT_MEMORY {UNIT}[LimitAS]"]),
        (unit(LimitAS="infinity:infinity"), []),
        (unit(NoExecPaths="/data"), []),
        (unit(NoExecPaths="/", ExecPaths="/usr"), []),
        (unit(NoExecPaths="/"), [f"UNIT_STOPS {UNIT}[NoExecPaths]"]),
        (unit(RestrictAddressFamilies="~AF_INET6"), []),
        (unit(RestrictAddressFamilies="~AF_INET6 AF_INET"), [f"UNIT_STOPS {UNIT}[RestrictAddressFamilies]"]),
        (unit(RestrictAddressFamilies="none"), [f"UNIT_STOPS {UNIT}[RestrictAddressFamilies]"]),
        ({"kafka": {"kafka_unit_overrides": {"Unit": {"StartLimitIntervalSec": "0s", "StartLimitBurst": 5}}}}, []),
        # One line for each nested directory, which names the nearest directory around it.
        ({"kafka": {"kafka_log_dirs": ["/data/a", "/data/a/b", "/data/a/b/c"]}},
         ["LOG_DIRS_NESTED group kafka/kafka_log_dirs", "LOG_DIRS_NESTED group kafka/kafka_log_dirs"]),
        ({"kafka": {"kafka_log_dirs": ["/data/a", "/data/a/", "/data/a/b"]}},
         ["LOG_DIRS_DUPLICATE group kafka/kafka_log_dirs", "LOG_DIRS_NESTED group kafka/kafka_log_dirs"]),
        ({"zookeeper": {"zookeeper_unit_overrides": {"Service": {"TasksMax": 200}}}}, []),
        ({"zookeeper": {"zookeeper_unit_overrides": {"Service": {"TasksMax": 50}}}},
         ["UNIT_STOPS group zookeeper/zookeeper_unit_overrides[Service][TasksMax]"]),
        (unit(IPAddressDeny="any"), [f"UNIT_STOPS {UNIT}[IPAddressDeny]"]),
        (unit(IPAddressDeny="any", IPAddressAllow=["198.18.1.0/24", "198.18.2.0/24"]), []),
        (unit(IPAddressDeny="0.0.0.0/0 ::/0"), [f"UNIT_STOPS {UNIT}[IPAddressDeny]"]),
        (unit(IPAddressDeny=["0.0.0.0/1", "128.0.0.0/1"]), [f"UNIT_STOPS {UNIT}[IPAddressDeny]"]),
        (unit(IPAddressDeny="::/0"), []),  # nobody here has such an address
        (unit(IPAddressDeny=["any", ""]), []),  # taken back
        (denied({"IPAddressDeny": "any"}, {"IPAddressAllow": "198.18.0.0/16 localhost"}), []),
        (denied({"IPAddressDeny": "any"}, {"CPUQuota": "50%"}), [f"UNIT_STOPS {OF_ALL}[IPAddressDeny]"]),
        (denied({"IPAddressAllow": "198.18.0.0/16"}, {"IPAddressDeny": "any"}), []),
        (denied({}, {"IPAddressDeny": "any"}), [f"UNIT_STOPS {OF_ONE}[IPAddressDeny]"]),
        (denied({"IPAddressDeny": "any"}, {"IPAddressDeny": ""}), []),
        # What is forgotten while it is in use.
        (config(transactional_id_expiration_ms=60000), [f"LIMIT_MEANT {KAFKA}[transactional.id.expiration.ms]"]),
        (config(transactional_id_expiration_ms=60000, transaction_max_timeout_ms=60000), []),
        (config(producer_id_expiration_ms=60000), [f"LIMIT_MEANT {KAFKA}[producer.id.expiration.ms]"]),
        (config(connections_max_reauth_ms=60), [f"warn LIMIT_MEANT {KAFKA}[connections.max.reauth.ms]"]),
        (config(connections_max_reauth_ms=0), []),
        # What Kafka compares.
        (config(group_consumer_heartbeat_interval_ms=50000),
         [f"PROPERTY_ORDER {KAFKA}[group.consumer.heartbeat.interval.ms]"]),
        (config(queued_max_request_bytes=1048576), [f"PROPERTY_ORDER {KAFKA}[queued.max.request.bytes]"]),
        (config(queued_max_request_bytes=-1), []),
        (config(queued_max_request_bytes=0), []),  # no limit either
        (config(replica_lag_time_max_ms=-1), [f"PROPERTY_ORDER {KAFKA}[replica.lag.time.max.ms]"]),
        # Topics.
        (topics({"retention.ms": 7}), [f"TOPIC_TIME_MEANT {PLACE}.config[retention.ms]"]),
        (topics({"local.retention.ms": "1d"}), [f"warn TOPIC_RETENTION {PLACE}.config[local.retention.ms]"]),
        (topics({"segment.index.bytes": "1KiB"}), [f"warn TOPIC_INDEX_SMALL {PLACE}.config[segment.index.bytes]"]),
        (topics({"segment.index.bytes": "1MiB"}), []),
        # The kernel.
        (kernel(net__ipv4__tcp_rmem="4096"), [f"SYSCTL_VALUE {SYSCTL}[net.ipv4.tcp_rmem]"]),
        (kernel(net__ipv4__tcp_rmem="4096 87380 16777216"), []),
        (kernel(**{"fs__file-max": 1000}), [f"SYSCTL_VALUE {SYSCTL}[fs.file-max]"]),
        (kernel(vm__overcommit_memory=2), [f"warn SYSCTL_UNFIT {SYSCTL}[vm.overcommit_memory]"]),
        # Jobs run in one process.
        (job(spark={"spark.executor.memory": "8g"}), [f"warn JOB_SPARK_SUSPECT {SPARK}[spark.executor.memory]"]),
        (job(spark={"spark.executor.heartbeatInterval": "20s"}), []),
        (job(spark={"spark.local.dir": "/var/lib/spark-job/count_words/checkpoint/tmp"}),
         [f"JOB_CHECKPOINT_DATA {SPARK}[spark.local.dir]"]),
        (job(spark={"spark.local.dir": "/var/lib/spark-job/tmp, /var/lib/spark-job/count_words/checkpoint/tmp"}),
         [f"JOB_CHECKPOINT_DATA {SPARK}[spark.local.dir]"]),
        (job(spark={"spark.local.dir": "/var/lib/spark-job/tmp,/var/lib/spark-job/count_words/tmp"}), []),
        # Waits, and what may stand still.
        ({"kafka": {"kafka_stop_timeout": 5}}, ["warn STOP_TIMEOUT_SHORT group kafka/kafka_stop_timeout"]),
        ({"kafka": {"kafka_restart_accepts": ["ordres"]}}, ["warn RESTART_ACCEPTS group kafka/kafka_restart_accepts"]),
        ({"kafka": {"kafka_restart_accepts": ["streams-*", "__consumer_offsets"]}}, []),
        # A topic that a client makes may be called almost as one that is declared.
        ({"kafka": {"kafka_restart_accepts": ["streams-plaintext-inputs"]}},
         ["warn RESTART_ACCEPTS group kafka/kafka_restart_accepts"]),
        # Names.
        ({"rack_b": {"rack": "b "}}, ["PLACE_BLANK group rack_b/rack"]),
        ({"rack_b": {"kafka_rack": "b "}}, ["PLACE_BLANK group rack_b/kafka_rack"]),
        ({"dc1-kafka1": {"datacenter": "dc1 "}}, ["PLACE_BLANK dc1-kafka1/datacenter"]),
        ({"zookeeper": {"zookeper_heap": "1g"}}, ["VARIABLE_SUSPECT group zookeeper/zookeper_heap"]),
        ({"kafka": {"kafka2_heap": "6g", "kafkaui_port": 9000}}, []),  # of somebody else
        # The control node may be one of the hosts, under any of its own addresses; it is not two of them.
        *[({"dc1-kafka1": {"ansible_host": name}}, []) for name in ("127.0.0.1", "127.0.1.1", "localhost", "::1")],
        ({"dc1-kafka1": {"ansible_host": "127.0.0.1"}, "dc1-kafka2": {"ansible_host": "localhost"}},
         ["MACHINE_TWICE dc1-kafka1, dc1-kafka2/ansible_host"]),
        ({"dc1-kafka1": {"ansible_host": "127.0.0.1"}, "dc1-kafka2": {"ansible_host": "127.1.2.3"}},
         ["MACHINE_TWICE dc1-kafka1, dc1-kafka2/ansible_host"]),
        ({"dc1-kafka1": {"ansible_connection": "local"},
          "dc1-kafka2": {"ansible_host": "::1", "ansible_ssh_common_args": "-o ConnectTimeout=5"}},
         ["MACHINE_TWICE dc1-kafka1, dc1-kafka2/ansible_host"]),
        ({"dc1-kafka1": {"ansible_host": "127.0.0.1", "ansible_port": 2222}, "dc1-kafka2": {"ansible_host": "::1"}},
         []),  # forwarded
        ({"dc1-kafka1": {"ansible_host": "127.0.0.1", "ansible_ssh_common_args": "-o ProxyJump=jump1"},
          "dc1-kafka2": {"ansible_host": "127.0.0.1", "ansible_ssh_extra_args": "-J jump2"}}, []),
        ({f"dc1-kafka{number}": {"ansible_host": "10.0.0.1",
                                 "ansible_ssh_common_args": f"-o ProxyCommand='ssh -W %h:%p site{number}'"}
          for number in (1, 2)}, []),
        ({name: {"ansible_host": "10.0.0.1", "ansible_ssh_common_args": "-J jump"} for name in ("dc1-zk1", "dc1-zk2")},
         ["MACHINE_TWICE dc1-zk1, dc1-zk2/ansible_host"]),
        # Keystores.
        ({"kafka": {"kafka_keystore": "/etc/kafka/tls/keystore.p12"}},
         ["KEYSTORE_FORM group kafka/kafka_keystore_password"]),
        ({"kafka": {"kafka_keystore": "/etc/kafka/tls/keystore.jks"}},
         ["KEYSTORE_FORM group kafka/kafka_keystore_password"]),
        (keystore("kafka", "keystore.pfx"), ["warn KEYSTORE_UNKNOWN group kafka/kafka_keystore"]),
        (keystore("kafka", "keystore.jks"), ["warn KEYSTORE_UNKNOWN group kafka/kafka_keystore"]),
        (keystore("kafka", "broker.crt", ""), ["warn KEYSTORE_UNKNOWN group kafka/kafka_keystore"]),
        (keystore("zookeeper", "k.jks"), ["warn KEYSTORE_UNKNOWN group zookeeper/zookeeper_keystore"]),
        (keystore("zookeeper", "server.crt", ""), ["warn KEYSTORE_UNKNOWN group zookeeper/zookeeper_keystore"]),
        (keystore("zookeeper", "k.p12", ""), ["KEYSTORE_FORM group zookeeper/zookeeper_keystore_password"]),
        ({"zookeeper": {**keystore("zookeeper", "k.p12", "")["zookeeper"],
                        "zookeeper_config": {"ssl.keyStore.passwordPath": "/etc/zookeeper/tls/p",
                                             "ssl.quorum.keyStore.passwordPath": "/etc/zookeeper/tls/p"}}},
         ["warn KEYSTORE_UNKNOWN group zookeeper/zookeeper_keystore"]),
        ({"kafka": {"site_listeners": [{**PARTNERS, "keystore": "/etc/kafka/tls/partners.p12"}]}},
         ["KEYSTORE_FORM group kafka/kafka_keystore_password"]),
        ({"kafka": {"kafka_zookeeper_keystore": "/etc/kafka/tls/zookeeper.p12"}},
         ["KEYSTORE_FORM group kafka/kafka_zookeeper_keystore"]),
        ({"kafka": {"kafka_zookeeper_keystore": "/etc/kafka/tls/zookeeper.p12", "kafka_fencing": False,
                    "kafka_config": {"zookeeper.ssl.keystore.type": "PKCS12",
                                     "zookeeper.ssl.keystore.password": "{{ vault.pki_passphrase }}"}}},
         ["warn KEYSTORE_UNKNOWN group kafka/kafka_zookeeper_keystore"]),
        # What fences a broker reads PEM alone.
        *[({"kafka": {"kafka_fencing": fencing, "kafka_config": {f"zookeeper.ssl.{store}.type": kind}}}, said)
          for store in ("truststore", "keystore") for fencing, kind, said in (
              (True, "JKS", [f"KEYSTORE_FORM group kafka/kafka_config[zookeeper.ssl.{store}.type]"]),
              (True, "pem", []), (False, "JKS", []))],
    ]),
)  # fmt: skip
def test_of_hosts(batches: Batches, tmp_path: Path) -> None:
    """The mistake is said where it is made; what is meant is not said at all."""
    judge(batches, reported, tmp_path)


def test_a_disk_that_fills_up_slowly(tmp_path: Path) -> None:
    found = said(tmp_path, settings(autovacuum=False, shared_buffers="32MB"), "lab_orders")
    assert found == ["warn DATABASE_UNSAFE group all/postgresql_config[autovacuum]"]


@pytest.mark.parametrize(
    ("inventory", "variables", "wanted"),
    [
        ("lab", {"all": {"replication_network": "198.18.1.0/24"}}, ["NETWORK_OVERLAP client_network"]),
        ("lab", {"all": {"client_network": "198.18.1.0/28"}}, ["NETWORK_ELSEWHERE group all/client_network"]),
        ("lab_stretch3", {"dc1-kafka1": {"kafka_rack": "a"}}, ["RACK_ODD dc1-kafka1/kafka_rack"]),
        ("lab_stretch2", {"zookeeper": {"zookeeper_groups": {1: [1, 2, 3], 2: [4, 5]}}},
         ["ZOOKEEPER_GROUP_NONE group zookeeper/zookeeper_groups"]),
        ("dc1", {"all": {"security_profile": "plaintext"}}, ["SECURITY_PLAINTEXT group all/security_profile"]),
        # Who takes the one risk has not taken the other.
        ("dc1", {"all": {"security_profile": "plaintext", "accept_risks": ["SECURITY_PLAINTEXT"]}},
         [*(f"LISTENER_PLAINTEXT group kafka/kafka_listeners[{name}]" for name in ("CLIENT", "REPLICATION")),
          "warn SECURITY_PLAINTEXT group all/security_profile"]),
        ("dc1", {"kafka": {"site_firewall_rules": [{"port": 9093, "from": ["0.0.0.0/0"]}]}},
         ["FIREWALL_OPEN group kafka/site_firewall_rules[9093]"]),
        ("lab", {"kafka": {"site_firewall_rules": [{"port": 9100, "from": "192.0.2"}]}},
         ["INPUT_NOT_A_LIST group kafka/site_firewall_rules[9100].from"]),
        ("lab", {"dc1-kafka1": {"kafka_config_overrides": {"min.insync.replicas": 1}}},
         ["PROPERTY_TWICE dc1-kafka1/kafka_config_overrides[min.insync.replicas]"]),
        ("lab", job(output_topic="streams-plaintext-input"),
         ["JOB_CONFIG group spark_consumer/spark_job_jobs[count_words].config"]),
        ("lab", {"kafka": {"kafka_heap": "64g", "memory": "32g"}}, ["HEAP_MEMORY group kafka/kafka_heap"]),
        ("lab", {"all": {"kafka_listeners": listeners(sasl_mechanisms=["SCRAM-SHA-256"])}},
         [f"USER_MECHANISM group kafka/kafka_users[{user}].mechanism" for user in USERS]),
    ],
)  # fmt: skip
def test_one_word_is_one_mistake(inventory: str, variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    """What follows from it is not said as well."""
    ours = [line for line in said(tmp_path, variables, inventory) if not line.startswith("warn RACK_UNEVEN")]
    assert [line for line in ours if not line.startswith("warn DICT_REPLACED")] == wanted


@pytest.mark.parametrize(
    "batches",
    batched([
        # PostgreSQL's manual advises it, and no JVM runs there.
        ({"database": {"base_sysctl": {"vm.overcommit_memory": 2, "vm.overcommit_ratio": 95}}}, []),
        ({"database": {"base_sysctl": {"vm.overcommit_memory": 2}}}, []),
        ({"kafka": {"base_sysctl": {"vm.overcommit_memory": 2, "vm.overcommit_ratio": 80}}},
         ["warn SYSCTL_UNFIT group kafka/base_sysctl[vm.overcommit_memory]"]),
        ({"kafka": {"base_sysctl": {"vm.overcommit_memory": 2, "vm.overcommit_ratio": 100}}}, []),
        ({"kafka": {"base_sysctl": {"vm.overcommit_memory": 2, "vm.overcommit_kbytes": 67108864}}}, []),
        # Connections are processes, as many as the site has: no number of ours.
        ({"database": {"postgresql_unit_overrides": {"Service": {"TasksMax": 200}}}}, []),
        # A variable of the site's own, beside ours.
        ({"database": {"postgres_version": "15", "postgresql_version": "15"}},
         ["warn VARIABLE_SUSPECT group database/postgres_version"]),
    ]),
)  # fmt: skip
def test_of_hosts_with_a_database(batches: Batches, tmp_path: Path) -> None:
    judge(batches, partial(reported, inventory="lab_orders"), tmp_path)
