"""kafka-python, which several threads ask at once."""

import os
import subprocess
import sys
import time

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, AdminError

SCRIPT = """
import sys, threading
sys.setswitchinterval(1e-6)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError
at_once, said = threading.Barrier(8), []

def ask(number):
    at_once.wait()
    try:
        (kafka_python.metadata_of if number % 2 else kafka_python.failed_dirs)({}, "127.0.0.1:1", number)
    except Exception as error:
        said.append(type(error).__name__)

threads = [threading.Thread(target=ask, args=[number]) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*said)
"""


def test_threads_that_ask_first_at_the_same_time_import_it_whole() -> None:
    """Nobody listens there, and that is what each has to say."""
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env=paths)
    assert done.stdout.split() == ["AdminError"] * 8, done.stdout + done.stderr


def test_a_request_with_a_wrong_field_is_named(cluster: FakeCluster) -> None:
    """In place of a traceback; whether a broker got it, nobody knows, for an answer may be what was not understood."""
    from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

    more = {"include_synonyms": True, "include_documentation": False}
    wrong = (
        DescribeConfigsRequest(resources=[("4", "1", None)], **more),
        IncrementalAlterConfigsRequest(resources=[(4, "1", [("num.io.threads", "SET", "9")])], validate_only=True),
    )
    with brokers(cluster) as servers, kafka_python.at({}, servers.split(",")[0]) as library:
        library.ask(DescribeConfigsRequest(resources=[(4, "1", None)], **more), ASK, 1)
        for request in wrong:
            with pytest.raises(
                AdminError, match=f"^{type(request).__name__}: kafka-python cannot write the request, or "
            ) as raised:
                library.ask(request, ASK, 1)
            assert raised.value.unsure and cluster.written == []


def test_no_answer_is_said_alike_by_whoever_counted_faster() -> None:
    from kafka.errors import RequestTimedOutError

    def timed_out() -> None:
        raise RequestTimedOutError("Request timed out after 1999 ms")

    for function in (timed_out, lambda: time.sleep(60)):
        with pytest.raises(AdminError, match=r"^no answer within 1 s$"):
            kafka_python.bounded(1, function, "a request")
