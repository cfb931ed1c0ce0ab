"""check.yml on an inventory of the project, on hosts that answer and a network that does not."""

import json
import re
from pathlib import Path

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
