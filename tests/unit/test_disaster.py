"""Which verdict playbooks/disaster.yml gives for what servers, brokers and a write report."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disaster import Seen, Server, decide, out_of_sync
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError, Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import Setting
from ansible_collections.millrace.kafka.plugins.modules import kafka_disaster

DC1, DC2 = ["1", "2", "3"], ["4", "5", "6"]
BROKERS = {"k1": "dc1", "k2": "dc1", "k3": "dc2", "k4": "dc2"}
SILENT = dict.fromkeys(DC1, "down")
NOT_SERVING = "not serving"
ALL_UP = {"1": "leader", **dict.fromkeys("23456", "follower")}
NO_ANSWER = "no answer in time"


def seen(modes: dict[str, str], answering: str = "k1 k2 k3 k4", probe: str = "", refusing: str = "") -> Seen:
    places = {name: 1 if name in DC1 else 2 for name in modes}
    servers = {name: Server(f"dc{places[name]}", mode, True, places[name]) for name, mode in modes.items()}
    return Seen(servers, BROKERS, answering.split(), probe, refusing.split())


def stretched(*modes: str) -> dict[str, str]:
    return dict(zip("123456", modes, strict=True))


@pytest.mark.parametrize(
    ("verdict", "look"),
    [
        pytest.param("no disaster", seen(ALL_UP), id="healthy"),
        pytest.param("degraded", seen({**ALL_UP, "4": "down"}), id="a server is down"),
        pytest.param("degraded", seen(ALL_UP, "k1 k2 k3"), id="a broker is down"),
        pytest.param("heals by itself", seen(ALL_UP, "k1 k3", NO_ANSWER), id="a broker of each datacenter is down"),
        pytest.param("heals by itself", seen(dict.fromkeys("123456", NOT_SERVING)), id="an election"),
        pytest.param("heals by itself", seen(dict.fromkeys("123456", NOT_SERVING), probe=NO_ANSWER), id="a cut"),
        pytest.param(
            "heals by itself",
            seen({**SILENT, **dict.fromkeys(DC2, NOT_SERVING)}, probe=NO_ANSWER),
            id="servers of dc1 are down, its brokers answer",
        ),
        pytest.param(
            "heals by itself",
            seen(stretched(NOT_SERVING, "down", "down", *[NOT_SERVING] * 3), "k3 k4", NO_ANSWER),
            id="one server of dc1 answers",
        ),
        pytest.param(
            "failover possible",
            seen({**SILENT, **dict.fromkeys(DC2, NOT_SERVING)}, "k3 k4", NO_ANSWER),
            id="no host of dc1 answers",
        ),
        pytest.param(
            "failover possible",
            seen({**SILENT, "4": "down", "5": NOT_SERVING, "6": NOT_SERVING}, "k3 k4", NO_ANSWER),
            id="two of three servers are left",
        ),
        pytest.param(
            "heals by itself",
            seen({**SILENT, **dict.fromkeys(DC2, NOT_SERVING)}, "k3 k4", NO_ANSWER, refusing="k1 2"),
            id="hosts of dc1 refuse connections",
        ),
        pytest.param(
            "heals by itself",
            seen({**SILENT, **dict.fromkeys(DC2, "follower")}, "k3 k4", NO_ANSWER),
            id="the leader does not answer here",
        ),
        pytest.param(
            "heals by itself", seen({**SILENT, **dict.fromkeys(DC2, NOT_SERVING)}, "k3 k4"), id="writes succeed"
        ),
        pytest.param(
            "unknown",
            seen({**SILENT, **dict.fromkeys(DC2, NOT_SERVING)}, "", NO_ANSWER),
            id="no broker of dc2 answers",
        ),
        pytest.param(
            "unknown",
            seen({**SILENT, "4": "down", "5": "down", "6": NOT_SERVING}, "k3 k4", NO_ANSWER),
            id="one of three servers is left",
        ),
        pytest.param("unknown", seen(dict.fromkeys("123456", "down"), "", NO_ANSWER), id="nothing answers"),
        pytest.param(
            "failover forbidden",
            seen(stretched("leader", "follower", "follower", "leader", "follower", "follower")),
            id="two ensembles serve",
        ),
    ],
)
def test_verdict(verdict: str, look: Seen) -> None:
    assert decide(look).verdict == verdict


def test_only_the_datacenter_that_answers_can_take_over() -> None:
    look = seen({**dict.fromkeys(DC1, NOT_SERVING), **dict.fromkeys(DC2, "down")}, "k1 k2", NO_ANSWER)
    assert decide(look).survivors == ["dc1"]
    assert "survivor=dc1" in decide(look).advice


def test_an_ensemble_that_serves_needs_no_failover() -> None:
    """A leader has a quorum in most groups: dc1 lives, and only this host cannot reach it."""
    look = seen({**SILENT, "4": "leader", **dict.fromkeys("56", "follower")}, "k3 k4", NO_ANSWER)
    decision = decide(replace(look, registered=["k3", "k4"]))
    assert (decision.verdict, list(decision.survivors)) == ("heals by itself", [])


SURVIVOR = {"4": "leader", "5": "follower", "6": "follower"}


def with_witness(
    modes: dict[str, str],
    answering: str,
    probe: str = "no coordinator",
    registered: str | None = "",
    refusing: str = "",
) -> Seen:
    """Return what is seen of a cluster with the witness 7 in dc3."""
    groups = {"dc1": 1, "dc2": 2, "dc3": 3}
    places = {**dict.fromkeys(DC1, "dc1"), **dict.fromkeys(DC2, "dc2"), "7": "dc3"}
    servers = {name: Server(place, modes.get(name, "down"), True, groups[place]) for name, place in places.items()}
    there = None if registered is None else [*answering.split(), *registered.split()]
    return Seen(servers, BROKERS, answering.split(), probe, refusing.split(), there)


@pytest.mark.parametrize(
    ("verdict", "survivors", "look"),
    [
        pytest.param(
            "failover possible", ["dc2"], with_witness({**SURVIVOR, "7": "follower"}, "k3 k4"), id="dc1 is lost"
        ),
        pytest.param(
            "failover possible",
            ["dc2"],
            with_witness({"4": "follower", "5": "follower", "7": "leader"}, "k3"),
            id="dc1, and a server and a broker of dc2 are lost",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({**SURVIVOR, "7": "follower"}, "k3 k4", registered="k1"),
            id="a broker of dc1 runs, or its session has not expired",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({**SURVIVOR, "7": "follower"}, "k3 k4", registered=None),
            id="no broker reports which are registered",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({**SURVIVOR, "7": "not serving"}, "k3 k4"),
            id="dc2 leads without the witness, so dc1 follows",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({**SURVIVOR, "7": "follower"}, "k3 k4", refusing="k1"),
            id="a host of dc1 refuses connections",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness(dict.fromkeys([*DC2, "7"], NOT_SERVING), "k3 k4"),
            id="an election of dc2 and the witness",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({"4": NOT_SERVING, "7": NOT_SERVING}, "k3 k4"),
            id="servers of dc2 are down, the witness answers",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness(dict.fromkeys(DC2, NOT_SERVING), "k3 k4", refusing="7"),
            id="the server of the witness is down, its host answers",
        ),
        pytest.param(
            "failover forbidden",
            [],
            with_witness(dict.fromkeys(DC2, NOT_SERVING), "k3 k4"),
            id="dc1 and the witness are lost",
        ),
        pytest.param(
            "failover forbidden",
            [],
            with_witness(dict.fromkeys("56", NOT_SERVING), "k3 k4"),
            id="dc1, the witness and a server of dc2 are lost",
        ),
        pytest.param(
            "unknown",
            [],
            with_witness({"6": NOT_SERVING}, "k3 k4"),
            id="dc1, the witness and two servers of dc2 are lost",
        ),
        pytest.param(
            "unknown",
            [],
            with_witness({"7": NOT_SERVING}, ""),
            id="only the witness answers",
        ),
        pytest.param(
            "degraded",
            [],
            with_witness({"1": "follower", "2": "follower", "3": "follower", **SURVIVOR}, "k1 k2 k3 k4", probe=""),
            id="the witness is lost",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({"1": "follower", "2": "follower", "3": "follower", **SURVIVOR}, "k1 k2 k3 k4"),
            id="the witness is lost, and writes fail for another reason",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({"1": "follower", "2": "follower", "3": "follower", **SURVIVOR}, "k3 k4"),
            id="the witness is lost, and the brokers of dc1 are down",
        ),
        pytest.param(
            "heals by itself",
            [],
            with_witness({**dict.fromkeys(DC2, NOT_SERVING)}, "k3 k4", refusing="1 k1"),
            id="the witness is lost, and the services of dc1 are down",
        ),
    ],
)
def test_verdict_with_a_witness(verdict: str, survivors: list[str], look: Seen) -> None:
    decision = decide(look)
    assert (decision.verdict, list(decision.survivors)) == (verdict, survivors), decision.reason


def test_with_a_witness_one_topic_that_rejects_writes_is_enough() -> None:
    """The topic of the probe write can have a lower min.insync.replicas than others."""
    look = with_witness({**SURVIVOR, "7": "follower"}, "k3 k4", probe="")
    assert decide(look).verdict == "degraded"
    rejecting = replace(look, rejecting=["orders"], helped=["orders"])
    decision = decide(rejecting)
    assert (decision.verdict, list(decision.survivors)) == ("failover possible", ["dc2"])
    assert "rejects writes to these topics: orders" in decision.reason
    assert decide(replace(rejecting, registered=["k1", "k3", "k4"])).verdict == "heals by itself"


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(
            seen({**dict.fromkeys(DC2, "down"), **dict.fromkeys(DC1, NOT_SERVING)}, "k1 k2", NO_ANSWER),
            id="without a witness",
        ),
        pytest.param(with_witness({"1": "leader", **dict.fromkeys("237", "follower")}, "k1 k2"), id="with a witness"),
    ],
)
def test_a_datacenter_whose_data_is_old_does_not_take_over(look: Seen) -> None:
    """dc2 took over and is dead now, and dc1 is back."""
    look = replace(look, registered=["k1", "k2"])
    assert (decide(look).verdict, list(decide(look).survivors)) == ("failover possible", ["dc1"])
    decision = decide(replace(look, taken_over="dc2"))
    assert (decision.verdict, list(decision.survivors)) == ("failover forbidden", [])
    assert "dc2 took over: dc1 does not have what was written since" in decision.reason
    assert decision.advice.startswith("bring dc2 back")


def test_at_most_five_topics_are_named() -> None:
    look = with_witness({**SURVIVOR, "7": "follower"}, "k3 k4", probe="")
    assert "topics: a, b, c, d, e, and 2 more" in decide(replace(look, rejecting="abcdefg", helped="a")).reason


def test_a_topic_that_a_failover_does_not_help_is_no_reason_for_one() -> None:
    """One replica is in sync, and the failover lowers to 2."""
    look = replace(with_witness({**SURVIVOR, "7": "follower"}, "k3", probe=""), rejecting=["orders"])
    decision = decide(look)
    assert (decision.verdict, "orders" in decision.reason) == ("heals by itself", True)
    assert decision.advice.startswith("start k4. Otherwise")
    everybody = decide(replace(look, answering=["k3", "k4"], registered=["k3", "k4"]))
    assert everybody.advice.startswith("wait until the replicas in dc2 are in sync. Otherwise")


def test_a_datacenter_that_has_taken_over_does_not_take_over_again() -> None:
    look = with_witness({**SURVIVOR, "7": "follower"}, "k3")
    assert decide(look).verdict == "failover possible"
    decision = decide(replace(look, taken_over="dc2"))
    assert (decision.verdict, list(decision.survivors)) == ("heals by itself", [])
    assert "dc2 has already taken over" in decision.reason
    assert decision.advice.startswith("start k4. Otherwise")


@pytest.mark.parametrize(
    ("answering", "rejecting", "reason", "advice"),
    [
        (
            "k1 k2 k3 k4",
            [],
            "dc2 has taken over, and a write with acks=all succeeded; 1, 2, 3 do not answer",
            "when the",
        ),
        ("k3 k4", [], "1, 2, 3, k1, k2 do not answer", "when the other datacenter returns, run playbooks/failback.yml"),
        (
            "k3 k4",
            ["pairs"],
            "these topics reject writes: pairs",
            "wait until the replicas in dc2 are in sync. Otherwi",
        ),
        (
            "k3",
            ["pairs"],
            "these topics reject writes: pairs",
            "start k4. Otherwise run playbooks/failover.yml -e surv",
        ),
    ],
)
def test_during_a_failover_there_is_something_to_do(
    answering: str, rejecting: list[str], reason: str, advice: str
) -> None:
    """Writes succeed, and other playbooks are rejected until the failback."""
    look = replace(seen({**SILENT, **SURVIVOR}, answering), taken_over="dc2", rejecting=rejecting)
    decision = decide(look)
    assert (decision.verdict, decision.advice.startswith(advice)) == ("degraded", True), decision
    assert (reason in decision.reason, "failback.yml" in decision.advice) == (True, True), decision
    whole = decide(replace(seen(ALL_UP), taken_over="dc2"))
    assert (whole.verdict, "do not answer" in whole.reason) == ("degraded", False)


REJECTED = "NOT_ENOUGH_REPLICAS"


@pytest.mark.parametrize("modes", [{**SILENT, **SURVIVOR}, {**dict.fromkeys(DC1, NOT_SERVING), **SURVIVOR}])
def test_while_one_datacenter_serves_failed_writes_do_not_start_the_other_one(modes: dict[str, str]) -> None:
    """Its servers that do not answer, or do not serve, are fenced: nothing is hidden, and failback.yml starts them."""
    for answering, start in (("k3", "start k4. Otherwise"), ("k3 k4", "wait until the replicas in dc2 are in sync.")):
        decision = decide(replace(seen(modes, answering, probe=REJECTED), taken_over="dc2"))
        assert decision.reason == f"dc2 has taken over, and a write with acks=all failed ({REJECTED})"
        assert (decision.verdict, decision.advice.startswith(start)) == ("heals by itself", True), decision
        assert decision.advice.endswith("when the other datacenter returns, run playbooks/failback.yml")
    hidden = replace(with_witness(SURVIVOR, "k3", probe=REJECTED), taken_over="dc2")
    assert decide(hidden).advice.startswith("start k4. Otherwise")
    lost = replace(with_witness({**SURVIVOR, "7": "follower"}, "k3", probe=REJECTED), taken_over="dc2")
    assert decide(lost).advice.endswith("run playbooks/failback.yml")


@pytest.mark.parametrize("probe", ["", REJECTED])
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("ensemble", "run playbooks/failover.yml -e survivor=dc2 -e fenced=power (or network) again"),
        ("returning", "run playbooks/failback.yml again"),
    ],
)
def test_a_run_that_was_interrupted_is_repeated(state: str, words: str, probe: str) -> None:
    decision = decide(replace(seen({**SILENT, **SURVIVOR}, "k3 k4", probe), taken_over="dc2", state=state))
    assert (words in decision.advice, "needed" in decision.advice) == (True, False), decision


def test_a_datacenter_that_is_lost_again_during_the_failback_can_take_over_again() -> None:
    """The failback may have restored min.insync.replicas already, so the failover lowers it again."""
    look = replace(with_witness({**SURVIVOR, "7": "follower"}, "k3 k4"), taken_over="dc2")
    assert decide(look).verdict == "heals by itself"
    assert decide(replace(look, state="returning")).verdict == "failover possible"


def test_the_wait_continues_while_topics_reject_writes_after_a_failover() -> None:
    """Their replicas get in sync, and brokers apply the lowered default, within seconds."""
    look = seen({**SILENT, **SURVIVOR}, "k3 k4")
    for found, ends in (
        (look, True),
        (replace(look, taken_over="dc2"), True),
        (replace(look, taken_over="dc2", rejecting=["orders"]), False),
    ):
        assert kafka_disaster.done(found, decide(found)) is ends


def test_a_hidden_witness_does_not_hide_topics_that_reject_writes() -> None:
    look = replace(with_witness(SURVIVOR, "k3 k4", probe=""), rejecting=["orders"], helped=["orders"])
    decision = decide(look)
    assert (decision.verdict, "these topics: orders" in decision.reason) == ("heals by itself", True)
    assert "start 1, 2, 3, 7" in decision.advice


def test_without_a_topic_for_the_probe_write_the_topics_decide() -> None:
    look = replace(with_witness({**SURVIVOR, "7": "follower"}, "k3 k4", probe="no __consumer_offsets"), unwritten=True)
    decision = decide(look)
    assert (decision.verdict, "no __consumer_offsets" in decision.reason) == ("degraded", True)
    assert decide(replace(look, rejecting=["orders"], helped=["orders"])).verdict == "failover possible"


def test_a_fence_that_was_left_can_be_why_servers_have_no_quorum() -> None:
    decision = decide(with_witness(dict.fromkeys([*DC2, "7"], NOT_SERVING), "k3 k4"))
    assert "fence of an earlier failover" in decision.reason
    assert "playbooks/failback.yml" in decision.advice


@pytest.mark.parametrize(
    ("registered", "fewest"), [([3, 4], {"orders": 2}), ([1, 3, 4], {}), ([1, 2, 3, 4], {}), ([4], {"orders": 1})]
)
def test_topics_with_replicas_in_a_datacenter_without_brokers(registered: list[int], fewest: dict[str, int]) -> None:
    partitions = [
        ("orders", (1, 2, 3, 4), (3, 4, 1)),
        ("orders", (1, 2, 3, 4), (3, 4)),
        ("audit", (3, 4), (3,)),
        ("offline", (1, 2, 3, 4), (1,)),
    ]
    assert out_of_sync(partitions, registered, {1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}) == fewest


def test_one_datacenter_has_no_survivor() -> None:
    """Nothing is silent, so nothing is lost."""
    servers = {name: Server("dc1", mode) for name, mode in zip("123", ("leader", "follower", "follower"), strict=True)}
    look = Seen(servers, {"k1": "dc1", "k2": "dc1"}, ["k1", "k2"], NO_ANSWER, (), ["k1", "k2"])
    decision = decide(look)
    assert (decision.verdict, list(decision.survivors)) == ("heals by itself", [])


def test_the_others_must_not_have_a_quorum() -> None:
    """Then they could have committed changes that the survivor does not have, and serve beside it on their return."""
    decision = decide(with_witness(dict.fromkeys(DC2, NOT_SERVING), "k3 k4"))
    assert "1, 2, 3, 7 have a quorum without dc2" in decision.reason
    assert "bring ZooKeeper servers of dc1 or dc3 back" in decision.advice


@pytest.mark.parametrize(("down", "verdict"), [("", "failover possible"), ("4", "failover forbidden")])
def test_without_groups_a_majority_of_all_servers_is_a_quorum(down: str, verdict: str) -> None:
    modes = {**dict.fromkeys(DC2, NOT_SERVING), **dict.fromkeys([*DC1, *down], "down")}
    servers = {name: Server("dc1" if name in DC1 else "dc2", mode) for name, mode in modes.items()}
    assert decide(Seen(servers, BROKERS, ["k3", "k4"], NO_ANSWER)).verdict == verdict


def test_after_a_failover_the_survivor_is_only_degraded() -> None:
    look = seen({**SILENT, "4": "leader", "5": "follower", "6": "follower"}, "k3 k4")
    assert decide(look).verdict == "degraded"


PLACES = {1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}
OFFSETS = Partition("__consumer_offsets", 0, 3, (1, 2, 3, 4), (3, 4))


def metadata(registered: Sequence[int], *partitions: Partition) -> Metadata:
    return Metadata("id", registered[0], dict.fromkeys(registered, ("a", 1)), partitions)


class Cluster:
    """Answers of a cluster, in place of Admin and of the functions of the facade."""

    def __init__(
        self, looks: list[Metadata | None], write: str = "", min_isr: dict[str, Setting] | None = None
    ) -> None:
        self.looks, self.write, self.min_isr, self.writes = looks, write, min_isr or {}, 0

    def look(self, seconds: float) -> Metadata:
        found = self.looks.pop(0)
        if found is None:
            raise AdminError("no answer")
        return found

    def commit(self, admin: Any, wanted: Any) -> dict[str, str]:
        self.writes += 1
        return {"millrace-probe": self.write} if self.write else {}

    def describe(self, admin: Any, kind: str, names: Sequence[str]) -> dict[str, dict[str, Setting]]:
        return {name: {"min.insync.replicas": self.min_isr[name]} for name in names}

    def probe(self, monkeypatch: pytest.MonkeyPatch, to: int = 2) -> kafka_disaster.Probe:
        monkeypatch.setattr(kafka_disaster, "Admin", lambda properties, seconds: self)
        monkeypatch.setattr(groups, "commit", self.commit)
        monkeypatch.setattr(topics, "describe", self.describe)
        return kafka_disaster.probe({}, 1, PLACES, to)


def test_sessions_that_expire_during_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """The write waits until the controller has removed the lost brokers. Then `orders` rejects writes."""
    before = metadata([1, 2, 3, 4], OFFSETS, Partition("orders", 0, 3, (1, 2, 3, 4), (1, 2, 3, 4)))
    after = metadata([3, 4], OFFSETS, Partition("orders", 0, 3, (1, 2, 3, 4), (3, 4)))
    settings = {"orders": Setting("3", True), "__consumer_offsets": Setting("2", True)}
    found = Cluster([before, after], min_isr=settings).probe(monkeypatch)
    assert (found.why, [*(found.registered or ())], found.rejecting, found.helped) == (
        "",
        [3, 4],
        ["orders"],
        ["orders"],
    )


def test_after_a_write_that_failed_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request after a write without an answer can abort the process."""
    found = Cluster([metadata([3, 4], OFFSETS)], "no answer in time").probe(monkeypatch)
    assert (found.why, [*(found.registered or ())], found.rejecting) == ("no answer in time", [3, 4], ())


def test_metadata_that_are_lost_after_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Cluster([metadata([3, 4], OFFSETS), None], min_isr={"__consumer_offsets": Setting("2", True)})
    assert [*(found.probe(monkeypatch).registered or ())] == [3, 4]


@pytest.mark.parametrize(
    ("partition", "setting", "to", "rejecting", "helped"),
    [
        pytest.param(((1, 2, 3, 4), (3, 4)), Setting("3", True), 2, True, True, id="two in sync, to 2"),
        pytest.param(((1, 2, 3, 4), (3,)), Setting("3", True), 2, True, False, id="one in sync, to 2"),
        pytest.param(((1, 2, 3, 4), (3,)), Setting("3", True), 1, True, True, id="one in sync, to 1"),
        pytest.param(((1, 2, 3, 4), (3,)), Setting("2", True), 2, True, False, id="after the failover"),
        pytest.param(((1, 3), (3,)), Setting("2", True), 2, True, True, id="one replica in dc2"),
        pytest.param(((1, 3), (3,)), Setting("2", False), 2, True, True, id="which has no value of its own"),
        pytest.param(((1, 2, 3, 4), (3, 4)), Setting("2", True), 2, False, False, id="enough in sync"),
        pytest.param(((1, 2, 3, 4), (1,)), Setting("3", True), 2, False, False, id="no leader"),
    ],
)
def test_topics_that_reject_writes(
    monkeypatch: pytest.MonkeyPatch,
    partition: tuple[tuple[int, ...], tuple[int, ...]],
    setting: Setting,
    to: int,
    rejecting: bool,
    helped: bool,
) -> None:
    seen_twice = metadata([3, 4], OFFSETS, Partition("orders", 0, 3, *partition))
    cluster = Cluster([seen_twice, seen_twice], min_isr={"orders": setting, "__consumer_offsets": Setting("2", True)})
    found = cluster.probe(monkeypatch, to)
    assert (found.rejecting, found.helped) == (["orders"] * rejecting, ["orders"] * helped)


def test_without_the_topic_of_offsets_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers create it with the first write, for which they need all its replicas."""
    orders = Partition("orders", 0, 3, (1, 2, 3, 4), (3, 4))
    cluster = Cluster([metadata([3, 4], orders)], min_isr={"orders": Setting("3", True)})
    found = cluster.probe(monkeypatch)
    assert (found.unwritten, found.rejecting, cluster.writes) == (True, ["orders"], 0)
    assert found.why.startswith("__consumer_offsets does not exist")
    whole = Cluster([metadata([1, 2, 3, 4], orders)] * 2)
    assert (whole.probe(monkeypatch).unwritten, whole.writes) == (False, 1)
