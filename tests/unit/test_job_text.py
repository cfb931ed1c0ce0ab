"""The configuration of a job as JSON."""

from ansible_collections.millrace.kafka.plugins.plugin_utils.job_text import job_text


def test_keys_of_all_kinds_have_an_order() -> None:
    """YAML makes a number of 1, and that and a text have none."""
    assert job_text({"b": {"a": 1, 1: 2}, "a": None}, indent=1) == '{\n "a": null,\n "b": {\n  "1": 2,\n  "a": 1\n }\n}'
