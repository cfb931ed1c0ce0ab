"""In which order brokers are restarted, and which of them together; no Ansible import, no Kafka library."""

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
    """Why they are not those of a whole rack, where one was asked for."""


def batches(snapshot: Snapshot, brokers: Sequence[int], rules: Rules = PLAIN, parallel: bool = False) -> list[Batch]:
    """Return in which order brokers are restarted, and which of them together.

    Sick ones first, the controller last. With `parallel`, a rack together, where what it holds bears that, and
    everybody tells what there is: who does not may have the very replica that a rack has twice.
    """
    first, controller = sick(snapshot, brokers), snapshot.states[0].controller
    rest = sorted((broker for broker in brokers if broker not in first), key=lambda b: b == controller)
    found = [Batch((broker,)) for broker in first]
    if not parallel:
        return found + [Batch((broker,)) for broker in rest]
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
            found += [Batch((broker,), why) for broker in members]
        else:
            found.append(Batch(tuple(members)))
    return found


def unknown(snapshot: Snapshot) -> list[str]:
    """Return why not all is known of what brokers hold."""
    headless = uncontrolled(snapshot)
    return [headless.why] if headless else [silence(broker) for broker in sorted(snapshot.unheard)]
