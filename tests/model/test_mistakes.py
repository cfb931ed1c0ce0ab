"""Each mistake is said once, with its code, its place and how to mend it; twelve are said at once; correct inventories are silent."""

import json
import os
import re
import secrets
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from generate_errors import PAGE, certificate_codes_in_source, codes_in_source, page, written
from unit.certificate_maker import Ca, key_pem, new_key, pem

from millrace.inventory import load
from model.mistakes import INVENTORIES, MISTAKES, SAID_OF_TWELVE, TWELVE, VAULT, Mistake, spoil
from model.probes import PROBES
from model.said import ALL, check, told
from model.security_mistakes import BROKER

LAB = Mistake("", "", "")
EXAMPLES = sorted(path.parent.relative_to(INVENTORIES).as_posix() for path in INVENTORIES.rglob("hosts.yml"))


@pytest.mark.parametrize("mistake", ALL, ids=lambda mistake: mistake.code)
def test_mistake(mistake: Mistake, tmp_path: Path) -> None:
    """The code is said once, of the right place, with its advice, as docs/errors.md shows it; nothing is said besides what follows from it."""
    problems, shown = told(mistake, tmp_path)
    assert {problem.code for problem in problems} == {mistake.code} | mistake.also, problems
    assert written()[mistake.code] == shown, "run: make docs"


def test_every_code_has_its_mistake() -> None:
    """No code is without a wrong inventory or a wrong host, and none has two."""
    tested = [mistake.code for mistake in ALL] + [probe.code for probe in PROBES]
    assert codes_in_source() == set(tested)
    assert len(tested) == len(set(tested))


def test_the_page_of_errors_is_made_from_this() -> None:
    """docs/errors.md has a row for each code, which is compared where the code is tested, and nothing besides; README says how many."""
    rows = written()
    assert PAGE.read_text(encoding="utf-8") == page(rows), "run: make docs"
    codes = codes_in_source() | certificate_codes_in_source()
    assert set(rows) == codes
    readme = (INVENTORIES.parent / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d+) kinds of mistakes", readme) == [str(len(codes))]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    """No mistake, and no warning whose code the inventory does not explain."""
    problems, lines = check(spoil(tmp_path / "inventory", replace(LAB, inventory=name)))
    texts = "".join(path.read_text(encoding="utf-8") for path in (INVENTORIES / name).rglob("*.yml"))
    assert [text for problem, text in zip(problems, lines, strict=True) if not problem.warning or problem.code not in texts] == []


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        # Two settings, each with a meaning of its own.
        ({"kafka_config": {"log.flush.interval.ms": 5000, "log.flush.scheduler.interval.ms": 1000}}, []),
        # Text that is no number is one mistake, and not the end of the check.
        ({"kafka_config": {"reserved.broker.max.id": "many"}}, ["KAFKA_PROPERTY_VALUE group kafka/kafka_config[reserved.broker.max.id]"]),
        ({"kafka_config": {"reserved.broker.max.id": "2000"}}, []),
        # A key that is removed leaves Kafka's own default, which is 1.
        ({"kafka_config_overrides": {"min.insync.replicas": None}}, ["MIN_ISR_ONE group kafka/kafka_config_overrides[min.insync.replicas]"]),
        ({"kafka_config": {"default.replication.factor": None}}, ["REPLICATION_ONE group kafka/kafka_config[default.replication.factor]"]),
    ],
)
def test_properties_as_kafka_reads_them(variables: dict[str, object], said: list[str], tmp_path: Path) -> None:
    inventory = spoil(tmp_path / "inventory", replace(LAB, variables={"kafka": variables}))
    lines = check(inventory)[1]
    assert [wanted for wanted in said if not any(text.startswith(wanted) for text in lines)] == [], lines
    assert said or lines == []


def test_what_the_inventory_cannot_know_is_a_warning(tmp_path: Path) -> None:
    """Clients may be told of a name that leads to the brokers; only a declared broker's address with another port is a mistake."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "BOOTSTRAP_UNKNOWN")
    named = replace(mistake, variables={"spark": {"kafka_client": {"bootstrap.servers": "kafka.example.org:9092"}}})
    assert [(problem.code, problem.warning) for problem in check(spoil(tmp_path / "inventory", named))[0]] == [("BOOTSTRAP_UNKNOWN", True)]


def test_properties_of_the_sites_own_plugins(tmp_path: Path) -> None:
    """A name that the site declares known is not judged."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "KAFKA_PROPERTY_UNKNOWN")
    known = {**mistake.variables["kafka"], "known_properties": ["min.insync.replica"]}
    assert check(spoil(tmp_path / "inventory", replace(mistake, variables={"kafka": known})))[1] == []


def test_a_vaulted_secret_is_no_mistake(tmp_path: Path) -> None:
    """The same secret as in SECRET_CLEAR, encrypted."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "SECRET_CLEAR")
    inventory = spoil(tmp_path / "inventory", mistake)
    (tmp_path / "password").write_text("of the vault")
    file = inventory / "group_vars" / "kafka" / "z.yml"
    command = [sys.executable, "-m", "ansible", "vault", "encrypt", "--vault-password-file", str(tmp_path / "password"), str(file)]
    subprocess.run(command, check=True, capture_output=True)
    assert "Guoph0Eeshi7" not in file.read_text()
    done = preflight(inventory, "--vault-password-file", str(tmp_path / "password"))
    assert done.returncode == 0, done.stdout
    assert "SECRET_CLEAR" not in done.stdout


@pytest.mark.parametrize("name", ["dc1", "stretch3"])
def test_secrets_of_a_production_site(name: str, tmp_path: Path) -> None:
    """As inventories/README.md says: refused in the clear, whatever the names of the passwords are; encrypted it passes, with the password."""
    inventory = spoil(tmp_path / "inventory", replace(LAB, inventory=name))
    file = inventory / "group_vars" / "all" / "vault.yml"
    file.write_text(json.dumps({"vault": VAULT}))
    clear = preflight(inventory)
    assert clear.returncode == 2
    said = re.findall(r"SECRET_CLEAR group all/(\S+): a secret in the clear; (.*)", clear.stdout)
    advice = "encrypt it (ansible-vault encrypt_string), or name one of a vaulted file"
    places = ("vault[passwords][count_words]", "vault[passwords][lab]", "vault[passwords][publish_lines]", "vault[pki_passphrase]")
    assert said == [(place, advice) for place in places]
    assert not [word for word in (VAULT["pki_passphrase"], *VAULT["passwords"].values()) if word in clear.stdout]
    (tmp_path / "password").write_text(secrets.token_hex())
    password = ("--vault-password-file", str(tmp_path / "password"))
    subprocess.run([sys.executable, "-m", "ansible", "vault", "encrypt", *password, str(file)], check=True, capture_output=True)
    assert file.read_text().startswith("$ANSIBLE_VAULT;1.1;AES256\n")
    done = preflight(inventory, *password)
    assert done.returncode == 0, done.stdout
    assert "What this layout" in done.stdout
    assert "SECRET_CLEAR" not in done.stdout


def test_no_secrets_at_all_is_one_mistake(tmp_path: Path) -> None:
    done = preflight(spoil(tmp_path / "inventory", replace(LAB, inventory="stretch2")))
    assert done.returncode == 2
    lines = done.stdout.partition("1 mistake; no host was changed:\n")[2].splitlines()
    assert [text.strip() for text in lines[:2]] == [
        "group all",
        "VAULT_MISSING group all/vault: not set, and passwords and certificates stand on it; "
        "make it with ansible-vault (inventories/README.md), and give --ask-vault-pass",
    ]


def test_secrets_of_a_lab_are_random_and_kept(tmp_path: Path) -> None:
    """The same on the next run, another in the next lab, and none in the repository."""
    found = []
    for lab in ("one", "two"):
        inventory = spoil(tmp_path / lab / "inventory", LAB)
        first, again = (load(inventory).read().hosts["dc1-kafka1"] for _ in range(2))
        assert (first["vault"], first["kafka_users"]) == (again["vault"], again["kafka_users"])
        words = [first["vault"]["pki_passphrase"], *first["vault"]["passwords"].values()]
        assert [len(word) for word in words] == [32, 32, 32, 32]
        assert len(list((tmp_path / lab / ".lab" / "lab" / "secrets").iterdir())) == 4
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
    problems = check(inventory)[0]
    assert {(problem.code, problem.warning) for problem in problems} == {("CERTIFICATE_UNSIGNED", True)}
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
        f"CERTIFICATE_EXPIRED {place}ended on 2026-02-01; have a new one issued",
        f"CERTIFICATE_SAN {place}lacks 198.18.2.21, so peers refuse the host there; have it issued with every name and address of the host",
    ]


def preflight(inventory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the first phase of preflight as a user does."""
    command = [sys.executable, "-m", "ansible", "playbook", "-i", str(inventory), "playbooks/preflight.yml", "--tags", "model", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=INVENTORIES.parent, env={**os.environ, "ANSIBLE_NOCOLOR": "1"})


def test_twelve_at_once(tmp_path: Path) -> None:
    """All twelve are said in one run, grouped by place, also when it is limited to a host that has none of them."""
    done = preflight(spoil(tmp_path / "inventory", TWELVE), "--limit", "dc1-spark1")
    assert done.returncode == 2
    text, _, rest = done.stdout.partition("12 mistakes; no host was changed:\n")[2].partition("[ERROR]")
    assert sorted(re.findall(r"^    ([A-Z_]+) ", text, re.MULTILINE)) == sorted(SAID_OF_TWELVE), done.stdout
    places = re.findall(r"^  (\S.*)$", text, re.MULTILINE)
    assert places == sorted(places)
    assert "dc1-kafka1, dc1-kafka2" in places
    assert "12 mistakes, listed above; no host was changed" in rest
    assert "KAFKA_ID_DUPLICATE" not in rest


def test_what_a_run_registers_is_no_variable_of_the_inventory(tmp_path: Path) -> None:
    """Preflight in a playbook of one's own, after tasks that registered and set variables that begin like ours."""
    tasks = [{"ansible.builtin.debug": {}, "register": "kafka_answer"}, {"ansible.builtin.set_fact": {"zookeeper_answer": 1}}]
    play = {"hosts": "all", "connection": "local", "gather_facts": False, "tasks": tasks}
    imported = {"ansible.builtin.import_playbook": str(INVENTORIES.parent / "playbooks" / "preflight.yml")}
    (tmp_path / "mine.yml").write_text(json.dumps([play, imported, imported]))
    lab = spoil(tmp_path / "inventory", LAB)
    command = [sys.executable, "-m", "ansible", "playbook", "-i", str(lab), str(tmp_path / "mine.yml"), "--tags", "model,untagged"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=INVENTORIES.parent, env={**os.environ, "ANSIBLE_NOCOLOR": "1"})
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("What this layout (single) survives:") == 2


def test_json(tmp_path: Path) -> None:
    """One line of JSON holds every field of every mistake; the exit code is the same."""
    mistake = next(mistake for mistake in MISTAKES if mistake.code == "ADDRESS_OUTSIDE")
    done = preflight(spoil(tmp_path / "inventory", mistake), "-e", "preflight_output=json")
    assert done.returncode == 2
    (found,) = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    assert found["errors"] == [
        {"code": "ADDRESS_OUTSIDE", "hosts": ["dc1-kafka2"], "variable": "replication_address", "value": "198.18.3.22",
         "wrong": "outside the replication network 198.18.2.0/24", "advice": "correct the address or replication_network"}
    ]  # fmt: skip
    assert (found["warnings"], found["phase"], found["survival"]) == ([], "model", [])


def test_survival_is_printed(tmp_path: Path) -> None:
    """A model without mistakes is answered with what it survives, as text and as JSON."""
    inventory = spoil(tmp_path / "inventory", replace(LAB, inventory="lab_stretch2"))
    text = preflight(inventory)
    assert text.returncode == 0, text.stdout
    assert "What this layout (stretch2) survives:" in text.stdout
    assert re.search(r"^ +datacenter dc1 +no +no +yes +operator: failover to dc2", text.stdout, re.MULTILINE)
    done = preflight(inventory, "-e", "preflight_output=json")
    (found,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    rows = {row["failure"]: row for row in found["survival"]}
    assert rows["datacenter dc1"]["quorum"] is False
    assert rows["dc1-zk1"] == {"failure": "dc1-zk1", "quorum": True, "writable": True, "zero_loss": True, "who": "nobody"}
