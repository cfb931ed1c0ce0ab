"""No problem prints a text that is encrypted in the inventory, whatever rule reports the problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import EncryptedString, VaultLib, VaultSecret
from ansible.parsing.yaml.dumper import AnsibleDumper

from model.mistakes.base import JOB, LAB, spoil
from model.preflight import encrypt, preflight

PASSWORD = "of the vault"
SECRET = "Guoph0Eeshi7"
ACL = {"principal": "User:lab", "name": "orders", "resource": "topic"}


def inline(text: str) -> EncryptedString:
    """Return a text as `ansible-vault encrypt_string` writes it."""
    return EncryptedString(ciphertext=VaultLib([("default", VaultSecret(PASSWORD.encode()))]).encrypt(text).decode())


OF_ANOTHER = EncryptedString(
    ciphertext=VaultLib([("default", VaultSecret(b"another password"))]).encrypt(SECRET).decode()
)


def job(**config: Any) -> dict[str, Any]:
    """Return the variables of the job count_words with more in its configuration."""
    return {"spark": {"spark_job_jobs": [{**JOB, "config": {**JOB["config"], **config}}]}}


def printed(folder: Path, variables: dict[str, Any], inventory: str = "lab", whole: bool = False) -> str:
    """Return what preflight prints of an inventory with these variables, by group or host.

    With `whole`, their files are encrypted as a whole.
    """
    site = spoil(folder / "inventory", replace(LAB, inventory=inventory))
    files = []
    for name, values in variables.items():
        files.append(site / ("host_vars" if "-" in name else "group_vars") / name / "z.yml")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(yaml.dump(values, Dumper=AnsibleDumper))
    (folder / "password").write_text(PASSWORD)
    if whole:
        encrypt(folder / "password", *files)
    return preflight(site, "--vault-password-file", str(folder / "password")).stdout


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (
            {
                "kafka": {
                    "kafka_unit_overrides": {
                        "Service": {
                            "SetCredential": [inline(SECRET)],
                            "Nice": inline(SECRET),
                            "LimitCORE": inline("77%"),
                        }
                    },
                    "kafka_config": {"confluent.license": inline(SECRET), "log.retention.ms": "of {{ kept }}"},
                    "kept": inline(SECRET),
                    "kafka_java_options": [inline(f"-XX:{SECRET} -Da=b")],
                    "kafka_acls": [{**ACL, "operations": [inline(SECRET.lower())]}],
                    "kafka_topics": [{"name": "orders", "config": {"cleanup.policy": inline(SECRET)}}],
                }
            },
            [
                "UNIT_SECRET group kafka/kafka_unit_overrides[Service][SetCredential]: ",
                "UNIT_VALUE group kafka/kafka_unit_overrides[Service][Nice] = ***: ",
                "UNIT_VALUE group kafka/kafka_unit_overrides[Service][LimitCORE] = ***: ",
                "KAFKA_PROPERTY_UNKNOWN group kafka/kafka_config[confluent.license] = ***: ",
                "KAFKA_PROPERTY_VALUE group kafka/kafka_config[log.retention.ms] = of ***: ",
                "OPTION_UNKNOWN group kafka/kafka_java_options = ***: ",
                "ACL_OPERATION group kafka/kafka_acls[User:lab].operations = ***: ",
                "TOPIC_PROPERTY_VALUE group kafka/kafka_topics[orders].config[cleanup.policy] = ***: ",
            ],
        ),
        (
            {"kafka": {"kafka_log_dirs": inline(f"/{SECRET},/data/x")}},
            ["INPUT_NOT_A_LIST group kafka/kafka_log_dirs = ***: text instead of a list; write it as [***, ***]"],
        ),
        (
            {"dc1-kafka1": {"kafka_broker_id": inline(SECRET), "client_address": inline(SECRET)}},
            ["INPUT_REFUSED dc1-kafka1/kafka_broker_id = ***: ", "ADDRESS_INVALID dc1-kafka1/client_address = ***: "],
        ),
        (
            job(trigger_interval=inline(SECRET), spark={"spark.driver.extraJavaOptions": inline(SECRET)}),
            [
                "].config: trigger_interval: '***' is not an interval",
                "OPTION_FORM group spark/spark_job_jobs[count_words]",
            ],
        ),
    ],
)  # fmt: skip
def test_problems_hide_what_is_encrypted(variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    """Alone, as a part of a list, by a template, and as a part of the value."""
    text = printed(tmp_path, variables)
    assert not [line for line in wanted if line not in text], text
    assert SECRET.lower() not in text.lower() and "77%" not in text


def test_problems_hide_a_setting_of_a_database(tmp_path: Path) -> None:
    text = printed(tmp_path, {"all": {"database": {"port": inline(SECRET)}}}, "lab_orders")
    assert "group all/database" in text and SECRET not in text


def test_problems_hide_what_a_file_encrypts_as_a_whole(tmp_path: Path) -> None:
    text = printed(tmp_path, {"kafka": {"kafka_config": {"log.retention.ms": SECRET}}}, whole=True)
    assert "kafka_config[log.retention.ms] = ***: not a whole number; correct it, or remove it" in text, text
    assert SECRET not in text


def test_numbers_in_an_encrypted_file_are_no_ciphertext(tmp_path: Path) -> None:
    """Their lines in the file are those of the text before it was encrypted."""
    quotas = [{"user": "lab", "client_id": number, "producer_byte_rate": 20000000} for number in range(40, 70)]
    assert "NUMBER_OTHER" not in printed(tmp_path, {"all": {"kafka_quotas": quotas}}, whole=True)


def test_a_text_of_another_password_hides_nothing(tmp_path: Path) -> None:
    """The other mistake of the same group is reported as well."""
    other = VaultLib([("default", VaultSecret(b"another password"))]).encrypt("4g").decode()
    variables = {"kafka_heap": EncryptedString(ciphertext=other), "kafka_limit_nofile": "many"}
    found = printed(tmp_path, {"kafka": variables})
    assert "kafka_heap: cannot be decrypted" in found and "kafka_limit_nofile = many" in found, found


@pytest.mark.parametrize(
    ("variables", "place", "file", "line"),
    [
        ({"all": {"pki_passphrase": OF_ANOTHER}}, "group all/pki_passphrase", "all/z.yml", 1),
        (
            {"all": {"x": "a", "own_secret": OF_ANOTHER}, "kafka": {"kafka_keystore_password": "{{ own_secret }}"}},
            "group all/own_secret",
            "all/z.yml",
            1,
        ),
        (
            {"kafka": {"kafka_heap": "1g", "kafka_unit_overrides": {"Service": {"Nice": OF_ANOTHER}}}},
            "group kafka/kafka_unit_overrides[Service][Nice]",
            "kafka/z.yml",
            4,
        ),
    ],
)
def test_a_text_of_another_password_is_named(
    variables: dict[str, Any], place: str, file: str, line: int, tmp_path: Path
) -> None:
    """With its own place, file and line, also if other variables use it."""
    (found,) = (text for text in printed(tmp_path, variables).splitlines() if "cannot be decrypted" in text)
    path = tmp_path / "inventory" / "group_vars" / file
    assert found.strip().startswith(f"NOT_COMPUTED {place}: "), found
    assert found.endswith(f"(ansible-vault encrypt_string) in {path}, line {line}"), found
