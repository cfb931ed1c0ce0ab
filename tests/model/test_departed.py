"""What left the inventory while it is needed."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from model.probes import Probe, answer, model, probed


@pytest.mark.parametrize(
    ("dropped", "given_up", "offline", "codes"),
    [
        ({"mounted": True, "names": []}, ["/data/kafka3"], ["orders-0"], ["LOG_DIR_DROPPED"]),
        ({"mounted": True, "error": "EIO"}, [], ["orders-0", "orders-1"], ["LOG_DIR_DROPPED"]),
        ({"mounted": False, "names": []}, [], ["orders-0"], ["LOG_DIR_DROPPED"]),
        ({"mounted": True, "names": ["orders-0"]}, ["/data/kafka3"], [], []),
        ({"mounted": True, "names": []}, [], ["orders-0"], []),
    ],
)
def test_a_disk_that_failed_is_not_left_out_while_it_may_hold_the_last_in_sync(
    dropped: dict[str, Any], given_up: list[str], offline: list[str], codes: list[str]
) -> None:
    """Its broker would come back with an empty replica, and lead."""
    change = answer(log_dirs=["/data/kafka1", "/data/kafka3"], given_up=given_up, dropped={"/data/kafka3": dropped})
    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe), {}, offline)
    assert [problem.code for problem in found] == codes


def test_a_broker_whose_id_was_changed_is_one_mistake() -> None:
    """Its disks say so; that nobody has the old id any more is the same mistake. Another id is another one."""
    change = answer(meta_properties={"/data/kafka1": {"broker.id": "7"}})
    probe = Probe("", "", "", change)
    found = check_hosts(model(probe), probed(probe), {"7": 12, "8": 3})
    assert [(problem.code, problem.value) for problem in found] == [("KAFKA_ID_CHANGED", 1), ("BROKER_DROPPED", 8)]
