"""check.yml on an inventory of the project, on hosts that answer and a network that does not."""

import json
import re
from pathlib import Path

import pytest
from derive import derive

from render.site import ROOT, control_node, make_archives, run_playbooks

LAB = ROOT / "inventories" / "lab"


def test_servers_are_asked_from_the_control_node(tmp_path: Path) -> None:
    """Whatever form a server's own keystore has; a file of the control node that is not there is named."""
    make_archives(tmp_path / "archives")
    settings = {"zookeeper_keystore": "/etc/zookeeper/tls/keystore.p12", "zookeeper_keystore_password": "of the store"}
    settings |= control_node(LAB, tmp_path)
    page = run_playbooks(LAB, ["playbooks/check.yml"], "-e", json.dumps(settings)).stdout
    modes = dict(re.findall(r"^  (dc1-zk\d)\s+(\w+)$", page, re.MULTILINE))
    assert modes == {"dc1-zk1": "leader", "dc1-zk2": "follower", "dc1-zk3": "follower"}, page
    assert re.search(r"^  - .*ssl.ca.location = \S+/ca.pem: No such file", page, re.MULTILINE), page


@pytest.mark.parametrize(
    ("admin", "facts", "named"),
    [
        (
            "ops1",
            "{ansible_connection: ssh, ansible_host: 192.0.2.9}",
            "the admin host ops1, which queries the brokers, does not",
        ),
        ("dc1-zk1", "{}", "dc1-zk1 does not"),
    ],
)
def test_an_admin_host_that_is_silent(admin: str, facts: str, named: str, tmp_path: Path) -> None:
    """It is named, once, and the page is there: what hosts themselves answered is known."""
    make_archives(tmp_path / "archives")
    inventory = tmp_path / "inventory"
    derive(LAB, inventory, {})
    hosts = inventory / "hosts.yml"
    group = f"  children:\n    admin: {{hosts: {{{admin}: {facts}}}}}\n"
    hosts.write_text(hosts.read_text().replace("  children:\n", group, 1))
    settings = {
        "rebalance_timer": {"on_calendar": "Sun 03:00", "rate": "50MB"},
        "noted_unreachable": [admin],
        **control_node(inventory, tmp_path),
    }
    done = run_playbooks(inventory, ["playbooks/check.yml"], "-e", json.dumps(settings))
    problems = re.findall(r"^  - (.*)$", done.stdout, re.MULTILINE)
    assert [one for one in problems if " answer" in one and admin in one] == [f"{named} answer"], done.stdout
    assert done.returncode == 2
