"""Computes the order in which brokers are restarted, and which of them are restarted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import (
    PLAIN,
    Rules,
    Snapshot,
    blocks,
    sick,
    silence,
    uncontrolled,
)


@dataclass(frozen=True)
class Batch:
    """Brokers that are restarted together; usually one broker, or a whole rack."""

    brokers: tuple[int, ...]
    why: str = ""
    """Why the batch is not a whole rack, although whole racks were requested."""


def batches(snapshot: Snapshot, brokers: Sequence[int], rules: Rules = PLAIN, parallel: bool = False) -> list[Batch]:
    """Return the batches in which `brokers` are restarted, in their order.

    Sick brokers (gate.sick) are first, the controller is last. Without `parallel`, each broker is a batch. With
    `parallel`, a rack is one batch if all brokers answer and each partition keeps enough replicas without the rack;
    otherwise each broker of that rack is a batch.
    """
    first, controller = sick(snapshot, brokers), snapshot.states[0].controller
    rest = sorted((broker for broker in brokers if broker not in first), key=lambda b: b == controller)
    order = [Batch((broker,)) for broker in first]
    if not parallel:
        return order + [Batch((broker,)) for broker in rest]
    by_rack: dict[str, list[int]] = {}
    together = rules.racks if rules.together is None else rules.together
    for broker in rest:
        by_rack.setdefault(together.get(broker) or f"broker {broker}", []).append(broker)
    for rack, members in sorted(by_rack.items(), key=lambda item: controller in item[1]):
        whys = (
            []
            if len(members) == 1
            else unknown(snapshot)
            or [f"{block.what}: {block.why}" for block in blocks(snapshot, members, rules) if block.lasting]
        )
        if whys:
            why = f"rack {rack} is restarted broker by broker: {'; '.join(whys)}"
            order += [Batch((broker,), why) for broker in members]
        else:
            order.append(Batch(tuple(members)))
    return order


def unknown(snapshot: Snapshot) -> list[str]:
    """Return why it is not known which partitions brokers hold; [] if this is known.

    Reasons are brokers that do not all name the same controller, and brokers that do not answer.
    """
    headless = uncontrolled(snapshot)
    return [headless.why] if headless else [silence(broker) for broker in sorted(snapshot.unheard)]
