"""What a user with few rights asks for after the login, and the error."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from .conftest import World
from .wire import QUIET, produced

TOPIC, GROUP, CLUSTER = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"


def write(world: World, topic: str, **settings: str) -> str:
    """Produce one record; return the error's name, '' for none."""
    return produced(world.login(), topic, **settings)


def find(world: World, topic: str) -> str:
    """Look where a topic is, as every client does first; return the error's name, '' for none."""
    error = AdminClient({**QUIET, **world.login()}).list_topics(topic, timeout=10).topics[topic].error
    return error.name() if error else ""


def read(world: World, topic: str) -> str:
    """Read a partition, without a group; return the error's name, '' for a record.

    That it may not ask for a group's coordinator is no matter.
    """
    return answered(world, "none", lambda consumer: consumer.assign([TopicPartition(topic, 0, 0)]), ignored=GROUP)


def join(world: World, topic: str) -> str:
    """Read as a member of a group."""
    return answered(world, world.user, lambda consumer: consumer.subscribe([topic]))


def answered(world: World, group: str, ask: Callable[[Consumer], object], ignored: str = "") -> str:
    """Return the name of the first error that a consumer is told, '' for a record."""
    consumer = Consumer(
        {**QUIET, **world.login(), "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    )
    try:
        ask(consumer)
        for _ in range(10):
            if (message := consumer.poll(1)) is None:
                continue
            if (error := message.error()) is None:
                return ""
            if error.name() != ignored:
                return str(error.name())
    finally:
        consumer.close()
    return "no answer"


def administer(world: World, act: Callable[[AdminClient], Any]) -> str:
    """Ask as an administrator would; return the error's name, '' for none."""
    client = AdminClient({**QUIET, **world.login()})
    answer = act(client)
    try:
        (next(iter(answer.values())) if isinstance(answer, dict) else answer).result(15)
    except KafkaException as error:
        return str(error.args[0].name())
    return ""


def begin_transactions(world: World) -> str:
    """Take a transactional id; return the error's name."""
    producer = Producer({**QUIET, **world.login(), "transactional.id": world.user})
    try:
        producer.init_transactions(10)
    except KafkaException as error:
        return str(error.args[0].name())
    return ""


def give_itself_rights(world: World) -> str:
    """Add an ACL for itself."""
    binding = AclBinding(
        ResourceType.TOPIC,
        "*",
        ResourcePatternType.LITERAL,
        f"User:{world.user}",
        "*",
        AclOperation.ALL,
        AclPermissionType.ALLOW,
    )
    return administer(world, lambda client: client.create_acls([binding], request_timeout=10))


def change_a_password(world: World, user: str) -> str:
    """Set a user's password."""
    change: Any = UserScramCredentialUpsertion(user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192), b"mine")
    return administer(world, lambda client: client.alter_user_scram_credentials([change], request_timeout=10))


def settings(kind: Any, name: str) -> Callable[[AdminClient], Any]:
    """Ask for the settings of a topic or a broker."""
    return lambda client: client.describe_configs([ConfigResource(kind, name)], request_timeout=10)


RIGHTS: dict[str, tuple[Callable[[World], str], str]] = {
    "write to a topic without any right": (lambda w: write(w, w.closed), TOPIC),
    "write to a topic with the right to read": (lambda w: write(w, w.readable), TOPIC),
    "write with acks=1": (lambda w: write(w, w.readable, acks="1"), TOPIC),
    "find a topic without any right": (lambda w: find(w, w.closed), TOPIC),
    "read a topic with the right to write": (lambda w: read(w, w.writable), TOPIC),
    "find out that a topic is not there": (lambda w: find(w, f"{w.user}-absent"), TOPIC),
    "create a topic": (
        lambda w: administer(w, lambda c: c.create_topics([NewTopic(f"{w.user}-new", 1, 3)], request_timeout=10)),
        TOPIC,
    ),
    "delete a topic": (lambda w: administer(w, lambda c: c.delete_topics([w.writable], request_timeout=10)), TOPIC),
    "see a topic's settings": (lambda w: administer(w, settings(ConfigResource.Type.TOPIC, w.readable)), TOPIC),
    "see a broker's settings": (
        lambda w: administer(w, settings(ConfigResource.Type.BROKER, str(w.inventory.broker_id(w.broker)))),
        CLUSTER,
    ),
    "join a group": (lambda w: join(w, w.readable), GROUP),
    "take a transactional id": (begin_transactions, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
    "give itself rights": (give_itself_rights, CLUSTER),
    "change its own password": (lambda w: change_a_password(w, w.user), CLUSTER),
    "change another's password": (lambda w: change_a_password(w, "lab"), CLUSTER),
}
