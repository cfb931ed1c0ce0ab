"""What the inputs of the role pki have wrong: said all at once, and nothing is made."""

from pathlib import Path
from typing import Any

import pytest
from unit.pki_folder import BROKER, ZOOKEEPER, run, said


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"certificates": [{**BROKER, "authority": "infar"}]},
            "CERTIFICATE_AUTHORITY dc1-kafka1/pki_certificates[broker] = infar: no CA has this name; "
            "declare it in pki_authorities",
        ),
        (
            {"truststores": [{"path": "/t/ca.pem", "authorities": ["infra", "infar"]}]},
            "CERTIFICATE_AUTHORITY dc1-kafka1/pki_truststores[/t/ca.pem] = infar: no CA has this name; "
            "declare it in pki_authorities",
        ),
        (
            {
                "certificates": [BROKER, {**ZOOKEEPER, "authority": "new"}],
                "truststores": [{"path": "/t/ca.pem", "authorities": ["new"]}],
            },
            "CERTIFICATE_UNTRUSTED dc1-kafka1/pki_certificates[broker] = infra: the host is server and client, but "
            "its truststores do not contain this CA: hosts with such certificates would reject one another; first "
            "add the CA to the truststores (pki_truststores)",
        ),
        (
            {"certificates": [BROKER, {**ZOOKEEPER, "name": "broker"}]},
            "CERTIFICATE_DUPLICATE dc1-kafka1/pki_certificates = broker: two certificates have this name; "
            "give each certificate another name",
        ),
        (
            {"certificates": [BROKER, {**ZOOKEEPER, "path": BROKER["path"]}]},
            f"CERTIFICATE_DUPLICATE dc1-kafka1/pki_certificates[{ZOOKEEPER['name']}].path = {BROKER['path']}: "
            "two files have this path; give each file another path",
        ),
        (
            {
                "truststores": [
                    {"path": "/t/ca.pem", "authorities": ["infra"]},
                    {"path": "/t/clients/ca.pem", "authorities": ["new", "infra"]},
                ]
            },
            "CERTIFICATE_DUPLICATE dc1-kafka1/pki_truststores[/t/clients/ca.pem]: /t/ca.pem has the same file name "
            "and other CAs, but the control node stores both truststores under that name; give it another file name",
        ),
        (
            {"truststores": [{"path": "/t/broker.pem", "authorities": ["infra"]}]},
            "CERTIFICATE_DUPLICATE dc1-kafka1/pki_truststores[/t/broker.pem]: the control node would store this "
            "truststore in the file of the certificate with the same name; rename the truststore or the certificate",
        ),
        (
            {"certificates": [{**BROKER, "name": "../broker"}]},
            "CERTIFICATE_NAME dc1-kafka1/pki_certificates = ../broker: "
            "not a valid file name, but files are named after it; "
            "use letters, digits, dots and dashes",
        ),
        (
            {"certificates": [{**BROKER, "names": ["dc1 kafka1", "*.client", "2001:db8::1"]}]},
            "CERTIFICATE_NAME dc1-kafka1/pki_certificates[broker] = dc1 kafka1: neither a DNS name nor an address; "
            "write it as dc1-kafka1.example.org or 198.51.100.7",
        ),
        (
            {"certificates": [{**BROKER, "subject": "dc1-kafka1"}]},
            "CERTIFICATE_SUBJECT dc1-kafka1/pki_certificates[broker]: dc1-kafka1 is not a valid subject; write it as "
            "CN=kafka,OU=zkclients,O=lab",
        ),
        (
            {"authorities": [{"name": "infra"}]},
            "CERTIFICATE_SUBJECT dc1-kafka1/pki_authorities[infra]: nothing is not a valid subject; write it as "
            "CN=kafka,OU=zkclients,O=lab",
        ),
        (
            {"certificates": [{**BROKER, "names": []}]},
            "CERTIFICATE_SAN dc1-kafka1/pki_certificates[broker] = CN=dc1-kafka1,OU=brokers,O=lab: "
            "the certificate of a server, without names; set names, or set usage: [client]",
        ),
        (
            {"days": 30},
            "CERTIFICATE_DAYS dc1-kafka1/pki_days = 30: "
            "not more than pki_renew_days (30): every run would renew the certificates; "
            "raise it above 30 (default: 397)",
        ),
        (
            {"certificates": [{**BROKER, "format": "pkcs12"}]},
            "CERTIFICATE_PASSPHRASE dc1-kafka1/pki_certificates[broker]: format is pkcs12, "
            "but pki_store_password is not set; set it in a vaulted file",
        ),
    ],
)
def test_wrong_inputs(tmp_path: Path, changed: dict[str, Any], text: str) -> None:
    """Said in check mode too, before anything is made."""
    assert said(run(tmp_path / "a", **changed)) == [text]
    if "set names" not in text:
        assert said(run(tmp_path / "b", check_mode=True, **changed)) == [text]
    assert not list(tmp_path.rglob("broker.*")) or "pkcs12" in text
