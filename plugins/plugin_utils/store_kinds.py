"""Tells the kind of a key store or trust store by its file extension."""

from __future__ import annotations

# Kinds as Java names them (java.security.KeyStore), and PEM.
ENDS = {".p12": "PKCS12", ".pfx": "PKCS12", ".jks": "JKS", ".bcfks": "BCFKS"}
# org.apache.zookeeper.common.KeyStoreFileType: others it refuses, unless it is told.
OF_ZOOKEEPER = (".jks", ".pem", ".p12", ".bcfks")


def kind_of(path: str) -> str:
    """Return PKCS12, JKS, BCFKS or PEM; PEM files may have any name."""
    return next((kind for end, kind in ENDS.items() if path.endswith(end)), "PEM")


def told(path: str) -> str | None:
    """Return the store type that ZooKeeper must be given, or None if it derives it from the name itself."""
    return None if path.endswith(OF_ZOOKEEPER) else kind_of(path)
