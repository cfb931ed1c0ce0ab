"""From our own CA to one outside with an intermediate, and back through a new one of our own: some 15 playbook runs."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.inventory import Inventory
from operations.conftest import Operator
from rotation.authorities import NEW, NEXT, OLD, Corporate, Steps, interrupted
from rotation.load import Load, served, services

pytestmark = [pytest.mark.campaign, pytest.mark.timed]


@pytest.fixture
def corporate(inventory: Inventory, tmp_path: Path) -> Iterator[Corporate]:
    """The CA that replaces ours for a while."""
    found = Corporate(inventory.pki, tmp_path)
    found.clear()
    yield found
    found.clear()


def refused(said: tuple[int, str], *words: str) -> None:
    """Assert that a step was refused, in these words."""
    code, output = said
    assert code != 0 and [word for word in words if word not in output] == [], output


def taken(said: tuple[int, str]) -> None:
    """Assert that a step was taken."""
    code, output = said
    assert code == 0, output


def vouches(ca: Path, inventory: Inventory) -> bool:
    """Tell whether a client that trusts this CA takes the first broker's certificate."""
    address = f"{inventory.client_address(inventory.hosts('kafka')[0])}:9092"
    asked = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-verify_return_error", "-CAfile", str(ca)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return "verify error" not in asked.stderr


def test_a_chain_of_cas_comes_into_use_under_load(
    operator: Operator,
    inventory: Inventory,
    begin: Callable[[str], Load],
    corporate: Corporate,
    note: Callable[[str], None],
) -> None:
    """A CA of somebody else, who gets requests. A step before the one that it needs is refused, and changes nothing."""
    processes, before = services(operator), served(inventory)
    steps = Steps(operator, corporate.file)
    load = begin("both")
    said = steps.take([OLD, NEW], NEW, True)
    answers = corporate.sign()
    assert len(answers) > 10, said[1]
    refused(said, f"{len(answers)} signed certificates are missing in ")
    refused(steps.take([OLD, NEW], NEW, True), "CERTIFICATE_STEP", "do not trust that CA yet")
    with interrupted(inventory, corporate.file.read_bytes()):
        said = steps.take([OLD, NEW], NEW, True)
        refused(said, "CERTIFICATE_STEP", "dc1-kafka1, dc1-kafka2, dc1-kafka3 and 3 more")
    assert served(inventory) == before
    taken(steps.take([OLD, NEW], OLD, False))
    refused(steps.take([NEW], OLD, False), "CERTIFICATE_STEP", "is removed")
    note(f"both CAs trusted: {load.end()}")

    load = begin("new")  # a client that has read the new bundle
    taken(steps.take([OLD, NEW], NEW, True))
    assert {port for port, serial in served(inventory).items() if serial == before[port]} == set()
    taken(steps.take([NEW], NEW, False))
    assert services(operator) == processes, "something was restarted"
    note(f"new CA: {load.end()}")
    assert not vouches(inventory.pki / "authorities/infra.pem", inventory), "the old CA still vouches for the broker"

    checked = operator.play("check", "-e", f"@{steps.settings}")
    assert checked.code == 0, checked.output
    too_few = operator.play("check", "-e", f"@{steps.settings}", "-e", "check_certificate_days=500")
    assert too_few.code != 0 and "(at least 500 required)" in too_few.output

    # From there to a new CA of our own, and on to the one that the inventory names; each time a client that has read
    # the bundle of then.
    back = [
        ([NEXT, NEW], NEW, False),
        ([NEXT, NEW], NEXT, True),
        ([OLD, NEXT], NEXT, False),
        ([OLD, NEXT], OLD, True),
        ([OLD], OLD, False),
    ]
    for number, (trusted, signs, renew) in enumerate(back):
        load = begin(f"back{number}")
        taken(steps.take(trusted, signs, renew))
        note(f"trusted {', '.join(trusted)}, signed by {signs}: {load.end()}")
    assert operator.play("check").code == 0
    assert services(operator) == processes, "something was restarted"
