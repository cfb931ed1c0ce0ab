"""The role pki itself, with its files in temporary folders of this machine; what it made is judged by the openssl command line."""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from render.site import ROOT

SECRETS = {"pki_passphrase": "correct horse battery", "pki_store_password": "staple of stores"}
NAMES = {"broker1": ["broker1", "broker1.client", "198.18.1.21", "198.18.2.21"], "broker2": ["broker2", "198.18.1.22", "2001:db8::22"]}


def site(folder: Path, **variables: Any) -> Path:
    """Write an inventory of two brokers, and a play that applies the role; return the folder."""
    certificates = [
        {"name": "broker", "subject": "CN={{ inventory_hostname }},OU=brokers,O=lab", "authority": "infra", "names": "{{ names }}",
         "path": "{{ root }}/keystore.pem"},
        {"name": "zookeeper", "subject": "CN=kafka,OU=zkclients,O=lab", "authority": "infra", "usage": ["client"], "format": "pkcs12",
         "path": "{{ root }}/zk.p12"},
        {"name": "app", "subject": "CN=app1,OU=clients,O=lab", "authority": "clients", "usage": ["client"]},
    ]  # fmt: skip
    settings = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "root": str(folder / "hosts" / "{{ inventory_hostname }}" / "tls"),
        "pki_directory": str(folder / "pki"),
        "pki_authority_key": "rsa-2048",
        "pki_authorities": [{"name": "infra", "subject": "CN=Infra CA,O=lab"}, {"name": "clients", "subject": "CN=Client CA,O=lab"}],
        "pki_certificates": certificates,
        "pki_truststores": [
            {"path": "{{ root }}/ca.pem", "authorities": ["infra", "clients"]},
            {"path": "{{ root }}/infra.pem", "authorities": ["infra"]},
        ],
        **SECRETS,
        **variables,
    }
    hosts = {host: {"names": names} for host, names in NAMES.items()}
    folder.mkdir(exist_ok=True)
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": settings}}))
    play = {"hosts": "all", "gather_facts": False, "max_fail_percentage": 0, "roles": [{"role": "pki"}]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    return folder


def apply(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the play, both outputs in one text."""
    command = [sys.executable, "-m", "ansible", "playbook", "-i", str(folder / "hosts.yml"), str(folder / "play.yml"), *options]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=environment)


def changed(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return how many tasks changed each host; AssertionError with Ansible's words where one failed."""
    assert done.returncode == 0, done.stdout
    return {host: int(count) for host, count in re.findall(r"^(\w+) +: ok=3 +changed=(\d+)", done.stdout, re.MULTILINE)}


def openssl(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what a command of openssl prints."""
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **(environment or {})})
    assert done.returncode == 0, done.stderr
    return done.stdout


def fails(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> bool:
    """Tell whether a command of openssl refuses."""
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    return done.returncode != 0


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file with the moment of its last change."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}


def serial(path: Path) -> str:
    return openssl("x509", "-in", path, "-noout", "-serial").strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site after its first run."""
    folder = site(tmp_path_factory.mktemp("pki") / "site")
    assert changed(apply(folder)) == {"broker1": 2, "broker2": 2}
    return folder


@pytest.mark.parametrize("host", NAMES)
def test_server_certificate(made: Path, host: str) -> None:
    """Every name and address is held, for both directions, below the infra CA and not below the other."""
    tls = made / "hosts" / host / "tls"
    for purpose in ("sslserver", "sslclient"):
        for name in NAMES[host]:
            option = "-verify_ip" if name[0].isdigit() else "-verify_hostname"
            assert openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", tls / "infra.pem", option, name, tls / "keystore.pem").endswith(
                "OK\n"
            )
    assert fails("verify", "-CAfile", tls / "infra.pem", "-verify_ip", "198.18.9.9", tls / "keystore.pem")
    assert fails("verify", "-CAfile", made / "pki/authorities/clients.pem", tls / "keystore.pem")
    subject = openssl("x509", "-in", tls / "keystore.pem", "-noout", "-subject", "-nameopt", "RFC2253")
    assert subject == f"subject=CN={host},OU=brokers,O=lab\n"
    assert openssl("pkey", "-in", tls / "keystore.pem", "-pubout") == openssl("x509", "-in", tls / "keystore.pem", "-noout", "-pubkey")


def test_client_certificates(made: Path, tmp_path: Path) -> None:
    """All brokers are one ZooKeeper client with a key for each; an application's certificate is of the client CA alone."""
    stores = [made / "hosts" / host / "tls" / "zk.p12" for host in NAMES]
    password = {"PW": "staple of stores"}
    for number, store in enumerate(stores):
        openssl("pkcs12", "-in", store, "-passin", "env:PW", "-nokeys", "-out", tmp_path / f"{number}.pem", environment=password)
        subject = openssl("x509", "-in", tmp_path / f"{number}.pem", "-noout", "-subject", "-nameopt", "RFC2253")
        assert subject == "subject=CN=kafka,OU=zkclients,O=lab\n"
    keys = [openssl("pkcs12", "-in", store, "-passin", "env:PW", "-nocerts", "-nodes", environment=password) for store in stores]
    assert keys[0].split("BEGIN")[1] != keys[1].split("BEGIN")[1]
    assert fails("pkcs12", "-in", stores[0], "-passin", "pass:wrong", "-nokeys")
    app = made / "pki/certificates/broker1/app.pem"
    assert openssl("verify", "-purpose", "sslclient", "-CAfile", made / "pki/authorities/clients.pem", app).endswith("OK\n")
    assert fails("verify", "-purpose", "sslserver", "-CAfile", made / "pki/authorities/clients.pem", app)
    assert fails("verify", "-CAfile", made / "pki/authorities/infra.pem", app)
    assert not list((made / "hosts").rglob("app*"))


def test_bundle(made: Path) -> None:
    tls = made / "hosts/broker1/tls"
    assert "Total found: 2\n" in openssl("storeutl", "-noout", "-certs", tls / "ca.pem")
    assert "Total found: 1\n" in openssl("storeutl", "-noout", "-certs", tls / "infra.pem")
    for certificate in (tls / "keystore.pem", made / "pki/certificates/broker1/app.pem"):
        assert openssl("verify", "-CAfile", tls / "ca.pem", certificate).endswith("OK\n")


def test_modes(made: Path) -> None:
    """Keys are read by root and the service's group on the host, by their owner alone on the control node."""
    found = {str(path.relative_to(made)): f"{path.stat().st_mode & 0o7777:04o} {path.owner()}:{path.group()}" for path in made.rglob("*")}
    assert {path: mode for path, mode in found.items() if "broker1/tls" in path} == {
        "hosts/broker1/tls": "0750 root:root",
        "hosts/broker1/tls/ca.pem": "0640 root:root",
        "hosts/broker1/tls/infra.pem": "0640 root:root",
        "hosts/broker1/tls/keystore.pem": "0640 root:root",
        "hosts/broker1/tls/zk.p12": "0640 root:root",
    }
    assert {
        found[name] for name in ("pki/authorities/infra.key", "pki/certificates/broker1/broker.pem", "pki/certificates/broker1/zookeeper.p12")
    } == {"0600 root:root"}
    assert found["pki"] == "0700 root:root"


def test_ca_key_stays_and_is_encrypted(made: Path) -> None:
    for name in ("infra", "clients"):
        key, certificate = made / f"pki/authorities/{name}.key", made / f"pki/authorities/{name}.pem"
        assert fails("pkey", "-in", key, "-noout", "-passin", "pass:wrong")
        assert "-----BEGIN ENCRYPTED PRIVATE KEY-----" in key.read_text()
        public = openssl("pkey", "-in", key, "-passin", "env:PW", "-pubout", environment={"PW": "correct horse battery"})
        assert public == openssl("x509", "-in", certificate, "-noout", "-pubkey")
        assert not [path for path in (made / "hosts").rglob("*") if path.is_file() and key.read_bytes() in path.read_bytes()]


def test_second_run(made: Path) -> None:
    before = snapshot(made / "pki") | snapshot(made / "hosts")
    assert changed(apply(made)) == {"broker1": 0, "broker2": 0}
    assert changed(apply(made, "--check", "--diff")) == {"broker1": 0, "broker2": 0}
    assert snapshot(made / "pki") | snapshot(made / "hosts") == before


def test_check_mode_first_and_nothing_secret_is_said(tmp_path: Path) -> None:
    """On bare hosts check mode runs to its end and writes nothing; the real run says as much as Ansible can, and no secret."""
    folder = site(tmp_path / "site")
    assert changed(apply(folder, "--check", "--diff")) == {"broker1": 2, "broker2": 2}
    assert sorted(path.name for path in folder.iterdir()) == ["hosts.yml", "play.yml"]
    done = apply(folder, "-vvvv", "--diff")
    assert changed(done) == {"broker1": 2, "broker2": 2}
    files = [folder / "hosts/broker1/tls" / name for name in ("keystore.pem", "zk.p12")]
    encoded = [base64.b64encode(file.read_bytes()).decode()[:200] for file in files]
    key = files[0].read_text().splitlines()[1]
    assert not [word for word in (*SECRETS.values(), "PRIVATE KEY", key, *encoded) if word in done.stdout]
    assert "+subject: CN=broker1,OU=brokers,O=lab" in done.stdout
    assert "+(secret, changed)" in done.stdout


def test_renewal(tmp_path: Path) -> None:
    """Near its end a certificate gets a successor with another key, on the hosts too; the CA stays."""
    folder = site(tmp_path / "site", pki_days=40, pki_renew_days=30)
    changed(apply(folder, "--limit", "broker1"))
    keystore, ca = folder / "hosts/broker1/tls/keystore.pem", folder / "hosts/broker1/tls/infra.pem"
    first, key, authority = serial(keystore), openssl("pkey", "-in", keystore, "-pubout"), ca.read_bytes()
    assert fails("x509", "-in", keystore, "-noout", "-checkend", str(41 * 86400))
    later = json.dumps({"pki_days": 200, "pki_renew_days": 50})
    assert changed(apply(folder, "--limit", "broker1", "-e", later)) == {"broker1": 2}
    assert (serial(keystore) == first, openssl("pkey", "-in", keystore, "-pubout") == key, ca.read_bytes() == authority) == (False, False, True)
    openssl("x509", "-in", keystore, "-noout", "-checkend", str(199 * 86400))
    assert changed(apply(folder, "--limit", "broker1", "-e", later)) == {"broker1": 0}


def test_requests_to_an_outside_ca(tmp_path: Path) -> None:
    """Requests of all hosts are written by the run that says what is missing; openssl signs them; then the hosts get their files."""
    outside = tmp_path / "outside"
    outside.mkdir()
    openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", outside / "ca.key", "-out", outside / "ca.pem", "-subj", "/O=other/CN=Outside CA",
        "-days", "100",
    )  # fmt: skip
    folder = site(
        tmp_path / "site",
        pki_source="csr",
        pki_authorities=[{"name": "infra", "certificate": str(outside / "ca.pem")}],
        pki_certificates=[
            {"name": "broker", "subject": "CN={{ inventory_hostname }},OU=brokers,O=lab", "authority": "infra", "names": "{{ names }}",
             "path": "{{ root }}/keystore.pem"}
        ],
        pki_truststores=[{"path": "{{ root }}/ca.pem", "authorities": ["infra"]}],
        pki_requests_directory=str(tmp_path / "requests"),
        pki_signed_directory=str(tmp_path / "signed"),
    )  # fmt: skip
    done = apply(folder)
    assert done.returncode == 2
    for host in NAMES:
        assert (
            f"CERTIFICATE_UNSIGNED {host}/pki_certificates[broker]: the signed certificate {tmp_path}/signed/{host}.broker.pem is missing; "
            f"have {tmp_path}/requests/{host}.broker.csr signed, put the certificate and its intermediates there, and run again"
        ) in done.stdout
    assert not (folder / "hosts").exists()
    assert list(folder.rglob("*.pem")) == [], "a bundle was noted as trusted, and no host has it"
    (tmp_path / "signed").mkdir()
    for host in NAMES:
        openssl(
            "x509", "-req", "-in", tmp_path / f"requests/{host}.broker.csr", "-CA", outside / "ca.pem", "-CAkey", outside / "ca.key",
            "-copy_extensions", "copyall", "-days", "90", "-out", tmp_path / f"signed/{host}.broker.pem",
        )  # fmt: skip
    assert changed(apply(folder)) == {"broker1": 2, "broker2": 2}
    tls = folder / "hosts/broker2/tls"
    assert openssl("verify", "-CAfile", tls / "ca.pem", "-verify_ip", "2001:db8::22", tls / "keystore.pem").endswith("OK\n")
    assert openssl("pkey", "-in", tls / "keystore.pem", "-pubout") == openssl("x509", "-in", tls / "keystore.pem", "-noout", "-pubkey")
    assert changed(apply(folder)) == {"broker1": 0, "broker2": 0}


def test_wrong_certificate_of_one_host_stops_all(tmp_path: Path) -> None:
    """A provided certificate that lacks a name reaches no host, and neither do the right ones beside it."""
    for host, names in {"broker1": NAMES["broker1"], "broker2": ["broker2"]}.items():
        alternative = ",".join(f"{'IP' if name[0].isdigit() else 'DNS'}:{name}" for name in names)
        openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / f"{host}.key", "-out", tmp_path / f"{host}.crt",
            "-subj", f"/O=lab/OU=brokers/CN={host}", "-addext", f"subjectAltName={alternative}", "-days", "100",
        )  # fmt: skip
    certificate = {
        "name": "broker", "subject": "CN={{ inventory_hostname }},OU=brokers,O=lab", "authority": "infra", "names": "{{ names }}",
        "path": "{{ root }}/keystore.pem", "certificate": str(tmp_path / "{{ inventory_hostname }}.crt"),
        "key": str(tmp_path / "{{ inventory_hostname }}.key"),
    }  # fmt: skip
    authorities = [{"name": "infra", "certificate": str(tmp_path / "{{ inventory_hostname }}.crt")}]
    folder = site(tmp_path / "site", pki_source="provided", pki_authorities=authorities, pki_certificates=[certificate], pki_truststores=[])
    done = apply(folder)
    assert done.returncode == 2
    assert (
        "CERTIFICATE_SAN broker2/pki_certificates[broker] = CN=broker2,OU=brokers,O=lab: lacks 198.18.1.22, 2001:db8::22, "
        "so peers refuse the host there; have it issued with every name and address of the host"
    ) in done.stdout
    assert not (folder / "hosts").exists()


def test_all_hosts_in_one_task(tmp_path: Path) -> None:
    """What the layers use: the inputs of every host of the play from the inventory, the role's defaults where it says nothing."""
    folder = site(tmp_path / "site", pki_users=[{"name": "kafka", "home": "/var/lib/kafka"}])
    tasks = [
        {"ansible.builtin.import_role": {"name": "pki", "tasks_from": "make"}},
        {"ansible.builtin.copy": {"content": "{{ pki_made | to_json }}", "dest": f"{folder}/{{{{ inventory_hostname }}}}.json", "mode": "0600"}},
    ]
    (folder / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    done = apply(folder)
    assert done.returncode == 0, done.stdout
    found = json.loads((folder / "broker2.json").read_text())
    assert (folder / "broker1.json").read_text() == (folder / "broker2.json").read_text()
    assert list(found["hosts"]) == ["broker1", "broker2"]
    root = folder / "hosts"
    for host in NAMES:
        made = found["hosts"][host]
        assert [file["path"] for file in made["files"]] == [f"{root}/{host}/tls/{name}" for name in ("keystore.pem", "zk.p12", "ca.pem", "infra.pem")]
        assert made["files"][0]["source"] == f"{folder}/pki/certificates/{host}/broker.pem"
        assert made["directories"] == [{"path": f"{root}/{host}/tls", "group": "root", "mode": "0750"}]
        assert {name: held["subject"] for name, held in made["held"].items()} == {
            "broker": f"CN={host},OU=brokers,O=lab",
            "zookeeper": "CN=kafka,OU=zkclients,O=lab",
            "app": "CN=app1,OU=clients,O=lab",
        }
        assert int(serial(Path(made["files"][0]["source"])).removeprefix("serial="), 16) == int(made["held"]["broker"]["serial"], 16)
    assert found["changes"] == [
        "authority infra", "authority clients",
        "certificate broker: new", "certificate zookeeper: new", "store zookeeper", "certificate app: new", "bundle ca.pem", "bundle infra.pem",
        "certificate broker: new", "certificate zookeeper: new", "store zookeeper", "certificate app: new", "bundle ca.pem", "bundle infra.pem",
    ]  # fmt: skip
    limited = apply(folder, "--limit", "broker1")
    assert re.search(r"^broker1 +: ok=2 +changed=1", limited.stdout, re.MULTILINE), limited.stdout  # the copy, for there is one host in it
    assert list(json.loads((folder / "broker1.json").read_text())["hosts"]) == ["broker1"]


def test_wrong_input_of_one_host_of_all(tmp_path: Path) -> None:
    """It is named, and nothing is made for the others either."""
    folder = site(tmp_path / "site", pki_days="{{ 'long' if inventory_hostname == 'broker2' else 397 }}")
    play = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": {"name": "pki", "tasks_from": "make"}}]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    done = apply(folder)
    assert done.returncode == 2
    assert "certificates of broker2: argument 'days' is of type str" in done.stdout
    assert not (folder / "pki").exists()
