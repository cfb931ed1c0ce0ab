"""From our own CA to one outside of the site with an intermediate, and back through a new one of our own, under load: some 15 playbook runs."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.inventory import Inventory
from operations.conftest import Operator
from rotation.authorities import NEW, NEXT, OLD, Corporate, Steps, interrupted
from rotation.load import Load, served, services

pytestmark = pytest.mark.campaign


@pytest.fixture
def corporate(inventory: Inventory, tmp_path: Path) -> Iterator[Corporate]:
    """The CA that replaces ours for a while."""
    found = Corporate(inventory.pki, tmp_path)
    found.clear()
    yield found
    found.clear()


def test_a_chain_of_cas_comes_into_use_under_load(
    operator: Operator, inventory: Inventory, topic: str, corporate: Corporate, tmp_path: Path, note: Callable[[str], None]
) -> None:
    """A CA of somebody else, who gets requests. A step that is taken before the one it needs is refused, and changes nothing."""
    processes, before = services(operator), served(inventory)
    steps = Steps(operator, corporate.file)
    load = Load(inventory, topic, tmp_path, "both")
    code, output = steps.take([OLD, NEW], NEW, True)
    answers = corporate.sign()
    assert code != 0 and len(answers) > 10 and [name for name in answers if f"/signed/{name} is missing" not in output] == [], output
    code, output = steps.take([OLD, NEW], NEW, True)
    assert code != 0 and "CERTIFICATE_STEP" in output and "do not trust that yet" in output, output
    with interrupted(inventory, corporate.file.read_bytes()):
        code, output = steps.take([OLD, NEW], NEW, True)
        assert code != 0 and "CERTIFICATE_STEP" in output and "dc1-kafka1, dc1-kafka2, dc1-kafka3 and 3 more" in output, output
    assert served(inventory) == before
    code, output = steps.take([OLD, NEW], OLD, False)
    assert code == 0, output
    code, output = steps.take([NEW], OLD, False)
    assert code != 0 and "CERTIFICATE_STEP" in output and "is dropped" in output, output
    note(f"both CAs trusted: {load.end()}")

    load = Load(inventory, topic, tmp_path, "new")  # a client that has read the new bundle
    code, output = steps.take([OLD, NEW], NEW, True)
    assert code == 0, output
    assert {port for port, serial in served(inventory).items() if serial == before[port]} == set()
    code, output = steps.take([NEW], NEW, False)
    assert code == 0, output
    assert services(operator) == processes, "something was restarted"
    note(f"new CA: {load.end()}")
    address = f"{inventory.client_address(inventory.hosts('kafka')[0])}:9092"
    old = inventory.pki / "authorities/infra.pem"
    refused = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-verify_return_error", "-CAfile", str(old)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert "verify error" in refused.stderr, "the old CA still vouches for the broker"

    checked = operator.play("check", "-e", f"@{steps.settings}")
    assert checked.code == 0, checked.output
    too_few = operator.play("check", "-e", f"@{steps.settings}", "-e", "check_certificate_days=500")
    assert too_few.code != 0 and "days are left, fewer than 500" in too_few.output

    # From there to a new CA of our own, and on to the one that the inventory names; each time a client that has read the bundle of then.
    back = [([NEXT, NEW], NEW, False), ([NEXT, NEW], NEXT, True), ([OLD, NEXT], NEXT, False), ([OLD, NEXT], OLD, True), ([OLD], OLD, False)]
    for number, (trusted, signs, renew) in enumerate(back):
        load = Load(inventory, topic, tmp_path, f"back{number}")
        code, output = steps.take(trusted, signs, renew)
        assert code == 0, output
        note(f"trusted {', '.join(trusted)}, signed by {signs}: {load.end()}")
    assert operator.play("check").code == 0
    assert services(operator) == processes, "something was restarted"
