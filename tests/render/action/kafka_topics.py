"""In place of the module kafka_topics: notes what it is asked, where a test says so."""

from __future__ import annotations

from importlib import import_module

ActionModule = import_module("ansible_collections.millrace.kafka.plugins.action.noted").action("kafka_topics")
