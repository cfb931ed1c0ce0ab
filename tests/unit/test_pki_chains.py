"""Chains of certificates are judged as `openssl verify` does, which is what librdkafka and most clients do."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID
from unit.certificate_maker import key_pem, pem
from unit.chain_cases import OTHERWISE, RIGHT, WRONG
from unit.chain_maker import (
    BELOW,
    BETWEEN,
    LEAF_KEY,
    LOWER,
    MIDDLE,
    PAST,
    PLAIN,
    ROOT,
    SIGNS_NOT,
    TOP,
    UNKNOWN,
    Chain,
    below,
    constrained,
    directory,
    leaf,
    pathlen,
    rooted,
    three,
    through,
    usage,
    uses,
)
from unit.pki_folder import BROKER, BROKER_PEM, NOW, run, said

WHERE = "dc1-kafka1/pki_certificates[broker] = CN=dc1-kafka1,OU=brokers,O=lab:"


def given(folder: Path, chain: Chain) -> dict[str, Any]:
    """Write the files of a host whose certificate somebody else made; return its inputs."""
    files = {"certificate": pem(*chain.given), "key": key_pem(LEAF_KEY), "ca": pem(*chain.trusted)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    certificate = {
        **BROKER,
        "names": ["dc1-kafka1"],
        "certificate": str(folder / "certificate"),
        "key": str(folder / "key"),
    }
    return {
        "certificates": [certificate],
        "authorities": [{"name": "infra", "certificate": str(folder / "ca")}],
        "source": "provided",
    }


def taken(folder: Path, chain: Chain) -> bool:
    """Tell whether the role puts a certificate to use."""
    done = run(folder / "pki", **given(folder, chain))
    right = not [problem for problem in done.problems if not problem.warning]
    assert (folder / "pki" / BROKER_PEM).exists() or not right
    return right


def openssl(folder: Path, certificates: Sequence[x509.Certificate], chain: Chain) -> bool:
    """Tell whether openssl takes a certificate and what comes with it, from a server and from a client."""
    for name, data in {
        "leaf": pem(certificates[0]),
        "untrusted": pem(*certificates),
        "trusted": pem(*chain.trusted),
    }.items():
        (folder / name).write_bytes(data)
    command = ["openssl", "verify", "-attime", str(int(NOW.timestamp())), "-verify_hostname", "dc1-kafka1"]
    command += ["-CAfile", str(folder / "trusted"), "-untrusted", str(folder / "untrusted")]
    found = [
        subprocess.run([*command, "-purpose", use, str(folder / "leaf")], capture_output=True).returncode
        for use in ("sslserver", "sslclient")
    ]
    return found == [0, 0]


def judged(folder: Path, make: Callable[[], Chain]) -> tuple[bool, bool]:
    """Tell whether the role puts a chain to use, and whether openssl takes it.

    Of a chain that is put to use openssl judges what the host gets: it may be less than was given, in another order.
    """
    folder.mkdir()
    chain = make()
    used = taken(folder, chain)
    file = folder / "pki" / BROKER_PEM
    return used, openssl(folder, x509.load_pem_x509_certificates(file.read_bytes()) if used else chain.given, chain)


def test_right(tmp_path: Path) -> None:
    found = {name: judged(tmp_path / name, make) for name, make in RIGHT.items()}
    assert found == dict.fromkeys(RIGHT, (True, True))


def test_wrong(tmp_path: Path) -> None:
    found = {name: judged(tmp_path / name, make) for name, make in WRONG.items()}
    assert found == dict.fromkeys(WRONG, (False, False))


def test_otherwise_on_purpose(tmp_path: Path) -> None:
    found = {name: judged(tmp_path / name, make) for name, (make, _, _) in OTHERWISE.items()}
    assert found == {name: (right, not right) for name, (_, right, _) in OTHERWISE.items()}


REASONS: dict[str, tuple[Chain, str]] = {
    "pathlen": (three(top=pathlen(0)), "path length constraint violated"),
    "no-ca": (through((SIGNS_NOT, True)), "basicConstraints.cA must be asserted in a CA certificate"),
    "key-usage": (through(PLAIN, usage("digital_signature")), "the key usage of a CA does not include keyCertSign"),
    "uses": (
        through(PLAIN, uses(ExtendedKeyUsageOID.SERVER_AUTH)),
        "the extended key usage of a CA does not include clientAuth",
    ),
    "unknown": (
        through(PLAIN, (UNKNOWN, True)),
        "invalid extension: 1.2.3.4.5: certificate contains unaccounted-for critical extensions",
    ),
    "unknown-in-the-leaf": (
        Chain([leaf(ROOT, (UNKNOWN, True))], [TOP]),
        "invalid extension: 1.2.3.4.5: certificate contains unaccounted-for critical extensions",
    ),
    "subject": (
        below(PLAIN, constrained([directory("x")], critical=False)),
        "a CA has name constraints on subjects, which are not supported",
    ),
    "kind-of-key": (rooted(ed25519.Ed25519PrivateKey.generate()), "Forbidden public key algorithm"),
}


@pytest.mark.parametrize("name", REASONS)
def test_reason(tmp_path: Path, name: str) -> None:
    """In the library's words, without what it says of its own inside."""
    chain, reason = REASONS[name]
    assert said(run(tmp_path / "pki", **given(tmp_path, chain))) == [
        f"CERTIFICATE_CHAIN {WHERE} peers would reject its chain: {reason}; "
        "have it issued by a CA that is allowed to (`openssl verify -purpose` names the certificate)"
    ]


def test_dates_and_chain_are_said_at_once(tmp_path: Path) -> None:
    """What is wrong besides the dates is not hidden by them."""
    late = Chain([leaf(LOWER, end=PAST), BELOW, BETWEEN], [ROOT.by(ROOT, pathlen(0))])
    lines = said(run(tmp_path / "pki", **given(tmp_path, late)))
    assert [line.split()[0] for line in lines] == ["CERTIFICATE_EXPIRED", "CERTIFICATE_CHAIN"]
    assert "path length constraint violated" in lines[1]


@pytest.mark.parametrize("name", ["intermediate-expired", "intermediate-expired-before-the-leaf-began"])
def test_an_expired_intermediate_is_the_only_mistake(tmp_path: Path, name: str) -> None:
    assert said(run(tmp_path / "pki", **given(tmp_path, WRONG[name]()))) == [
        "CERTIFICATE_EXPIRED dc1-kafka1/pki_certificates[broker] = CN=Middle CA,O=lab: expired on 2026-05-01; "
        "have a new intermediate certificate issued"
    ]


def test_the_intermediate_that_holds_is_taken(tmp_path: Path) -> None:
    """Of two certificates of one CA the host gets the one that peers take."""
    chain = RIGHT["expired-and-valid-intermediate-of-one-key"]()
    assert said(run(tmp_path / "pki", **given(tmp_path, chain))) == []
    assert x509.load_pem_x509_certificates((tmp_path / "pki" / BROKER_PEM).read_bytes()) == [chain.given[0], BETWEEN]


def test_key_usage_of_a_certificate(tmp_path: Path) -> None:
    chain = WRONG["leaf-that-may-only-encipher"]()
    assert said(run(tmp_path / "pki", **given(tmp_path, chain))) == [
        f"CERTIFICATE_USAGE {WHERE} its key usage does not include digitalSignature: peers reject it; "
        "have it issued with digitalSignature"
    ]


def test_a_ca_for_clients_alone_is_right_for_clients(tmp_path: Path) -> None:
    """What is not asked of a certificate is not asked of its CAs either."""
    inputs = given(tmp_path, through(PLAIN, uses(ExtendedKeyUsageOID.CLIENT_AUTH)))
    inputs["certificates"] = [{**inputs["certificates"][0], "usage": ["client"]}]
    assert said(run(tmp_path / "pki", **inputs)) == []


@pytest.mark.parametrize("place", ["authority", "extra", "nowhere"])
def test_the_root_of_a_trusted_intermediate_ca(tmp_path: Path, place: str) -> None:
    """It is another CA of the host, or what a truststore holds besides."""
    wanted = given(tmp_path, Chain([leaf(MIDDLE)], [BETWEEN]))
    (tmp_path / "root").write_bytes(pem(TOP))
    root = {"name": "root", "certificate": str(tmp_path / "root")}
    store = {"path": "/t/ca.pem", "authorities": ["infra"], "extra": [str(tmp_path / "lost")]}
    if place == "authority":
        store, wanted["authorities"] = {**store, "authorities": ["infra", "root"]}, [*wanted["authorities"], root]
    if place == "extra":
        store = {**store, "extra": [str(tmp_path / "root"), str(tmp_path / "lost")]}
    codes = [line.split()[0] for line in said(run(tmp_path / "pki", **wanted, truststores=[store]))]
    assert codes == ([] if place != "nowhere" else ["CERTIFICATE_CHAIN"]) + ["CERTIFICATE_MISSING"]
