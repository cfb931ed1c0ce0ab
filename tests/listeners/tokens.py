"""An issuer of tokens: keys as a broker reads them (JWKS), and tokens (JWT) that it accepts or refuses."""

import base64
import json
import sys
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key


def url64(data: bytes) -> str:
    """Return what RFC 7515 calls BASE64URL."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number64(number: int) -> str:
    """Return a number of a key in that form."""
    return url64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def part(content: dict[str, Any]) -> str:
    """Return a part of a token."""
    return url64(json.dumps(content).encode())


class Issuer:
    """Signs tokens with RS256."""

    def __init__(self, key: rsa.RSAPrivateKey | None = None) -> None:
        """Sign with `key`, else with a new one that nobody knows."""
        self.key = key or rsa.generate_private_key(65537, 2048)

    def jwks(self) -> str:
        """Return the public key as a broker reads it."""
        public = self.key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": "tests",
            "n": number64(public.n),
            "e": number64(public.e),
        }
        return json.dumps({"keys": [key]})

    def token(self, subject: str, life: int = 600) -> str:
        """Return a token for `subject` that ends in `life` seconds."""
        now = int(time.time())
        claims = {"sub": subject, "iat": now - 600, "exp": now + life}
        signed = f"{part({'alg': 'RS256', 'kid': 'tests', 'typ': 'JWT'})}.{part(claims)}"
        return f"{signed}.{url64(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def issuer_in(folder: Path) -> Issuer:
    """Return the issuer whose key is in `folder`."""
    key = load_pem_private_key((folder / "issuer.pem").read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return Issuer(key)


def make(folder: Path) -> None:
    """Write a new issuer's key, and what brokers know of it."""
    made = Issuer()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "issuer.pem").touch(0o600)
    (folder / "issuer.pem").write_bytes(made.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "jwks.json").write_text(made.jwks())


if __name__ == "__main__":
    make(Path(sys.argv[1]))
