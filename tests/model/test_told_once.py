"""What follows from a wrong word is not said besides it, and the word is named with what is true of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import acl, users
from model.mistakes.base import LAB, THERE, config, kafka, listeners, spoil
from model.mistakes.jobs import PLACE, job
from model.said import check
from model.test_fitting_values import unit
from model.test_meant import MEMORY
from model.test_reached import said
from model.test_said_in_place import MTLS

BUNDLE = {"path": "/etc/kafka/tls/ca.pem", "authorities": ["clients"], "group": "kafka"}
OF_QUOTA = "QUOTA_VALUE group all/kafka_quotas[lab].producer_byte_rate"
SCOPE = "PRUNE_SCOPE group kafka/kafka_prune"
TRANSACTIONS = "transaction.state.log.replication.factor"
OFFSETS = "offsets.topic.replication.factor"


def mapped(rules: Any) -> dict[str, dict[str, Any]]:
    """Return the lab's listeners with other mapping rules between brokers."""
    client, replication = listeners()
    return kafka(kafka_listeners=[client, {**replication, "principal_mapping_rules": rules}])


def super_user(name: str) -> dict[str, dict[str, Any]]:
    """Return one more super user."""
    return kafka(kafka_super_users=["User:kafka-broker", "User:admin", name])


def quota(rate: Any) -> dict[str, dict[str, Any]]:
    """Return a quota of one user."""
    return {"all": {"kafka_quotas": [{"user": "lab", "producer_byte_rate": rate}]}}


def pruned(**scopes: str) -> dict[str, dict[str, Any]]:
    """Return kafka_prune with one name in each scope."""
    return kafka(kafka_prune={"max_deletes": 3, **{key: [name] for key, name in scopes.items()}})


def absent(name: str) -> dict[str, dict[str, Any]]:
    """Return the lab's users; the user `name` has the state absent."""
    variables = users()
    next(user for user in variables["all"]["kafka_users"] if user["name"] == name)["state"] = "absent"
    return variables


def of_hosts(inventory: str, hosts: dict[str, str], folder: Path) -> list[str]:
    """Return the lines of a wrong hosts.yml."""
    problems, lines = check(spoil(folder / "inventory", replace(LAB, inventory=inventory, hosts=hosts)))
    return [
        f"{'warn ' if problem.warning else ''}{line}"
        for problem, line in zip(problems, lines, strict=True)
        if problem.code != "RACK_UNEVEN" or inventory == "stretch3"
    ]


@pytest.mark.parametrize(
    ("inventory", "hosts", "wanted"),
    [
        (  # a host of two groups, each with its jobs
            "dc2",
            {"            dc2-spark2: {client_address: 198.19.11.32}\n":
             "            dc2-spark2: {client_address: 198.19.11.32}\n            dc2-spark3: {}\n"},
            "GROUP_RIVALS dc2-spark3/spark_job_jobs: groups spark_consumer and spark_producer both set this "
            "variable, and spark_producer overrides spark_consumer: the host loses count_words, project_orders; "
            "remove the host from spark_consumer or spark_producer, or set it in one",
        ),
        ("stretch2", {"standby: true": "standbye: true"}, "VARIABLE_SUSPECT dc2-spark2/standbye: nothing of this"),
        ("stretch2", {"{datacenter: dc2}": "{datacentre: dc2}"}, "VARIABLE_SUSPECT group dc2/datacentre: nothing of"),
        ("stretch2", {"    layout: stretch2": "    layot: stretch2"}, "VARIABLE_SUSPECT group all/layot: nothing of"),
        (
            "stretch3",
            {"hosts: {dc2-zk1: {}, dc2-zk2: {}, ": "hosts: {dc2-zk1: {}, dc2-zk2: {}, dc1-kafka3: {}, "},
            "DATACENTER_GROUP dc1-kafka3/datacenter = dc2: the host is in group dc1, which sets dc1, and in group "
            "dc2, which overrides this value; remove the host from dc2 if it is in dc1, else remove it from dc1",
        ),
        (  # and not what of the quorum would be wrong with it
            "stretch3",
            {"hosts: {dc2-zk1: {}, dc2-zk2: {}, ": "hosts: {dc2-zk1: {}, dc2-zk2: {}, dc1-zk2: {}, "},
            "DATACENTER_GROUP dc1-zk2/datacenter = dc2: the host is in group dc1, which sets dc1, and in group dc2",
        ),
    ],
    ids=["jobs", "standby", "place", "layout", "datacenter", "server"],
)  # fmt: skip
def test_of_hosts(inventory: str, hosts: dict[str, str], wanted: str, tmp_path: Path) -> None:
    lines = of_hosts(inventory, hosts, tmp_path)
    assert len(lines) == 1, lines
    assert lines[0].startswith(wanted), lines


def grant(*grants: dict[str, Any]) -> dict[str, Any]:
    """Return the lab's users, that of the job with other grants."""
    found = users()
    found["all"]["kafka_users"][2]["grants"] = [*grants, {"produce": ["streams-wordcount-output"]}]
    return found


CONSUME = {"consume": ["streams-plaintext-input"]}
OF_GRANT = "GRANT_BESIDE group all/kafka_users[count_words].grants[consume]"


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (grant({**CONSUME, "groups": ["spark-kafka-source*"]}),
         f"{OF_GRANT} = groups: has no effect in a grant of consume; did you mean group: spark-kafka-source*?"),
        (grant(CONSUME), "GRANT_LACKS group all/kafka_users[count_words].grants[consume]"),
        (kafka(site_listeners=[{**MTLS, "truststore": BUNDLE["path"]}], site_truststores=[BUNDLE]),
         "CERTIFICATE_DUPLICATE group kafka/site_truststores[0].path = /etc/kafka/tls/ca.pem: two files have"),
        (kafka(site_listeners=[{"name": "EXTRA", "address": "{{ client_address }}", "port": 9095,
                                "protocol": "SASL_SSL", "advertised_address": "{{ inventory_hostname }}.example.org"}]),
         "CERTIFICATE_NAMES group kafka/site_listeners[EXTRA].advertised_address = "
         "{{ inventory_hostname }}.example.org: "),
        (config("listener.name.CLIENT.ssl.client.auth", "required"),
         "KAFKA_PROPERTY_UNKNOWN group kafka/kafka_config[listener.name.CLIENT.ssl.client.auth] = required: "),
        # The true reason.
        (kafka(kafka_class_path=["/opt/metrics/*.jar"]),
         "PATH_SIGNS group kafka/kafka_class_path = /opt/metrics/*.jar: Java expands * to all jars of a folder "
         "only if * is the whole last part of the path; write /opt/metrics/* for all jars of this folder, or"),
        (kafka(kafka_class_path=["/opt/metrics*"]),
         "PATH_SIGNS group kafka/kafka_class_path = /opt/metrics*: Java expands *"),
        (users({"name": "order-writer"}),
         "USER_PASSWORD group all/kafka_users[order-writer].password: the user has no password; "
         "set password: \"{{ vault.passwords['order-writer'] }}\", and"),
        (kafka(kafka_class_path=["lib/*.jar"]), "PATH_RELATIVE group kafka/kafka_class_path = lib/*.jar: not an"),
        (kafka(kafka_class_path=["/*"]), "PATH_SIGNS group kafka/kafka_class_path = /*: all jars in the root of the "
         "file system; put the jars into a folder of their own, and write /opt/plugins/*, or name each jar"),
        (unit(MemoryHigh="0.2G"), "UNIT_MEMORY group kafka/kafka_unit_overrides[Service][MemoryHigh] = 0.2G: less than "
         "the JVM needs (kafka_heap, and 256 MiB more): the kernel would slow the service down more and more; set"),
        (unit(NoNewPrivileges="no"), "warn SANDBOX_OPEN group kafka/kafka_unit_overrides[Service][NoNewPrivileges] = "
         "no: with this value, a compromised service could change more of its host; remove it, or accept_risks"),
        (unit(ProtectHome="no"), "warn SANDBOX_OPEN group kafka/kafka_unit_overrides[Service][ProtectHome] = no: with "
         "this value, a compromised service could change more of its host; remove it, and list the folders that the"),
        (kafka(memory=65536), "MEMORY_INVALID group kafka/memory = 65536: 65536 bytes, because a number without a unit "
         "is in bytes; write it like 65536m"),
        (job(spark={"spark.driver.memory": "4294967296"}), f"JOB_MEMORY {MEMORY} = 4294967296: the JVM reads a number "
         "without a unit as bytes, but Spark as MiB; write 4096m"),
        (job(checkpoint="/var/lib/spark-job/a/../b"), f"JOB_DIRECTORY {PLACE}.checkpoint = /var/lib/spark-job/a/../b: "
         "contains .., which leads elsewhere if a folder before it is a link; write /var/lib/spark-job/b"),
        (kafka(kafka_class_path=["/met*"]), "PATH_SIGNS group kafka/kafka_class_path = /met*: Java expands *"),
        (kafka(kafka_class_path=["/opt/x:/opt/y"]), "PATH_SIGNS group kafka/kafka_class_path = /opt/x:/opt/y: "),
        ({"zookeeper": {"zookeeper_config": {"maxClientCnxns": 1}}},
         "warn ZOOKEEPER_LIMIT group zookeeper/zookeeper_config[maxClientCnxns] = 1: the server"),
        ({"zookeeper": {"zookeeper_java_options": ["-Dzookeeper.snapCount=100"]}},
         "warn ZOOKEEPER_LIMIT group zookeeper/zookeeper_java_options = snapCount=100: "),
        ({"zookeeper": {"zookeeper_java_options": ["-Dzookeeper.forceSync=no"]}},
         "ZOOKEEPER_UNSAFE group zookeeper/zookeeper_java_options = forceSync=no: "),
        (kafka(kafka_config={"ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}),
         "CIPHER_UNFIT group kafka/kafka_config[ssl.cipher.suites] = TLS_AES_256_GCM_SHA384: none of these suites is "
         "for TLSv1.2, the only protocol enabled: no connection could be made; add a suite of TLSv1.2, for example "
         "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, or remove it"),
        ({"all": {"base_sysctl": {"vm.dirty_ratio": 5, "vm.dirty_background_ratio": 10}}},
         "SYSCTL_VALUE group all/base_sysctl[vm.dirty_background_ratio] = 10: not less than vm.dirty_ratio (5): "
         "writers would have to wait before the kernel starts to write; set less than 5"),
        ({"zookeeper": {"zookeeper_class_path": ["/opt/a*/metrics"]}},
         "PATH_SIGNS group zookeeper/zookeeper_class_path = /opt/a*/metrics: Java expands *"),
        ({"all": {"organization": "example (EU)"}},
         "ORGANIZATION_INVALID group all/organization = 'example (EU)': '(' ')': special in the rules that derive "
         "names from subjects (principal_mapping_rules): these would not match; use a name of letters"),
        ({"all": {"organization": "a+b*"}},
         "ORGANIZATION_INVALID group all/organization = 'a+b*': '+' would break the subjects of certificates, and '*': "
         "special in the rules"),
        (config(TRANSACTIONS, 2),
         f"INTERNAL_TOPICS_DIFFER group kafka/kafka_config[{TRANSACTIONS}] = 2: {TRANSACTIONS} is 2, but "
         "default.replication.factor is 3: 2 replicas have to be in sync, so no transaction would begin or end while "),
        # Advice that works when it is followed to the letter.
        (kafka(kafka_super_users="User:kafka-broker;User:admin"),
         "INPUT_NOT_A_LIST group kafka/kafka_super_users = User:kafka-broker;User:admin: text instead of a list; "
         "write it as ['User:kafka-broker', 'User:admin']"),
        (kafka(kafka_super_users=["User:kafka-broker;User:admin"]),
         "SUPER_USER_INVALID group kafka/kafka_super_users = User:kafka-broker;User:admin: several principals in one "
         "entry; write them as ['User:kafka-broker', 'User:admin']"),
        (mapped("RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/,RULE:^CN=([^,]+),OU=admins,O=lab$/$1/"),
         "INPUT_NOT_A_LIST group kafka/kafka_listeners[REPLICATION].principal_mapping_rules = RULE:^CN=[^,]+,"
         "OU=brokers,O=lab$/kafka-broker/,RULE:^CN=([^,]+),OU=admins,O=lab$/$1/: text instead of a list; write it as "
         "['RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/', 'RULE:^CN=([^,]+),OU=admins,O=lab$/$1/']"),
        (mapped(["RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/ RULE:^CN=([^,]+),OU=admins,O=lab$/$1/"]),
         "PRINCIPAL_RULE group kafka/kafka_listeners[REPLICATION].principal_mapping_rules = RULE:^CN=[^,]+,OU=brokers,"
         "O=lab$/kafka-broker/ RULE:^CN=([^,]+),OU=admins,O=lab$/$1/: several rules without commas between them: Kafka "
         "would not start, or would ignore all but the last; write one entry of the list for each rule"),
        (kafka(kafka_super_users="User:CN=b,OU=x, User:kafka-broker User:admin"),
         "INPUT_NOT_A_LIST group kafka/kafka_super_users = User:CN=b,OU=x, User:kafka-broker User:admin: text instead "
         "of a list; write it as ['User:CN=b,OU=x', 'User:kafka-broker', 'User:admin']"),
        (kafka(kafka_class_path="/opt/a/*:/opt/b/*"),
         "INPUT_NOT_A_LIST group kafka/kafka_class_path = /opt/a/*:/opt/b/*: text instead of a list; write it as "
         "[/opt/a/*, /opt/b/*]"),
        (kafka(kafka_java_options="-Xss1m -Da=b,c"),
         "INPUT_NOT_A_LIST group kafka/kafka_java_options = -Xss1m -Da=b,c: text instead of a list; write it as "
         "[-Xss1m, '-Da=b,c']"),
        (kafka(kafka_listeners=listeners(sasl_mechanisms="SCRAM-SHA-512,SCRAM-SHA-256")),
         "INPUT_NOT_A_LIST group kafka/kafka_listeners[CLIENT].sasl_mechanisms = SCRAM-SHA-512,SCRAM-SHA-256: text "
         "instead of a list; write it as [SCRAM-SHA-512, SCRAM-SHA-256]"),
        (super_user("user:ops"),
         "SUPER_USER_INVALID group kafka/kafka_super_users = user:ops: Kafka compares the type with upper and lower "
         "case, and no client would ever be a user; write it as User:ops"),
        (super_user(" User:ops"),
         "SUPER_USER_INVALID group kafka/kafka_super_users = ' User:ops': a blank beside the type or the name, and "
         "runs compare the whole text; write it as User:ops"),
        (super_user("*"), "warn SUPER_USER_EVERYBODY group kafka/kafka_super_users = *: does not match all users"),
        (users({"name": "user:ops", "credential": False}),
         "USER_PREFIX group all/kafka_users[user:ops].name = user:ops: the principal in ACLs would be User:user:ops; "
         "remove the type from the name"),
        (acl(principal=" user :lab"),
         "ACL_PRINCIPAL group all/kafka_acls[ user :lab] = ' user :lab': not a principal of a user: Kafka compares the "
         "whole text, with its prefix User:; write it as User:lab"),
        (acl(principal="User:a; User:b"),
         "ACL_PRINCIPAL group all/kafka_acls[User:a; User:b] = User:a; User:b: several principals, but Kafka compares "
         "the whole text; write one entry for each principal"),
        (super_user(""), "SUPER_USER_INVALID group kafka/kafka_super_users = '': no name of a user; remove the entry"),
        (super_user("User:"), "SUPER_USER_INVALID group kafka/kafka_super_users = User:: no name of a user; remove"),
        (acl(principal="User:"), "ACL_PRINCIPAL group all/kafka_acls[User:] = User:: no name of a user; write it as"),
        (acl(principal="User:ANONYMOUS"),
         "warn ACL_EVERYBODY group all/kafka_acls[User:ANONYMOUS]: every client that connects without a login has"),
        (acl(name="*", pattern="prefixed"),
         "ACL_STAR group all/kafka_acls[User:lab].name = *: with pattern: prefixed, a star is an ordinary character, "
         "which no name has; remove pattern: the name '*' matches all names"),
        (acl(name="*-x"),
         "ACL_STAR group all/kafka_acls[User:lab].name = *-x: a star is no wildcard inside a name: only the name '*' "
         "matches all; write one entry for each name, or name: '*' without pattern for all names"),
        (grant({**CONSUME, "groups": ["a", "b"]}),
         f"{OF_GRANT} = groups: has no effect in a grant of consume; write one grant of consume for each of a, b: "
         "group takes one name"),
        (users({"name": "a*", "credential": False}),
         "USER_PREFIX group all/kafka_users[a*].name = a*: the principal in ACLs would be User:a*; set the name of "
         "one user (for all users: kafka_acls with User:*)"),
        (users(verify="generation", iterations=5000),
         "USER_GENERATION group all/kafka_users[lab].iterations = 5000: the generation is added to it, and another "
         "generation could give the same sum: a run would miss a new password; use a multiple of 1024 from 4096 to"),
        (users(verify="generation", iterations=20000), "USER_ITERATIONS group all/kafka_users[lab].iterations = 20000"),
        (quota(0.4), f"warn {OF_QUOTA} = 0.4: so few bytes per second that requests wait for minutes; write 410KiB"),
        (quota("0.5MiB"), f"{OF_QUOTA} = 0.5MiB: neither a number above 0 nor a size; write the bytes per second"),
        (config("ssl.protocol", "TLSv1"),
         "warn TLS_OLD group kafka/kafka_config[ssl.protocol] = TLSv1: versions of TLS before 1.2 are insecure; use "
         "TLSv1.3 or TLSv1.2, or remove it"),
        ({"all": {"pki_renew_days": 4000}},
         "CERTIFICATE_DAYS group all/pki_renew_days = 4000: certificates are renewed 4000 days before their end, but "
         "the CA itself lasts 3650 days; lower it below pki_days"),
        (kafka(kafka_log_dirs="/data/kafka1 /data/kafka2"),
         "INPUT_NOT_A_LIST group kafka/kafka_log_dirs = /data/kafka1 /data/kafka2: text instead of a list; write it as "
         "[/data/kafka1, /data/kafka2]"),
        ({"all": {"archives": "https://a.example.org"}},
         "WHEEL_ABSENT group spark/spark_job_wheel = https://a.example.org/millrace_jobs-0.1.0-py3-none-any.whl: "
         "a URL, but the wheel of the jobs has to be a file of the control node (default: in the folder archives); "
         "download the wheel, and set spark_job_wheel to its path"),
        (pruned(acls="Group:x"), f"{SCOPE}.acls = Group:x: Kafka knows users only, and compares the whole text; "
         "write it as User:x"),
        (pruned(acls="*-x"), f"{SCOPE}.acls = *-x: a star is a wildcard only at the end of a name; write the prefix "
         "of the principals, for example User:orders-*"),
        (pruned(users="user:alice"), f"{SCOPE}.users = user:alice: users are named without a type here, so nothing "
         "would be deleted; write it as alice"),
        (pruned(users="User:*"), f"{SCOPE}.users = User:*: users are named without a type here, so nothing would be "
         "deleted; write it as orders-*"),
        ({"all": {"ansible_user": "root@dc1-kafka1"}},
         "CONNECTION_WORD group all/ansible_user = root@dc1-kafka1: contains the host dc1-kafka1; write root, and"),
        ({"all": {"base_hosts": [{"address": "198.51.100.7", "names": ["localhost"]}]}},
         "HOSTS_LINE group all/base_hosts[198.51.100.7].names = localhost: every host has this name already"),
        (absent("count_words"),
         "LOGIN_UNKNOWN dc1-spark2/spark_job_jobs[count_words].config.kafka = count_words: kafka_users has this user "
         "with state: absent: a run would delete it; remove state: absent of the user, or log in as another user"),
        (config(OFFSETS, 2),
         f"INTERNAL_TOPICS_DIFFER group kafka/kafka_config[{OFFSETS}] = 2: {OFFSETS} is 2, but "
         "default.replication.factor is 3: a failure that loses no records could lose offsets"),
    ],
)  # fmt: skip
def test_once(variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    assert len(lines) == 1, lines
    assert lines[0].startswith(wanted), lines


def test_all_mistakes_of_an_entry_at_once(tmp_path: Path) -> None:
    """A wrong key or value of an entry hides no other mistake in it."""
    wrong = acl(principal="user:lab", permission="alow", operations=["REDA"], resource="topics", host="10.0.0.0/8")
    wrong["all"]["kafka_topics"] = [*THERE, {"name": "a b", "partitions": 3, "profil": "x"}]
    assert {line.partition(" ")[0] for line in said(wrong, tmp_path)} == {
        "INPUT_REFUSED", "ACL_PRINCIPAL", "ACL_OPERATION", "TOPIC_NAME", "ACL_HOST",
    }  # fmt: skip


def test_values_that_are_right(tmp_path: Path) -> None:
    """Rules that end with DEFAULT, variables of Ansible's plugins, logins with a domain, and forms of checksums."""
    variables = mapped(["RULE:^CN=[^,]+,OU=brokers,O=lab$/kafka-broker/,RULE:^CN=([^,]+),OU=admins,O=lab$/$1/,DEFAULT"])
    names = (
        "ansible_sftp_extra_args ansible_scp_extra_args ansible_scp_executable ansible_sudo_pass ansible_su_pass "
        "ansible_doas_pass ansible_ksu_pass ansible_sesu_pass ansible_sesu_user ansible_incus_executable "
        "ansible_lxc_executable ansible_oc_extra_args ansible_kubectl_password ansible_netconf_password"
    )
    secret = "{{ vault.pki_passphrase }}"
    values = {name: secret if name.endswith(("_pass", "_password")) else "x" for name in names.split()}
    variables["all"] = {**values, "ansible_user": "ops@example.org"}
    variables["kafka"]["kafka_archive_checksum"] = f"SHA512: {'a' * 128}"
    assert said(variables, tmp_path) == []


def test_nobody_is_told_to_log_in_as_the_user_who_may_do_everything(tmp_path: Path) -> None:
    everything = [{"consume": ["*"], "group": "*"}, {"produce": ["*"]}]
    variables = users({"name": "ops", "password": "{{ vault.passwords.generate_orders }}", "grants": everything})
    variables["all"]["kafka_users"][2]["grants"] = [{"produce": ["streams-wordcount-output"]}]
    lines = said(variables, tmp_path)
    assert {line.rpartition("; ")[2] for line in lines} == {
        "grant it to User:count_words in kafka_users, or stop the job"
    }, lines


def test_all_jars_of_a_folder_are_right(tmp_path: Path) -> None:
    assert said(kafka(kafka_class_path=["/opt/metrics/*"]), tmp_path) == []


def test_who_runs_a_job_is_not_judged_by_a_list_that_cannot_be_read(tmp_path: Path) -> None:
    """One host of the two has no word `standby`, and the other is the true one."""
    found = spoil(tmp_path / "inventory", replace(LAB, inventory="dc2"))
    file = found / "group_vars" / "spark_consumer" / "a.yml"
    file.write_text(file.read_text().replace("standby | default(false) | bool", "standby"))
    problems, lines = check(found)
    assert [problem.code for problem in problems if problem.code != "RACK_UNEVEN"] == ["VARIABLE_MISSING"], lines


def test_an_acl_without_a_resource_has_no_name_to_correct(tmp_path: Path) -> None:
    without = {"principal": "User:lab", "operations": ["READ"], "topic": "orders"}
    codes = [line.split()[0] for line in said({"all": {"kafka_acls": [without]}}, tmp_path)]
    assert "INPUT_REFUSED" in codes and "ACL_NAME" not in codes, codes


@pytest.mark.parametrize("certificate", ["admin.pem", "~/pki/admin.pem"])
def test_a_relative_path_of_admin_tls(certificate: str, tmp_path: Path) -> None:
    """Not again of the listeners, whose default has the same files."""
    variables = {"all": {"admin_tls": {"certificate": certificate, "ca": "/srv/ca.pem"}}}
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1]
    assert [line.partition(" = ")[0] for line in lines] == ["PATH_RELATIVE group all/admin_tls[certificate]"], lines
