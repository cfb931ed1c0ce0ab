"""A client that cannot be made: the file is named, by whoever wanted it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.users import Logins
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reload import Reload

USED: dict[str, Callable[[dict[str, Any]], object]] = {
    "cluster": lambda properties: Cluster({"REPLICATION": properties}),
    "resources": lambda properties: Admin(properties),
    "reload": lambda properties: Reload(properties, []),
    "a login": lambda properties: Logins(properties).work("a", "b", "SCRAM-SHA-512"),
}


@pytest.mark.parametrize("used", USED.values(), ids=USED)
def test_a_file_that_is_not_there(used: Callable[[dict[str, Any]], object], tmp_path: Path) -> None:
    path = str(tmp_path / "ca.pem")
    admin = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", "ssl.ca.location": path}
    admin |= {"ssl.certificate.location": path} if used is USED["reload"] else {}
    with pytest.raises(ClientError, match=rf"ssl\.\w+\.location = {path}: No such file or directory on this host"):
        used(admin)


def test_a_file_that_holds_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    admin = {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca.pem")}
    with pytest.raises(ClientError, match=r"no client can be created with ssl.ca.location: .*ssl.ca.location failed"):
        Cluster({"REPLICATION": admin})


def test_brokers_without_tls_are_told_of_no_certificates() -> None:
    with pytest.raises(ClientError, match=r"ssl.certificate.location, ssl.ca.location not set"):
        Reload({"bootstrap.servers": "127.0.0.1:1"}, [])
