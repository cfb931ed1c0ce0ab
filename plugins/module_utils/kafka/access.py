"""Users and ACLs of a cluster, through confluent-kafka on the admin host; no Ansible import."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import client

SECONDS = 20.0
CLUSTER = "kafka-cluster"
# librdkafka's words where they are not ours.
RESOURCES = {"cluster": "BROKER"}


class AccessError(Exception):
    """The cluster refused, or did not answer; the text carries the client's own words."""


class Acl(NamedTuple):
    """One permission for one operation, in the words of the broker."""

    principal: str
    permission: str
    operation: str
    resource: str
    name: str
    pattern: str
    host: str

    def __str__(self) -> str:
        """Return it as a person says it: `User:a from * may READ topic b (literal)`."""
        who = f"{self.principal} from {self.host}"
        what = (
            self.resource.lower()
            if self.resource == "CLUSTER"
            else f"{self.resource.lower()} {self.name} ({self.pattern.lower()})"
        )
        return f"{who} {'may' if self.permission == 'ALLOW' else 'may not'} {self.operation} {what}"


def acls(declared: Iterable[Mapping[str, Any]]) -> tuple[set[Acl], set[Acl]]:
    """Return the ACLs that are to be there and those that are not, one for each operation."""
    present: set[Acl] = set()
    absent: set[Acl] = set()
    for item in declared:
        for operation in item["operations"]:
            acl = Acl(
                item["principal"],
                (item.get("permission") or "allow").upper(),
                operation.upper(),
                item["resource"].upper(),
                CLUSTER if item["resource"] == "cluster" else item["name"],
                (item.get("pattern") or "literal").upper(),
                item.get("host") or "*",
            )
            (absent if item.get("state") == "absent" else present).add(acl)
    return present, absent - present


class Access:
    """Converges users and ACLs. `changes` holds one line per change, without any password."""

    def __init__(self, admin: Mapping[str, Any], login: Mapping[str, Any], check_mode: bool = False) -> None:
        """`admin` are properties of a super user, `login` those of the users' listener, without a login.

        Both under librdkafka's names. Raises ClientError, ImportError.
        """
        self.client = client.admin(admin)
        self.login, self.check_mode = dict(login), check_mode
        self.changes: list[str] = []

    def converge(self, users: Sequence[Mapping[str, Any]], declared: Sequence[Mapping[str, Any]]) -> None:
        """Bring users, then ACLs, to what is declared; what is not named is left. Raises AccessError, ClientError."""
        from confluent_kafka import KafkaException

        try:
            self.users(users)
            self.acls(*acls(declared))
        except (KafkaException, TimeoutError) as error:
            raise AccessError(str(error) or type(error).__name__) from error

    # Users

    def users(self, declared: Sequence[Mapping[str, Any]]) -> None:
        """Make users, change those whose password or way of hashing differs, remove those declared absent."""
        from confluent_kafka.admin import (
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialDeletion,
            UserScramCredentialUpsertion,
        )

        if not declared:
            return
        found = self.credentials([user["name"] for user in declared])
        changes: list[Any] = []
        changed = []
        for user in declared:
            name, mechanism, iterations = (
                user["name"],
                user.get("mechanism") or "SCRAM-SHA-512",
                user.get("iterations") or 8192,
            )
            of_this = ScramMechanism[mechanism.replace("-", "_")]
            if user.get("state") == "absent":
                for kept in [one for one in found[name] if user.get("mechanism") in (None, one)]:
                    self.changes.append(f"user {name}: remove {kept}")
                    changes.append(UserScramCredentialDeletion(name, ScramMechanism[kept.replace("-", "_")]))
                continue
            why = ""
            if not found[name]:
                why = "new"
            elif mechanism not in found[name]:
                why = f"{mechanism} is new"
            elif found[name][mechanism] != iterations:
                why = f"iterations were {found[name][mechanism]}, are {iterations}"
            elif not self.logs_in(name, user["password"], mechanism):
                why = "the password differs"
            if why:
                self.changes.append(f"user {name}: {why}")
                changes.append(
                    UserScramCredentialUpsertion(
                        name, ScramCredentialInfo(of_this, iterations), user["password"].encode()
                    )
                )
                changed.append((name, user["password"], mechanism))
        if self.check_mode or not changes:
            return
        for future in self.client.alter_user_scram_credentials(changes, request_timeout=SECONDS).values():
            future.result(SECONDS)
        for login in changed:
            self.wait_for_login(*login)

    def credentials(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return {user: {mechanism: iterations}}; {} for a user who is not there."""
        from confluent_kafka import KafkaError, KafkaException

        found: dict[str, dict[str, int]] = {}
        futures: Any = self.client.describe_user_scram_credentials(list(dict.fromkeys(names)), request_timeout=SECONDS)
        for name, future in futures.items():
            try:
                infos = future.result(SECONDS).scram_credential_infos
            except KafkaException as error:
                if error.args[0].code() != KafkaError.RESOURCE_NOT_FOUND:
                    raise
                infos = []
            found[name] = {info.mechanism.name.replace("_", "-"): info.iterations for info in infos}
        return found

    def wait_for_login(self, name: str, password: str, mechanism: str) -> None:
        """Wait until a new password is known. Raises AccessError."""
        deadline, tick = time.monotonic() + SECONDS, threading.Event()
        while not self.logs_in(name, password, mechanism):
            if time.monotonic() > deadline:
                raise AccessError(f"user {name} was written, and cannot log in with {mechanism} after {SECONDS:.0f} s")
            tick.wait(0.2)

    def logs_in(self, name: str, password: str, mechanism: str) -> bool:
        """Try a password, for nobody can read one back. Raises AccessError where the listener does not answer."""
        from confluent_kafka import KafkaError, KafkaException

        errors: list[KafkaError] = []
        login = {"sasl.mechanism": mechanism, "sasl.username": name, "sasl.password": password}
        asked = client.producer({**self.login, **login, "error_cb": errors.append})
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                asked.list_topics(timeout=0.5)
                return True
            except KafkaException as error:
                asked.poll(0)
                if any(found.code() == KafkaError._AUTHENTICATION for found in errors):
                    return False
                if time.monotonic() > deadline:
                    said = errors[-1].str() if errors else str(error)
                    raise AccessError(f"login of {name} at {self.login.get('bootstrap.servers')}: {said}") from error

    # ACLs

    def acls(self, present: set[Acl], absent: set[Acl]) -> None:
        """Add what is missing, and remove what is declared absent."""
        if not present | absent:
            return
        found = self.found_acls()
        missing, superfluous = sorted(present - found), sorted(absent & found)
        self.changes += [f"ACL: {acl}" for acl in missing] + [f"no ACL: {acl}" for acl in superfluous]
        if self.check_mode:
            return
        if missing:
            for future in self.client.create_acls(
                [self.binding(acl) for acl in missing], request_timeout=SECONDS
            ).values():
                future.result(SECONDS)
        if superfluous:
            for future in self.client.delete_acls(
                [self.binding(acl, True) for acl in superfluous], request_timeout=SECONDS
            ).values():
                future.result(SECONDS)

    def found_acls(self) -> set[Acl]:
        """Return every ACL of the cluster."""
        from confluent_kafka.admin import (
            AclBindingFilter,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        anybody: Any = None
        everything = AclBindingFilter(
            ResourceType.ANY,
            anybody,
            ResourcePatternType.ANY,
            anybody,
            anybody,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        words = {word: ours.upper() for ours, word in RESOURCES.items()}
        return {
            Acl(
                b.principal,
                b.permission_type.name,
                b.operation.name,
                words.get(b.restype.name, b.restype.name),
                b.name,
                b.resource_pattern_type.name,
                b.host,
            )
            for b in self.client.describe_acls(everything, request_timeout=SECONDS).result(SECONDS)
        }

    @staticmethod
    def binding(acl: Acl, as_filter: bool = False) -> Any:
        """Return an ACL as the library wants it."""
        from confluent_kafka.admin import (
            AclBinding,
            AclBindingFilter,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        kind = ResourceType[RESOURCES.get(acl.resource.lower(), acl.resource)]
        place = (kind, acl.name, ResourcePatternType[acl.pattern], acl.principal, acl.host)
        what = (AclOperation[acl.operation], AclPermissionType[acl.permission])
        return AclBindingFilter(*place, *what) if as_filter else AclBinding(*place, *what)
