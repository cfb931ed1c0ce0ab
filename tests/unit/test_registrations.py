"""Which registrations of lost brokers are deleted, and which znodes stay."""

import json

import pytest
from kazoo.exceptions import NoNodeError

from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.registrations import registered, remove


class Znodes:
    """A client of an ensemble that has only these znodes."""

    def __init__(self, controller: int | None = 1, brokers: str = "1 2 3 4") -> None:
        """`controller` is the registered controller, None for none; `brokers` are the registered ids."""
        self.znodes = {f"/kafka/brokers/ids/{number}": b"{}" for number in brokers.split()}
        self.znodes["/kafka/brokers/topics/orders"] = b"{}"
        if controller is not None:
            self.znodes["/kafka/controller"] = json.dumps({"version": 2, "brokerid": controller}).encode()

    def get(self, path: str) -> tuple[bytes, None]:
        if path not in self.znodes:
            raise NoNodeError
        return self.znodes[path], None

    def get_children(self, path: str) -> list[str]:
        found = [name.rpartition("/")[2] for name in self.znodes if name.rpartition("/")[0] == path]
        if not found:
            raise NoNodeError
        return found

    def delete(self, path: str) -> None:
        if path not in self.znodes:
            raise NoNodeError
        del self.znodes[path]


def test_only_lost_brokers_and_a_lost_controller_are_deleted() -> None:
    client = Znodes()
    assert remove(client, "/kafka", [1, 2]) == {"removed": [1, 2], "controller": 1}
    assert set(client.znodes) == {"/kafka/brokers/ids/3", "/kafka/brokers/ids/4", "/kafka/brokers/topics/orders"}


@pytest.mark.parametrize("controller", [3, None])
def test_a_controller_that_survived_stays(controller: int | None) -> None:
    client = Znodes(controller)
    before = client.znodes.get("/kafka/controller")
    assert remove(client, "/kafka", [1, 2])["controller"] == -1
    assert client.znodes.get("/kafka/controller") == before


def test_check_mode_deletes_nothing() -> None:
    client = Znodes()
    before = dict(client.znodes)
    assert remove(client, "/kafka", [1, 2], check_mode=True) == {"removed": [1, 2], "controller": 1}
    assert client.znodes == before


def test_a_second_run_finds_nothing() -> None:
    client = Znodes()
    remove(client, "/kafka", [1, 2])
    assert remove(client, "/kafka", [1, 2]) == {"removed": [], "controller": -1}


def test_another_chroot_has_no_brokers() -> None:
    assert registered(Znodes(), "/other") == []
