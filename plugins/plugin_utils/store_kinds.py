"""Of which kind a file with keys or CAs is, by the end of its name; no Ansible import."""

from __future__ import annotations

# Kinds as Java names them (java.security.KeyStore), and PEM.
ENDS = {".p12": "PKCS12", ".pfx": "PKCS12", ".jks": "JKS", ".bcfks": "BCFKS"}
# org.apache.zookeeper.common.KeyStoreFileType: others it refuses, unless it is told.
OF_ZOOKEEPER = (".jks", ".pem", ".p12", ".bcfks")


def kind_of(path: str) -> str:
    """Return PKCS12, JKS, BCFKS or PEM, which may have any name."""
    return next((kind for end, kind in ENDS.items() if path.endswith(end)), "PEM")


def told(path: str) -> str | None:
    """Return the kind that ZooKeeper has to be told, None where it sees the same in the name."""
    return None if path.endswith(OF_ZOOKEEPER) else kind_of(path)
