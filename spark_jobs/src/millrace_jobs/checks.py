"""Checks single values of a configuration. A check takes the key and the value, and yields problems.

Each problem is a line `KEY: what is wrong; what to do`. This module imports only the standard library.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from difflib import get_close_matches

# Spark sets these itself and rejects them as options.
# https://spark.apache.org/docs/4.2.0/streaming/structured-streaming-kafka-integration.html
_SET_BY_SPARK = {
    "auto.offset.reset",
    "enable.auto.commit",
    "interceptor.classes",
    "key.deserializer",
    "key.serializer",
    "value.deserializer",
    "value.serializer",
}
_OTHER_KEY = {
    "spark.jars": "name the directory in jars_directory",
    "spark.sql.session.timeZone": "remove it: times are UTC",
    "spark.sql.shuffle.partitions": "use shuffle_partitions, where the job has that key",
}
# https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PARAMKEYWORDS, without those that the job sets itself
_LIBPQ = (
    *(
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "passfile",
        "require_auth",
        "channel_binding",
    ),
    *(
        "connect_timeout",
        "options",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
    ),
    *(
        "tcp_user_timeout",
        "sslmode",
        "sslcompression",
        "sslcert",
        "sslkey",
        "sslpassword",
        "sslrootcert",
        "sslcrl",
    ),
    *("sslcrldir", "sslsni", "ssl_min_protocol_version", "target_session_attrs", "load_balance_hosts"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# Properties that most configurations have; a similar name is taken for a mistake.
_CONNECTION = ("bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.jaas.config", "group.id")
_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_TYPE_NAMES = {
    bool: "true/false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def kind(value: object) -> str:
    """Return the name of the type of a JSON value for messages: `a number`, `text`, `null` for None."""
    return _TYPE_NAMES.get(type(value), "null")


def normalized_path(path: str) -> str:
    """Return an absolute path without `.`, `..` and repeated slashes, at its beginning too."""
    return posixpath.normpath("/" + path.lstrip("/"))


def absolute_path(key: str, value: object) -> Iterator[str]:
    """Check that the value is an absolute path, and not `/` itself.

    The folder need not exist here, since the job runs on another host.
    """
    if not isinstance(value, str):
        yield f"{key}: is {kind(value)}; give an absolute path"
    elif not value.strip():
        yield f"{key}: is empty; give an absolute path"
    elif not value.startswith("/"):
        yield f"{key}: {value!r} is not absolute; write the whole path, from /"
    elif re.search("[\0\ud800-\udfff]", value):
        yield f"{key}: {value!r} contains a character that is invalid in a path; remove it"
    elif normalized_path(value) == "/":
        yield f"{key}: {value!r} is the root directory; give a directory of its own"


def input_directory(key: str, value: object) -> Iterator[str]:
    """Check that the value is an absolute path without the characters of a pattern in Spark, such as `*`."""
    yield from absolute_path(key, value)
    if isinstance(value, str) and set(value) & set("*?[]{}\\"):
        yield rf"{key}: {value!r} contains one of *?[]{{}}\, a pattern to Spark; rename the directory"


def topic_name(key: str, value: object) -> Iterator[str]:
    """Check that the value is a valid topic name, by the rules of Kafka's `Topic.validate`."""
    if not isinstance(value, str):
        quotes = " in quotes" if isinstance(value, (int, float)) else ""  # such as 1.10, or yes
        yield f"{key}: is {kind(value)}; give a topic's name{quotes}"
    elif not value.strip():
        yield f"{key}: is empty; give a topic's name, or remove the key for the default"
    elif value in (".", "..") or not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", value):
        yield f"{key}: {value!r} is not a valid topic name; use at most 249 of a-z A-Z 0-9 . _ -"


def topic_names(key: str, value: object) -> Iterator[str]:
    """Check that the value is a list of at least one topic name, all valid and different."""
    if not isinstance(value, list) or not value:
        yield f"{key}: is {'empty' if value == [] else kind(value)}; give a list of topics' names"
        return
    for place, name in enumerate(value):
        yield from topic_name(f"{key}[{place}]", name)
    if len({*map(str, value)}) < len(value):
        yield f"{key}: contains a topic twice; keep one"


def interval(key: str, value: object) -> Iterator[str]:
    """Check that the value is a number and a unit, such as `1 second`, as Spark's triggers require."""
    if not isinstance(value, str):
        yield f'{key}: is {kind(value)}; write it like "1 second"'
    elif not re.fullmatch(r"[0-9]{1,9} (millisecond|second|minute|hour)s?", value):
        several = re.fullmatch(r"(\d+ [a-z]+[ ,]*){2,}", value)
        form = 'one number and one unit, like "90 seconds"' if several else 'it like "1 second" or "500 milliseconds"'
        yield f"{key}: {value!r} is not an interval; write {form}"


def duration(key: str, value: object) -> Iterator[str]:
    """Check that the value is a number and a unit, such as `1 minute`, and longer than zero."""
    yield from interval(key, value)
    if isinstance(value, str) and re.fullmatch(r"0+ \w+", value):
        yield f"{key}: {value!r} is not longer than zero; give a longer duration"


def at_least(minimum: int, maximum: int = 2**31 - 1) -> Callable[[str, object], Iterator[str]]:
    """Return a function that checks that a value is a whole number from `minimum` to `maximum`.

    The default of `maximum` is the largest int of Java.
    """

    def check(key: str, value: object) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield f"{key}: is {kind(value)}; give a whole number, {minimum} or more"
        elif value < minimum:
            yield f"{key}: {value} is too small; give {minimum} or more"
        elif value > maximum:
            yield f"{key}: {value} is too large; give {maximum} or less"

    return check


def one_of(*known: str) -> Callable[[str, object], Iterator[str]]:
    """Return a function that checks that a value is one of the texts `known`."""

    def check(key: str, value: object) -> Iterator[str]:
        if value not in known:
            given = repr(value) if isinstance(value, str) else kind(value)
            yield f"{key}: is {given}; give one of {', '.join(known)}"

    return check


def start(key: str, value: object) -> Iterator[str]:
    """Check the value that sets where a query without a checkpoint starts to read.

    Accepted are "earliest", "latest", {"timestamp": time with a time zone} and {"group": name of a consumer group}.
    """
    advice = 'give "earliest", "latest", {"timestamp": "2026-01-31T12:00:00Z"} or {"group": "name"}'
    if isinstance(value, dict) and len(value) == 1 and value.keys() <= {"timestamp", "group"}:
        ((position, of),) = value.items()
        if position == "group":
            yield from group_name(f"{key}.group", of)
        elif not isinstance(of, str) or (moment := _moment(of)) is None:
            yield f"{key}.timestamp: is not a time with a time zone; write it like 2026-01-31T12:00:00Z"
        elif moment < _EPOCH:  # for Kafka -1 ms means the end of a partition
            yield f"{key}.timestamp: is before 1970; give a later time, or start at the earliest record"
    elif value not in ("earliest", "latest"):
        yield f"{key}: is {repr(value) if isinstance(value, str) else kind(value)}; {advice}"


def group_name(key: str, value: object) -> Iterator[str]:
    """Check that the value is the name of a consumer group: text that is not empty."""
    if not isinstance(value, str):
        yield f"{key}: is {kind(value)}; give a consumer group's name"
    elif not value.strip():
        yield f"{key}: is empty; give a consumer group's name, or remove the key"


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment


def database(key: str, value: object) -> Iterator[str]:
    """Check that the value is an object of connection properties with names of libpq, including the required ones.

    Problems never contain values of the properties.
    """
    if not isinstance(value, dict):
        yield f'{key}: is {kind(value)}; write an object like {{"host": "db1", "dbname": "orders", "user": "project"}}'
        return
    for name, item in value.items():
        if name not in _LIBPQ:
            close = get_close_matches(name, _LIBPQ, n=1)
            hint = f"did you mean {close[0]}?" if close else "remove it"
            yield f"{key}.{name}: is not a connection property of libpq; {hint}"
        elif isinstance(item, bool) or not isinstance(item, (str, int)):
            yield f"{key}.{name}: is {kind(item)}; give text or a number"
    for name in ("host", "dbname", "user"):
        if name not in value:
            yield f"{key}.{name}: is missing; add it"


def spark_properties(key: str, value: object) -> Iterator[str]:
    """Check that the value is an object of Spark properties, each with a name that begins with `spark.`.

    A property that is fixed, or that another key of the configuration sets, is a problem.
    """
    if not isinstance(value, dict):
        yield f'{key}: is {kind(value)}; write an object like {{"spark.driver.memory": "1g"}}'
        return
    for name, item in value.items():
        if not name.startswith("spark."):
            yield f"{key}.{name}: is not a Spark property; use a name that begins with spark."
        elif name in _OTHER_KEY:
            yield f"{key}.{name}: cannot be set here; {_OTHER_KEY[name]}"
        elif not isinstance(item, (str, int, float)):
            yield f"{key}.{name}: is {kind(item)}; give text, a number or true/false"


def kafka_properties(key: str, value: object) -> Iterator[str]:
    """Check that the value is an object of properties of Kafka's Java client.

    Problems contain no value of a property, such as a password, except addresses of servers.
    """
    if not isinstance(value, dict):
        yield f'{key}: is {kind(value)}; write an object like {{"bootstrap.servers": "kafka1:9092"}}'
        return
    for name, item in value.items():
        if name == "bootstrap.servers":
            yield from _servers(f"{key}.{name}", item)
        elif name.startswith("kafka."):
            client_name = name.removeprefix("kafka.")
            yield f"{key}.{name}: has Spark's prefix kafka.; use the client's name, {client_name}"
        elif name in _SET_BY_SPARK:
            yield f"{key}.{name}: is set by Spark; remove it"
        elif name not in _CONNECTION and (close := get_close_matches(name, _CONNECTION, n=1, cutoff=0.85)):
            yield f"{key}.{name}: is not a property of Kafka's client; did you mean {close[0]}?"
        elif not isinstance(item, (str, int, float)):
            yield f"{key}.{name}: is {kind(item)}; give text, a number or true/false"
    yield from _security(key, {name: item for name, item in value.items() if isinstance(item, str)})


def jaas_options(text: str) -> dict[str, str]:
    """Return {option: value} from the text of `sasl.jaas.config`, such as `username` and `password`."""
    return {name: re.sub(r"\\(.)", r"\1", quoted) for name, quoted in _JAAS_OPTION.findall(text)}


def _servers(key: str, servers: object) -> Iterator[str]:
    if not isinstance(servers, str):
        yield f"{key}: is {kind(servers)}; write host:port,host:port"
        return
    if not servers.strip():
        yield f"{key}: is empty; write host:port,host:port"
        return
    for server in servers.split(","):
        if not re.fullmatch(r"\s*\S+:[0-9]+\s*", server):
            yield f"{key}: {server.strip()!r} has no port; write host:port,host:port"


def _security(key: str, properties: dict[str, str]) -> Iterator[str]:
    """Check that the two clients of a job, the Java client and librdkafka, support the security settings."""
    for store in ("truststore", "keystore"):
        if f"ssl.{store}.location" in properties and properties.get(f"ssl.{store}.type") != "PEM":
            yield f"{key}.ssl.{store}.type: is not PEM, the only format that both clients read; use a PEM file"
    protocol, mechanism = properties.get("security.protocol", "PLAINTEXT"), properties.get("sasl.mechanism")
    if protocol.upper() not in _PROTOCOLS:
        yield f"{key}.security.protocol: {protocol!r} is no protocol; use one of {', '.join(_PROTOCOLS)}"
    if protocol.upper() not in _PROTOCOLS or not protocol.upper().startswith("SASL"):
        return
    if mechanism is None:
        yield f"{key}.sasl.mechanism: is missing; write one of {', '.join(_PASSWORD_MECHANISMS)}"
    elif mechanism not in _PASSWORD_MECHANISMS:
        yield f"{key}.sasl.mechanism: is not supported here; use one of {', '.join(_PASSWORD_MECHANISMS)}"
    if not {"username", "password"} <= jaas_options(properties.get("sasl.jaas.config", "")).keys():
        yield f'{key}.sasl.jaas.config: has no username="..." and password="..."; add both'
