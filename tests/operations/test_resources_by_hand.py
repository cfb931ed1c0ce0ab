"""What others did to a cluster, and what it does not answer: made by Kafka's own tools, exported, left, taken back."""

import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from faults.access import Access
from faults.inventory import Inventory
from faults.lab import Lab, until

from ansible_collections.millrace.kafka.plugins.modules import (
    kafka_access,
    kafka_broker_config,
    kafka_export,
    kafka_quotas,
    kafka_topics,
)
from operations.conftest import Operator
from operations.direct import Direct, direct
from operations.test_resources import LAYER, diffs

pytestmark = pytest.mark.campaign
FILE = "/etc/kafka/client.properties"
TOOLS = f"--bootstrap-server $(sed -n 's/^bootstrap.servers=//p' {FILE}) --command-config {FILE}"
THROTTLE = "leader.replication.throttled.rate"


@pytest.fixture
def run(inventory: Inventory, capsys: pytest.CaptureFixture[str]) -> Direct:
    return direct(inventory, capsys)


def passwords(inventory: Inventory) -> dict[str, str]:
    """Return those of the lab's users."""
    assert inventory.lab_directory
    files = (inventory.lab_directory / "secrets").iterdir()
    return {path.name: path.read_text().split()[0] for path in files if path.name != "pki_passphrase"}


def vault(inventory: Inventory, own: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return the lab's vault with more passwords."""
    assert inventory.lab_directory
    phrase = (inventory.lab_directory / "secrets" / "pki_passphrase").read_text().split()[0]
    return {"pki_passphrase": phrase, "passwords": {**passwords(inventory), **own}, **more}


@pytest.fixture
def by_hand(inventory: Inventory, run: Direct) -> Iterator[str]:
    """A topic, a user with ACLs, quotas and settings of brokers, all by the command-line tools."""
    name, host = f"tools-{secrets.token_hex(4)}", inventory.hosts("kafka")[0]
    broker = inventory.broker_id(host)
    of_all, of_one = "--entity-type brokers --entity-default", f"--entity-type brokers --entity-name {broker}"
    scram = f"SCRAM-SHA-512=[iterations=8192,password={name}-pw]"
    commands = [
        f"kafka-topics.sh {TOOLS} --create --topic {name} --partitions 3 --replication-factor 3"
        " --config retention.ms=86400000 --config cleanup.policy=compact,delete",
        f"kafka-configs.sh {TOOLS} --alter --entity-type users --entity-name {name} --add-config '{scram}'",
        f"kafka-acls.sh {TOOLS} --add --allow-principal User:{name} --operation Read --operation Describe"
        f" --topic {name} --resource-pattern-type prefixed",
        f"kafka-acls.sh {TOOLS} --add --deny-principal User:{name} --operation All --group '*' --deny-host 198.18.9.9",
        f"kafka-configs.sh {TOOLS} --alter --entity-type users --entity-name {name} --entity-type clients"
        " --entity-name batch --add-config producer_byte_rate=1048576,request_percentage=12.5",
        f"kafka-configs.sh {TOOLS} --alter --entity-type users --entity-default --add-config request_percentage=2000",
        f"kafka-configs.sh {TOOLS} --alter {of_all} --add-config background.threads=11",
        f"kafka-configs.sh {TOOLS} --alter {of_one} --add-config {THROTTLE}=900000000",
    ]
    try:
        for command in commands:
            inventory.run(host, command, seconds=120)
        yield name
    finally:
        run(
            kafka_broker_config,
            config={"background.threads": None},
            brokers=[{"id": broker, "config": {THROTTLE: None}}],
        )
        run(
            kafka_quotas,
            quotas=[{"user": "", "state": "absent"}, {"user": name, "every_client": True, "state": "absent"}],
        )
        gone: dict[str, Any] = {"users": [{"name": name, "state": "absent"}], "super_users": ["User:admin"]}
        run(kafka_access, login={}, **gone)
        run(kafka_topics, topics=[{"name": name, "state": "absent", "allow_delete": True}])


def test_an_export_of_what_the_tools_made_changes_nothing(
    operator: Operator, inventory: Inventory, run: Direct, by_hand: str, tmp_path: Path
) -> None:
    """Our run on it finds each thing as it is; what cannot be declared is told."""
    file, more = tmp_path / "resources.yml", tmp_path / "vault.json"
    assert operator.play("export", "-e", f"to={file}").code == 0
    found = yaml.safe_load(file.read_text())
    (topic,) = [one for one in found["kafka_topics"] if one["name"] == by_hand]
    assert topic["config"] == {"cleanup.policy": "compact,delete", "retention.ms": 86400000}
    assert found["kafka_dynamic_config"] == {"background.threads": 11}
    assert {"user": by_hand, "client_id": "batch", "producer_byte_rate": 1048576, "request_percentage": 12.5} in found[
        "kafka_quotas"
    ]
    broker = inventory.broker_id(inventory.hosts("kafka")[0])
    assert f"broker {broker}: {THROTTLE} = 900000000" in run(kafka_export)["left_out"]
    more.touch(0o600)
    more.write_text(json.dumps({"vault": vault(inventory, {by_hand: f"{by_hand}-pw"})}))
    done = operator.play(LAYER, "--diff", "-e", f"@{file}", "-e", f"@{more}")
    assert (done.code, set(done.recap("changed").values()), diffs(done)) == (0, {0}, []), done.output[-3000:]


def test_settings_of_running_brokers(operator: Operator, inventory: Inventory, run: Direct) -> None:
    """Predicted, set without a restart, left alone, taken back; one set by hand is told."""
    processes = operator.processes()
    said = ("-e", json.dumps({"kafka_dynamic_config": {"background.threads": 12}}))
    predicted = operator.play(LAYER, "--check", "--diff", *said)
    try:
        done = operator.play(LAYER, "--diff", *said)
        assert (done.code, done.output) == (0, predicted.output)
        assert diffs(done) == ["+  background.threads: 12"] and set(done.recap("changed").values()) == {1}
        assert set(operator.play(LAYER, "--diff", *said).recap("changed").values()) == {0}
        assert run(kafka_broker_config)["plan"]["unmanaged"] == ["all brokers: background.threads"]
    finally:
        operator.play(LAYER, "-e", json.dumps({"kafka_dynamic_config": {"background.threads": None}}))
    assert run(kafka_broker_config)["plan"]["unmanaged"] == []
    assert operator.processes() == processes


def test_a_setting_that_ends_a_broker_is_no_success(operator: Operator, inventory: Inventory, run: Direct) -> None:
    """A second buffer of the log cleaner beside the first; preflight refuses it, and this is who does not ask it."""
    said = ("-e", json.dumps({"kafka_dynamic_config": {"log.cleaner.threads": 2}}))
    refused = operator.play("resources", *said)
    assert refused.code != 0 and "BROKER_CONFIG_HEAP" in refused.output
    host = inventory.hosts("kafka")[-1]
    number, lab = inventory.broker_id(host), Lab(inventory)
    before = lab.pid(host, "kafka.service")
    try:
        done = run(kafka_broker_config, brokers=[{"id": number, "config": {"log.cleaner.threads": 2}}])
        ended = inventory.run(host, "systemctl show -p MainPID --value kafka").strip() != str(before)
        assert bool(done.get("failed")) == ended, done
    finally:
        lab.heal()
        run(kafka_broker_config, brokers=[{"id": number, "config": {"log.cleaner.threads": None}}])
        lab.heal()


def test_no_quorum_is_said_in_time(inventory: Inventory, run: Direct) -> None:
    """Two of three servers are gone: whatever a module asks, it says so within 15 s, then and a session later."""
    lab, new = Lab(inventory), {"name": "never", "partitions": 1, "replication_factor": 3}
    asked: list[tuple[Any, dict[str, Any]]] = [
        (kafka_topics, {"topics": [new]}),
        (kafka_access, {"login": {}, "users": [{"name": "never", "password": "Guoph0Eeshi7"}]}),
        (kafka_quotas, {"quotas": [{"user": "never", "values": {"producer_byte_rate": 5}}]}),
    ]
    voters = [host for host in inventory.hosts("zookeeper") if lab.zookeeper()[host].get("Mode") != "observer"]
    try:
        lab.on_all(voters[1:], "systemctl stop zookeeper")
        for _ in range(2):
            for module, arguments in asked:
                begin = time.monotonic()
                done = run(module, **arguments)
                assert done["failed"] and ("ZooKeeper" in done["msg"] or "no controller" in done["msg"]), done
                assert time.monotonic() - begin < 15, done
    finally:
        lab.on_all(voters[1:], "systemctl start zookeeper")
        lab.heal()
    assert "never" not in lab.admin.list_topics(timeout=10).topics


def test_a_password_that_nobody_can_try_is_replaced(operator: Operator, inventory: Inventory, tmp_path: Path) -> None:
    """By its generation: begun, taken over, finished, and left alone by the next run."""
    name, old, new = f"counted-{secrets.token_hex(4)}", secrets.token_urlsafe(), secrets.token_urlsafe()
    login = {key: value for key, value in inventory.kafka_properties.items() if not key.startswith("sasl.")}
    access = Access(inventory.admin_properties, login)
    file = tmp_path / "settings.json"
    file.touch(0o600)
    others = [{"name": user, "password": password} for user, password in passwords(inventory).items()]

    def play(playbook: str, declared: dict[str, Any], step: str = "") -> Any:
        user = {"name": name, "verify": "generation", **declared}
        own = vault(inventory, {name: old}, new_passwords={name: new})
        file.write_text(json.dumps({"vault": own, "kafka_users": [user, *others], "user": name, "step": step}))
        return operator.play(playbook, "-e", f"@{file}")

    def let_in(expected: tuple[bool, bool]) -> None:
        def logins() -> tuple[bool, bool]:
            return access.logs_in(name, old, "SCRAM-SHA-512"), access.logs_in(name, new, "SCRAM-SHA-256")

        until(f"logins with the old and the new password are {expected}", lambda: logins() == expected, 60)

    first = {"password": old}
    second = {"password": new, "mechanism": "SCRAM-SHA-256", "generation": 2}
    try:
        assert play(LAYER, first).code == 0
        let_in((True, False))
        assert set(play(LAYER, first).recap("changed").values()) == {0}
        assert play("rotate_password", first, "begin").code == 0
        let_in((True, True))
        assert set(play(LAYER, second).recap("changed").values()) == {0}
        finished = play("rotate_password", second, "finish")
        assert finished.code == 0, finished.output[-3000:]
        let_in((False, True))
    finally:
        access.converge([{"name": name, "state": "absent"}], [])
