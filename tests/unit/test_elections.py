"""The election of preferred leaders, with a stand-in for the client."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import confluent_kafka.admin
import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from confluent_kafka import ElectionType
from unit.clock import Clock
from unit.electing import Brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import elections, restart_waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import (
    Cluster,
    ClusterError,
    State,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import UntoldError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Verdict
from ansible_collections.millrace.kafka.plugins.modules import kafka_gate

LISTENERS = {"REPLICATION": {"bootstrap.servers": "b:9093"}}


@pytest.fixture
def brokers(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Partition 0 is led as wanted, 1 by another, 2 by another since the preferred one is not in sync."""
    found = Brokers(
        clock,
        Partition("t", 0, 1, (1, 2), (1, 2)),
        Partition("t", 1, 1, (2, 1), (1, 2)),
        Partition("t", 2, 1, (3, 1), (1,)),
    )
    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", lambda _: found)
    monkeypatch.setattr(Cluster, "state", lambda _: State({1: {}, 2: {}, 3: {}}, 1, found.partitions))
    return found


def held(timeout: float, *restarted: int) -> tuple[list[str], list[str]]:
    """Return what moved in an election, and what others lead still."""
    asking = Elections(Cluster(LISTENERS), restarted or None)
    left = asking.elect(timeout)
    return sorted(asking.moved), [str(p) for p in left]


def prefer_two(*rows: tuple[str, int]) -> list[Partition]:
    """Return partitions that broker 1 leads, and prefer 2."""
    return [Partition(topic, number, 1, (2, 1), (1, 2)) for topic, number in rows]


def test_what_another_leads_is_elected(brokers: Brokers) -> None:
    assert held(5) == (["t-1"], [])
    assert brokers.asked == [(ElectionType.PREFERRED, [("t", 1)])]
    assert [p.leader for p in brokers.partitions] == [1, 2, 1]


def test_only_what_prefers_one_of_these_is_elected(brokers: Brokers) -> None:
    assert held(5, 1) == ([], []) and brokers.asked == []
    assert held(5, 2) == (["t-1"], [])


def test_who_was_restarted_gets_what_clients_write_to_last(brokers: Brokers, clock: Clock) -> None:
    """By itself, and after the internal ones: their followers are connected by then."""
    brokers.partitions += prefer_two(("__consumer_offsets", 4), ("a", 0), ("__consumer_offsets", 3), ("b", 1))
    begun = clock.now()
    moved, left = held(5, 2)
    assert len(moved) == 5 and left == []
    assert [sorted(asked) for _, asked in brokers.asked] == [
        [("__consumer_offsets", 3), ("__consumer_offsets", 4)],
        [("a", 0), ("b", 1), ("t", 1)],
    ]
    assert clock.now() - begun == pytest.approx(elections.CONNECTED)
    brokers.asked.clear()
    brokers.partitions = [replace(p, leader=1) for p in brokers.partitions]
    assert len(held(5)[0]) == 5 and len(brokers.asked) == 1, "at the end all lead something"


def test_without_internal_ones_it_gets_one_first(brokers: Brokers) -> None:
    brokers.partitions += prefer_two(("a", 0), ("b", 1))
    assert held(5, 2) == (["a-0", "b-1", "t-1"], [])
    assert [len(asked) for _, asked in brokers.asked] == [1, 2]


@pytest.mark.parametrize(("connected", "followed"), [(0.5, 0.1), (0.1, 0.5)])
def test_followers_have_time_for_both(
    brokers: Brokers, clock: Clock, connected: float, followed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To connect, since it leads anything, and to follow it with the internal ones."""
    monkeypatch.setattr(elections, "CONNECTED", connected)
    monkeypatch.setattr(elections, "FOLLOWED", followed)
    brokers.partitions += prefer_two(("__consumer_offsets", 3), ("__consumer_offsets", 4))
    begun, asking = clock.now(), Elections(Cluster(LISTENERS), [2])
    asking.state()
    asking.elect(5)
    assert [len(asked) for _, asked in brokers.asked] == [1, 1, 1]
    assert clock.now() - begun == pytest.approx(0.5)


def test_who_is_back_gets_an_internal_partition_while_the_rest_is_waited_for(brokers: Brokers) -> None:
    """Once, as soon as it is in sync with one; the others are not made to wait once more."""
    asking = Elections(Cluster(LISTENERS), [2])
    assert asking.state().led_by_another() and not brokers.asked
    brokers.partitions += [Partition("__consumer_offsets", number, 1, (2, 1), (1,)) for number in (3, 4)]
    asking.state()
    assert not brokers.asked, "it is not in sync"
    brokers.partitions[3:] = [replace(p, isr=(1, 2)) for p in brokers.partitions[3:]]
    asking.state()
    asking.state()
    assert [asked for _, asked in brokers.asked] == [[("__consumer_offsets", 4)]]
    assert asking.lead_again() == (["__consumer_offsets-3", "__consumer_offsets-4", "t-1"], "")
    assert [asked for _, asked in brokers.asked[1:]] == [[("__consumer_offsets", 3)], [("t", 1)]]
    again = Elections(Cluster(LISTENERS), [2])
    brokers.partitions.append(Partition("__other", 0, 1, (2, 1), (1, 2)))
    again.state()
    assert len(brokers.asked) == 3, "another part of the wait has given it one"
    assert again.led_since > 0, "how long ago, nobody knows"


def test_a_first_partition_that_is_refused_is_asked_for_with_the_rest(brokers: Brokers) -> None:
    """Nobody rests for connections to who leads nothing."""
    brokers.partitions += prefer_two(("__consumer_offsets", 3))
    brokers.refuse, asking = True, Elections(Cluster(LISTENERS), [2])
    asking.state()
    asking.state()
    assert len(brokers.asked) == 1 and asking.led_since < 0 and not asking.moved
    brokers.refuse = False
    assert asking.lead_again() == (["__consumer_offsets-3", "t-1"], "")
    assert [asked for _, asked in brokers.asked[1:]] == [[("__consumer_offsets", 3)], [("t", 1)]]


def test_what_follows_an_election_without_an_answer_is_elected_as_well(
    brokers: Brokers,
) -> None:
    """Else each later stop moves the share of more than one broker."""
    brokers.partitions += prefer_two(("__consumer_offsets", 3), ("__consumer_offsets", 4))
    brokers.mute = {"__consumer_offsets"}
    moved, why = Elections(Cluster(LISTENERS), [2]).lead_again()
    assert moved == ["t-1"] and "no answer within 5 s. Other replicas lead" in why


def test_an_answer_that_is_late_says_nothing_against_it(brokers: Brokers, clock: Clock) -> None:
    """Who leads is seen, and nobody waits for it."""
    brokers.partitions += prefer_two(("__consumer_offsets", 3))
    brokers.late, begun = {"__consumer_offsets", "t"}, clock.now()
    assert Elections(Cluster(LISTENERS), [2]).lead_again() == (["__consumer_offsets-3", "t-1"], "")
    assert clock.now() - begun == pytest.approx(2 * elections.ANSWER + elections.CONNECTED)


def test_what_does_not_move_holds_nobody_up(brokers: Brokers, clock: Clock) -> None:
    """It is told, with the broker's own words, and what comes after it has its time."""
    brokers.partitions += prefer_two(("__consumer_offsets", 3))
    brokers.deaf, begun = {"__consumer_offsets"}, clock.now()
    moved, why = Elections(Cluster(LISTENERS), [2]).lead_again()
    assert moved == ["t-1"]
    assert why.endswith("preferred replica (__consumer_offsets-3): Broker: Preferred leader was not available")
    assert [asked for _, asked in brokers.asked] == [[("__consumer_offsets", 3)], [("t", 1)]]
    assert clock.now() - begun == pytest.approx(elections.CONNECTED)


def test_what_was_answered_is_believed_though_nobody_sees_it(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that moved leaders changed something, whatever came after."""
    seen, whole = list[int](), Cluster.state

    def once(asked: Cluster) -> State:
        seen.append(1)
        if len(seen) > 1:
            raise ClusterError("no answer")
        return whole(asked)

    monkeypatch.setattr(Cluster, "state", once)
    assert Elections(Cluster(LISTENERS), [2]).lead_again() == (["t-1"], "")


@pytest.mark.parametrize(
    ("later", "unknown"),
    [
        (lambda p: [replace(one, isr=(1,)) for one in p], False),  # the preferred one falls out of sync
        (lambda p: p[:1], False),  # the topic is deleted
        (lambda p: [], True),  # who is asked has just started
    ],
)
def test_what_nobody_leads_as_preferred_did_not_move(
    brokers: Brokers,
    later: Callable[[list[Partition]], list[Partition]],
    unknown: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers.mute = {"t"}
    seen, whole = list[int](), Cluster.state

    def state(asked: Cluster) -> State:
        seen.append(1)
        found = whole(asked)
        return found if len(seen) < 2 else replace(found, partitions=later(list(found.partitions)))

    monkeypatch.setattr(Cluster, "state", state)
    moved, why = Elections(Cluster(LISTENERS), [2]).lead_again()
    assert moved == [] and ("no answer" in why) is unknown


def test_a_first_election_that_is_answered_late_is_counted(brokers: Brokers) -> None:
    brokers.partitions += prefer_two(("__consumer_offsets", 3))
    brokers.late, asking = {"__consumer_offsets"}, Elections(Cluster(LISTENERS), [2])
    asking.state()
    assert asking.lead_again() == (["__consumer_offsets-3", "t-1"], "")


def test_a_question_without_an_answer_is_asked_again(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that has just started may owe one; none within the time is an error."""
    answers = [ClusterError("no answer"), None]

    def asked(_: Cluster) -> State:
        if answers and (error := answers.pop(0)):
            raise error
        return State({1: {}, 2: {}, 3: {}}, 1, brokers.partitions)

    monkeypatch.setattr(Cluster, "state", asked)
    assert held(5) == (["t-1"], []) and not answers
    answers[:] = [ClusterError("no answer")] * 100
    with pytest.raises(ClusterError, match="no answer"):
        held(0.5)


def test_nothing_is_asked_where_all_lead(brokers: Brokers) -> None:
    brokers.partitions = brokers.partitions[:1]
    assert held(5) == ([], []) and brokers.asked == []


def test_what_does_not_move_is_told_after_the_timeout(brokers: Brokers) -> None:
    brokers.deaf = {"t"}
    assert held(0.3) == ([], ["t-1"])


def test_a_refusal_is_in_the_clients_own_words(brokers: Brokers) -> None:
    brokers.refuse = True
    with pytest.raises(ClusterError, match=r"election of preferred leaders: .*CLUSTER_AUTHORIZATION_FAILED"):
        held(5)


def test_a_roll_goes_on_without_an_election(
    brokers: Brokers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What refuses is a warning; who is back leads what it prefers to, and nobody else's moves."""
    warned = list[str]()
    monkeypatch.setattr(AnsibleModule, "warn", lambda _, text: warned.append(text))
    monkeypatch.setattr(kafka_gate, "ask", lambda *_: Verdict(True, {}))

    def back(stop: int, **more: object) -> dict[str, Any]:
        given = {"listeners": LISTENERS, "brokers": [1, 2, 3], "stop": [stop], "question": "back", **more}
        with patch_module_args(given), pytest.raises(SystemExit):
            kafka_gate.main()
        said: dict[str, Any] = json.loads(capsys.readouterr().out)
        return said

    assert "moved" not in back(2) and back(1, prefer=True)["moved"] == [] and not brokers.asked
    assert "moved" not in back(2, prefer=True, _ansible_check_mode=True) and not brokers.asked
    brokers.refuse = True
    said = back(2, prefer=True)
    assert "failed" not in said and not said["changed"] and "CLUSTER_AUTHORIZATION_FAILED" in warned[0]
    brokers.refuse = False
    said = back(2, prefer=True)
    assert said["moved"] == ["t-1"] and said["changed"] and len(warned) == 1


def test_what_moved_is_told_where_the_next_question_ends_the_run(
    brokers: Brokers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(*_: object) -> None:
        raise UntoldError("no broker reports the settings of topics")

    monkeypatch.setattr(kafka_gate, "ask", lambda *_: Verdict(True, {}))
    monkeypatch.setattr(restart_waits, "at_once", untold)
    given = {"listeners": LISTENERS, "brokers": [1, 2, 3], "stop": [2], "question": "back", "prefer": True, "then": [3]}
    with patch_module_args(given), pytest.raises(SystemExit):
        kafka_gate.main()
    said = json.loads(capsys.readouterr().out)
    assert said["failed"] and said["changed"] and said["moved"] == ["t-1"]


def test_silence_is_told_with_the_timeout(brokers: Brokers) -> None:
    brokers.silent = True
    with pytest.raises(ClusterError, match=r"election of preferred leaders: no answer within 1 s"):
        held(0.1)
