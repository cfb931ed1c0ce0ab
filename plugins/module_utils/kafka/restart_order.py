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
    """Brokers that are restarted together."""

    brokers: tuple[int, ...]
    why: str = ""
    """Why they are not a whole rack, although racks were requested."""


def batches(snapshot: Snapshot, brokers: Sequence[int], rules: Rules = PLAIN, parallel: bool = False) -> list[Batch]:
    """Return the batches in which brokers are restarted, in order.

    Sick brokers are first, the controller is last. With `parallel`, a rack is one batch, if the partitions it holds
    allow it and all brokers answer: one that does not may have the only other replica of a partition.
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
    """Return why it is not fully known what brokers hold."""
    headless = uncontrolled(snapshot)
    return [headless.why] if headless else [silence(broker) for broker in sorted(snapshot.unheard)]
