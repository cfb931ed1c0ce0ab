"""Values in a form that a later program would read in another way, or not at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, VAULT, spoil
from model.preflight import preflight
from model.said import check


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (
            {"kafka": {"kafka_archive_checksum": "ab" * 64}},
            [
                "CHECKSUM_FORM",
                "of the form sha512:HEX, sha512:FILE or sha512:URL; write sha512: in front of the digits",
            ],
        ),
        ({"kafka": {"kafka_archive_checksum": "sha256:ab"}}, ["CHECKSUM_FORM", "not of the form sha512:HEX"]),
        (
            {"zookeeper": {"zookeeper_weights": {"01": 1}}},
            ["ZOOKEEPER_GROUP_NAME", "zookeeper_weights[01] = '01': not the"],
        ),
        (
            {"zookeeper": {"zookeeper_weights": {1: " 2"}}},
            ["ZOOKEEPER_GROUP_NAME", "write it as text; write 2"],
        ),
        (
            {"kafka": {"kafka_config_overrides": {"log.roll.ms": 0}}},
            ["LIMIT_MEANT", "with less than 1; set at least 1"],
        ),
        (
            {"kafka": {"kafka_config_overrides": {"log.roll.jitter.ms": -1}}},
            ["LIMIT_MEANT", "with less than 0; set at least 0"],
        ),
        (
            {"all": {"failover_lock": "~/failover.json"}},
            ["PATH_RELATIVE", "failover_lock = ~/failover.json: not an absol"],
        ),
    ],
)
def test_one_mistake(variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    code, text = wanted
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[1]
    assert [line for line in lines if line.startswith(f"{code} ") and text in line] != [], lines


def test_passwords_that_are_no_text(tmp_path: Path) -> None:
    """Also those of databases."""
    vault = {**VAULT, "database_passwords": {**VAULT["database_passwords"], "orders_owner": True}}
    wrong = replace(LAB, inventory="dc1", extra={"vault": vault})
    lines = check(spoil(tmp_path / "inventory", wrong), {"vault": vault})[1]
    assert [
        line for line in lines if line.startswith("VAULT_NUMBER ") and "vault.database_passwords.orders_owner" in line
    ]


def test_a_time_for_a_name_and_a_number_for_a_password(tmp_path: Path) -> None:
    """The password itself is not printed."""
    folder = spoil(tmp_path / "inventory", LAB)
    more = folder / "group_vars" / "all" / "z.yml"
    more.parent.mkdir(parents=True, exist_ok=True)
    more.write_text(
        "kafka_quotas: [{user: lab, client_id: 2026-11-29T10:00:00Z, producer_byte_rate: 20MiB}]\n"
        "kafka_users: [{name: lab, password: 007123456}]\n"
    )
    lines = check(folder)[1]
    (time,) = (line for line in lines if "client_id" in line)
    assert "= 2026-11-29T10:00:00Z: YAML reads this text as a time" in time and time.endswith("; put it in quotes")
    (password,) = (line for line in lines if line.startswith("NUMBER_OTHER ") and "password" in line)
    assert "7123456" not in "".join(lines) and "1877806" not in "".join(lines), lines
    assert password.endswith("; put it in quotes")


def test_a_connection_that_does_not_exist_hides_nothing(tmp_path: Path) -> None:
    """Nor a way to become root: the model is judged without either."""
    own = {"ansible_connection": "shh", "ansible_become_method": "suddo", "kafka_limit_nofile": "many"}
    found = preflight(spoil(tmp_path / "inventory", replace(LAB, variables={"all": own}))).stdout
    for text in ("ansible_connection = shh", "ansible_become_method = suddo", "kafka_limit_nofile = many"):
        assert text in found, found


def test_no_number_of_the_vault_is_printed(tmp_path: Path) -> None:
    """Neither as written nor as YAML reads it, also where its file is not encrypted."""
    folder = spoil(tmp_path / "inventory", LAB)
    more = folder / "group_vars" / "all" / "z.yml"
    more.parent.mkdir(parents=True, exist_ok=True)
    more.write_text("vault: {pki_passphrase: 0071234567, passwords: {lab: 007123456}}\n")
    text = "".join(check(folder, {})[1])
    assert "vault" in text
    assert [number for number in ("7123456", "1877806", "15022455") if number in text] == []
