"""The wait for topics, against the mock cluster that librdkafka carries."""

import logging
import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.topics import admin_properties, retries, wait_for_topics


@pytest.fixture
def cluster() -> Iterator[Producer]:
    """A producer that brings one broker on loopback with it; a topic exists once something was sent to it."""
    yield Producer({"test.mock.num.brokers": 1, "log_level": 0})


def client_of(cluster: Producer) -> dict[str, str]:
    """The properties of a client of the mock cluster."""
    (broker,) = cluster.list_topics(timeout=10).brokers.values()
    return {"bootstrap.servers": f"{broker.host}:{broker.port}"}


def send(cluster: Producer, topic: str) -> None:
    """Create `topic`."""
    cluster.produce(topic, b"x")
    assert cluster.flush(10) == 0


class Meanwhile(threading.Event):
    """A stop whose first rest is cut short by what happens in it."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def wait(self, timeout: float | None = None) -> bool:
        """Let it happen, in place of the rest."""
        self.act()
        return self.is_set()


def test_topics_that_exist_are_not_waited_for(cluster: Producer) -> None:
    """Even with no time to wait."""
    send(cluster, "a")
    wait_for_topics([Topic("a", client_of(cluster))], 0, threading.Event())


def test_a_topic_that_comes_ends_the_wait(cluster: Producer, caplog: pytest.LogCaptureFixture) -> None:
    """Until then the log says what is waited for."""
    caplog.set_level(logging.INFO)
    client = client_of(cluster)
    send(cluster, "a")
    wait_for_topics([Topic("a", client), Topic("b", client)], 60, Meanwhile(lambda: send(cluster, "b")))
    assert [record.message for record in caplog.records] == [
        f"waiting for topic b on {client['bootstrap.servers']}: not found"
    ]


def test_a_topic_that_never_comes_is_named(cluster: Producer) -> None:
    """With the servers that were asked, and what to do."""
    client = client_of(cluster)
    with pytest.raises(JobError, match=rf"^topic b: not found on {client['bootstrap.servers']} after 1 s; create"):
        wait_for_topics([Topic("b", client)], 1, threading.Event())


def test_no_answer_is_told_from_no_topic() -> None:
    """The reserved port 1 answers nobody."""
    with pytest.raises(JobError, match=r"^topic a: no answer \(.+\) on 127\.0\.0\.1:1 after 0 s"):
        wait_for_topics([Topic("a", {"bootstrap.servers": "127.0.0.1:1"})], 0, threading.Event())


def test_a_stop_ends_the_wait(cluster: Producer) -> None:
    """A wait for the topic would end with an error."""
    stopping = Meanwhile(lambda: stopping.set())
    wait_for_topics([Topic("never", client_of(cluster))], 60, stopping)


def test_java_properties_for_librdkafka() -> None:
    """PEM stores, a SCRAM login with quoted characters, and nothing that librdkafka would refuse."""
    java = {
        "bootstrap.servers": "k:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required"
        r' username="app" password="a\"b\\c d";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/own.pem",
        "ssl.endpoint.identification.algorithm": "",
        "max.block.ms": "1000",
    }
    assert admin_properties(java) == {
        "bootstrap.servers": "k:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "app",
        "sasl.password": 'a"b\\c d',
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/own.pem",
        "ssl.key.location": "/own.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_producer_tries_again_soon() -> None:
    """Unless its job says anything of it: no pause is longer than the longest."""
    assert retries({"linger.ms": "5"}) == {"retry.backoff.max.ms": "100"}
    assert retries({"retry.backoff.ms": "500", "linger.ms": "5"}) == {"retry.backoff.ms": "500"}
    assert retries({"retry.backoff.max.ms": "2000"}) == {"retry.backoff.max.ms": "2000"}
    assert retries({"retry.backoff.ms": "0"}) == {"retry.backoff.ms": "1"}
    assert retries({"retry.backoff.ms": "600000"}) == {"retry.backoff.ms": "300000"}
    assert retries({"retry.backoff.ms": "soon"}) == {"retry.backoff.ms": "soon"}, "the library says what is wrong"
