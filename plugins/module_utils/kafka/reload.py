"""Makes brokers reload certificates and truststores from their disks, without a restart; runs on the admin host."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.tls.served import Served, differs, observe

SECONDS = 20.0
Endpoint = Mapping[str, Any]
Found = Sequence[tuple[Endpoint, Served]]


class ReloadError(Exception):
    """A reload was rejected, by Reload or by a broker, or had no effect; the text has the reason and the remedy."""


def distrusts(endpoint: Endpoint, served: Served) -> bool:
    """Tell whether a listener accepts other CAs than the truststore on its host's disk."""
    return bool(endpoint["trusted"]) and served.authorities != sorted(endpoint["trusted"])


class Reload:
    """Compares what all listeners serve and trust with the files on disk, and reloads the files that differ.

    The order is: truststores with additional CAs, certificates, truststores with fewer CAs. For each broker the
    inter-broker listener comes first, because only this listener validates a certificate before it uses it. A reload is
    rejected if a broker could not connect to another broker afterwards.
    """

    def __init__(
        self,
        admin: Mapping[str, Any],
        endpoints: Sequence[Endpoint],
        check_mode: bool = False,
        patience: float = SECONDS,
    ) -> None:
        """`admin` are librdkafka properties of a super user with a certificate, `endpoints` the result of endpoints.py.

        A listener has to answer within `patience` seconds. Raises ClientError if `admin` has no certificate or is
        invalid, ImportError without confluent-kafka.
        """
        missing = [name for name in ("ssl.certificate.location", "ssl.ca.location") if not admin.get(name)]
        if missing:
            why = "only a client with a certificate can read what listeners serve and trust"
            raise ClientError(f"{', '.join(missing)} not set: {why}; use a listener of kafka_admin_listeners")
        self.client = Admin(admin)
        self.tls = {"certificate": admin["ssl.certificate.location"], "ca": admin["ssl.ca.location"]}
        self.endpoints = sorted(endpoints, key=lambda one: (one["broker"], not one["inter_broker"]))
        self.check_mode, self.patience = check_mode, patience
        self.changes: list[str] = []

    def converge(self) -> list[Served]:
        """Reload the files that differ, and return what each listener serves afterwards, in the order of `endpoints`.

        In check mode nothing is reloaded. Raises ReloadError if a listener does not answer, or if a reload is rejected.
        """
        found = self.answers()
        for step in (self.growing_truststores, self.certificates, self.shrinking_truststores):
            if step(list(zip(self.endpoints, found, strict=True))) and not self.check_mode:
                found = self.observe()
        return found

    def answers(self) -> list[Served]:
        """Wait until every listener answers, and return what each listener serves.

        The wait is needed because a broker registers before it opens its ports. Raises ReloadError if a listener does
        not answer within `patience` seconds.
        """
        deadline, tick = time.monotonic() + self.patience, threading.Event()
        while True:
            found = self.observe()
            silent = [
                f"{self.name(one)}: {served.error}"
                for one, served in zip(self.endpoints, found, strict=True)
                if served.error
            ]
            if not silent:
                return found
            if time.monotonic() > deadline:
                raise ReloadError(f"{'; '.join(silent)}; nothing was reloaded")
            tick.wait(0.2)

    def observe(self) -> list[Served]:
        """Return what each listener serves and trusts now, in the order of `endpoints`."""
        return observe(self.endpoints, self.tls)

    def growing_truststores(self, found: Found) -> int:
        """Reload the truststores whose files only have additional CAs; return how many were reloaded."""
        growing = [
            one for one, served in found if distrusts(one, served) and {*served.authorities} <= {*one["trusted"]}
        ]
        for endpoint in growing:
            self.reload(endpoint, "truststore", f"trusts {', '.join(sorted(endpoint['trusted']))}")
        return len(growing)

    def certificates(self, found: Found) -> int:
        """Reload the certificates that differ from the files; return how many were reloaded.

        Raises ReloadError before the first reload if another broker would not trust a new certificate.
        """
        renewed = [one for one, served in found if served.serial != one["serial"]]
        for endpoint in renewed:
            self.peers_accept(endpoint, found)
        for endpoint in renewed:
            self.reload(endpoint, "keystore", f"serves the certificate {endpoint['serial']}")
        return len(renewed)

    def shrinking_truststores(self, found: Found) -> int:
        """Reload the truststores whose files no longer have one of the CAs in use; return how many were reloaded.

        Raises ReloadError before the first reload if another broker still needs a removed CA.
        """
        shrinking = [
            one for one, served in found if distrusts(one, served) and not {*served.authorities} <= {*one["trusted"]}
        ]
        for endpoint in shrinking:
            self.keeps_peers(endpoint, found)
        for endpoint in shrinking:
            self.reload(endpoint, "truststore", f"trusts only {', '.join(sorted(endpoint['trusted']))}")
        return len(shrinking)

    @staticmethod
    def name(endpoint: Endpoint) -> str:
        """Return a listener as messages name it: `broker 1 (HOST), listener CLIENT`."""
        return f"broker {endpoint['broker']} ({endpoint['host']}), listener {endpoint['listener']}"

    def peers_accept(self, endpoint: Endpoint, found: Found) -> None:
        """Raise ReloadError if another broker does not trust the CA that issued this listener's new certificate."""
        for other, served in found if endpoint["inter_broker"] else ():
            accepts = other["trusted"] if self.check_mode else served.authorities
            if other["inter_broker"] and accepts and endpoint["issuer"] not in accepts:
                raise ReloadError(
                    f"{self.name(endpoint)}: not reloaded, its certificate is from {endpoint['issuer']}, "
                    f"which {self.name(other)} does not trust; "
                    "first add both CAs to every truststore (docs/security.md)"
                )

    def keeps_peers(self, endpoint: Endpoint, found: Found) -> None:
        """Raise ReloadError if this listener's new truststore has no CA that issued another broker's certificate."""
        for other, served in found if endpoint["inter_broker"] else ():
            behind = served.serial != other["serial"] and not self.check_mode
            if other["inter_broker"] and (behind or other["issuer"] not in endpoint["trusted"]):
                raise ReloadError(
                    f"{self.name(endpoint)}: not reloaded, it would no longer trust {self.name(other)}, "
                    "whose certificate is from another CA; "
                    "first give every broker a certificate of the new CA (docs/security.md)"
                )

    def reload(self, endpoint: Endpoint, store: str, what: str) -> None:
        """Make a broker read the file of its `store` (keystore or truststore) again, and wait until it is in use.

        In check mode, only record that `what` would change. The broker reads the file when the setting with the file's
        path is set, even to the same path. The setting is removed afterwards, so that it does not override the broker's
        file. Raises ReloadError if the broker rejects the file.
        """
        self.changes.append(f"{self.name(endpoint)}: {what}")
        if self.check_mode:
            return
        key = f"listener.name.{endpoint['listener'].lower()}.ssl.{store}.location"
        try:
            self.client.reread(endpoint["broker"], key, endpoint[store], SECONDS)
        except AdminError as error:
            raise ReloadError(
                f"{self.name(endpoint)}: rejected {endpoint[store]} ({error}) and keeps the old one; correct the file"
            ) from error
        self.wait(endpoint, store)

    def wait(self, endpoint: Endpoint, store: str) -> None:
        """Wait until the listener serves the certificate, or trusts the CAs, of the reloaded file.

        Raises ReloadError after SECONDS seconds.
        """
        deadline, tick = time.monotonic() + SECONDS, threading.Event()
        while True:
            (served,) = observe([endpoint], self.tls)
            done = (
                served.serial == endpoint["serial"]
                if store == "keystore"
                else served.authorities == sorted(endpoint["trusted"])
            )
            if done and not served.error:
                return
            if time.monotonic() > deadline:
                raise ReloadError(
                    f"{self.name(endpoint)}: {differs(endpoint, served)}, {SECONDS:.0f} s after the "
                    "reload; look at: journalctl -u kafka there"
                )
            tick.wait(0.1)
