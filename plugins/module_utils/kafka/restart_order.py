"""In which order brokers are restarted, and which of them together; no Ansible import, no Kafka library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import PLAIN, Rules, Snapshot, blocks, sick


@dataclass(frozen=True)
class Batch:
    """Brokers that are restarted together."""

    brokers: tuple[int, ...]
    why: str = ""
    """Why they are not those of a whole rack, where one was asked for."""


def batches(snapshot: Snapshot, brokers: Sequence[int], rules: Rules = PLAIN, parallel: bool = False) -> list[Batch]:
    """Return in which order brokers are restarted, and which of them together.

    Sick ones first, the controller last. With `parallel`, a rack together, where what it holds bears that.
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
        few = [block for block in blocks(snapshot, members, rules) if block.lasting]
        if len(members) == 1 or not few:
            found.append(Batch(tuple(members)))
        else:
            why = (
                f"rack {rack} is restarted broker by broker: {'; '.join(f'{block.what}: {block.why}' for block in few)}"
            )
            found += [Batch((broker,), why) for broker in members]
    return found
