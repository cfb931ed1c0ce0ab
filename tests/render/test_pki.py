"""The role pki itself, with its files in temporary folders; what it made is judged by the openssl command line."""

import base64
import json
import re
from pathlib import Path

import pytest
import yaml

from render.pki_site import NAMES, SECRETS, apply, changed, fails, openssl, serial, site, snapshot


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site after its first run, with RSA keys as on a real site; the other tests take EC keys, which are cheaper."""
    folder = site(tmp_path_factory.mktemp("pki") / "site", pki_key="rsa-2048", pki_authority_key="rsa-2048")
    assert changed(apply(folder)) == {"broker1": 2, "broker2": 2}
    return folder


@pytest.mark.parametrize("host", NAMES)
def test_server_certificate(made: Path, host: str) -> None:
    """Every name and address is held, for both directions, below the infra CA and not below the other."""
    tls = made / "hosts" / host / "tls"
    for purpose in ("sslserver", "sslclient"):
        for name in NAMES[host]:
            option = "-verify_ip" if name[0].isdigit() else "-verify_hostname"
            assert openssl(
                "verify",
                "-x509_strict",
                "-purpose",
                purpose,
                "-CAfile",
                tls / "infra.pem",
                option,
                name,
                tls / "keystore.pem",
            ).endswith("OK\n")
    assert fails("verify", "-CAfile", tls / "infra.pem", "-verify_ip", "198.18.9.9", tls / "keystore.pem")
    assert fails("verify", "-CAfile", made / "pki/authorities/clients.pem", tls / "keystore.pem")
    subject = openssl("x509", "-in", tls / "keystore.pem", "-noout", "-subject", "-nameopt", "RFC2253")
    assert subject == f"subject=CN={host},OU=brokers,O=lab\n"
    assert openssl("pkey", "-in", tls / "keystore.pem", "-pubout") == openssl(
        "x509", "-in", tls / "keystore.pem", "-noout", "-pubkey"
    )


def test_client_certificates(made: Path, tmp_path: Path) -> None:
    """All brokers are one ZooKeeper client with a key for each; an application's is of the client CA alone."""
    stores = [made / "hosts" / host / "tls" / "zk.p12" for host in NAMES]
    password = {"PW": "staple of stores"}
    for number, store in enumerate(stores):
        openssl(
            "pkcs12",
            "-in",
            store,
            "-passin",
            "env:PW",
            "-nokeys",
            "-out",
            tmp_path / f"{number}.pem",
            environment=password,
        )
        subject = openssl("x509", "-in", tmp_path / f"{number}.pem", "-noout", "-subject", "-nameopt", "RFC2253")
        assert subject == "subject=CN=kafka,OU=zkclients,O=lab\n"
    keys = [
        openssl("pkcs12", "-in", store, "-passin", "env:PW", "-nocerts", "-nodes", environment=password)
        for store in stores
    ]
    assert keys[0].split("BEGIN")[1] != keys[1].split("BEGIN")[1]
    assert fails("pkcs12", "-in", stores[0], "-passin", "pass:wrong", "-nokeys")
    app = made / "pki/certificates/broker1/app.pem"
    assert openssl("verify", "-purpose", "sslclient", "-CAfile", made / "pki/authorities/clients.pem", app).endswith(
        "OK\n"
    )
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
    found = {
        str(path.relative_to(made)): f"{path.stat().st_mode & 0o7777:04o} {path.owner()}:{path.group()}"
        for path in made.rglob("*")
    }
    assert {path: mode for path, mode in found.items() if "broker1/tls" in path} == {
        "hosts/broker1/tls": "0750 root:root",
        "hosts/broker1/tls/ca.pem": "0640 root:root",
        "hosts/broker1/tls/infra.pem": "0640 root:root",
        "hosts/broker1/tls/keystore.pem": "0640 root:root",
        "hosts/broker1/tls/zk.p12": "0640 root:root",
    }
    assert {
        found[name]
        for name in (
            "pki/authorities/infra.key",
            "pki/certificates/broker1/broker.pem",
            "pki/certificates/broker1/zookeeper.p12",
        )
    } == {"0600 root:root"}
    assert found["pki"] == "0700 root:root"


def test_ca_key_stays_and_is_encrypted(made: Path) -> None:
    for name in ("infra", "clients"):
        key, certificate = made / f"pki/authorities/{name}.key", made / f"pki/authorities/{name}.pem"
        assert fails("pkey", "-in", key, "-noout", "-passin", "pass:wrong")
        assert "-----BEGIN ENCRYPTED PRIVATE KEY-----" in key.read_text()
        public = openssl(
            "pkey", "-in", key, "-passin", "env:PW", "-pubout", environment={"PW": "correct horse battery"}
        )
        assert public == openssl("x509", "-in", certificate, "-noout", "-pubkey")
        assert not [
            path for path in (made / "hosts").rglob("*") if path.is_file() and key.read_bytes() in path.read_bytes()
        ]


def test_second_run(made: Path) -> None:
    before = snapshot(made / "pki") | snapshot(made / "hosts")
    assert changed(apply(made)) == {"broker1": 0, "broker2": 0}
    assert changed(apply(made, "--check", "--diff")) == {"broker1": 0, "broker2": 0}
    assert snapshot(made / "pki") | snapshot(made / "hosts") == before


def test_check_mode_first_and_nothing_secret_is_said(tmp_path: Path) -> None:
    """On bare hosts check mode runs to its end and writes nothing; the real run says what it can, and no secret."""
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
    assert (
        serial(keystore) == first,
        openssl("pkey", "-in", keystore, "-pubout") == key,
        ca.read_bytes() == authority,
    ) == (False, False, True)
    openssl("x509", "-in", keystore, "-noout", "-checkend", str(199 * 86400))
    assert changed(apply(folder, "--limit", "broker1", "-e", later)) == {"broker1": 0}


def test_all_hosts_in_one_task(tmp_path: Path) -> None:
    """What the layers use: the inputs of every host from the inventory, the role's defaults where it says nothing."""
    folder = site(tmp_path / "site", pki_users=[{"name": "kafka", "home": "/var/lib/kafka"}])
    tasks = [
        {"ansible.builtin.import_role": {"name": "millrace.kafka.pki", "tasks_from": "make"}},
        {
            "ansible.builtin.copy": {
                "content": "{{ pki_made | to_json }}",
                "dest": f"{folder}/{{{{ inventory_hostname }}}}.json",
                "mode": "0600",
            }
        },
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
        assert [file["path"] for file in made["files"]] == [
            f"{root}/{host}/tls/{name}" for name in ("keystore.pem", "zk.p12", "ca.pem", "infra.pem")
        ]
        assert made["files"][0]["source"] == f"{folder}/pki/certificates/{host}/broker.pem"
        assert made["directories"] == [{"path": f"{root}/{host}/tls", "group": "root", "mode": "0750"}]
        assert {name: held["subject"] for name, held in made["held"].items()} == {
            "broker": f"CN={host},OU=brokers,O=lab",
            "zookeeper": "CN=kafka,OU=zkclients,O=lab",
            "app": "CN=app1,OU=clients,O=lab",
        }
        assert int(serial(Path(made["files"][0]["source"])).removeprefix("serial="), 16) == int(
            made["held"]["broker"]["serial"], 16
        )
    of_a_host = [
        "certificate broker: new",
        "certificate zookeeper: new",
        "store zookeeper",
        "certificate app: new",
        "bundle ca.pem",
        "bundle infra.pem",
    ]
    assert found["changes"] == ["authority infra", "authority clients", *of_a_host, *of_a_host]
    limited = apply(folder, "--limit", "broker1")
    # The copy, for there is one host in it.
    assert re.search(r"^broker1 +: ok=2 +changed=1", limited.stdout, re.MULTILINE), limited.stdout
    assert list(json.loads((folder / "broker1.json").read_text())["hosts"]) == ["broker1"]


def test_wrong_input_of_one_host_of_all(tmp_path: Path) -> None:
    """It is named, and nothing is made for the others either."""
    folder = site(tmp_path / "site", pki_days="{{ 'long' if inventory_hostname == 'broker2' else 397 }}")
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.import_role": {"name": "millrace.kafka.pki", "tasks_from": "make"}}],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    done = apply(folder)
    assert done.returncode == 2
    assert "certificates of broker2: argument 'days' is of type str" in done.stdout
    assert not (folder / "pki").exists()
