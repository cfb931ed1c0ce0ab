"""Topics, users, ACLs and quotas as the inventory says: predicted, made, left alone, mended, taken away."""

import json
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.access import Access
from faults.inventory import Inventory
from faults.lab import Lab

from operations.conftest import Operator, Run

TOPICS, USERS = 10, 6
LAYER = "layers/resources"


def diffs(run: Run) -> list[str]:
    """Return what a run said with --diff."""
    return [line for line in run.output.splitlines() if re.match(r"[-+](?!--|\+\+)", line)]


class Declared:
    """What a site declares, as a file of variables that only the test may read."""

    def __init__(self, folder: Path) -> None:
        self.file, self.name = folder / "resources.json", f"resources-{secrets.token_hex(4)}"
        self.passwords = {f"{self.name}-user-{number}": secrets.token_urlsafe() for number in range(USERS)}
        self.file.touch(0o600)

    def topics(self) -> list[dict[str, Any]]:
        """Return topics of two kinds."""
        kinds: list[dict[str, Any]] = [{"retention.ms": "7d"}, {"cleanup.policy": "compact", "segment.bytes": "64MiB"}]
        return [
            {"name": f"{self.name}-{number}", "partitions": 2, "config": kinds[number % 2]} for number in range(TOPICS)
        ]

    def users(self, **more: Any) -> list[dict[str, Any]]:
        """Return users who write, read and are throttled."""
        grants = [{"produce": [f"{self.name}-0"]}, {"consume": [f"{self.name}-*"], "group": self.name}]
        quotas = {"producer_byte_rate": "20MiB", "request_percentage": 50}
        return [
            {"name": name, "password": password, "grants": grants, "quotas": quotas, **more}
            for name, password in self.passwords.items()
        ]

    def says(self, **variables: Any) -> tuple[str, str]:
        """Write variables; return the options that name the file."""
        self.file.write_text(json.dumps({"kafka_topics": self.topics(), "kafka_users": self.users(), **variables}))
        return "-e", f"@{self.file}"


@pytest.fixture
def declared(operator: Operator, inventory: Inventory, tmp_path: Path) -> Iterator[Declared]:
    """Declarations of a test's own; what they made is gone afterwards, by state=absent and by prune."""
    found = Declared(tmp_path)
    try:
        yield found
    finally:
        prune = {"topics": [f"{found.name}-*"], "max_deletes": TOPICS}
        gone = operator.play(
            LAYER, *found.says(kafka_topics=[], kafka_users=found.users(state="absent"), kafka_prune=prune)
        )
        assert gone.code == 0, gone.output[-3000:]
        left = [name for name in Lab(inventory).admin.list_topics(timeout=10).topics if name.startswith(found.name)]
        assert left == []


def test_a_site_converges_as_it_was_predicted(
    operator: Operator, inventory: Inventory, declared: Declared, note: Callable[[str], None]
) -> None:
    predicted = operator.play(LAYER, "--check", "--diff", *declared.says())
    assert predicted.code == 0, predicted.output[-3000:]
    assert not [name for name in Lab(inventory).admin.list_topics(timeout=10).topics if name.startswith(declared.name)]
    done = operator.play(LAYER, "--diff", *declared.says())
    assert done.output == predicted.output
    shown = diffs(done)
    assert f"+topic {declared.name}-0" in shown and "+  retention.ms: 604800000 (7 d)" in shown
    assert len([line for line in shown if line.startswith("+topic ")]) == TOPICS
    assert len([line for line in shown if line.startswith("+user ")]) == USERS
    assert len([line for line in shown if line.startswith("+quota user ")]) == USERS
    assert not any(password in done.output for password in declared.passwords.values())

    again = operator.play(LAYER, "--diff", *declared.says())
    assert (again.code, set(again.recap("changed").values()), diffs(again)) == (0, {0}, [])

    user, password = next(iter(declared.passwords.items()))
    login = {name: value for name, value in inventory.kafka_properties.items() if not name.startswith("sasl.")}
    access = Access(inventory.admin_properties, login)
    access.converge([{"name": user, "password": "of somebody else"}], [])
    mended = operator.play(LAYER, "--diff", *declared.says())
    assert set(mended.recap("changed").values()) == {1}
    assert diffs(mended) == [
        "-  SCRAM-SHA-512: 8192 iterations, another password",
        "+  SCRAM-SHA-512: 8192 iterations, the declared password",
    ]
    assert access.logs_in(user, password, "SCRAM-SHA-512")
    note(f"{TOPICS} topics and {USERS} users with ACLs and quotas: predicted, made, left alone, one password mended")


def test_a_broker_that_is_down_changes_nothing(operator: Operator, inventory: Inventory) -> None:
    """The controller's: the others elect another one, and say what there is."""
    lab = Lab(inventory)
    host = inventory.broker(lab.admin.list_topics(timeout=10).controller_id)
    try:
        inventory.run(host, "systemctl stop kafka")
        run = operator.play(LAYER, "--diff")
    finally:
        lab.heal()
    assert run.code == 0, run.output[-3000:]
    assert (set(run.recap("changed").values()), diffs(run)) == ({0}, [])
