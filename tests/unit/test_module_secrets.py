"""Client properties that the modules of Kafka get: their secrets are in no answer, and not in the host's journal."""

import importlib
import json
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common.parameters import PASS_VARS
from ansible.module_utils.testing import patch_module_args

CLIENT = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_SSL",
    "sasl.username": "root",
    "sasl.password": "hush\\1'",
    "ssl.key.password": "hush2",
    "ssl.keystore.password": "hush3",
    "sasl.jaas.config": 'ScramLoginModule required password="hush4";',
    "ssl.key.pem": "-----BEGIN PRIVATE KEY-----\nhush5\n",
    "sasl.oauthbearer.client.secret": "hush6",
    "no.such.property": "is refused",
}
LISTENERS = {"listeners": {"REPLICATION": CLIENT}}
MODULES = [
    ("kafka_access", {"admin": CLIENT, "login": CLIENT, "users": [{"name": "a", "password": "hush\\7"}]}),
    ("kafka_broker_config", {"admin": CLIENT}),
    ("kafka_certificates", {"admin": CLIENT, "endpoints": []}),
    ("kafka_cluster", {**LISTENERS, "brokers": [1]}),
    ("kafka_export", {"admin": CLIENT}),
    ("kafka_groups", {"admin": CLIENT}),
    ("kafka_info", {"admin": CLIENT}),
    ("kafka_leaders", LISTENERS),
    ("kafka_quotas", {"admin": CLIENT}),
    ("kafka_reassign", {"admin": CLIENT, "leaders": True}),
    ("kafka_topic", {"admin": CLIENT, "topic": "t", "do": "describe"}),
    ("kafka_topics", {"admin": CLIENT}),
]


@pytest.mark.parametrize("wrong", [{}, {"no_such_option": 1}])
@pytest.mark.parametrize(("module", "options"), MODULES)
def test_secrets_of_client_properties(
    module: str,
    options: dict[str, Any],
    wrong: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The answer is what -vvv shows, `invocation` among it; an option that nobody knows is refused with it as well."""
    noted: list[str] = []
    monkeypatch.setattr(basic.AnsibleModule, "log", lambda self, message, log_args=None: noted.append(message))
    asked_by_vvv = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}
    with patch_module_args({**options, **wrong, **asked_by_vvv}), pytest.raises(SystemExit):
        importlib.import_module(f"ansible_collections.millrace.kafka.plugins.modules.{module}").main()
    answer = capsys.readouterr().out
    asked = json.loads(answer)["invocation"]["module_args"]
    client = asked["admin"] if "admin" in asked else asked["listeners"]["REPLICATION"]
    assert (client["sasl.username"], client["bootstrap.servers"]) == ("root", "127.0.0.1:1")
    assert "hush" not in answer
    assert bool(noted) is not bool(wrong)
    assert "hush" not in "".join(noted)
