"""Creates the clients of a cluster, with confluent-kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Failure

QUIET = {"log_level": 0, "socket.connection.setup.timeout.ms": 3000}


class ClientError(Failure):
    """No client can be created with these properties; the text names the file that is the reason."""


def admin(properties: Mapping[str, Any]) -> Any:
    """Return an admin client for librdkafka's properties. Raises ClientError if a property or its file is invalid."""
    from confluent_kafka.admin import AdminClient

    return _made(AdminClient, properties)


def producer(properties: Mapping[str, Any]) -> Any:
    """Return a producer for librdkafka's properties. Raises ClientError if a property or its file is invalid."""
    from confluent_kafka import Producer

    return _made(Producer, properties)


def consumer(properties: Mapping[str, Any]) -> Any:
    """Return a consumer for librdkafka's properties. Raises ClientError if a property or its file is invalid."""
    from confluent_kafka import Consumer

    return _made(Consumer, properties)


def _made(kind: Any, properties: Mapping[str, Any]) -> Any:
    """Return a client of the class `kind`; raise ClientError that names the file or the property that is wrong."""
    from confluent_kafka import KafkaException

    try:
        return kind({**QUIET, **properties})
    except KafkaException as error:
        places = {name: str(value) for name, value in properties.items() if name.endswith(".location")}
        for name, path in places.items():
            try:
                with open(path, "rb"):
                    pass
            except OSError as unread:
                why = f"{unread.strerror} on this host, so no broker was asked"
                advice = "put the file there, or correct kafka_admin_listeners"
                raise ClientError(f"{name} = {path}: {why}; {advice}") from error
        names, why = ", ".join(places) or "the properties", error.args[0].str()
        raise ClientError(f"no client can be created with {names}: {why}; correct them") from error
