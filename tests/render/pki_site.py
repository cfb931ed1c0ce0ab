"""A site for the role pki alone, with its files in a folder; and the openssl command line, which judges them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from render.started import Started

PLAYBOOKS = Started()
SECRETS = {"pki_passphrase": "correct horse battery", "pki_store_password": "staple of stores"}
NAMES = {
    "broker1": ["broker1", "broker1.client", "198.18.1.21", "198.18.2.21"],
    "broker2": ["broker2", "198.18.1.22", "2001:db8::22"],
}
BROKER: dict[str, Any] = {
    "name": "broker",
    "subject": "CN={{ inventory_hostname }},OU=brokers,O=lab",
    "authority": "infra",
    "names": "{{ names }}",
    "path": "{{ root }}/keystore.pem",
}


def site(folder: Path, **variables: Any) -> Path:
    """Write an inventory of two brokers, and a play that applies the role; return the folder."""
    certificates = [
        BROKER,
        {
            "name": "zookeeper",
            "subject": "CN=kafka,OU=zkclients,O=lab",
            "authority": "infra",
            "usage": ["client"],
            "format": "pkcs12",
            "path": "{{ root }}/zk.p12",
        },
        {"name": "app", "subject": "CN=app1,OU=clients,O=lab", "authority": "clients", "usage": ["client"]},
    ]
    settings = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "root": str(folder / "hosts" / "{{ inventory_hostname }}" / "tls"),
        "pki_directory": str(folder / "pki"),
        "pki_key": "ec-p256",
        "pki_authority_key": "ec-p256",
        "pki_authorities": [
            {"name": "infra", "subject": "CN=Infra CA,O=lab"},
            {"name": "clients", "subject": "CN=Client CA,O=lab"},
        ],
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
    play = {"hosts": "all", "gather_facts": False, "max_fail_percentage": 0, "roles": [{"role": "millrace.kafka.pki"}]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    return folder


def apply(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the play, both outputs in one text."""
    return PLAYBOOKS.run("-i", str(folder / "hosts.yml"), str(folder / "play.yml"), *options)


def changed(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return how many tasks changed each host; AssertionError with Ansible's words where one failed."""
    assert done.returncode == 0, done.stdout
    return {host: int(count) for host, count in re.findall(r"^(\w+) +: ok=3 +changed=(\d+)", done.stdout, re.MULTILINE)}


def openssl(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what a command of openssl prints."""
    done = subprocess.run(
        ["openssl", *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def self_signed(key: Path, certificate: Path, subject: str, *options: str) -> None:
    """Make a key and a certificate of itself."""
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    openssl(
        "req", "-x509", *kind, "-nodes", "-subj", subject, "-days", "100", "-keyout", key, "-out", certificate, *options
    )


def fails(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> bool:
    """Tell whether a command of openssl refuses."""
    done = subprocess.run(
        ["openssl", *map(str, arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    return done.returncode != 0


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file with the moment of its last change."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()
    }


def serial(path: Path) -> str:
    return openssl("x509", "-in", path, "-noout", "-serial").strip()
