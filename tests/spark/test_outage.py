"""Brokers that give no answer are named in the journal, and so is that they are back."""

import socket
import threading

import pytest
from millrace_jobs.outage import KafkaWatch

from .broker import Broker
from .helpers import eventually


def test_an_outage_is_said_once_and_its_end_too(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """Once a minute, however often it asks; nothing is said while all is well."""
    caplog.set_level("INFO")
    door = socket.create_server(("127.0.0.1", 0))  # takes connections, and answers nothing
    servers = f"127.0.0.1:{door.getsockname()[1]}"
    well = KafkaWatch({"bootstrap.servers": broker.servers}, broker.topic(), ask_seconds=0.05)
    watch = KafkaWatch({"bootstrap.servers": servers, "socket.timeout.ms": 1000}, "t", 0.05, answer_seconds=0.2)
    try:
        eventually(lambda: [record.levelname for record in caplog.records], ["WARNING"], 30)
        assert not threading.Event().wait(1)
        (record,) = caplog.records
        assert record.getMessage().startswith(f"kafka: no answer from {servers} for ")
        assert record.getMessage().endswith("; trying again")
    finally:
        watch.close()
        well.close()
        door.close()
