"""Determines the type of a key store or trust store by its file extension."""

from __future__ import annotations

# Kinds as Java names them (java.security.KeyStore), and PEM.
KINDS_BY_EXTENSION = {".p12": "PKCS12", ".pfx": "PKCS12", ".jks": "JKS", ".bcfks": "BCFKS"}
# Extensions whose type ZooKeeper derives (org.apache.zookeeper.common.KeyStoreFileType); for others it must be set.
DERIVED_BY_ZOOKEEPER = (".jks", ".pem", ".p12", ".bcfks")


def kind_of(path: str) -> str:
    """Return the type of a key store or trust store by its file name: PKCS12, JKS, BCFKS, or PEM for other names."""
    return next((kind for extension, kind in KINDS_BY_EXTENSION.items() if path.endswith(extension)), "PEM")


def zookeeper_store_type(path: str) -> str | None:
    """Return the store type to write into zoo.cfg for the key store or trust store at `path`.

    Returns None if ZooKeeper derives the type from the file extension.
    """
    return None if path.endswith(DERIVED_BY_ZOOKEEPER) else kind_of(path)
