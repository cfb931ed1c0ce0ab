"""Checks what brokers need for their properties to work.

Subjects: jars of classes, the authorizer, remote storage, deletion of topics, memory of the log cleaner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_config import BUFFER, DEFAULT_BUFFER, settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import distinct, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

CLASS_PATH, AUTHORIZER = "kafka_class_path", "authorizer.class.name"
OF_KRAFT = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# Properties that name classes, although their type is list or string; others have the type class.
CLASSES = re.compile(r".*\.class\.name|(kafka\.)?metric(s)?\.reporters|replica\.selector\.class")
A_CLASS = re.compile(r"[a-z_]\w*(\.[a-zA-Z_][\w$]*)+")
# Packages of Kafka's archive and of Java.
PACKAGES = ("org.apache.kafka.", "kafka.", "java.", "javax.", "com.sun.", "sun.")
# The classes of these packages that properties of brokers can name.
KAFKA_CLASSES = (
    "kafka.security.authorizer.AclAuthorizer",
    "org.apache.kafka.common.metrics.JmxReporter",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
    "org.apache.kafka.common.security.ssl.CommonNameLoggingSslEngineFactory",
    "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
    OF_KRAFT,
    "org.apache.kafka.server.log.remote.storage.NoOpRemoteLogMetadataManager",
    "org.apache.kafka.server.log.remote.storage.NoOpRemoteStorageManager",
    "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
)
# Options of the JVM that add classes, too.
ADDING_CLASSES = ("-javaagent:", "-Xbootclasspath/a:")
REMOTE, SYSTEM = "remote.storage.enable", "remote.log.storage.system.enable"
MANAGER = "remote.log.storage.manager.class.name"
DELETE, THREADS = "delete.topic.enable", "log.cleaner.threads"
MOST_OF_A_THREAD, LEAST_OF_A_THREAD = 2**31 - 1, 2**20  # bytes of the buffer (LogCleaner, KafkaConfig)


def place(broker: Broker, name: str) -> str:
    """Return the place in the inventory that sets the property `name` of a broker.

    Return kafka_config[name] if the property is set nowhere.
    """
    return f"{next((variable for variable, layer in reversed(broker.layers) if name in layer), 'kafka_config')}[{name}]"


CLASS_MISSING = ProblemKind(
    "CLASS_MISSING",
    f"Kafka's archive does not contain this class, and {CLASS_PATH} names no jar: no broker would start",
    f"add the jar of this class to {CLASS_PATH}",
)
CLASS_MISSING_TYPO = CLASS_MISSING.variant(
    message="Kafka's archive contains no known class of this name: if the class does not exist, no broker would start",
    advice="did you mean {near}?",
)
CLASS_MISSING_FOLDER = CLASS_MISSING.variant(
    message="Java finds classes in a folder written like this, but no jars",
    advice="write {folder}/* for the jars in this folder, or {folder}/ for classes",
)


def classes(model: Model) -> Iterator[Problem]:
    """Yield a problem for each property of a broker that names a class which is not in Kafka's archive.

    If kafka_class_path or a Java option adds jars, only the paths in kafka_class_path are checked.
    """
    for broker in model.brokers:
        path = [str(item) for item in broker.inputs.sequence(CLASS_PATH)]
        for item in path:
            # A star elsewhere, or several paths in one entry, are reported as PATH_SIGNS.
            if re.fullmatch(r"[^*:]*[^*:/]", item) and not re.search(r"\.(jar|zip)$", item, re.IGNORECASE):
                yield broker.report(CLASS_MISSING_FOLDER, CLASS_PATH, item, folder=item)
        java_options = options(broker).get("kafka_java_options", [])
        if path or any(option.startswith(ADDING_CLASSES) for option in java_options):
            continue  # only the host knows which classes these contain
        yield from _classes(broker)


def _classes(broker: Broker) -> Iterator[Problem]:
    """Yield a problem for each class in the broker's properties that is not in Kafka's archive, or looks misspelt."""
    definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
    properties = {place(broker, str(name)): (str(name), value) for name, value in broker.config.items()}
    properties |= {f"{variable}[{name}]": (name, value) for name, (variable, value) in settings(broker).items()}
    for variable, (name, value) in properties.items():
        spec = definitions.spec("broker", name)
        has_path = name.endswith(".class.name") and broker.config.get(f"{name[:-4]}path")  # of remote storage
        if value is None or has_path or not spec or not (spec["type"] == "class" or CLASSES.fullmatch(name)):
            continue
        names_of_classes = [item.strip() for item in text_of(value).split(",")]
        for item in names_of_classes:
            if item.startswith(PACKAGES) and item not in KAFKA_CLASSES and (near := nearest(item, KAFKA_CLASSES)):
                yield broker.report(CLASS_MISSING_TYPO, variable, item, warning=True, near=near)
        for item in names_of_classes:
            if A_CLASS.fullmatch(item) and not item.startswith(PACKAGES):
                yield broker.report(CLASS_MISSING, variable, item)


AUTHORIZER_KRAFT = ProblemKind(
    "AUTHORIZER_KRAFT",
    "this authorizer of KRaft waits for a metadata log, which does not exist with ZooKeeper: no "
    "broker would accept connections",
    "remove this key: the role sets {default}",
)


def authorizer(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker with StandardAuthorizer, the authorizer of KRaft clusters.

    In a cluster with ZooKeeper, this authorizer waits forever for ACLs of the metadata log, and no listener starts.
    """
    for broker in model.brokers:
        if text_of(broker.config.get(AUTHORIZER)).strip() == OF_KRAFT:
            yield broker.report(AUTHORIZER_KRAFT, place(broker, AUTHORIZER), OF_KRAFT, default=KAFKA_CLASSES[0])


REMOTE_STORAGE = ProblemKind(
    "REMOTE_STORAGE",
    f"without {MANAGER} no broker would start",
    f"set {MANAGER} to a class, and remote.log.storage.manager.class.path to its jar",
)
REMOTE_STORAGE_TOPIC = REMOTE_STORAGE.variant(
    message=f"these brokers do not have {SYSTEM}: true, and would reject the topic",
    advice=f"remove it, or set {SYSTEM}: true in kafka_config",
)


def remote_storage(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker with remote storage but without a storage manager class.

    Also yield a problem for each topic with remote storage if a broker does not have remote storage.
    """
    without = [broker for broker in model.brokers if not _is_on(broker, SYSTEM)]
    for broker in model.brokers:
        if broker not in without and not broker.config.get(MANAGER):
            yield broker.report(REMOTE_STORAGE, place(broker, SYSTEM), True)
    yield from distinct(
        REMOTE_STORAGE_TOPIC.problem(names(without), topic.property_place(REMOTE), True)
        for topic in topics_of(model)
        if without and topic.present and switch(topic.config.get(REMOTE)) is True
    )


TOPIC_KEPT = ProblemKind(
    "TOPIC_KEPT",
    "these brokers delete no topic, but kafka_topics declares topic {topic} as absent",
    "remove delete.topic.enable (default: true): ACLs decide which users may delete topics",
)
TOPIC_KEPT_PRUNE = TOPIC_KEPT.variant(message="these brokers delete no topic, but kafka_prune deletes {topics}")


def deletion(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker with delete.topic.enable off, if the inventory deletes or prunes topics."""
    absent = [topic.name for topic in topics_of(model) if topic.managed and topic.entry.get("state") == "absent"]
    for broker in model.brokers:
        pruned = listed(broker.inputs.mapping("kafka_prune").get("topics") or [])
        if _is_off(broker, DELETE) and absent:
            yield broker.report(TOPIC_KEPT, place(broker, DELETE), False, topic=absent[0])
        elif _is_off(broker, DELETE) and pruned:
            yield broker.report(TOPIC_KEPT_PRUNE, place(broker, DELETE), False, topics=pruned)


CLEANER_BUFFER = ProblemKind(
    "CLEANER_BUFFER",
    "the log cleaner permanently uses {mib} MiB of a heap of {heap}",
    f"lower it (default: {DEFAULT_BUFFER >> 20} MiB), or raise kafka_heap",
)
CLEANER_BUFFER_ENDS = CLEANER_BUFFER.variant(message=f"{CLEANER_BUFFER.message}, so that the broker would stop")
CLEANER_BUFFER_THREAD = CLEANER_BUFFER.variant(
    message="{size} bytes for each of {threads} cleaner threads, but Kafka starts only with more than 1 MiB for each",
    advice=f"raise {BUFFER}, or lower {THREADS}",
)


def cleaner(model: Model) -> Iterator[Problem]:
    """Yield a problem if the buffers of the log cleaner fill more than half the heap.

    Also yield a problem if the buffers are too small for the number of cleaner threads, because Kafka would not start.
    """
    for broker in model.brokers:
        heap, threads = size(broker.inputs.get("kafka_heap")), whole(broker.config.get(THREADS, 1)) or 1
        buffer = whole(broker.config.get(BUFFER, DEFAULT_BUFFER))
        declared = [name for name in (BUFFER, THREADS) if name in broker.config]
        if not declared or buffer is None or threads < 1 or _is_off(broker, "log.cleaner.enable"):
            continue
        variable, value = place(broker, declared[0]), broker.config[declared[0]]
        used = min(buffer // threads, MOST_OF_A_THREAD) * threads
        if buffer // threads <= LEAST_OF_A_THREAD:
            yield broker.report(CLEANER_BUFFER_THREAD, variable, value, size=buffer // threads, threads=threads)
        elif heap is not None and 2 * used > heap:
            kind, mib = CLEANER_BUFFER if used < heap else CLEANER_BUFFER_ENDS, used >> 20
            heap_text = broker.inputs.get("kafka_heap")
            yield broker.report(kind, variable, value, warning=used < heap, mib=mib, heap=heap_text)


def _is_on(broker: Broker, name: str) -> bool:
    return switch(_value(broker, name)) is True


def _is_off(broker: Broker, name: str) -> bool:
    return switch(_value(broker, name)) is False


def _value(broker: Broker, name: str) -> Any:
    """Return a broker property from the inventory, None if not set; a text is stripped and in lower case."""
    value = broker.config.get(name)
    return value.strip().lower() if isinstance(value, str) else value
