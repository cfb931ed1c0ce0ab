"""Rules on settings of running brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import LOSING, THROTTLES, dangerous
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.broker_config import in_numbers

EVERY, OWN = "kafka_dynamic_config", "kafka_dynamic_config_overrides"
# After a change of one of these the log cleaner begins anew, with its buffer, while the old one is still there
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
USUAL_BUFFER = 134_217_728
BY_HAND = "where nothing is set beside it (kafka_broker_config takes that back, with allow_data_loss: true)"


def known(model: Model) -> Iterator[Problem]:
    """Every setting is one that brokers take while they run, with a value that they take, and nobody else's matter."""
    for broker in model.brokers:
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        others = {str(name) for name in broker.inputs.sequence("known_properties")}
        for variable in (EVERY, OWN):
            for name, value in broker.inputs.mapping(variable).items():
                if str(name) not in others and (value is not None or name in LOSING):
                    yield from _setting(broker, definitions, variable, str(name), value)


def _setting(broker: Broker, definitions: Definitions, variable: str, name: str, value: Any) -> Iterator[Problem]:
    place, instead = f"{variable}[{name}]", "say it in kafka_config, and brokers take it when they are restarted"
    if value is None:  # where it is set the run would be refused late; where it is not, this says nothing
        wrong = "taken back, it leaves to what the file says what is lost"
        yield broker.problem(place, "BROKER_CONFIG_JUDGED", None, wrong, f"{instead}, {BY_HAND}")
        return
    spec = definitions.spec("broker", name)
    findings = definitions.judge("broker", {name: in_numbers(name, value)})
    if THROTTLES.fullmatch(name):
        wrong = "a throttle of moving replicas, set by whoever moves them"
        yield broker.problem(place, "BROKER_CONFIG_THROTTLE", value, wrong, "null takes back one that was forgotten")
    elif spec is None:
        for one in findings:
            yield broker.problem(place, "BROKER_CONFIG_UNKNOWN", one.shown, one.wrong, one.advice)
    elif spec["type"] == "password":
        wrong = "a secret, which nobody could compare with the one that is set"
        yield broker.problem(place, "BROKER_CONFIG_SECRET", None, wrong, instead)
    elif spec.get("update", "read-only") == "read-only":
        yield broker.problem(place, "BROKER_CONFIG_STATIC", value, "brokers read it when they start", instead)
    elif spec["update"] == "per-broker":
        wrong = "it is a listener's, and what clients and brokers are told of those would no longer be true"
        yield broker.problem(place, "BROKER_CONFIG_LISTENER", value, wrong, "say it in kafka_listeners or kafka_config")
    elif name in LOSING:  # rules on kafka_config, with what they know of topics and promise, do not see it here
        wrong = "it decides what is lost, and is judged with the rest of kafka_config"
        yield broker.problem(place, "BROKER_CONFIG_JUDGED", value, wrong, f"{instead}, {BY_HAND}")
    elif name == "log.cleaner.threads" and whole(in_numbers(name, value)) == 0:
        wrong = "brokers refuse it while they run (LogCleaner)"
        yield broker.problem(place, "BROKER_CONFIG_VALUE", value, wrong, "say 1 at least")
    elif why := dangerous(name, in_numbers(name, value)):
        wrong, _, advice = why.partition("; ")
        yield broker.problem(place, "BROKER_CONFIG_DANGER", value, wrong, advice)
    else:
        for one in findings:
            yield broker.problem(place, "BROKER_CONFIG_VALUE", one.shown, one.wrong, one.advice)


def everywhere(model: Model) -> Iterator[Problem]:
    """What is of all brokers is one thing."""
    told: dict[str, list[Broker]] = {}
    for broker in model.brokers:
        told.setdefault(repr(sorted(broker.inputs.mapping(EVERY).items(), key=str)), []).append(broker)
    if len(told) > 1:
        few = min(told.values(), key=len)
        wrong, advice = "other brokers have another one, and it is of all of them", f"say what differs in {OWN}"
        yield Problem(names(few), EVERY, "BROKER_CONFIG_DIFFERS", None, wrong, advice)


def settings(broker: Broker) -> Mapping[str, tuple[str, Any]]:
    """Return what a broker would be told, each with the variable that says it: its own goes before that of all."""
    found = {str(name): (EVERY, value) for name, value in broker.inputs.mapping(EVERY).items()}
    for name, value in broker.inputs.mapping(OWN).items():
        if value is not None or name not in found:
            found[str(name)] = (OWN, value)
    return found


def shadowed(model: Model) -> Iterator[Problem]:
    """Nobody says one thing in a file and another beside it, of no broker."""
    for broker in model.brokers:
        for name, (variable, value) in settings(broker).items():
            said = broker.config.get(name)
            if None not in (value, said) and text(in_numbers(name, value)) != text(said):
                wrong = f"kafka_config says {text(said)}, and brokers take this instead"
                advice = "take it out there, or leave it if that is meant"
                yield broker.problem(
                    f"{variable}[{name}]", "BROKER_CONFIG_SHADOWED", value, wrong, advice, warning=True
                )


def room_for_cleaners(properties: Mapping[str, Any], heap: Any) -> bool:
    """Tell whether a heap has room for the buffers of two log cleaners, and as much again for everything else."""
    there = size(heap)
    return there is not None and 4 * (whole(properties.get(BUFFER)) or USUAL_BUFFER) <= there


def memory(model: Model) -> Iterator[Problem]:
    """A heap has room for two buffers of the log cleaner where the cleaner begins anew."""
    for broker in model.brokers:
        heap, told = size(broker.inputs.get("kafka_heap")), settings(broker)
        touched = sorted(name for name in told if name in OF_CLEANER)
        if heap is None or not touched:
            continue
        old = whole(broker.config.get(BUFFER)) or USUAL_BUFFER
        new = whole(in_numbers(BUFFER, told[BUFFER][1])) if BUFFER in told else old
        both = old + (new or old)
        if 2 * both <= heap:
            continue
        name = BUFFER if BUFFER in touched else touched[0]
        variable, value = told[name]
        taken_back = all(told[one][1] is None for one in touched)
        wrong = "where it was set, " if taken_back else ""
        wrong += f"the log cleaner begins anew beside the old one, with {both >> 20} MiB of buffers in a heap of "
        wrong += f"{broker.inputs.get('kafka_heap')}" + ("" if both < heap or taken_back else ": the broker ends")
        advice = f"raise kafka_heap, or lower {BUFFER} in kafka_config first"
        warning = both < heap or taken_back
        yield broker.problem(f"{variable}[{name}]", "BROKER_CONFIG_HEAP", value, wrong, advice, warning=warning)
