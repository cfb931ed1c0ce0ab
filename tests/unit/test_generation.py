"""Passwords that no login can try: a number stands for each, and is kept with it."""

from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import as_declared, invalid_iterations
from ansible_collections.millrace.kafka.plugins.modules import kafka_access

FIRST = {"name": "a", "password": "Guoph0Eeshi7", "verify": "generation"}
NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_SSL"}


@pytest.fixture
def run(run: Run) -> Run:
    return lambda *given, **said: run(*given, login=NOWHERE, **said)


def test_a_password_is_known_by_its_number(run: Run, cluster: FakeCluster) -> None:
    """Nobody logs in: there is no listener for it."""
    assert run(kafka_access, users=[FIRST])["plan"]["create"] == ["a"]
    assert cluster.scram == {"a": {2: 8193}}
    assert run(kafka_access, users=[{**FIRST, "generation": 1}])["plan"]["unchanged"] == ["a"]
    second = {**FIRST, "password": "Ieth3aiphool", "generation": 2}
    assert run(kafka_access, users=[second])["changes"] == [
        "update user a: - SCRAM-SHA-512: 8193 iterations; + SCRAM-SHA-512: 8194 iterations"
    ]
    assert run(kafka_access, users=[second])["changed"] is False
    assert cluster.written == ["credential a", "credential a"]


def test_a_password_is_replaced_beside_the_old_one(run: Run, cluster: FakeCluster) -> None:
    """As rotate_password.yml does it: written however often it begins, then known by its number."""
    cluster.scram = {"a": {2: 8193}}
    new: dict[str, Any] = {**FIRST, "password": "Ieth3aiphool", "mechanism": "SCRAM-SHA-256", "generation": 2}
    for _ in range(2):
        assert run(kafka_access, users=[{**new, "verify": "always"}])["changed"] is True
    assert cluster.scram == {"a": {2: 8193, 1: 8194}} and len(cluster.written) == 2
    assert run(kafka_access, users=[new])["changed"] is False
    run(kafka_access, users=[{"name": "a", "mechanism": "SCRAM-SHA-512", "state": "absent"}])
    assert cluster.scram == {"a": {1: 8194}}


def test_two_numbers_make_one_sum_once(run: Run, cluster: FakeCluster) -> None:
    """No other iterations with another generation are taken for the ones that were written."""
    run(kafka_access, users=[{**FIRST, "generation": 1023}])
    sums = {8192 + 1023: (8192, 1023)}
    for iterations in range(4096, 16384, 512):
        for generation in (1, 511, 512, 513, 1022, 1023):
            user = {**FIRST, "iterations": iterations, "generation": generation}
            if not invalid_iterations(user, as_declared(user)):
                made = as_declared(user).iterations
                assert sums.setdefault(made, (iterations, generation)) == (iterations, generation)
    assert len(sums) == 12 * 6 and cluster.scram == {"a": {2: 9215}}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"verify": "login", "generation": 2},
            "generation is not used with verify: login; set verify: generation, or remove generation",
        ),
        ({"generation": 0}, "generation 0: is below 1; set 1, and add 1 for each new password"),
        (
            {"generation": 1, "iterations": 16384},
            "16385 iterations, the generation included: brokers accept 4096 to 16384; set another number",
        ),
        ({"generation": 1024}, "generation 1024: is above 1023; set other iterations, and generation: 1"),
        (
            {"generation": 1, "iterations": 8193},
            "iterations with a generation: another pair of both numbers would have the same sum, and a new password "
            "would not be detected; set a multiple of 1024, for example 8192",
        ),
        ({"verify": "login", "iterations": 4095}, "4095 iterations: brokers accept 4096 to 16384; set another number"),
    ],
)
def test_numbers_that_are_none(run: Run, cluster: FakeCluster, said: dict[str, Any], why: str) -> None:
    done = run(kafka_access, users=[{**FIRST, **said}])
    assert done["msg"].endswith(f"1 rejected\n- user a: {why}") and cluster.written == []
