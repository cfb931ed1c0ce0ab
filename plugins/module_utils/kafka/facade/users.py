"""Reads and writes the SCRAM credentials of a cluster, and tries passwords by logging in, with confluent-kafka."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Failure, PartlyWritten
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import client
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    Admin,
    AdminError,
    answer,
    failures,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import Credential

SECONDS = 20.0
"""Limit for a login to be answered, and for a new password to be known to all brokers."""
SIDE_BY_SIDE = 8
QUESTION = {"group.id": "unused", "allow.auto.create.topics": False}
"""Properties of a trial login: it reads a topic's metadata, and must not create the topic."""
NO_MECHANISM = re.compile(r"Unsupported SASL mechanism: broker's supported mechanisms: (.*?)(?: \(after |$)")
"""The library's message that the broker does not offer the mechanism; a wrong password has the same error code."""


def credentials(admin: Admin) -> dict[str, dict[str, int]]:
    """Return {user: {mechanism: iterations}} of all users.

    Raises AdminError if the request is rejected or not answered.
    """
    found = answer(admin.client.describe_user_scram_credentials(request_timeout=ASK), ASK)
    return {
        name: {info.mechanism.name.replace("_", "-"): info.iterations for info in one.scram_credential_infos}
        for name, one in found.items()
    }


def write(admin: Admin, wanted: Sequence[Credential]) -> dict[str, str]:
    """Create, change and delete credentials in one request; return {failed user: reason}.

    A credential without a password is deleted.
    """
    from confluent_kafka.admin import (
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )

    asked: list[Any] = []
    for one in wanted:
        mechanism = ScramMechanism[one.mechanism.replace("-", "_")]
        if one.password is None:
            asked.append(UserScramCredentialDeletion(one.user, mechanism))
        else:
            info = ScramCredentialInfo(mechanism, one.iterations)
            asked.append(UserScramCredentialUpsertion(one.user, info, one.password.encode()))
    futures = admin.client.alter_user_scram_credentials(asked, request_timeout=admin.patience) if asked else {}
    return failures(futures.items(), admin.patience)


class Logins:
    """Tries passwords at the listener where users log in, because passwords cannot be read back."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """`properties` are librdkafka's properties for that listener, without user and password."""
        self.properties = dict(properties)
        self.protocol = str(self.properties.get("security.protocol") or "PLAINTEXT").upper()

    def work(self, user: str, password: str, mechanism: str) -> bool:
        """Tell whether a user can log in with a password; this makes one login.

        Raises AdminError if the listener does not answer or does not offer the mechanism, ClientError if `properties`
        are invalid.
        """
        from confluent_kafka import KafkaError, KafkaException

        errors: list[KafkaError] = []
        login = {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
        asked = client.consumer({**self.properties, **login, **QUESTION, "error_cb": errors.append})
        deadline = time.monotonic() + SECONDS
        try:
            while True:
                try:
                    asked.list_topics(f"{user}-login", timeout=0.5)
                    return True
                except KafkaException as error:
                    asked.poll(0)
                    where = f"login of {user} at {self.properties.get('bootstrap.servers')}"
                    if others := next((text for one in errors for text in NO_MECHANISM.findall(one.str())), ""):
                        wrong = f"the listener has no {mechanism}, only {others}"
                        raise AdminError(f"{where}: {wrong}; use one of them") from error
                    if any(found.code() == KafkaError._AUTHENTICATION for found in errors):
                        return False
                    if time.monotonic() > deadline:
                        text = errors[-1].str() if errors else str(error)
                        raise AdminError(f"{where}: {text}") from error
        finally:
            asked.close()

    def all_work(self, asked: Sequence[Credential]) -> list[bool]:
        """Tell for each credential whether its user can log in with it; logins run in parallel.

        Raises AdminError if the listener does not answer or does not offer the mechanism, ClientError for invalid
        properties.
        """
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(lambda one: self.work(one.user, one.password or "", one.mechanism), asked))

    def wait(self, asked: Sequence[Credential]) -> dict[str, str]:
        """Wait, up to SECONDS seconds each, until users can log in with new passwords; return {failed user: reason}."""

        def until_known(one: Credential) -> str:
            """Wait until a user can log in with the new password; return '', or the reason why the user cannot."""
            deadline, tick = time.monotonic() + SECONDS, threading.Event()
            try:
                while not self.work(one.user, one.password or "", one.mechanism):
                    if time.monotonic() > deadline:
                        return PartlyWritten(
                            f"was written, but cannot log in with {one.mechanism} after {SECONDS:.0f} s"
                        )
                    tick.wait(0.2)
            except Failure as error:
                return PartlyWritten(f"was written, but could not be verified by a login: {error}")
            return ""

        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            found = zip(asked, pool.map(until_known, asked), strict=True)
            return {one.user: why for one, why in found if why}
