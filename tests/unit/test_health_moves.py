"""What the page of check.yml says of brokers that hold nothing, and of limits that were forgotten."""

from unit.healthy import cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import page


def test_a_broker_that_holds_nothing_is_named_with_what_fills_it() -> None:
    """As one that has just joined."""
    assert page(declared(), probes(), cluster() | {"replicas": {"1": 20, "2": 0}})[1] == [
        "broker 2 (kafka2) has no replicas: run reassign.yml -e add=2 -e rate=50MB to move its share there"
    ]
    assert page(declared(), probes(), cluster() | {"replicas": {"1": 20, "2": 1}})[1] == []


def test_of_a_cluster_with_too_few_partitions_for_all_nobody_is_named() -> None:
    assert page(declared(), probes(), cluster() | {"replicas": {"1": 1, "2": 0}})[1] == []


def test_a_limit_that_was_forgotten_is_named() -> None:
    """As that of a disk that is being filled is, of which brokers tell nothing: it is not to be taken back then."""
    (problem,) = page(declared(), probes(), cluster() | {"throttled": {"2": "1000000"}})[1]
    assert problem == (
        "broker 2 throttles replication to 1000000 bytes a second, but no reassignment runs: wait if replace_disk.yml "
        "runs; else finish the run of reassign.yml or replace_disk.yml that was interrupted (run it again, or with "
        "-e cancel=true), or remove leader.replication.throttled.rate and follower.replication.throttled.rate by "
        "setting it to null in kafka_dynamic_config_overrides of its host"
    )


def test_replicas_that_are_uneven_are_no_failure_and_are_told_with_what_mends_it() -> None:
    text, problems = page(declared(), probes(), cluster() | {"replicas": {"1": 90, "2": 10}})
    assert problems == []
    assert "; replica skew 1.80: run reassign.yml -e rebalance=true -e rate=50MB to balance them" in text
    assert "replica skew" not in page(declared(), probes(), cluster() | {"replicas": {"1": 60, "2": 40}})[0]


def test_a_forgotten_limit_of_copies_between_log_dirs_is_named() -> None:
    (problem,) = page(declared(), probes(), cluster() | {"copies_throttled": {"1": "1000000"}})[1]
    assert problem == (
        "broker 1 throttles copies between its log dirs to 1000000 bytes a second, but copies nothing: finish the run "
        "of reassign.yml that was interrupted (run it again, or with -e cancel=true), or remove "
        "replica.alter.log.dirs.io.max.bytes.per.second by setting it to null in kafka_dynamic_config_overrides of its "
        "host"
    )


def test_a_broker_that_runs_and_stays_out_of_sync_is_named_with_what_ends_it() -> None:
    """One with a disk that it gave up has its own line, and what is not declared as well."""
    dirs = [{**one, "given_up": one["broker"] == 2} for one in cluster()["log_dirs"]]
    answer = cluster() | {"out_of_sync": {"1": 3, "2": 4, "9": 1}, "log_dirs": dirs}
    found = [line for line in page(declared(), probes(), answer)[1] if "out of sync" in line]
    assert found == [
        "broker 1 (kafka1) runs, but its replicas of 3 partitions are out of sync. It catches up by itself; if the "
        "number does not fall for minutes, run restart.yml -l kafka1 (docs/reliability.md)"
    ]


def test_of_several_brokers_out_of_sync_it_is_said_what_ends_it_where_no_restart_can() -> None:
    answer = cluster() | {"out_of_sync": {"1": 3, "2": 4}}
    found = [line for line in page(declared(), probes(), answer)[1] if "out of sync" in line]
    assert len(found) == 3
    assert "swap two followers of each partition with kafka-reassign-partitions.sh" in found[2]
