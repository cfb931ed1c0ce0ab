"""Numbers that YAML reads as others: said where they are written, and only then."""

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import ansible_internals
from model.mistakes.base import LAB, spoil
from model.said import check
from model.test_reached import PARTNERS

PROTOCOL = "inter.broker.protocol.version"
TEXT = ": YAML reads this text as a number, and the text would become "


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "kafka_unit_overrides: {Service: {UMask: 0027}}",
            "kafka_unit_overrides[Service][UMask] = 0027: YAML reads a number with a leading 0 in base 8, here as 23",
        ),
        (
            "kafka_config: {socket.request.max.bytes: 1:40:00}",
            "kafka_config[socket.request.max.bytes] = 1:40:00: YAML reads it as 6000",
        ),
        (
            "kafka_users: [{name: lab, password: '{{ vault.passwords.lab }}', iterations: 010000}]",
            "kafka_users[lab][iterations] = 010000: YAML reads a number with a leading 0 in base 8, here as 4096",
        ),
        (
            "kafka_config: {inter.broker.protocol.version: 3.10}",
            f"kafka_config[inter.broker.protocol.version] = 3.10{TEXT}",
        ),
        ("kafka_topics: [{name: 1.10, partitions: 3}]", f"kafka_topics[1.1][name] = 1.10{TEXT}"),
        ("kafka_topics: [{name: 007, partitions: 3}]", f"kafka_topics[7][name] = 007{TEXT}"),
        ("kafka_topics: [{name: &a 1.10, partitions: 3}]", f"kafka_topics[1.1][name] = 1.10{TEXT}"),
        ("kafka_topics: [{name: !!float 1.10, partitions: 3}]", f"kafka_topics[1.1][name] = 1.10{TEXT}"),
        ("kafka_topics:\n- name: 1_000\n  partitions: 3", f"kafka_topics[1000][name] = 1_000{TEXT}"),
        ("kafka_topics: [{partitions: 3, name: 0x1F}]", f"kafka_topics[31][name] = 0x1F{TEXT}"),
        ("kafka_quotas: [{client_id: +5, producer_byte_rate: 1_000_000}]", f"kafka_quotas[0][client_id] = +5{TEXT}"),
        ("spark_job_jobs: [{name: 0b11, config: {}}]", f"spark_job_jobs[3][name] = 0b11{TEXT}"),
        ("rack: 1.0e+1", f"rack = 1.0e+1{TEXT}"),
        ("kafka_topics: [{name: '1.10', partitions: 0_3}, {name: 12, partitions: 3}, {name: 1.5, partitions: 3}]", ""),
        ("kafka_unit_overrides: {Service: {UMask: '0027'}}", ""),
        ("kafka_limit_nofile: 100_000", ""),
        ("kafka_limit_nofile: 0x20000", ""),
        ("kafka_restart_margin: 00", ""),
        ("mode_of_ours: 0640", ""),
    ],
)
def test_numbers(written: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = spoil(tmp_path / "inventory", LAB)
    (folder / "group_vars").mkdir()
    (folder / "group_vars" / "kafka.yml").write_text(f"{written}\n")
    lines = [line for line in check(folder)[1] if line.startswith("NUMBER_OTHER")]
    assert len(lines) == bool(said), lines
    assert all(line.startswith(f"NUMBER_OTHER group kafka/{said}") for line in lines), lines
    monkeypatch.setattr(ansible_internals, "import_module", None)  # of an Ansible that does not tell where a value is
    assert [line for line in check(folder)[1] if line.startswith("NUMBER_OTHER")] == lines


@pytest.mark.parametrize(
    "written",
    [
        "kafka_super_users: ['User:kafka-broker', 'User:admin', 007]",
        "kafka_acls: [{principal: 007, resource: topic, name: streams-plaintext-input, operations: [READ]}]",
    ],
)
def test_a_principal_that_yaml_reads_as_a_number_is_one_mistake(written: str, tmp_path: Path) -> None:
    """The number would not be a principal either, but quotes are the correction."""
    folder = spoil(tmp_path / "inventory", LAB)
    (folder / "group_vars").mkdir()
    (folder / "group_vars" / "kafka.yml").write_text(f"{written}\n")
    lines = [line for line in check(folder)[1] if "= 007" in line or "= 7" in line]
    assert [line.partition(" ")[0] for line in lines] == ["NUMBER_OTHER"], lines


@pytest.mark.parametrize(
    ("host", "variable", "value", "number"),
    [
        ("dc1-kafka1", "kafka_broker_id", "{{ '0' ~ inventory_hostname[-1:] }}", "1"),
        ("dc1-kafka1", "kafka_broker_id", "1 ", "1"),
        ("dc1-kafka1", "kafka_broker_id", "+1", "1"),
        ("dc1-kafka1", "kafka_broker_id", "{{ inventory_hostname[-1:] }}", ""),
        ("dc1-zk1", "zookeeper_id", "01", "1"),
        ("kafka", "kafka_limit_nofile", "0100000", "100000"),
        ("kafka", "site_listeners", [{**PARTNERS, "port": "09095"}], "9095"),
        ("zookeeper", "zookeeper_observers", ["03"], "3"),
    ],
)
def test_a_number_as_text_is_written_as_numbers_are(
    host: str, variable: str, value: object, number: str, tmp_path: Path
) -> None:
    """Runs compare ids as texts too: 01 of a host would not be the 1 of its disk."""
    folder = spoil(tmp_path / "inventory", replace(LAB, variables={host: {variable: value}}))
    all_lines = check(folder)[1]
    lines = [line for line in all_lines if line.startswith("INPUT_REFUSED")]
    assert len(lines) == bool(number), lines
    assert not [line for line in all_lines if line.startswith("LIST_REPLACED")]  # the list has the same number
    assert all(f"; write {number} (if a template computes it, add the filter int)" in line for line in lines), lines


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "rebalance_timer: {on_calendar: 22:30, rate: 50MB, at_most: 20GB, run: true}",
            "NUMBER_OTHER group all/rebalance_timer[on_calendar] = 22:30: YAML reads it as 1350, in base 60",
        ),
        (
            "java_package: openjdk-11-jre-headless",
            "JAVA_PACKAGE group all/java_package = openjdk-11-jre-headless: Java",
        ),
    ],
)
def test_it_is_said_once_of_the_group_that_says_it(written: str, said: str, tmp_path: Path) -> None:
    """Some hosts have no function and do not read it; and the number that YAML makes of it is not judged as well."""
    admin = {"  children:\n    zookeeper:\n": "  children:\n    admin: {hosts: {admin1: {}}}\n    zookeeper:\n"}
    folder = spoil(tmp_path / "inventory", replace(LAB, hosts=admin))
    (folder / "group_vars" / "all").mkdir(parents=True, exist_ok=True)
    (folder / "group_vars" / "all" / "z.yml").write_text(f"{written}\n")
    lines = check(folder)[1]
    assert len(lines) == 1, lines
    assert lines[0].startswith(said)


def test_a_topic_of_a_grant_that_is_a_number(tmp_path: Path) -> None:
    """The topic 1.1, which is not declared, is not reported beside the text that should be 1.10."""
    folder = spoil(tmp_path / "inventory", LAB)
    (folder / "group_vars").mkdir()
    grants = "{consume: [1.10], group: a}, {produce: ['1.2']}"
    user = f"{{name: other, password: '{{{{ vault.passwords.lab }}}}', grants: [{grants}]}}"
    (folder / "group_vars" / "kafka.yml").write_text(f"kafka_users: [{user}]\n")
    lines = [line for line in check(folder)[1] if line.startswith(("NUMBER_OTHER", "GRANT_TOPIC"))]
    assert [line.partition(": ")[0] for line in sorted(lines)] == [
        "GRANT_TOPIC group kafka/kafka_users[other].grants[produce].produce = 1.2",
        "NUMBER_OTHER group kafka/kafka_users[other][grants][0][consume][0] = 1.10",
    ]
