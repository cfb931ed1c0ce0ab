"""A CA is replaced in steps; one that would cut somebody off is refused before a file is written."""

from pathlib import Path
from typing import Any

import pytest
from unit.certificate_maker import Ca, key_pem, new_key, pem
from unit.pki_folder import BROKER, run, said, snapshot

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reload import Reload, ReloadError
from ansible_collections.millrace.kafka.plugins.module_utils.tls.served import Served, differs
from ansible_collections.millrace.kafka.plugins.plugin_utils.endpoints import broker_endpoints, zookeeper_endpoints
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import PreviousState

STORE = "/etc/kafka/tls/ca.pem"
HOSTS = ("dc1-kafka1", "dc1-kafka2")


def site(folder: Path, signs: str, *trusted: str, check_mode: bool = False) -> list[str]:
    """Converge two brokers one after the other; return what is wrong."""
    problems = []
    for host in HOSTS:
        mine = {**BROKER, "subject": f"CN={host},OU=brokers,O=lab", "names": [host], "authority": signs}
        done = run(
            folder,
            host=host,
            check_mode=check_mode,
            certificates=[mine],
            truststores=[{"path": STORE, "authorities": list(trusted)}],
        )
        problems += said(done)
    return problems


def test_a_ca_is_replaced_in_three_steps(tmp_path: Path) -> None:
    for signs, trusted in (
        ("infra", ["infra"]),
        ("infra", ["infra", "new"]),
        ("new", ["infra", "new"]),
        ("new", ["new"]),
    ):
        assert site(tmp_path, signs, *trusted) == []
        assert (tmp_path / "certificates/dc1-kafka2/ca.pem").read_text().count("BEGIN CERTIFICATE") == len(trusted)


def test_a_certificate_of_a_ca_that_peers_do_not_trust_yet(tmp_path: Path) -> None:
    assert site(tmp_path, "infra", "infra") == []
    before = snapshot(tmp_path)
    lines = site(tmp_path, "new", "infra", "new", check_mode=True)
    wrong = (
        "the new certificate is from CN=New CA,O=lab, but dc1-kafka1, dc1-kafka2, which trust CN=Infra CA,O=lab, "
        "do not trust that CA yet"
    )
    assert site(tmp_path, "infra", "infra", "new") == []  # the new CA is there, and trusted
    assert lines == []  # before it was made, nothing could be said of its subject
    (tmp_path / "certificates/dc1-kafka2/ca.pem").write_bytes(
        before["certificates/dc1-kafka2/ca.pem"][1]
    )  # one host was not reached
    found = site(tmp_path, "new", "infra", "new", check_mode=True)
    assert [text.split(":")[0] for text in found] == [
        f"CERTIFICATE_STEP {host}/pki_certificates[broker]" for host in HOSTS
    ]
    assert all(
        wrong.replace("dc1-kafka1, dc1-kafka2", "dc1-kafka2") in text
        and "first put both CAs into every truststore" in text
        for text in found
    )


def test_ports_that_are_behind_the_folder(tmp_path: Path) -> None:
    """A run that ended early has noted both CAs for hosts that have only the first."""
    assert site(tmp_path, "infra", "infra", "new") == []
    old, new, both = "CN=Infra CA,O=lab", "CN=New CA,O=lab", ["CN=Infra CA,O=lab", "CN=New CA,O=lab"]
    ports = [
        {"host": "a", "authorities": both},
        {"host": "c", "authorities": [old]},
        {"host": "b", "authorities": [old]},
        {"host": "d", "authorities": []},
    ]
    assert PreviousState(tmp_path).trusting(old, but_not=new) == []
    assert PreviousState(tmp_path, ports).trusting(old, but_not=new) == ["b", "c"]


def test_a_ca_that_somebody_still_needs_is_not_dropped(tmp_path: Path) -> None:
    assert site(tmp_path, "infra", "infra", "new") == []
    done = run(
        tmp_path, host="dc1-spark1", certificates=[], truststores=[{"path": STORE, "authorities": ["infra", "new"]}]
    )
    assert said(done) == []
    before = snapshot(tmp_path)
    done = run(tmp_path, host="dc1-spark1", certificates=[], truststores=[{"path": STORE, "authorities": ["new"]}])
    assert said(done) == [
        "CERTIFICATE_STEP dc1-spark1/pki_truststores[/etc/kafka/tls/ca.pem]: CN=Infra CA,O=lab is removed, "
        "but dc1-kafka1, dc1-kafka2 still have certificates from it: this host would reject them; "
        "first give every host a certificate of the new CA, and run (docs/security.md)"
    ]
    assert snapshot(tmp_path) == before


def test_a_ca_that_signs_through_an_intermediate_one(tmp_path: Path) -> None:
    """What peers trust is the root: nobody may drop it, and its certificates wait until everybody trusts it."""
    assert site(tmp_path, "infra", "infra") == []
    before = snapshot(tmp_path)
    root = Ca("Corporate CA")
    between, key = Ca("Issuing CA", root), new_key()
    given = tmp_path / "given"
    given.mkdir()
    (given / "ca.crt").write_bytes(pem(root.certificate))
    (given / "host.crt").write_bytes(pem(between.issue(key), between.certificate))
    (given / "host.key").write_bytes(key_pem(key))
    theirs = {
        **BROKER,
        "authority": "corporate",
        "source": "provided",
        "certificate": str(given / "host.crt"),
        "key": str(given / "host.key"),
    }
    authorities = [
        {"name": "infra", "subject": "CN=Infra CA,O=lab"},
        {"name": "corporate", "certificate": str(given / "ca.crt")},
    ]
    both = {"path": STORE, "authorities": ["infra", "corporate"]}

    def given_to(host: str, certificate: dict[str, Any], *trusted: str) -> list[str]:
        stores = [{"path": STORE, "authorities": list(trusted)}]
        return said(run(tmp_path, host=host, authorities=authorities, certificates=[certificate], truststores=stores))

    early = run(tmp_path, check_mode=True, authorities=authorities, certificates=[theirs], truststores=[both])
    assert [text.split(":")[0] for text in said(early)] == ["CERTIFICATE_STEP dc1-kafka1/pki_certificates[broker]"]
    assert {name: text for name, text in snapshot(tmp_path).items() if not name.startswith("given")} == before
    for host in HOSTS:
        assert (
            given_to(host, {**BROKER, "subject": f"CN={host},OU=brokers,O=lab", "names": [host]}, "infra", "corporate")
            == []
        )
    assert given_to(HOSTS[0], theirs, "infra", "corporate") == []
    assert (
        run(tmp_path, authorities=authorities, certificates=[theirs], truststores=[both]).held["broker"]["issuer"]
        == "CN=Corporate CA,O=lab"
    )
    dropped = given_to(HOSTS[1], {**BROKER, "subject": f"CN={HOSTS[1]},OU=brokers,O=lab", "names": [HOSTS[1]]}, "infra")
    assert [text.split(" still")[0] for text in dropped] == [
        f"CERTIFICATE_STEP {HOSTS[1]}/pki_truststores[{STORE}]: CN=Corporate CA,O=lab is removed, but dc1-kafka1"
    ]


def test_renewal_that_is_asked_for(tmp_path: Path) -> None:
    first, same, new = run(tmp_path), run(tmp_path), run(tmp_path, renew=True)
    assert first.held["broker"]["serial"] == same.held["broker"]["serial"] != new.held["broker"]["serial"]
    assert new.changes == ["certificate broker: renewal requested"]


HOSTVARS: dict[str, Any] = {
    f"kafka{number}": {
        "kafka_broker_id": number,
        "kafka_inter_broker_listener": "REPLICATION",
        "kafka_listeners": [
            {
                "name": "CLIENT",
                "address": f"10.0.1.{number}",
                "port": 9092,
                "protocol": "SASL_SSL",
                "advertised_address": f"192.0.2.{number}",
            },
            {"name": "REPLICATION", "address": f"10.0.2.{number}", "port": 9093, "protocol": "SSL"},
            {"name": "PLAIN", "address": f"10.0.1.{number}", "port": 9095, "protocol": "PLAINTEXT"},
        ],
    }
    for number in (1, 2)
}


def made(issuer: str = "CN=A", trusted: tuple[str, ...] = ("CN=A",)) -> dict[str, Any]:
    """Return what the action certificates answers."""
    held = {"issuer": issuer, "until": "2027-01-01", "path": "/etc/kafka/tls/keystore.pem"}
    return {
        f"kafka{n}": {
            "held": {"broker": {**held, "serial": f"{n}{n}"}},
            "trusted": {"/etc/kafka/tls/ca.pem": [*trusted]},
        }
        for n in (1, 2)
    }


def test_endpoints_of_brokers_and_servers() -> None:
    found = broker_endpoints(["kafka1"], HOSTVARS, made())
    assert [(e["listener"], e["inter_broker"], e["address"], e["port"], e["serial"], e["trusted"]) for e in found] == [
        ("CLIENT", False, "192.0.2.1", 9092, "11", []),
        ("REPLICATION", True, "10.0.2.1", 9093, "11", ["CN=A"]),
    ]
    answer = {
        "zk1": {
            "held": {"z": {"serial": "5", "until": "2027-01-01", "path": "/etc/zookeeper/tls/keystore.pem"}},
            "trusted": {},
        }
    }
    assert zookeeper_endpoints(["zk1"], {"zk1": {"client_address": "10.0.1.9"}}, answer) == [
        {"host": "zk1", "address": "10.0.1.9", "port": 2281, "serial": "5", "until": "2027-01-01", "trusted": []}
    ]
    assert (
        zookeeper_endpoints(["zk1"], {"zk1": {"client_address": "10.0.1.9", "zookeeper_secure_client_port": 0}}, answer)
        == []
    )


def test_what_a_port_does_otherwise() -> None:
    endpoint = {"serial": "11", "trusted": ["CN=B", "CN=A"]}
    assert differs(endpoint, Served("11", "", ["CN=A", "CN=B"])) == ""
    assert differs(endpoint, Served("12", "", ["CN=A", "CN=B"])) == "serves the certificate 12, on its disk is 11"
    assert differs(endpoint, Served("11", "", ["CN=A"])) == "trusts CN=A, on its disk is CN=A, CN=B"
    assert differs(endpoint, Served(error="timed out")) == "timed out"


class Brokers:
    """Stands in for listeners: what each serves and trusts, and what a reload makes of it."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], serials: dict[int, str], trusts: list[str]
    ) -> None:
        """Take the place of the handshake and of the broker's answer to an alteration."""
        self.now = {
            (n, name): Served(serials[n], "", trusts if name == "REPLICATION" else [])
            for n in (1, 2)
            for name in ("CLIENT", "REPLICATION")
        }
        admin = {"ssl.certificate.location": "c", "ssl.ca.location": "a", "bootstrap.servers": "127.0.0.1:1"}
        self.reload = Reload(admin, broker_endpoints(["kafka1", "kafka2"], HOSTVARS, wanted), patience=0.5)
        self.order: list[str] = []
        monkeypatch.setattr(
            self.reload, "observe", lambda: [self.now[e["broker"], e["listener"]] for e in self.reload.endpoints]
        )
        monkeypatch.setattr(self.reload, "reload", self.reloaded)

    def reloaded(self, endpoint: Any, store: str, what: str) -> None:
        """Note the order, and serve what is on the disk."""
        self.order.append(f"{endpoint['broker']} {endpoint['listener']} {store}")
        was = self.now[endpoint["broker"], endpoint["listener"]]
        served = (
            Served(endpoint["serial"], "", was.authorities)
            if store == "keystore"
            else Served(was.serial, "", sorted(endpoint["trusted"]))
        )
        self.now[endpoint["broker"], endpoint["listener"]] = served


def test_the_inter_broker_listener_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(monkeypatch, made(), {1: "1", 2: "2"}, ["CN=A"])
    brokers.reload.converge()
    assert brokers.order == [
        "1 REPLICATION keystore",
        "1 CLIENT keystore",
        "2 REPLICATION keystore",
        "2 CLIENT keystore",
    ]


def test_truststores_grow_before_certificates_and_shrink_after(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = Brokers(monkeypatch, made("CN=B", ("CN=A", "CN=B")), {1: "1", 2: "2"}, ["CN=A"])
    growing.reload.converge()
    assert growing.order[:2] == ["1 REPLICATION truststore", "2 REPLICATION truststore"]
    assert [text.split()[2] for text in growing.order[2:]] == ["keystore"] * 4
    shrinking = Brokers(monkeypatch, made("CN=B", ("CN=B",)), {1: "1", 2: "2"}, ["CN=A", "CN=B"])
    shrinking.reload.converge()
    assert [text.split()[2] for text in shrinking.order] == ["keystore"] * 4 + ["truststore"] * 2


def test_a_ca_that_a_peer_does_not_trust_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(monkeypatch, made("CN=B", ("CN=B",)), {1: "1", 2: "2"}, ["CN=A"])
    with pytest.raises(
        ReloadError,
        match=r"listener REPLICATION: not reloaded, its certificate is from CN=B, which broker 1 .* does not trust",
    ):
        brokers.reload.converge()
    assert brokers.order == []


def test_a_broker_is_registered_before_it_opens_its_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(monkeypatch, made(), {1: "1", 2: "22"}, ["CN=A"])
    there, asked = brokers.now[2, "CLIENT"], []

    def observe() -> list[Served]:
        asked.append(1)
        brokers.now[2, "CLIENT"] = Served(error="Connection refused") if len(asked) == 1 else there
        return [brokers.now[e["broker"], e["listener"]] for e in brokers.reload.endpoints]

    monkeypatch.setattr(brokers.reload, "observe", observe)
    brokers.reload.converge()
    assert brokers.order == ["1 REPLICATION keystore", "1 CLIENT keystore"]


def test_nothing_is_reloaded_where_a_listener_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(monkeypatch, made(), {1: "1", 2: "2"}, ["CN=A"])
    brokers.now[2, "CLIENT"] = Served(error="Connection refused")
    with pytest.raises(ReloadError, match="listener CLIENT: Connection refused; nothing was reloaded"):
        brokers.reload.converge()
    assert brokers.order == []
