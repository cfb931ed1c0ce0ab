"""Chains of certificates by name, right and wrong, with the verdict of `openssl verify`."""

from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_network

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from unit.certificate_maker import BOTH
from unit.chain_maker import (
    BELOW,
    BETWEEN,
    LATER,
    LEAF,
    LEAF_KEY,
    LOWER,
    MIDDLE,
    NAMES,
    OTHER,
    PAST,
    PLAIN,
    POLICY,
    ROOT,
    SAME_NAME,
    SIGNS,
    SIGNS_NOT,
    TOP,
    UNKNOWN,
    Chain,
    Holder,
    below,
    ca,
    constrained,
    directory,
    first_version,
    id_of,
    leaf,
    other_strings,
    own_id,
    pathlen,
    rooted,
    self_issued,
    three,
    through,
    two_of_one_name,
    usage,
    uses,
)

RIGHT: dict[str, Callable[[], Chain]] = {
    "root": lambda: Chain([leaf(ROOT)], [TOP]),
    "intermediate": lambda: Chain([leaf(MIDDLE), BETWEEN], [TOP]),
    "two-intermediates": lambda: Chain([leaf(LOWER), BELOW, BETWEEN], [TOP]),
    "two-intermediates-in-the-other-order": lambda: Chain([leaf(LOWER), BETWEEN, BELOW], [TOP]),
    "intermediate-and-root": lambda: Chain([leaf(MIDDLE), BETWEEN, TOP], [TOP]),
    "intermediate-twice": lambda: Chain([leaf(MIDDLE), BETWEEN, BETWEEN], [TOP]),
    "intermediate-and-a-stranger": lambda: Chain([leaf(MIDDLE), OTHER.by(OTHER, PLAIN), BETWEEN], [TOP]),
    "two-trusted": lambda: Chain([leaf(ROOT)], [OTHER.by(OTHER, PLAIN), TOP]),
    "cross-signed": lambda: Chain([leaf(MIDDLE), MIDDLE.by(OTHER, PLAIN), BETWEEN], [TOP]),
    "expired-and-valid-intermediate-of-one-key": lambda: Chain(
        [leaf(MIDDLE), MIDDLE.by(ROOT, PLAIN, end=PAST), BETWEEN], [TOP]
    ),
    "forbidden-and-allowed-intermediate-of-one-key": lambda: Chain(
        [leaf(MIDDLE), MIDDLE.by(ROOT, (SIGNS_NOT, True)), BETWEEN], [TOP]
    ),
    "two-trusted-of-one-name": lambda: two_of_one_name(id_of(ROOT)),
    "pathlen-kept": lambda: three(pathlen(2), pathlen(1), pathlen(0)),
    "self-issued-and-no-pathlen": lambda: self_issued(PLAIN),
    "basic-constraints-not-critical": lambda: through((SIGNS, False)),
    "ca-with-key-usage": lambda: through(PLAIN, usage("key_cert_sign", "crl_sign")),
    "ca-with-both-uses": lambda: through(PLAIN, uses(*BOTH)),
    "ca-with-policies": lambda: through(PLAIN, (POLICY, True)),
    "ca-with-an-unknown-extension": lambda: through(PLAIN, (UNKNOWN, False)),
    "leaf-with-policies": lambda: Chain([leaf(ROOT, (POLICY, True))], [TOP]),
    "leaf-with-an-unknown-extension": lambda: Chain([leaf(ROOT, (UNKNOWN, False))], [TOP]),
    "leaf-with-key-usage": lambda: Chain([leaf(ROOT, usage("digital_signature"))], [TOP]),
    "leaf-that-is-a-ca": lambda: Chain([leaf(ROOT, PLAIN)], [TOP]),
    "leaf-without-uses": lambda: Chain([Holder(LEAF, LEAF_KEY).by(ROOT, (NAMES, False))], [TOP]),
    "leaf-with-more-uses": lambda: Chain([leaf(ROOT, uses(*BOTH, ExtendedKeyUsageOID.CODE_SIGNING))], [TOP]),
    "leaf-that-is-its-own-ca": lambda: Chain([one := leaf(Holder(LEAF, LEAF_KEY), PLAIN)], [one]),
    "name-permitted": lambda: below(PLAIN, constrained([x509.DNSName("dc1-kafka1")])),
    "name-not-excluded": lambda: below(PLAIN, constrained(excluded=[x509.DNSName("example.org")])),
    "other-kind-of-name-permitted": lambda: below(PLAIN, constrained([x509.IPAddress(ip_network("10.0.0.0/8"))])),
    "leaf-that-is-its-own-issuer": lambda: Chain([one := leaf(Holder(LEAF, LEAF_KEY))], [one]),
    "key-identifiers": lambda: Chain([leaf(ROOT, id_of(ROOT))], [ROOT.by(ROOT, PLAIN, own_id(ROOT))]),
}
WRONG: dict[str, Callable[[], Chain]] = {
    "foreign": lambda: Chain([leaf(OTHER)], [TOP]),
    "foreign-with-its-root": lambda: Chain([leaf(OTHER), OTHER.by(OTHER, PLAIN)], [TOP]),
    "same-name-other-key": lambda: Chain([leaf(SAME_NAME)], [TOP]),
    "intermediate-missing": lambda: Chain([leaf(MIDDLE)], [TOP]),
    "root-missing": lambda: Chain([leaf(MIDDLE)], [BETWEEN]),
    "middle-one-of-two-missing": lambda: Chain([leaf(LOWER), BELOW], [TOP]),
    "intermediate-of-the-same-name": lambda: Chain([leaf(ca("Middle CA")), BETWEEN], [TOP]),
    "self-signed-leaf": lambda: Chain([leaf(Holder(LEAF, LEAF_KEY))], [TOP]),
    "pathlen-of-the-root": lambda: three(top=pathlen(0)),
    "pathlen-of-an-intermediate": lambda: three(middle=pathlen(0)),
    "self-issued-below-pathlen-of-another": lambda: three(top=pathlen(1), middle=pathlen(0)),
    "intermediate-without-basic-constraints": lambda: through(),
    "intermediate-that-is-no-ca": lambda: through((SIGNS_NOT, True)),
    "intermediate-that-may-not-sign": lambda: through(PLAIN, usage("digital_signature")),
    "root-that-may-not-sign": lambda: below(PLAIN, usage("crl_sign")),
    "root-that-is-no-ca": lambda: below((SIGNS_NOT, True)),
    "root-without-basic-constraints": lambda: below(),
    "ca-for-servers-alone": lambda: through(PLAIN, uses(ExtendedKeyUsageOID.SERVER_AUTH)),
    "ca-for-mail": lambda: through(PLAIN, uses(ExtendedKeyUsageOID.EMAIL_PROTECTION)),
    "ca-for-anything": lambda: through(PLAIN, uses(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)),
    "ca-with-an-unknown-critical-extension": lambda: through(PLAIN, (UNKNOWN, True)),
    "leaf-with-an-unknown-critical-extension": lambda: Chain([leaf(ROOT, (UNKNOWN, True))], [TOP]),
    "leaf-for-servers-alone": lambda: Chain([leaf(ROOT, uses(ExtendedKeyUsageOID.SERVER_AUTH))], [TOP]),
    "leaf-for-anything": lambda: Chain([leaf(ROOT, uses(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE))], [TOP]),
    "leaf-that-may-only-encipher": lambda: Chain([leaf(ROOT, usage("key_encipherment"))], [TOP]),
    "leaf-that-may-only-sign-certificates": lambda: Chain([leaf(ROOT, PLAIN, usage("key_cert_sign"))], [TOP]),
    "name-not-permitted": lambda: below(PLAIN, constrained([x509.DNSName("example.org")])),
    "name-excluded": lambda: below(PLAIN, constrained(excluded=[x509.DNSName("dc1-kafka1")])),
    "subject-not-permitted": lambda: below(PLAIN, constrained([directory("clients")])),
    "subject-not-permitted-and-not-critical": lambda: below(PLAIN, constrained([directory("clients")], critical=False)),
    "name-excluded-by-the-intermediate": lambda: through(
        PLAIN, constrained(excluded=[x509.DNSName("dc1-kafka1")], critical=False)
    ),
    "expired": lambda: Chain([leaf(ROOT, end=PAST)], [TOP]),
    "not-yet": lambda: Chain([leaf(ROOT, begin=LATER)], [TOP]),
    "intermediate-expired": lambda: through(PLAIN, end=PAST),
    "intermediate-expired-before-the-leaf-began": lambda: Chain(
        [leaf(MIDDLE, begin=datetime(2026, 5, 15, tzinfo=UTC)), MIDDLE.by(ROOT, PLAIN, end=PAST)], [TOP]
    ),
    "root-expired": lambda: Chain([leaf(ROOT)], [ROOT.by(ROOT, PLAIN, end=PAST)]),
    "signed-by-a-leaf": lambda: Chain([leaf(MIDDLE), MIDDLE.by(ROOT, (SIGNS_NOT, True), uses(*BOTH))], [TOP]),
}
# Where we judge otherwise than openssl, on purpose: whether we take it, and why.
OTHERWISE: dict[str, tuple[Callable[[], Chain], bool, str]] = {
    "two-trusted-of-one-name-without-identifiers": (
        two_of_one_name,
        True,
        "openssl looks at the first of the name alone; Java at all, and the order in a bundle is not ours",
    ),
    "root-of-version-1": (
        first_version,
        False,
        "the library takes version 3 alone, for only there a CA is marked as one",
    ),
    "root-with-key-usage-alone": (
        lambda: below(usage("key_cert_sign")),
        False,
        "RFC 5280, 4.2.1.9: without basic constraints nobody is a CA",
    ),
    "ed25519": (
        lambda: rooted(ed25519.Ed25519PrivateKey.generate()),
        False,
        "the library knows no chains of such keys",
    ),
    "rsa-1024": (
        lambda: rooted(rsa.generate_private_key(65537, 1024)),
        False,
        "openssl refuses it too at level 2, which Debian sets for TLS",
    ),
    "other-type-of-string": (
        other_strings,
        False,
        "RFC 5280, 4.1.2.6: an issuer is written as that CA's subject is; the library compares bytes",
    ),
    "self-issued-below-pathlen": (
        lambda: self_issued(pathlen(0)),
        False,
        "the library counts self-issued CAs too, which RFC 5280, 6.1.4 does not",
    ),
    "subject-permitted": (
        lambda: below(PLAIN, constrained([directory("brokers")])),
        False,
        "the library cannot judge constraints on subjects",
    ),
    "subject-permitted-and-not-critical": (
        lambda: below(PLAIN, constrained([directory("brokers")], critical=False)),
        False,
        "it would pass over them without a word",
    ),
    "leaf-for-key-agreement": (
        lambda: Chain([leaf(ROOT, usage("key_agreement"))], [TOP]),
        False,
        "TLS 1.3 asks for digitalSignature (RFC 8446, 4.4.2.2)",
    ),
}
