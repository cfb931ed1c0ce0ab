"""Checks dynamic settings of brokers (kafka_dynamic_config), which Kafka applies without a restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import LOSING, THROTTLES, below_minimum
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, Finding
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.broker_config import converted

EVERY, OWN = "kafka_dynamic_config", "kafka_dynamic_config_overrides"
# After a change of one of these, the log cleaner restarts and allocates its buffers before the old ones are released
# (LogCleaner.ReconfigurableConfigs).
BUFFER = "log.cleaner.dedupe.buffer.size"
OF_CLEANER = (
    "log.cleaner.backoff.ms",
    BUFFER,
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
    "message.max.bytes",
)
DEFAULT_BUFFER = 134_217_728

IN_FILE = "set it in kafka_config, which brokers read when they are restarted"
# Settings that decide which records are lost: the rules on kafka_config know topics and promise, and do not see them.
BROKER_CONFIG_JUDGED = ProblemKind(
    "BROKER_CONFIG_JUDGED",
    "this setting decides which records can be lost, and preflight checks it only in kafka_config",
    f"{IN_FILE}, and remove a dynamic setting that overrides it (module kafka_broker_config with "
    "allow_data_loss: true)",
)
BROKER_CONFIG_JUDGED_NULL = BROKER_CONFIG_JUDGED.variant(
    message="null removes the dynamic setting, so that the value in server.properties would decide which "
    "records can be lost"
)
BROKER_CONFIG_THROTTLE = ProblemKind(
    "BROKER_CONFIG_THROTTLE",
    "playbooks/reassign.yml sets and removes this throttle",
    "remove it, or set null to remove a throttle that a reassignment has left",
)
# The texts are those of definitions.Finding.
BROKER_CONFIG_UNKNOWN = ProblemKind("BROKER_CONFIG_UNKNOWN", "{finding}", "{advice}")
BROKER_CONFIG_VALUE = ProblemKind("BROKER_CONFIG_VALUE", "{finding}", "{advice}")
BROKER_CONFIG_VALUE_THREADS = BROKER_CONFIG_VALUE.variant(
    message="a running broker rejects 0 for its log cleaner", advice="set at least 1"
)
BROKER_CONFIG_SECRET = ProblemKind(
    "BROKER_CONFIG_SECRET",
    "a secret: brokers do not return its value, so a run could not compare the value with this one",
    IN_FILE,
)
BROKER_CONFIG_STATIC = ProblemKind("BROKER_CONFIG_STATIC", "brokers read this setting only when they start", IN_FILE)
BROKER_CONFIG_LISTENER = ProblemKind(
    "BROKER_CONFIG_LISTENER",
    "a setting of listeners: clients and other brokers would still connect as kafka_listeners describes",
    "set it in kafka_listeners or kafka_config",
)
BROKER_CONFIG_DANGER = ProblemKind("BROKER_CONFIG_DANGER", "{consequence}", "set at least {minimum}")


def known(model: Model) -> Iterator[Problem]:
    """Yield a problem for each entry of kafka_dynamic_config that brokers would reject, or that must not be set there.

    Brokers reject unknown names, static settings and wrong values. Passwords, settings of single listeners, throttles
    and settings that decide which records are lost must not be set there.
    """
    for broker in model.brokers:
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        others = {str(name) for name in broker.inputs.sequence("known_properties")}
        for variable in (EVERY, OWN):
            for name, value in broker.inputs.mapping(variable).items():
                if str(name) not in others and (value is not None or name in LOSING):
                    yield from _setting(broker, definitions, variable, str(name), value)


def _setting(broker: Broker, definitions: Definitions, variable: str, name: str, value: Any) -> Iterator[Problem]:
    place, number = f"{variable}[{name}]", converted(name, value)
    if value is None:  # a null that removes nothing is reported too: the inventory does not know what is set
        yield broker.report(BROKER_CONFIG_JUDGED_NULL, place)
        return
    spec = definitions.spec("broker", name)
    findings = definitions.judge("broker", {name: number})
    if THROTTLES.fullmatch(name):
        yield broker.report(BROKER_CONFIG_THROTTLE, place, value)
    elif spec is None:
        yield from _findings(broker, BROKER_CONFIG_UNKNOWN, place, findings)
    elif spec["type"] == "password":
        yield broker.report(BROKER_CONFIG_SECRET, place)
    elif spec.get("update", "read-only") == "read-only":
        yield broker.report(BROKER_CONFIG_STATIC, place, value)
    elif spec["update"] == "per-broker":
        yield broker.report(BROKER_CONFIG_LISTENER, place, value)
    elif name in LOSING:
        yield broker.report(BROKER_CONFIG_JUDGED, place, value)
    elif name == "log.cleaner.threads" and whole(number) == 0:
        yield broker.report(BROKER_CONFIG_VALUE_THREADS, place, value)
    elif limit := below_minimum(name, number):
        yield broker.report(BROKER_CONFIG_DANGER, place, value, minimum=limit[0], consequence=limit[1])
    else:
        yield from _findings(broker, BROKER_CONFIG_VALUE, place, findings)


def _findings(broker: Broker, kind: ProblemKind, place: str, findings: Sequence[Finding]) -> Iterator[Problem]:
    for finding in findings:
        yield broker.report(kind, place, finding.shown, finding=finding.message, advice=finding.advice)


BROKER_CONFIG_DIFFERS = ProblemKind(
    "BROKER_CONFIG_DIFFERS",
    "other brokers have another value, but this variable applies to all brokers of the cluster",
    f"set it once for all brokers, and settings of single brokers in {OWN}",
)


def everywhere(model: Model) -> Iterator[Problem]:
    """Yield a problem for the brokers whose kafka_dynamic_config differs from that of most brokers."""
    brokers_by_value: dict[str, list[Broker]] = {}
    for broker in model.brokers:
        settings_text = repr(sorted(broker.inputs.mapping(EVERY).items(), key=str))
        brokers_by_value.setdefault(settings_text, []).append(broker)
    if len(brokers_by_value) > 1:
        minority = min(brokers_by_value.values(), key=len)
        yield BROKER_CONFIG_DIFFERS.problem(names(minority), EVERY)


def settings(broker: Broker) -> Mapping[str, tuple[str, Any]]:
    """Return {setting: (variable, value)} of the dynamic settings of a broker.

    kafka_dynamic_config holds the settings of all brokers. kafka_dynamic_config_overrides holds those of a single
    broker, and overrides it.
    """
    dynamic = {str(name): (EVERY, value) for name, value in broker.inputs.mapping(EVERY).items()}
    for name, value in broker.inputs.mapping(OWN).items():
        if value is not None or name not in dynamic:
            dynamic[str(name)] = (OWN, value)
    return dynamic


BROKER_CONFIG_SHADOWED = ProblemKind(
    "BROKER_CONFIG_SHADOWED",
    "overrides the value {file_value} in kafka_config",
    "remove the setting from kafka_config, or keep both if that is intended",
    warning=True,
)


def shadowed(model: Model) -> Iterator[Problem]:
    """Yield a warning for each dynamic setting that overrides a different value in kafka_config."""
    for broker in model.brokers:
        for name, (variable, value) in settings(broker).items():
            file_value = broker.config.get(name)
            if None not in (value, file_value) and text(converted(name, value)) != text(file_value):
                place, file_text = f"{variable}[{name}]", text(file_value)
                yield broker.report(BROKER_CONFIG_SHADOWED, place, value, warning=True, file_value=file_text)


def room_for_cleaners(properties: Mapping[str, Any], heap: Any) -> bool:
    """Tell whether a heap has room for the buffers of two log cleaners, and as much again for everything else.

    `properties` are the broker's properties; `heap` is a size such as "4g". Return False if `heap` is not a size.
    """
    heap_size = size(heap)
    return heap_size is not None and 4 * (whole(properties.get(BUFFER)) or DEFAULT_BUFFER) <= heap_size


BROKER_CONFIG_HEAP = ProblemKind(
    "BROKER_CONFIG_HEAP",
    "the change restarts the log cleaner, which allocates new buffers before the old ones are "
    "released: together {mib} MiB in a heap of {heap}",
    f"raise kafka_heap, or first lower {BUFFER} in kafka_config",
    warning=True,
)
BROKER_CONFIG_HEAP_ENDS = BROKER_CONFIG_HEAP.variant(
    message=f"{BROKER_CONFIG_HEAP.message}, so that the broker would stop"
)
BROKER_CONFIG_HEAP_NULL = BROKER_CONFIG_HEAP.variant(
    message=f"if the cluster has this dynamic setting, {BROKER_CONFIG_HEAP.message}"
)


def memory(model: Model) -> Iterator[Problem]:
    """Yield a problem if a dynamic setting restarts the log cleaner and the heap has no room for two buffers.

    During that restart, the old and the new cleaner both have a buffer.
    """
    for broker in model.brokers:
        heap, dynamic = size(broker.inputs.get("kafka_heap")), settings(broker)
        restarting = sorted(name for name in dynamic if name in OF_CLEANER)
        if heap is None or not restarting:
            continue
        old = whole(broker.config.get(BUFFER)) or DEFAULT_BUFFER
        new = whole(converted(BUFFER, dynamic[BUFFER][1])) if BUFFER in dynamic else old
        both = old + (new or old)
        if 2 * both <= heap:
            continue
        name = BUFFER if BUFFER in restarting else restarting[0]
        variable, value = dynamic[name]
        all_null = all(dynamic[each][1] is None for each in restarting)
        kind = BROKER_CONFIG_HEAP if both < heap else BROKER_CONFIG_HEAP_ENDS
        kind = BROKER_CONFIG_HEAP_NULL if all_null else kind
        yield broker.report(
            kind,
            f"{variable}[{name}]",
            value,
            warning=both < heap or all_null,
            mib=both >> 20,
            heap=broker.inputs.get("kafka_heap"),
        )
