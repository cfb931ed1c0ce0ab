"""Secrets and certificates of a site, judged before any host is asked."""

import json
import re
import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import EncryptedString, VaultLib, VaultSecret
from ansible.parsing.yaml.dumper import AnsibleDumper
from unit.certificate_maker import Ca, key_pem, new_key, pem

from ansible_collections.millrace.kafka.plugins.filter.host import guarded
from ansible_collections.millrace.kafka.plugins.plugin_utils import ansible_internals
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.variable_names import is_well_known
from model.mistakes import MISTAKES
from model.mistakes.base import LAB, VAULT, spoil
from model.mistakes.security import BROKER
from model.preflight import encrypt, preflight
from model.said import ROOT, check


def test_a_vaulted_secret_is_no_mistake(tmp_path: Path) -> None:
    """The same secret as in SECRET_CLEAR, encrypted."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "SECRET_CLEAR")
    inventory = spoil(tmp_path / "inventory", mistake)
    (tmp_path / "password").write_text("of the vault")
    file = inventory / "group_vars" / "kafka" / "z.yml"
    encrypt(tmp_path / "password", file)
    assert "Guoph0Eeshi7" not in file.read_text()
    done = preflight(inventory, "--vault-password-file", str(tmp_path / "password"))
    assert done.returncode == 0, done.stdout
    assert "SECRET_CLEAR" not in done.stdout


@pytest.mark.parametrize(
    ("setting", "text", "clear"),
    [
        ("primary_conninfo", "host=db2 user=standby password=Guoph0Eeshi7", True),
        ("primary_conninfo", "host=db2 password = 'Guoph0Eeshi7'", True),
        ("primary_conninfo", "postgresql://standby:Guoph0Eeshi7@db2/", True),
        ("primary_conninfo", "host=db2 user=standby passfile=/etc/postgresql/standby", False),
        ("archive_command", "PGPASSWORD=Guoph0Eeshi7 /usr/bin/keep %p", True),
        ("restore_command", "keep --token Guoph0Eeshi7 %f %p", True),
        ("archive_command", "keep --token=$(cat /etc/keep/token) %p", False),
        ("archive_command", "cp %p /archive/%f", False),
        ("ssl_passphrase_command", "echo Guoph0Eeshi7", True),
        ("ssl_passphrase_command", "/usr/bin/printf '%%s' Guoph0Eeshi7", True),
        ("ssl_passphrase_command", "cat /etc/postgresql/passphrase", False),
    ],
)
def test_settings_of_postgresql_that_hold_a_secret(setting: str, text: str, clear: bool, tmp_path: Path) -> None:
    """Where a standby connects to, and what the server runs: refused in the clear, and in no diff of the file."""
    wrong = replace(LAB, inventory="lab_orders", variables={"all": {"postgresql_config": {setting: text}}})
    _, lines = check(spoil(tmp_path / "inventory", wrong))
    said = [line for line in lines if line.startswith("SECRET_CLEAR group all/postgresql_config")]
    assert len(said) == clear, lines
    assert not any("Guoph0Eeshi7" in line for line in lines)
    assert guarded({"path": "/f", "content": f"{setting} = '{text}'"}, {setting: text}).get("secret", False) is clear


@pytest.mark.parametrize("name", ["dc1", "stretch3"])
def test_secrets_of_a_production_site(name: str, tmp_path: Path) -> None:
    """As inventories/README.md says: refused in the clear, whatever the passwords' names; passed when encrypted."""
    inventory = spoil(tmp_path / "inventory", replace(LAB, inventory=name))
    file = inventory / "group_vars" / "all" / "vault.yml"
    file.write_text(json.dumps({"vault": VAULT}))
    clear = preflight(inventory)
    assert clear.returncode == 2
    said = re.findall(r"SECRET_CLEAR (.*)", clear.stdout)
    assert said == [
        f"group all/vault: 12 secrets in plain text: the file is not encrypted; run `ansible-vault encrypt {file}`, "
        "with new secrets if others could read these"
    ]
    words = (VAULT["pki_passphrase"], *VAULT["passwords"].values(), *VAULT["database_passwords"].values())
    assert not [word for word in words if word in clear.stdout]
    (tmp_path / "password").write_text(secrets.token_hex())
    password = ("--vault-password-file", str(tmp_path / "password"))
    encrypt(tmp_path / "password", file)
    assert file.read_text().startswith("$ANSIBLE_VAULT;1.1;AES256\n")
    done = preflight(inventory, *password)
    assert done.returncode == 0, done.stdout
    assert "What this layout" in done.stdout
    assert "SECRET_CLEAR" not in done.stdout


def test_texts_that_are_encrypted_alone_are_texts(tmp_path: Path) -> None:
    """As `ansible-vault encrypt_string` writes them: below `vault`, in entries of lists, and as a whole variable."""
    lib = VaultLib([("default", VaultSecret(b"of the vault"))])

    def inline(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: inline(item) for name, item in value.items()}
        if isinstance(value, list):
            return [inline(item) for item in value]
        return EncryptedString(ciphertext=lib.encrypt(value).decode())

    values = {
        "vault": inline(VAULT),
        "organization": inline("lab"),
        "kafka_acls": [{**inline({"principal": "User:lab", "name": "orders-"}), "resource": "topic",
                        "pattern": "prefixed", "operations": inline(["READ"])}],
    }  # fmt: skip
    inventory = spoil(tmp_path / "inventory", LAB)
    file = inventory / "group_vars" / "all" / "z.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.dump(values, Dumper=AnsibleDumper))
    assert file.read_text().count("!vault") > len(VAULT["passwords"])
    (tmp_path / "password").write_text("of the vault")
    done = preflight(inventory, "--vault-password-file", str(tmp_path / "password"))
    assert done.returncode == 0, done.stdout
    assert not re.findall("VAULT_NUMBER|NOT_COMPUTED|SECRET_CLEAR", done.stdout), done.stdout


def test_what_pages_print_in_place_of_a_secret_is_no_secret() -> None:
    """Such as `pki_passphrase: "..."` in inventories/README.md: copied as it is, preflight rejects it."""
    shown = re.compile(r"(?:password|passphrase|secret)s?[\"']?\s*[:=]\s*([\"'])([^\"'{}]+)\1|sasl\.password=()(\S+)")
    places = ("*.md", "docs/**/*.md", "inventories/**/*.md", "roles/*/*.md", "spark_jobs/*.md", "plugins/filter/*.yml")
    pages = [page for place in places for page in ROOT.glob(place)]
    found = {match[2] or match[4] for page in pages for match in shown.finditer(page.read_text())}
    assert found >= {"...", "********"}
    assert [text for text in found if not is_well_known(text)] == []


def test_secrets_of_the_vault_among_other_words(tmp_path: Path) -> None:
    """A file that says more of the site is not encrypted as a whole."""
    variables = {"all": {"archives": "/srv", "vault": {"passwords": {"a": "Guoph0Eeshi7"}}}}
    lines = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)), {})[1]
    said = [line.partition(";")[0] for line in lines if line.startswith("SECRET_CLEAR")]
    assert said == ["SECRET_CLEAR group all/vault[passwords][a]: a secret in plain text"], lines


def test_no_secrets_at_all_is_one_mistake(tmp_path: Path) -> None:
    done = preflight(spoil(tmp_path / "inventory", replace(LAB, inventory="stretch2")))
    assert done.returncode == 2
    lines = done.stdout.partition("1 mistake; no host was changed:\n")[2].splitlines()
    assert [text.strip() for text in lines[:2]] == [
        "group all",
        "VAULT_MISSING group all/vault: not set, but passwords and certificates depend on it; "
        "create it with ansible-vault (inventories/README.md), and run with --ask-vault-pass",
    ]


def test_what_a_unit_would_show_of_a_file_that_is_encrypted(tmp_path: Path) -> None:
    """As a whole, and not the one of `vault`: names of what stands in it tell nothing."""
    options = {"kafka_java_options": ["-Ddsn=Guoph0Eeshi7"]}
    units = {"spark_job_unit_overrides": {"Service": {"Environment": "DSN=Guoph0Eeshi7"}}}
    inventory = spoil(tmp_path / "inventory", replace(LAB, variables={"kafka": options, "spark": units}))
    (tmp_path / "password").write_text("of the vault")
    password = ("--vault-password-file", str(tmp_path / "password"))
    encrypt(tmp_path / "password", *(inventory / "group_vars" / group / "z.yml" for group in ("kafka", "spark")))
    done = preflight(inventory, *password)
    assert re.findall(r"(\w+_SECRET) group (\S+): the value comes from the vault", done.stdout) == [
        ("OPTION_SECRET", "kafka/kafka_java_options"),
        ("UNIT_SECRET", "spark/spark_job_unit_overrides[Service][Environment]"),
    ], done.stdout
    assert done.returncode == 2 and "Guoph0Eeshi7" not in done.stdout


def test_secrets_of_a_lab_are_random_and_kept(tmp_path: Path) -> None:
    """The same on the next run, another in the next lab, and none in the repository."""
    found = []
    for lab in ("one", "two"):
        inventory = spoil(tmp_path / lab / "inventory", LAB)
        first, again = (load(inventory).read().hosts["dc1-kafka1"] for _ in range(2))
        assert (first["vault"], first["kafka_users"]) == (again["vault"], again["kafka_users"])
        words = [first["vault"]["pki_passphrase"], *first["vault"]["passwords"].values()]
        assert [len(word) for word in words] == [32, 32, 32, 32]
        assert len(list((tmp_path / lab / ".lab" / "lab" / "secrets").iterdir())) == 5
        found += words
    assert len(set(found)) == 8


def test_a_request_that_nobody_signed_yet_is_a_warning(tmp_path: Path) -> None:
    """The run that writes the request has to be possible. Nothing is made by the check."""
    subject = "CN=Infra CA,O=lab"
    authority = Ca("Infra CA", end=datetime.now(UTC) + timedelta(days=90))
    (tmp_path / "ca.pem").write_bytes(pem(authority.certificate))
    site: dict[str, Any] = {"pki_directory": str(tmp_path / "pki"), "pki_source": "csr"}
    site["pki_authorities"] = [{"name": "infra", "subject": subject, "certificate": str(tmp_path / "ca.pem")}]
    inventory = spoil(tmp_path / "inventory", replace(LAB, variables={"all": site}))
    (problem,), (line,) = check(inventory)
    assert problem.warning
    folder = tmp_path / "pki"
    wrong = f"11 signed certificates are missing in {folder}/signed, such as dc1-zk1.zookeeper.pem"
    assert line.startswith(f"CERTIFICATE_UNSIGNED groups zookeeper and kafka/pki_certificates: {wrong}; "), line
    assert not (tmp_path / "pki").exists()


def test_a_provided_certificate_is_judged_before_any_host_is_asked(tmp_path: Path) -> None:
    """Expired, and without one of the host's addresses."""
    authority, key = Ca("Infra CA", end=datetime.now(UTC) + timedelta(days=90)), new_key()
    (tmp_path / "ca.pem").write_bytes(pem(authority.certificate))
    (tmp_path / "key.pem").write_bytes(key_pem(key))
    expired = datetime(2026, 2, 1, tzinfo=UTC)
    (tmp_path / "broker.pem").write_bytes(pem(authority.issue(key, ("dc1-kafka1", "198.18.1.21"), end=expired)))
    files = {"certificate": str(tmp_path / "broker.pem"), "key": str(tmp_path / "key.pem"), "source": "provided"}
    site = {
        "pki_authorities": [{"name": "infra", "certificate": str(tmp_path / "ca.pem")}],
        "pki_certificates": [{**BROKER, **files}],
        "kafka_zookeeper_keystore": "/elsewhere.pem",
    }
    inventory = spoil(tmp_path / "inventory", replace(LAB, variables={"dc1-kafka1": site}))
    lines = [text for text in check(inventory)[1] if text.startswith("CERTIFICATE_")]
    place = "dc1-kafka1/pki_certificates[broker] = CN=dc1-kafka1,OU=brokers,O=lab: "
    assert sorted(lines) == [
        f"CERTIFICATE_EXPIRED {place}expired on 2026-02-01; have a new certificate issued",
        f"CERTIFICATE_SAN {place}the certificate does not contain 198.18.2.21: peers that connect there reject the "
        "host; have it issued with every name and address of the host",
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"Environment": ["A=b", "'S3_TOKEN=x y'"]}, ["S3_TOKEN"]),
        ({"ExecStartPost": "/usr/bin/notify --password=hush"}, ["--password"]),
        ({"SetCredential": "login:hush"}, ["login"]),
        ({"SetCredential": "hush"}, [None]),  # without a name, it is all secret
        ({"Environment": "KAFKA_OPTS=-Djavax.net.ssl.keyStorePassword=hush"}, ["-Djavax.net.ssl.keyStorePassword"]),
        ({"ExecStartPre": "/usr/bin/x --password=${PW} --token=%d/token"}, []),
        ({"Environment": "SECRETS_BACKEND=vault DISABLE_PASSWORD_LOGIN=1 SECRET_MOUNT=/run/s"}, []),
        ({"Environment": "KAFKA_PASSWORD_FILE=/run/p AWS_ACCESS_KEY_ID=AKIA"}, []),
        ({"LoadCredential": "token:/etc/token", "EnvironmentFile": "/etc/secret", "Nice": 5}, []),
    ],
)
def test_what_is_a_secret_in_a_unit(settings: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    """Whatever encrypts it in the inventory: the unit shows it."""
    variables = {"spark": {"spark_job_unit_overrides": {"Service": settings}}}
    problems = check(spoil(tmp_path / "inventory", replace(LAB, variables=variables)))[0]
    assert [problem.value for problem in problems if problem.code == "UNIT_SECRET"] == said
    assert said or problems == []


@pytest.mark.parametrize(
    ("overrides", "wanted"),
    [
        (
            {"Service": {"Environment": "LOG_DIR=/x PROXY=ieSh4Tho"}},
            "[Service][Environment] = LOG_DIR: only start scripts",
        ),
        ({"Service": {"Environment": ["PROXY=ieSh4Tho", "JMX_PORT=1"]}}, "[Service][Environment]"),
        ({"Service": {"Environment": {"PROXY": "ieSh4Tho"}}}, "[Service][Environment]: a mapping or a list"),
        ({"Service": {"Enviroment": "PROXY=ieSh4Tho"}}, "[Service][Enviroment]: systemd has no such setting"),
        ({"Unit": {"Environment": "PROXY=ieSh4Tho"}}, "[Unit][Environment]: systemd has no such setting"),
        ({"Service": "Environment=PROXY=ieSh4Tho"}, "[Service]: not a section"),
        ({"Environment": "PROXY=ieSh4Tho"}, "[Environment]: not a section"),
    ],
)
def test_mistakes_in_the_environment_of_a_unit_do_not_show_its_values(
    overrides: dict[str, Any], wanted: str, tmp_path: Path
) -> None:
    """Nothing but a name tells which of the values are secrets."""
    folder = spoil(tmp_path / "inventory", replace(LAB, variables={"kafka": {"kafka_unit_overrides": overrides}}))
    printed = [repr(problem) for problem in check(folder)[0]], check(folder)[1]
    assert wanted in str(printed[1])
    assert "ieSh4Tho" not in str(printed)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"all": {"archives": "/srv", "vault": {"passwords": {"a": "Guoph0Eeshi7"}}}},
            "SECRET_CLEAR group all/vault[passwords][a]",
        ),
        ({"kafka": {"kafka_users": [{"name": "a", "password": "x"}]}}, "SECRET_CLEAR group kafka/kafka_users[a][pass"),
        ({"kafka": {"kafka_users": [{"name": "a", "password": 827364518273}]}}, "SECRET_CLEAR group kafka/kafka_users"),
        (
            {"all": {"organization": "lab", "vault": {"passwords": {1234: "Guoph0Eeshi7"}}}},
            "SECRET_CLEAR group all/vault[passwords][1234]",
        ),
        ({"kafka": {"kafka_java_options": "-Da=Guoph0Eeshi7"}}, ""),
    ],
)
def test_without_what_ansible_does_not_promise(
    variables: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the origin of texts, preflight reads the files of the inventory, and reports the same."""
    folder = spoil(tmp_path / "inventory", replace(LAB, variables=variables))
    told = [line.partition(":")[0] for line in check(folder, {})[1]]

    def broken(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(ansible_internals, "import_module", broken)
    assert [line.partition(":")[0] for line in check(folder, {})[1]] == told
    assert sum(line.startswith("SECRET_CLEAR") for line in told) == bool(said) and said in "".join(told), told
