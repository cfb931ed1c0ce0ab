"""Brokers take new certificates from their disks without a restart.

On the admin host, no Ansible import.
"""

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
    """A step that was refused, by us or by a broker; the text says what and how to go on."""


def distrusts(endpoint: Endpoint, served: Served) -> bool:
    """Tell whether a listener accepts other CAs than those on its disk."""
    return bool(endpoint["trusted"]) and served.authorities != sorted(endpoint["trusted"])


class Reload:
    """Compares what all listeners serve and trust with what is on disks, and has the differences reloaded.

    First truststores that grow, then certificates, then truststores that shrink; of each broker the inter-broker
    listener first, which
    looks at a certificate before it takes it, as others do not. A step that would cut a listener off is refused.
    """

    def __init__(
        self,
        admin: Mapping[str, Any],
        endpoints: Sequence[Endpoint],
        check_mode: bool = False,
        patience: float = SECONDS,
    ) -> None:
        """`admin` are the properties of a super user with a certificate, `endpoints` those of endpoints.py.

        `patience` is how many seconds a listener may take until it answers. Raises ClientError, ImportError.
        """
        lacking = [name for name in ("ssl.certificate.location", "ssl.ca.location") if not admin.get(name)]
        if lacking:
            why = "listeners say what they serve and trust to a client with a certificate alone"
            raise ClientError(f"{', '.join(lacking)} not set: {why}; take a listener of kafka_admin_listeners")
        self.client = Admin(admin)
        self.tls = {"certificate": admin["ssl.certificate.location"], "ca": admin["ssl.ca.location"]}
        self.endpoints = sorted(endpoints, key=lambda one: (one["broker"], not one["inter_broker"]))
        self.check_mode, self.patience = check_mode, patience
        self.changes: list[str] = []

    def converge(self) -> list[Served]:
        """Reload what differs, and return what is served then. Raises ReloadError."""
        found = self.answers()
        for step in (self.growing_truststores, self.certificates, self.shrinking_truststores):
            if step(list(zip(self.endpoints, found, strict=True))) and not self.check_mode:
                found = self.observe()
        return found

    def answers(self) -> list[Served]:
        """Ask until every listener answers: a broker is registered before it opens its ports. Raises ReloadError."""
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
        """Ask all listeners."""
        return observe(self.endpoints, self.tls)

    def growing_truststores(self, found: Found) -> int:
        """Trust more CAs; return the number of reloads."""
        owed = [one for one, served in found if distrusts(one, served) and {*served.authorities} <= {*one["trusted"]}]
        for endpoint in owed:
            self.reload(endpoint, "truststore", f"trusts {', '.join(sorted(endpoint['trusted']))}")
        return len(owed)

    def certificates(self, found: Found) -> int:
        """Serve new certificates; return the number of reloads."""
        owed = [one for one, served in found if served.serial != one["serial"]]
        for endpoint in owed:
            self.peers_accept(endpoint, found)
        for endpoint in owed:
            self.reload(endpoint, "keystore", f"serves the certificate {endpoint['serial']}")
        return len(owed)

    def shrinking_truststores(self, found: Found) -> int:
        """Trust fewer CAs; return the number of reloads."""
        owed = [
            one for one, served in found if distrusts(one, served) and not {*served.authorities} <= {*one["trusted"]}
        ]
        for endpoint in owed:
            self.nobody_left_behind(endpoint, found)
        for endpoint in owed:
            self.reload(endpoint, "truststore", f"trusts {', '.join(sorted(endpoint['trusted']))} alone")
        return len(owed)

    @staticmethod
    def name(endpoint: Endpoint) -> str:
        """Return how messages call a listener."""
        return f"broker {endpoint['broker']} ({endpoint['host']}), listener {endpoint['listener']}"

    def peers_accept(self, endpoint: Endpoint, found: Found) -> None:
        """Refuse a certificate whose CA another broker does not trust. Raises ReloadError."""
        for other, served in found if endpoint["inter_broker"] else ():
            accepts = other["trusted"] if self.check_mode else served.authorities
            if other["inter_broker"] and accepts and endpoint["issuer"] not in accepts:
                raise ReloadError(
                    f"{self.name(endpoint)}: not reloaded, its certificate is from {endpoint['issuer']}, "
                    f"which {self.name(other)} does not trust; "
                    "first let every truststore hold both CAs (docs/security.md)"
                )

    def nobody_left_behind(self, endpoint: Endpoint, found: Found) -> None:
        """Refuse to drop a CA from which another broker has its certificate. Raises ReloadError."""
        for other, served in found if endpoint["inter_broker"] else ():
            behind = served.serial != other["serial"] and not self.check_mode
            if other["inter_broker"] and (behind or other["issuer"] not in endpoint["trusted"]):
                raise ReloadError(
                    f"{self.name(endpoint)}: not reloaded, it would no longer trust {self.name(other)}, "
                    "whose certificate is from another CA; "
                    "first give every broker a certificate of the new CA (docs/security.md)"
                )

    def reload(self, endpoint: Endpoint, store: str, what: str) -> None:
        """Set the store's location to what it is; that makes the broker read the file.

        The setting is then removed, so that files rule.
        """
        self.changes.append(f"{self.name(endpoint)}: {what}")
        if self.check_mode:
            return
        key = f"listener.name.{endpoint['listener'].lower()}.ssl.{store}.location"
        try:
            self.client.reread(endpoint["broker"], key, endpoint[store], SECONDS)
        except AdminError as error:
            raise ReloadError(
                f"{self.name(endpoint)}: refused {endpoint[store]} ({error}); it goes on with what it had"
            ) from error
        self.wait(endpoint, store)

    def wait(self, endpoint: Endpoint, store: str) -> None:
        """Wait until the listener serves (or trusts) what is on the disk. Raises ReloadError."""
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
                    "reload; look at its journal"
                )
            tick.wait(0.1)
