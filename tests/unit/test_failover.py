"""The plan of a failover: which statement is accepted, which hosts stay, which lines of zoo.cfg remain."""

import json
from pathlib import Path
from typing import Any

import pytest
from unit.failover_site import (
    FILE,
    GROUPS,
    LATER,
    LOCK,
    SAVED,
    WITH_QUORUM,
    WITNESS,
    looked,
    site,
    with_witness,
)

from ansible_collections.millrace.kafka.plugins.filter.failover import (
    disaster_record,
    failover_hosts,
    listeners_without,
    once_separated_hosts,
    returning_hosts,
    surviving_hosts,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover import (
    disaster_lines,
    enough_servers,
    plan,
    small_ensemble,
    statement_errors,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_checks import (
    ensemble_errors,
    fenced,
    not_alone,
    refusal,
    too_few,
    unseparated,
)

ZOO_CFG = """# Written by the role zookeeper.
clientPort=2181
group.1=1:2
group.2=3:4
server.1=198.18.52.11:2888:3888|198.18.51.11:2888:3888
server.2=198.18.52.12:2888:3888
server.3=198.18.52.13:2888:3888
server.4=198.18.52.14:2888:3888:observer
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
weight.1=1
weight.4=0
"""


def test_a_witness_keeps_the_ensemble() -> None:
    hostvars = with_witness()
    hosts = "dc2-kafka1,dc2-kafka2,dc2-zk1,dc2-zk2,dc2-zk3,dc3-zk1"
    assert failover_hosts(WITNESS, hostvars, "dc2") == hosts
    planned = plan(WITNESS, hostvars, "dc2")
    assert (planned["lost"], planned["keeps_ensemble"], planned["others_have_quorum"]) == (["dc1"], True, True)
    assert planned["zookeeper"] == ["dc2-zk1", "dc2-zk2", "dc2-zk3", "dc3-zk1"]
    assert (planned["lost_ids"], planned["lost_brokers"]) == (["1", "2", "3"], [1, 2])
    assert planned["disaster"]["servers"]["dc2-zk1"] == {
        "address": "198.18.51.14",
        "datacenter": "dc2",
        "votes": True,
        "group": 1,
    }


def test_two_datacenters_never_keep_their_ensemble() -> None:
    planned = plan(GROUPS, site(), "dc2")
    assert (planned["lost"], planned["keeps_ensemble"], planned["others_have_quorum"]) == (["dc1"], False, False)
    assert failover_hosts(GROUPS, site(), "dc2") == "dc2-kafka1,dc2-kafka2,dc2-zk1,dc2-zk2,dc2-zk3"
    assert failover_hosts(GROUPS, site(), "typo") == failover_hosts(GROUPS, site(), "") == "all:!all"


def test_datacenters_that_have_a_quorum_together_cannot_be_given_up() -> None:
    """The playbook refuses a plan like this one: a third datacenter with brokers is no witness, and would be lost."""
    groups = {**WITNESS, "kafka": [*GROUPS["kafka"], "dc3-kafka1"]}
    planned = plan(groups, site(layout="stretch2_5", groups=groups), "dc2")
    assert planned["lost"] == ["dc1", "dc3"]
    assert (planned["keeps_ensemble"], planned["others_have_quorum"]) == (False, True)


@pytest.mark.parametrize(
    ("hosts", "enough"),
    [
        ("dc2-zk1 dc2-zk2 dc3-zk1", True),
        ("dc2-zk1 dc2-zk2 dc2-zk3", False),
        ("dc2-zk1 dc3-zk1", False),
        ("dc1-zk1 dc1-zk2 dc2-zk1 dc3-zk1", True),
        ("dc1-zk1 dc1-zk2 dc2-zk1 dc2-zk2", True),
    ],
)
def test_with_a_witness_a_majority_of_the_groups_is_enough(hosts: str, enough: bool) -> None:
    assert enough_servers(plan(WITNESS, with_witness(), "dc2"), hosts.split()) is enough


@pytest.mark.parametrize(("hosts", "enough"), [("dc2-zk1 dc2-zk2", True), ("dc2-zk1 dc1-zk1 dc1-zk2", False)])
def test_without_a_witness_a_majority_of_the_survivor_is_enough(hosts: str, enough: bool) -> None:
    assert enough_servers(plan(GROUPS, site(), "dc2"), hosts.split()) is enough


WHOLE = "".join(f"server.{number}=198.18.52.1{number}:2888:3888\n" for number in range(1, 8))
IN_GROUPS = f"{WHOLE}group.1=1:2:3\ngroup.2=4:5:6\ngroup.3=7\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (IN_GROUPS, []),
        (IN_GROUPS.replace("1:2:3", "3:1:2"), []),
        (f"{IN_GROUPS}weight.1=1\nweight.7=1\n", []),
        (IN_GROUPS.replace("server.2=", "#"), ["zoo.cfg and the inventory differ: ids 2. Use the inventory of these"]),
        (f"{IN_GROUPS}server.8=a:1\nserver.10=b:1\ngroup.4=8:10\n", ["differ: ids 8, 10"]),
        (
            WHOLE,
            ["zookeeper_groups = none: the groups must be the voters of one datacenter each (inventory: dc1: 1, 2"],
        ),
        (IN_GROUPS.replace("group.3=7\n", "").replace("4:5:6", "4:5:6:7"), ["2: 4:5:6:7: the groups must be"]),
        (IN_GROUPS.replace("4:5:6\n", "4:5\ngroup.4=6\n"), ["4: 6; 3: 7: the groups must be"]),
        (IN_GROUPS.replace("4:5:6\n", "4:5\n"), ["the groups must be"]),
        (f"{IN_GROUPS}weight.1=3\n", ["zookeeper_weights = 1, 3: not the same"]),
        (small_ensemble(IN_GROUPS, [4, 5, 6]), ["no server of the lost datacenter: a failover has changed"]),
    ],
)
def test_an_ensemble_that_a_failover_does_not_understand(text: str, words: list[str]) -> None:
    errors = ensemble_errors(text, plan(WITNESS, with_witness(), "dc2"))
    assert len(errors) == len(words), errors
    assert all(word in error for word, error in zip(words, errors, strict=True)), errors


def test_observers_are_in_no_group() -> None:
    """Server 3 of GROUPS is one."""
    text = "\n".join([*WHOLE.splitlines()[:6], "group.1=1:2", "group.2=4:5:6", "weight.3=0"])
    assert ensemble_errors(text, plan(GROUPS, site(), "dc2")) == []


def test_a_witness_takes_over_from_nobody() -> None:
    errors = statement_errors(WITNESS, with_witness(), "dc3", "power", "dc3")
    assert errors == ["survivor = 'dc3': a witness has no brokers and no records; set one of dc1, dc2"]
    assert statement_errors(WITNESS, with_witness(), "dc2", "power", "dc2") == []


def test_the_plan_of_a_failover_to_dc2() -> None:
    planned = plan(GROUPS, site(), "dc2")
    assert planned["zookeeper"] == ["dc2-zk1", "dc2-zk2", "dc2-zk3"]
    assert planned["ids"] == ["4", "5", "6"]
    assert planned["lost_brokers"] == [1, 2]
    assert planned["lost_addresses"][:2] == ["198.18.51.11", "198.18.51.12"]
    assert len(planned["lost_addresses"]) == 8
    assert planned["min_isr"] == 2
    assert planned["disaster"]["servers"]["dc1-zk1"]["votes"]
    assert not planned["disaster"]["servers"]["dc1-zk3"]["votes"]
    assert planned["disaster"]["brokers"]["dc2-kafka1"] == {
        "address": "198.18.52.23",
        "port": 9093,
        "datacenter": "dc2",
        "id": 3,
    }


def test_the_admin_host_of_the_lost_datacenter_is_not_asked() -> None:
    hostvars = {**site(), "dc1-admin": {"datacenter": "dc1"}, "dc2-admin": {"datacenter": "dc2"}}
    groups = {**GROUPS, "admin": ["dc1-admin", "dc2-admin"]}
    assert plan(groups, hostvars, "dc2")["admin"] == "dc2-admin"
    assert plan({**GROUPS, "admin": ["dc1-admin"]}, hostvars, "dc2")["admin"] == "localhost"


def test_an_admin_host_that_is_fenced_is_not_asked() -> None:
    """A broker of the survivor sees the survivor, and not the servers that return; -e admin_host names another host."""
    groups, hostvars = {**GROUPS, "admin": ["dc2-kafka1"]}, {**site(), "ops2": {}}
    assert plan(groups, hostvars, "dc2")["admin"] == "dc2-kafka1"
    assert plan(groups, hostvars, "dc2", ["dc1"])["admin"] == "localhost"
    for named, asked in (
        ("ops2", "ops2"),
        ("localhost", "localhost"),
        ("dc1-kafka1", "localhost"),
    ):
        assert plan(groups, hostvars, "dc2", ["dc1"], named)["admin"] == asked
    with pytest.raises(ValueError, match="admin_host = typo: not a host of the inventory"):
        plan(groups, hostvars, "dc2", ["dc1"], "typo")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("dc2", "power", "dc2"), []),
        (("dc2", "network", "dc2"), []),
        (("", "power", ""), ["not a datacenter with brokers; set one of dc1, dc2"]),
        (("dc3", "power", "dc3"), ["not a datacenter with brokers"]),
        (("dc2", "power", "dc1"), ["type dc2"]),
        (("dc2", "power", ""), ["type dc2"]),
        (("dc2", "", "dc2"), ["fenced=power"]),
        (("dc2", "ping", ""), ["type dc2", "fenced=power"]),
    ],
)
def test_statement(said: tuple[str, str, str], words: list[str]) -> None:
    errors = statement_errors(GROUPS, site(), *said)
    assert len(errors) == len(words)
    assert all(word in error for word, error in zip(words, errors, strict=True))


def test_a_survivor_that_is_a_number_is_refused() -> None:
    """It is one in -e '{"survivor": 2}', and would match no datacenter later."""
    hostvars = {host: {**of_host, "datacenter": of_host["datacenter"][2:]} for host, of_host in site().items()}
    assert statement_errors(GROUPS, hostvars, "2", "power", "2") == []
    assert statement_errors(GROUPS, hostvars, 2, "power", 2) == ["survivor = 2: not a text; use -e survivor=2"]


@pytest.mark.parametrize("layout", ["single", "stretch3"])
def test_a_layout_that_needs_no_failover_is_refused(layout: str) -> None:
    assert f"layout = {layout}" in statement_errors(GROUPS, site(layout=layout), "dc2", "power", "dc2")[0]


def test_the_small_ensemble_keeps_only_its_own_servers() -> None:
    assert small_ensemble(ZOO_CFG, [3, 4]) == (
        "# Written by the role zookeeper.\n"
        "clientPort=2181\n"
        "server.3=198.18.52.13:2888:3888\n"
        "server.4=198.18.52.14:2888:3888:observer\n"
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
    )


def test_a_second_run_writes_the_same_ensemble() -> None:
    assert small_ensemble(small_ensemble(ZOO_CFG, [3, 4]), [3, 4]) == small_ensemble(ZOO_CFG, [3, 4])


def test_the_leader_of_the_survivor_is_restarted_last(tmp_path: Path) -> None:
    lock = tmp_path / "failover.json"
    lock.write_text(json.dumps(LOCK))
    hostvars = site(str(lock))
    hostvars["dc1-zk1"]["seen"] = {"modes": {"dc2-zk1": "leader", "dc2-zk2": "follower", "dc2-zk3": "follower"}}
    assert surviving_hosts(GROUPS, hostvars, "seen") == "dc2-zk2,dc2-zk3,dc2-zk1"
    hostvars["dc1-zk1"]["seen"] = {"modes": {"dc2-zk1": "follower", "dc2-zk2": "down", "dc2-zk3": "leader"}}
    assert surviving_hosts(GROUPS, hostvars, "seen") == "dc2-zk2,dc2-zk1,dc2-zk3"
    assert returning_hosts(GROUPS, hostvars) == "dc1-kafka1,dc1-kafka2,dc1-zk1,dc1-zk2,dc1-zk3"


def test_a_failback_that_is_done_has_no_more_hosts(tmp_path: Path) -> None:
    """The control node may keep the record for hosts that are still separated."""
    lock = tmp_path / "failover.json"
    lock.write_text(json.dumps({**LOCK, "ended": True, "hosts": ["dc2-zk3"]}))
    hostvars = site(str(lock))
    assert surviving_hosts(GROUPS, hostvars) == "dc2-kafka1,dc2-kafka2,dc2-zk1,dc2-zk2,dc2-zk3"
    hostvars["dc2-zk1"]["failback_done"] = True
    assert (surviving_hosts(GROUPS, hostvars), returning_hosts(GROUPS, hostvars)) == ("all:!all", "all:!all")


def test_without_a_record_no_host_is_meant(tmp_path: Path) -> None:
    hostvars = site(str(tmp_path / "missing.json"))
    assert surviving_hosts(GROUPS, hostvars) == "all:!all"
    assert returning_hosts(GROUPS, hostvars) == "all:!all"
    assert surviving_hosts(GROUPS, {}) == "all:!all"


def test_lost_bootstrap_servers_are_not_asked() -> None:
    listeners = {
        "R": {"bootstrap.servers": "198.18.52.21:9093, 198.18.52.23:9093,[fd00::1]:9093", "security.protocol": "SSL"}
    }
    found = listeners_without(listeners, ["198.18.52.21", "fd00::1"])
    assert found == {"R": {"bootstrap.servers": "198.18.52.23:9093", "security.protocol": "SSL"}}
    assert listeners_without({"R": {"bootstrap.servers": "a:1"}}, ["a"]) == {"R": {"bootstrap.servers": "a:1"}}


SERVES_ALREADY: dict[str, Any] = {"verdict": "degraded", "survivors": []}


@pytest.mark.parametrize(
    ("changes", "lock", "continues", "words"),
    [
        pytest.param({}, {}, False, "", id="it begins"),
        pytest.param({}, LOCK, False, "", id="a run that has only separated"),
        pytest.param({"survivors": ["dc1"]}, {}, False, "failover possible, but not to dc2: REASON", id="to dc1"),
        pytest.param(SERVES_ALREADY, {}, False, "degraded: REASON; ADVICE. Nothing was changed.", id="it serves"),
        pytest.param(
            SERVES_ALREADY, LOCK, False, "has only separated the datacenters: playbooks/failback", id="fenced"
        ),
        pytest.param(SERVES_ALREADY, SAVED, False, "12:00:00 UTC has lowered min.insync.replicas", id="without fences"),
        pytest.param(SERVES_ALREADY, SAVED, True, "", id="it continues"),
        pytest.param(
            {**SERVES_ALREADY, "registered": ["dc1-kafka2"]}, SAVED, True, "dc1-kafka2 answers", id="registered"
        ),
        pytest.param({**SERVES_ALREADY, "answering": ["dc1-kafka1"]}, SAVED, True, "dc1 has returned", id="answers"),
        pytest.param({**SERVES_ALREADY, "registered": None}, SAVED, True, "no broker reports", id="no metadata"),
        pytest.param(
            {"verdict": "unknown", "modes": dict.fromkeys(WITH_QUORUM, "down")},
            SAVED,
            True,
            "unknown: REASON",
            id="dark",
        ),
        pytest.param({"verdict": "failover forbidden"}, SAVED, True, "forbidden: REASON", id="two ensembles"),
        pytest.param(
            {"modes": {**WITH_QUORUM, "dc1-zk2": "follower"}}, SAVED, True, "REASON", id="a server of dc1 serves"
        ),
    ],
)
def test_why_a_failover_with_a_witness_may_not_begin_or_continue(
    changes: dict[str, Any], lock: dict[str, Any], continues: bool, words: str
) -> None:
    why = refusal(plan(WITNESS, with_witness(), "dc2"), looked(**changes), lock, continues)
    assert (words in why, bool(why)) == (True, bool(words)), why


def test_without_a_witness_a_run_that_changed_the_ensemble_continues() -> None:
    planned, seen = plan(GROUPS, site(), "dc2"), looked(**SERVES_ALREADY, registered=None)
    assert refusal(planned, seen, {**LOCK, "state": "ensemble"}, True) == ""
    why = refusal(planned, seen, {**LOCK, "state": "ensemble"}, False)
    assert "has begun to change the ensemble: playbooks/failback" in why


REACHED = ["dc2-kafka1", "dc2-kafka2", "dc2-zk1", "dc2-zk2", "dc2-zk3"]


@pytest.mark.parametrize(
    ("changes", "named", "known", "words"),
    [
        pytest.param({"modes": {**WITH_QUORUM, "dc3-zk1": "down"}}, [], [], [], id="the witness is down"),
        pytest.param({}, [], [], ["dc3-zk1 runs, but Ansible cannot reach it"], id="the witness serves"),
        pytest.param({}, ["dc3-zk1"], [], [], id="the operator leaves it unseparated"),
        pytest.param({}, [], ["dc3-zk1"], [], id="an earlier run did"),
        pytest.param({}, ["dc3-zk1", "dc2-zk1"], [], ["unfenced = dc2-zk1: name only"], id="a host that is reached"),
        pytest.param({}, ["dc3-zk1", "typo"], [], ["unfenced = typo: name only"], id="a typo"),
        pytest.param({"registered": ["dc1-kafka1"]}, ["dc3-zk1"], [], ["dc1 has returned"], id="dc1 is registered"),
        pytest.param({"registered": None}, ["dc3-zk1"], [], ["no broker reports"], id="no metadata"),
        pytest.param(
            {"modes": {**WITH_QUORUM, "dc3-zk1": "not serving"}},
            ["dc3-zk1"],
            [],
            ["unfenced = dc3-zk1: name only ZooKeeper servers that serve"],
            id="it does not serve",
        ),
    ],
)
def test_servers_that_ansible_cannot_reach(
    changes: dict[str, Any], named: list[str], known: list[str], words: list[str]
) -> None:
    errors = unseparated(plan(WITNESS, with_witness(), "dc2"), looked(**changes), REACHED, named, known)
    assert len(errors) == len(words), errors
    assert all(word in error for word, error in zip(words, errors, strict=True)), errors


def test_only_servers_that_the_quorum_does_not_need_can_be_switched_off() -> None:
    """Without the witness, dc2 has no quorum. One server of dc2 may stop."""
    planned = plan(WITNESS, with_witness(), "dc2")
    (witness,) = unseparated(planned, looked(), REACHED, [], [])
    assert ("switch these hosts off" in witness, "add -e unfenced=dc3-zk1" in witness) == (False, True)
    (server,) = unseparated(planned, looked(), ["dc2-kafka1", "dc2-zk1", "dc2-zk2", "dc3-zk1"], [], [])
    assert server.startswith("dc2-zk3 runs")
    assert ("switch these hosts off" in server, "add -e unfenced=dc2-zk3" in server) == (True, True)


def test_a_broker_that_ansible_cannot_reach_stops_no_failover() -> None:
    """Brokers of dc1 register through ZooKeeper servers, not through brokers."""
    assert (
        unseparated(plan(WITNESS, with_witness(), "dc2"), looked(), ["dc2-kafka1", *REACHED[2:], "dc3-zk1"], [], [])
        == []
    )


def test_without_a_witness_no_host_is_named_as_unseparated() -> None:
    planned = plan(GROUPS, site(), "dc2")
    assert unseparated(planned, looked(), ["dc2-kafka1"], [], []) == []
    assert "without a witness" in unseparated(planned, looked(), ["dc2-kafka1"], ["dc2-zk1"], [])[0]


@pytest.mark.parametrize(
    ("separated", "words", "may_stop"),
    [
        ([], "", False),
        (["dc2-zk3"], "dc2-zk3 runs", True),
        (["dc3-zk1"], "dc3-zk1 runs", False),
        (["dc2-kafka1"], "dc2-kafka1 runs", False),
        (["dc2-kafka3"], "", False),
    ],
)
def test_a_host_that_runs_keeps_its_fence(separated: list[str], words: str, may_stop: bool) -> None:
    """The failback waits for SSH; only a server that the quorum does not need may be switched off."""
    why = fenced(plan(WITNESS, with_witness(), "dc2", ["dc1"]), looked(), separated)
    assert (why.startswith(words), bool(why), "switch the host off" in why) == (True, bool(words), may_stop), why


def test_a_broker_that_was_registered_before_an_outage_proves_nothing() -> None:
    planned, modes = plan(WITNESS, with_witness(), "dc2", ["dc1"]), dict.fromkeys(WITH_QUORUM, "not serving")
    assert fenced(planned, looked(answering=[]), ["dc2-kafka1"]).startswith("dc2-kafka1 runs")
    assert fenced(planned, looked(answering=[], modes=modes), ["dc2-kafka1"]) == ""


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("", ""),
        ("dc1-zk1 dc1-zk2 dc1-zk3 dc1-kafka1", ""),
        ("dc3-zk1 dc1-zk2", ""),
        ("dc3-zk1 dc1-zk2 dc1-zk3", "must have a quorum"),
        ("dc1-kafka1 dc2-kafka1", "1 may be missing"),
    ],
)
def test_too_few_hosts_for_a_failback(missing: str, words: str) -> None:
    hostvars = with_witness()
    for host in GROUPS["kafka"]:
        hostvars[host]["kafka_min_insync_replicas"] = 3
    hosts = [host for host in hostvars if host not in missing.split()]
    why = too_few(plan(WITNESS, hostvars, "dc2", ["dc1"]), hosts)
    assert (words in why, bool(why)) == (True, bool(words)), why


def test_brokers_that_return_during_a_failover_are_named() -> None:
    """A host of dc2 without a fence lets them register."""
    planned = plan(WITNESS, with_witness(), "")
    seen = looked(registered=["dc1-kafka1", "dc2-kafka1"], probe="")
    assert disaster_lines(planned, seen, {}, FILE)[-1] == "write with acks=all: succeeded"
    assert not any("registered" in line for line in disaster_lines(planned, seen, {}, FILE))
    assert "but dc1-kafka1 registered" in disaster_lines(planned, seen, LOCK, FILE)[-2]
    assert not any("registered" in line for line in disaster_lines(planned, looked(probe=""), LOCK, FILE))


def test_the_record_that_a_verdict_is_based_on_is_named(tmp_path: Path) -> None:
    """The file of this control node can be left over, or not readable."""
    planned, seen, file = plan(WITNESS, with_witness(), ""), looked(probe=""), tmp_path / "failover.json"

    def lines(text: str) -> list[str]:
        file.write_text(text)
        return disaster_lines(planned, seen, disaster_record(str(file)), FILE)

    assert disaster_record(str(file)) == {}
    assert not [one for one in lines(json.dumps({**SAVED, "state": "ended"})) if FILE in one]
    (line,) = (one for one in lines(json.dumps(SAVED)) if FILE in one)
    assert "from dc1 to dc2 of 2026-11-28 12:00:00 UTC, state lowered. If failback.yml has ended it on" in line
    (line,) = (one for one in lines("{") if FILE in one)
    assert "cannot be read, so the verdict is without it: failover_lock: Expecting" in line


def test_a_server_that_follows_a_hidden_leader_is_not_restarted() -> None:
    """A failback was interrupted, and only the control node is cut off from dc1: the ensemble works."""
    planned = plan(GROUPS, site(), "dc2")
    for modes, words in (
        ({"dc2-zk2": "follower", "dc2-zk3": "follower"}, "dc2-zk2, dc2-zk3 follows a leader that does not answer"),
        ({"dc2-zk1": "leader", "dc2-zk2": "follower"}, ""),
        ({"dc2-zk2": "not serving"}, ""),
        ({}, ""),
    ):
        seen = looked(
            verdict="heals by itself", survivors=[], modes={**dict.fromkeys(GROUPS["zookeeper"], "down"), **modes}
        )
        why = refusal(planned, seen, SAVED, True)
        assert why.startswith(words) and bool(why) == bool(words), why


def test_a_failback_names_a_datacenter_that_was_renamed() -> None:
    planned = plan(GROUPS, site(), "dc2", ["east"])
    assert too_few(planned, GROUPS["kafka"]).startswith("The inventory has no broker in east, the datacenter that the")


RETURNED = {
    **dict.fromkeys(["dc1-zk1", "dc1-zk2", "dc1-zk3"], "follower"),
    "dc2-zk1": "leader",
    **dict.fromkeys(["dc2-zk2", "dc2-zk3"], "follower"),
}
HIDDEN = {**RETURNED, **dict.fromkeys(["dc1-zk1", "dc1-zk2", "dc1-zk3"], "down")}
ALL_BROKERS, OF_DC2 = ["dc1-kafka1", "dc1-kafka2", "dc2-kafka1", "dc2-kafka2"], ["dc2-kafka1", "dc2-kafka2"]


@pytest.mark.parametrize(
    ("modes", "registered", "words"),
    [
        pytest.param(HIDDEN, OF_DC2, "", id="it serves alone"),
        pytest.param(HIDDEN, None, "", id="no broker answers"),
        pytest.param(RETURNED, ALL_BROKERS, "", id="both serve already"),
        pytest.param(HIDDEN, ALL_BROKERS, "dc1-kafka1, dc1-kafka2 is registered", id="dc1 is only hidden"),
        pytest.param({**HIDDEN, "dc2-zk1": "down"}, OF_DC2, "No ZooKeeper server leads", id="no leader"),
        pytest.param({**HIDDEN, "dc1-zk1": "leader"}, OF_DC2, "dc1-zk1, dc2-zk1 leads", id="two leaders"),
        pytest.param({**dict.fromkeys(HIDDEN, "down"), "dc1-zk1": "leader"}, [], "dc1-zk1 leads", id="dc1 leads"),
    ],
)
def test_a_failback_stops_hosts_only_if_the_survivor_serves_alone(
    modes: dict[str, str], registered: list[str] | None, words: str
) -> None:
    planned, seen = plan(GROUPS, site(), "dc2", ["dc1"]), looked(modes=modes, registered=registered)
    why = not_alone(planned, seen)
    assert (why.startswith(words), bool(why)) == (True, bool(words)), why


def test_with_a_witness_each_host_that_returns_is_judged_for_itself() -> None:
    planned = plan(WITNESS, with_witness(), "dc2", ["dc1"])
    assert not_alone(planned, looked(registered=ALL_BROKERS)) == ""


def test_hosts_that_return_and_were_separated_by_an_earlier_failover(tmp_path: Path) -> None:
    """dc2-kafka2 was left out of the failback of dc2, dc2-zk1 was not. Now dc2 returns after a failover to dc1."""
    lock = tmp_path / "failover.json"
    lock.write_text(json.dumps(LATER))
    hostvars = site(str(lock))
    for host, copy in (("dc2-kafka2", SAVED), ("dc2-zk1", {**SAVED, "state": "ended"}), ("dc1-zk1", SAVED)):
        hostvars[host]["preflight_probe"] = {"probe": {"failover": json.dumps(copy)}}
    assert once_separated_hosts(GROUPS, hostvars) == "all:!all"  # nothing was checked
    hostvars["dc1-zk1"]["failback_scope"] = "all"
    assert once_separated_hosts(GROUPS, hostvars) == "dc2-kafka2"
    hostvars["dc2-kafka2"]["preflight_probe"]["probe"]["failover"] = json.dumps(
        {**SAVED, "survivor": "dc1", "lost": ["dc2"]}
    )
    assert once_separated_hosts(GROUPS, hostvars) == "all:!all"  # the copy of a failover that has not ended
