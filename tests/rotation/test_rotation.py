"""New certificates and a new password come into use under load.

No send fails or waits long, no record is missing, nothing is restarted.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.access import Access
from faults.inventory import Inventory
from faults.lab import until
from operations.conftest import Operator
from rotation.authorities import NEXT, OLD, Steps
from rotation.load import Load, on_disk, served, services

pytestmark = pytest.mark.timed
USER = "lab"


def test_certificates_come_into_use_under_load_and_a_ca_not_before_its_time(
    operator: Operator, inventory: Inventory, begin: Callable[[str], Load], note: Callable[[str], None]
) -> None:
    """Every port presents its new certificate; a CA that nobody trusts yet may sign none.

    The run that tries changes nothing.
    """
    processes, before = services(operator), served(inventory)
    load = begin("leaves")
    done = operator.play("rotate_certificates")
    assert done.code == 0, done.output
    after = served(inventory)
    assert {port: serial for port, serial in after.items() if serial == before[port]} == {}, (
        "a port presents the old certificate"
    )
    files = on_disk(inventory)
    assert {port: serial for port, serial in after.items() if serial != files[port.split()[0]]} == {}

    hosts = operator.fingerprint()
    code, output = Steps(operator).take([OLD, NEXT], NEXT, True)
    assert code != 0 and "CERTIFICATE_STEP" in output and "do not trust that CA yet" in output, output
    assert served(inventory) == after
    assert operator.fingerprint() == hosts, "a refused step changed a host"
    assert services(operator) == processes, "something was restarted"
    note(load.end())


def test_a_password_is_replaced_while_the_old_one_works(
    operator: Operator, inventory: Inventory, begin: Callable[[str], Load], tmp_path: Path, note: Callable[[str], None]
) -> None:
    assert inventory.lab_directory
    old, new = inventory.kafka_properties["sasl.password"], 'a new one, = " and all'
    secrets = {path.name: path.read_text().split()[0] for path in (inventory.lab_directory / "secrets").iterdir()}
    passwords = {name: secret for name, secret in secrets.items() if name != "pki_passphrase"}
    access = Access(inventory.admin_properties, {**inventory.kafka_properties, "sasl.mechanism": "SCRAM-SHA-512"})

    def logins() -> tuple[bool, bool]:
        return access.logs_in(USER, old, "SCRAM-SHA-512"), access.logs_in(USER, new, "SCRAM-SHA-256")

    def rotate(step: str, declared: dict[str, str]) -> tuple[int, str]:
        vault = {"pki_passphrase": secrets["pki_passphrase"], "passwords": passwords, "new_passwords": {USER: new}}
        settings = tmp_path / "settings.json"
        settings.touch(0o600)
        settings.write_text(
            json.dumps(
                {
                    "vault": vault,
                    "rotated": {"name": USER, **declared},
                    "declared": inventory.variables[inventory.hosts("kafka")[0]]["kafka_users"],
                    "kafka_users": "{{ [rotated] + declared | rejectattr('name', 'eq', rotated.name) | list }}",
                    "user": USER,
                    "step": step,
                }
            )
        )
        done = operator.play("rotate_password", "-e", f"@{settings}")
        return done.code, done.output

    def let_in(expected: tuple[bool, bool]) -> None:
        # A password reaches the brokers that did not write it a moment later.
        until(f"logins with the old and the new password are {expected}", lambda: logins() == expected, 60)

    load = begin("password")
    try:
        let_in((True, False))
        code, output = rotate("begin", {"password": old})
        assert code == 0, output
        let_in((True, True))
        code, output = rotate("finish", {"password": old})
        assert code != 0 and "finishing would end the new one" in output, output
        let_in((True, True))
        code, output = rotate("finish", {"password": new, "mechanism": "SCRAM-SHA-256"})
        assert code == 0, output
        let_in((False, True))
        load.goes_on()
    finally:
        access.converge([{"name": USER, "password": old}], [])
        access.converge([{"name": USER, "mechanism": "SCRAM-SHA-256", "state": "absent"}], [])
    let_in((True, False))
    note(load.end())
