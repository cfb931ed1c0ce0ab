"""Rules on what brokers have to have for what they are told: classes, remote storage, deletion, room for a cleaner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_config import BUFFER, USUAL_BUFFER, settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import once, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

CLASS_PATH, AUTHORIZER = "kafka_class_path", "authorizer.class.name"
OF_KRAFT = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# Properties that name classes and are lists or texts to Kafka; of all others it says so itself.
CLASSES = re.compile(r".*\.class\.name|(kafka\.)?metric(s)?\.reporters|replica\.selector\.class")
A_CLASS = re.compile(r"[a-z_]\w*(\.[a-zA-Z_][\w$]*)+")
# What Kafka's archive and Java bring.
THERE = ("org.apache.kafka.", "kafka.", "java.", "javax.", "com.sun.", "sun.")
# Of these, what properties of brokers can name.
OWN = (
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
# Options of the JVM that bring classes, too.
BRINGING = ("-javaagent:", "-Xbootclasspath/a:")
REMOTE, SYSTEM = "remote.storage.enable", "remote.log.storage.system.enable"
MANAGER = "remote.log.storage.manager.class.name"
DELETE, THREADS = "delete.topic.enable", "log.cleaner.threads"
MOST_OF_A_THREAD, LEAST_OF_A_THREAD = 2**31 - 1, 2**20  # bytes (LogCleaner, KafkaConfig)


def place(broker: Broker, name: str) -> str:
    """Return where a property is said; kafka_config where it is not."""
    return f"{next((one for one, layer in reversed(broker.layers) if name in layer), 'kafka_config')}[{name}]"


def classes(model: Model) -> Iterator[Problem]:
    """A class that is not Kafka's own comes with a jar, else no broker starts."""
    for broker in model.brokers:
        path = [str(item) for item in broker.inputs.sequence(CLASS_PATH)]
        for item in path:
            if not re.search(r"\.(jar|zip)$|/\*?$", item, re.IGNORECASE):
                wrong = "a folder so written brings classes alone, no jar"
                advice = f"write {item}/* for its jars, or {item}/ where classes are meant"
                yield broker.problem(CLASS_PATH, "CLASS_MISSING", item, wrong, advice)
        told = options(broker).get("kafka_java_options", [])
        if path or any(option.startswith(BRINGING) for option in told):
            continue  # what is in them the host alone knows
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        said = {place(broker, str(name)): (str(name), value) for name, value in broker.config.items()}
        said |= {f"{variable}[{name}]": (name, value) for name, (variable, value) in settings(broker).items()}
        for where, (name, value) in said.items():
            spec = definitions.spec("broker", name)
            own = name.endswith(".class.name") and broker.config.get(f"{name[:-4]}path")  # of remote storage
            if value is None or own or not spec or not (spec["type"] == "class" or CLASSES.fullmatch(name)):
                continue
            given = [item.strip() for item in text_of(value).split(",")]
            for slip in (item for item in given if item.startswith(THERE) and item not in OWN):
                if near := nearest(slip, OWN):
                    wrong = "no class of Kafka's archive that is known here: without it no broker would start"
                    yield broker.problem(where, "CLASS_MISSING", slip, wrong, f"did you mean {near}?", warning=True)
            for strange in (item for item in given if A_CLASS.fullmatch(item) and not item.startswith(THERE)):
                wrong = f"not in Kafka's archive, and {CLASS_PATH} names no jar: no broker would start with it"
                yield broker.problem(where, "CLASS_MISSING", strange, wrong, f"name the jar of it in {CLASS_PATH}")


def authorizer(model: Model) -> Iterator[Problem]:
    """The authorizer is one for brokers with ZooKeeper.

    That of KRaft lets a listener begin once it has read the ACLs of the metadata log (StandardAuthorizer.start).
    """
    for broker in model.brokers:
        if text_of(broker.config.get(AUTHORIZER)).strip() == OF_KRAFT:
            wrong = (
                "that of KRaft, which waits for ACLs of a log that there is not with ZooKeeper: no broker would serve"
            )
            advice = f"leave it out: the role writes {OWN[0]}"
            yield broker.problem(place(broker, AUTHORIZER), "AUTHORIZER_KRAFT", OF_KRAFT, wrong, advice)


def remote_storage(model: Model) -> Iterator[Problem]:
    """Topics keep records elsewhere where brokers do, and these know how."""
    without = [broker for broker in model.brokers if not _on(broker, SYSTEM)]
    for broker in model.brokers:
        if broker not in without and not broker.config.get(MANAGER):
            wrong, advice = f"without {MANAGER} no broker would start", "name that class, and its jar"
            yield broker.problem(place(broker, SYSTEM), "REMOTE_STORAGE", True, wrong, advice)
    found = (
        Problem(
            names(without), topic.property_place(REMOTE), "REMOTE_STORAGE", True,
            f"these brokers have no {SYSTEM}: true, and refuse the topic", "take it out, or set that in kafka_config",
        )
        for topic in topics_of(model)
        if without and topic.made and switch(topic.config.get(REMOTE)) is True
    )  # fmt: skip
    yield from once(found)


def deletion(model: Model) -> Iterator[Problem]:
    """Brokers that delete no topic are not told to."""
    absent = [topic.name for topic in topics_of(model) if topic.managed and topic.said.get("state") == "absent"]
    for broker in model.brokers:
        pruned = listed(broker.inputs.mapping("kafka_prune").get("topics") or [])
        if _off(broker, DELETE) and (absent or pruned):
            what = f"topic {absent[0]} is to be absent" if absent else f"kafka_prune deletes {', '.join(pruned)}"
            wrong, advice = f"{what}, and these brokers delete none", "leave it out: true (ACLs say who may delete)"
            yield broker.problem(place(broker, DELETE), "TOPIC_KEPT", False, wrong, advice)


def cleaner(model: Model) -> Iterator[Problem]:
    """The buffers of the log cleaner fit into the heap, and each of its threads has one that it can work with."""
    for broker in model.brokers:
        heap, threads = size(broker.inputs.get("kafka_heap")), whole(broker.config.get(THREADS, 1)) or 1
        buffer = whole(broker.config.get(BUFFER, USUAL_BUFFER))
        said = [name for name in (BUFFER, THREADS) if name in broker.config]
        if not said or buffer is None or threads < 1 or _off(broker, "log.cleaner.enable"):
            continue
        where, shown = place(broker, said[0]), broker.config[said[0]]
        taken = min(buffer // threads, MOST_OF_A_THREAD) * threads
        if buffer // threads <= LEAST_OF_A_THREAD:
            wrong = f"{buffer // threads} bytes for each of {threads} threads, and Kafka starts with more than 1 MiB"
            yield broker.problem(where, "CLEANER_BUFFER", shown, wrong, f"raise {BUFFER}, or use fewer threads")
        elif heap is not None and 2 * taken > heap:
            wrong = f"the log cleaner takes {taken >> 20} MiB for good of a heap of {broker.inputs.get('kafka_heap')}"
            wrong += "" if taken < heap else ": the broker ends"
            advice = f"lower it, or raise kafka_heap ({USUAL_BUFFER >> 20} MiB is usual)"
            yield broker.problem(where, "CLEANER_BUFFER", shown, wrong, advice, warning=taken < heap)


def _on(broker: Broker, name: str) -> bool:
    return switch(_said(broker, name)) is True


def _off(broker: Broker, name: str) -> bool:
    return switch(_said(broker, name)) is False


def _said(broker: Broker, name: str) -> Any:
    value = broker.config.get(name)
    return value.strip().lower() if isinstance(value, str) else value
