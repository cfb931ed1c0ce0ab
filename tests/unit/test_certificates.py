"""Each wrong certificate, made here, and what is said of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from unit.certificate_maker import Ca, key_pem, new_key, pem

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import (
    CertificateError,
    CertificateSpec,
    certificates_in,
    key_in,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.checks import check
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
INFRA, FOREIGN, SAME_NAME = Ca("Infra CA"), Ca("Foreign CA"), Ca("Infra CA")
BETWEEN, OLD_BETWEEN = Ca("Issuing CA", INFRA), Ca("Issuing CA", INFRA, end=datetime(2026, 5, 1, tzinfo=UTC))
KEY, OTHER_KEY = new_key(), new_key()
WANTED = CertificateSpec(
    "dc1-kafka1", "broker", "CN=dc1-kafka1,OU=brokers,O=lab", ("dc1-kafka1", "198.18.1.21", "198.18.2.21")
)
WHERE = "dc1-kafka1/pki_certificates[broker] = CN=dc1-kafka1,OU=brokers,O=lab:"
Made = Sequence[x509.Certificate]


def said(
    certificates: Made,
    wanted: CertificateSpec = WANTED,
    key: object = KEY,
    trusted: Made = (INFRA.certificate,),
    known: Made = (),
) -> list[str]:
    """Return the lines that preflight would print, warnings marked."""
    found = check(wanted, key, certificates, trusted, NOW, 30, known)
    return [("warning " if problem.warning else "") + line(problem, {}) for problem in found]


@pytest.mark.parametrize(
    "certificates",
    [
        pytest.param(lambda: [INFRA.issue(KEY)], id="plain"),
        pytest.param(lambda: [BETWEEN.issue(KEY), BETWEEN.certificate], id="intermediate"),
        pytest.param(
            lambda: [BETWEEN.issue(KEY), INFRA.certificate, BETWEEN.certificate], id="any-order-and-the-root-too"
        ),
        pytest.param(lambda: [INFRA.issue(KEY, [*WANTED.names, "more.example.org"])], id="more-names"),
        pytest.param(lambda: [INFRA.issue(KEY, uses=())], id="no-usage-means-any"),
        pytest.param(lambda: [INFRA.issue(KEY, end=datetime(2026, 7, 1, 13, tzinfo=UTC))], id="exactly-30-days-left"),
    ],
)
def test_right(certificates: Callable[[], Made]) -> None:
    assert said(certificates()) == []


WRONG: dict[str, tuple[Callable[[], Made], list[str]]] = {
    "expired": (
        lambda: [INFRA.issue(KEY, end=datetime(2026, 5, 31, tzinfo=UTC))],
        [f"CERTIFICATE_EXPIRED {WHERE} expired on 2026-05-31; have a new certificate issued"],
    ),
    "soon": (
        lambda: [INFRA.issue(KEY, end=datetime(2026, 7, 1, 11, tzinfo=UTC))],
        [f"warning CERTIFICATE_EXPIRES {WHERE} expires on 2026-07-01, in 29 days; have a new certificate issued"],
    ),
    "tomorrow": (
        lambda: [INFRA.issue(KEY, end=datetime(2026, 6, 2, 13, tzinfo=UTC))],
        [f"warning CERTIFICATE_EXPIRES {WHERE} expires on 2026-06-02, in 1 day; have a new certificate issued"],
    ),
    "not-yet": (
        lambda: [INFRA.issue(KEY, begin=datetime(2026, 6, 2, tzinfo=UTC))],
        [
            f"CERTIFICATE_NOT_YET {WHERE} not valid before 2026-06-02; "
            "wait, or correct the clock of the control node or of the CA"
        ],
    ),
    "lacks-an-address": (
        lambda: [INFRA.issue(KEY, ["dc1-kafka1", "198.18.1.21", "198.18.2.22"])],
        [
            f"CERTIFICATE_SAN {WHERE} the certificate does not contain 198.18.2.21: peers that connect there reject "
            "the host; have it issued with every name and address of the host"
        ],
    ),
    "no-names": (
        lambda: [INFRA.issue(KEY, [])],
        [
            f"CERTIFICATE_SAN {WHERE} "
            "the certificate does not contain dc1-kafka1, 198.18.1.21, 198.18.2.21: peers that connect there reject "
            "the host; "
            "have it issued with every name and address of the host"
        ],
    ),
    "foreign-key": (
        lambda: [INFRA.issue(OTHER_KEY)],
        [
            f"CERTIFICATE_KEY {WHERE} the private key is the key of another certificate; "
            "set `key` to the key that the certificate was issued for"
        ],
    ),
    "subject": (
        lambda: [INFRA.issue(KEY, common="dc1-kafka2")],
        [
            f"CERTIFICATE_SUBJECT {WHERE} the certificate has the subject CN=dc1-kafka2,OU=brokers,O=lab; "
            "have it issued for the declared subject, which principal rules and ACLs use, or correct the inventory"
        ],
    ),
    "foreign-ca": (
        lambda: [FOREIGN.issue(KEY)],
        [
            f"CERTIFICATE_CHAIN {WHERE} issued by CN=Foreign CA,O=lab, "
            "which is neither in the file nor a trusted CA (CN=Infra CA,O=lab); "
            "append the intermediate certificates to the file, or trust that CA"
        ],
    ),
    "foreign-ca-in-the-file": (
        lambda: [FOREIGN.issue(KEY), FOREIGN.certificate],
        [
            f"CERTIFICATE_CHAIN {WHERE} issued by CN=Foreign CA,O=lab, "
            "which is neither in the file nor a trusted CA (CN=Infra CA,O=lab); "
            "append the intermediate certificates to the file, or trust that CA"
        ],
    ),
    "foreign-ca-of-the-same-name": (
        lambda: [SAME_NAME.issue(KEY)],
        [
            f"CERTIFICATE_CHAIN {WHERE} signed by another CA with the same name, CN=Infra CA,O=lab; "
            "use a certificate of the CA that the peers trust"
        ],
    ),
    "intermediate-missing": (
        lambda: [BETWEEN.issue(KEY)],
        [
            f"CERTIFICATE_CHAIN {WHERE} issued by CN=Issuing CA,O=lab, "
            "which is neither in the file nor a trusted CA (CN=Infra CA,O=lab); "
            "append the intermediate certificates to the file, or trust that CA"
        ],
    ),
    "intermediate-expired": (
        lambda: [OLD_BETWEEN.issue(KEY), OLD_BETWEEN.certificate],
        [
            "CERTIFICATE_EXPIRED dc1-kafka1/pki_certificates[broker] = CN=Issuing CA,O=lab: expired on 2026-05-01; "
            "have a new intermediate certificate issued"
        ],
    ),
    "server-only": (
        lambda: [INFRA.issue(KEY, uses=[ExtendedKeyUsageOID.SERVER_AUTH])],
        [
            f"CERTIFICATE_USAGE {WHERE} its extended key usage does not include clientAuth: peers reject it; "
            "have it issued with serverAuth and clientAuth"
        ],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    certificates, expected = WRONG[name]
    assert said(certificates()) == expected


def test_everything_is_said_at_once() -> None:
    leaf = FOREIGN.issue(
        OTHER_KEY, [], common="x", end=datetime(2026, 2, 1, tzinfo=UTC), uses=[ExtendedKeyUsageOID.CODE_SIGNING]
    )
    codes = [
        "CERTIFICATE_KEY",
        "CERTIFICATE_SUBJECT",
        "CERTIFICATE_EXPIRED",
        "CERTIFICATE_SAN",
        "CERTIFICATE_USAGE",
        "CERTIFICATE_CHAIN",
    ]
    assert [text.split()[0] for text in said([leaf])] == codes


def test_leaf_signed_by_a_leaf() -> None:
    """A host's certificate signs nobody, also where its holder says so."""
    broker = Ca("dc1-kafka1", unit="brokers")
    broker.certificate = INFRA.issue(broker.key)
    assert broker.issue(KEY).issuer == broker.certificate.subject
    assert [text.split()[0] for text in said([broker.issue(KEY), broker.certificate])] == ["CERTIFICATE_CHAIN"]


def test_two_trusted_authorities() -> None:
    """While a CA is being replaced, certificates of both are right."""
    both = [INFRA.certificate, FOREIGN.certificate]
    assert said([INFRA.issue(KEY)], trusted=both) == []
    assert said([FOREIGN.issue(KEY)], trusted=both) == []


def test_an_intermediate_ca_that_is_trusted() -> None:
    """Java takes it without its root; librdkafka does not, nor Python, and brokers ask who asks them for less."""
    lower = Ca("Lower CA", BETWEEN)
    for trusted, known, issuer in (
        ([BETWEEN.certificate], [], "CN=Infra CA,O=lab"),
        ([lower.certificate, BETWEEN.certificate], [], "CN=Infra CA,O=lab"),
        ([lower.certificate], [INFRA.certificate], "CN=Issuing CA,O=lab"),
        ([lower.certificate], [FOREIGN.certificate, BETWEEN.certificate], "CN=Infra CA,O=lab"),
        ([BETWEEN.certificate, INFRA.certificate], [], ""),
        ([lower.certificate], [INFRA.certificate, BETWEEN.certificate], ""),
    ):
        issued = (lower if lower.certificate in trusted else BETWEEN).issue(KEY)
        assert said([issued], trusted=trusted, known=known) == (
            [
                f"CERTIFICATE_CHAIN {WHERE} its CA is an intermediate CA, and {issuer} is not trusted: librdkafka and "
                "Python would reject it; append the CAs up to the root to the file of the trusted CA "
                "(pki_authorities)"
            ]
            if issuer
            else []
        )
    client = CertificateSpec("dc1-kafka1", "broker", WANTED.subject, (), ("client",))
    assert said([BETWEEN.issue(KEY)], client, trusted=[BETWEEN.certificate]) == []


def test_client_needs_no_name() -> None:
    client = CertificateSpec("dc1-kafka1", "broker", WANTED.subject, (), ("client",))
    assert said([INFRA.issue(KEY, [], uses=[ExtendedKeyUsageOID.CLIENT_AUTH])], client) == []
    nameless = CertificateSpec("dc1-kafka1", "broker", WANTED.subject)
    assert said([INFRA.issue(KEY)], nameless) == [
        f"CERTIFICATE_SAN {WHERE} the certificate of a server, without names; set names, or set usage: [client]"
    ]


@pytest.mark.parametrize(("wanted", "right"), [("dc1-kafka1.client", True), ("a.b.client", False), ("client", False)])
def test_wildcard(wanted: str, right: bool) -> None:
    """It stands for one label, as Java and OpenSSL read it."""
    found = said([INFRA.issue(KEY, ["*.client"])], CertificateSpec("dc1-kafka1", "broker", WANTED.subject, (wanted,)))
    assert (found == []) is right


def test_as_it_is_written() -> None:
    """Names are compared without regard to case, addresses as such."""
    in_capitals, with_zero = (replace(WANTED, names=(name,)) for name in ("dc1-KAFKA1", "2001:DB8:0::1"))
    assert said([INFRA.issue(KEY, ["DC1-kafka1"])], in_capitals) == []
    assert said([INFRA.issue(KEY, ["2001:db8::1"])], with_zero) == []


@pytest.mark.parametrize(
    ("data", "passphrase", "text"),
    [
        (b"nothing", None, "the key /k is no private key in PEM; correct the passphrase or the path"),
        (
            key_pem(KEY, b"right"),
            None,
            "the key /k is encrypted, and no passphrase is set; set the passphrase of this key",
        ),
        (
            key_pem(KEY, b"right"),
            "wrong",
            "the key /k cannot be opened with the passphrase; correct the passphrase or the path",
        ),
        (
            key_pem(KEY),
            "right",
            "the key /k is not encrypted, and a passphrase is set; "
            "remove the passphrase, or set the path of the encrypted key",
        ),
    ],
)
def test_key_that_cannot_be_read(data: bytes, passphrase: str | None, text: str) -> None:
    with pytest.raises(CertificateError) as caught:
        key_in(data, "/k", passphrase)
    assert (caught.value.kind.code, str(caught.value)) == ("CERTIFICATE_KEY", text)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"nothing", "/c contains no certificate in PEM; export it as PEM (BEGIN CERTIFICATE)"),
        (key_pem(KEY), "/c contains no certificate in PEM; export it as PEM (BEGIN CERTIFICATE)"),
        (
            pem(INFRA.certificate)[:200] + b"\n-----END CERTIFICATE-----\n",
            "/c contains a broken certificate; export it again, as PEM",
        ),
    ],
)
def test_certificate_that_cannot_be_read(data: bytes, text: str) -> None:
    with pytest.raises(CertificateError) as caught:
        certificates_in(data, "/c")
    assert (caught.value.kind.code, str(caught.value)) == ("CERTIFICATE_UNREADABLE", text)


def test_certificates_among_other_text() -> None:
    """A key, comments and what openssl prints before a certificate do not matter."""
    text = b"Certificate:\n  Data\n" + key_pem(KEY) + pem(INFRA.certificate) + b"# old\n" + pem(FOREIGN.certificate)
    assert certificates_in(text, "/c") == [INFRA.certificate, FOREIGN.certificate]
