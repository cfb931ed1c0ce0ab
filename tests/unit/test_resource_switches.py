"""Check the filters of resources with texts for booleans, null for a value, and numbers for names."""

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.filter import client
from ansible_collections.millrace.kafka.plugins.filter.resources import FilterModule

FILTERS, CLIENT = FilterModule().filters(), client.FilterModule().filters()


@pytest.mark.parametrize("text", ["no", "false", "off", "0", False])
def test_a_text_is_read_as_a_boolean(text: Any) -> None:
    names = ("manage", "allow_delete", "allow_more_partitions", "allow_data_loss")
    (topic,) = FILTERS["resolved_topics"]([{"name": "t", "partitions": 1, **dict.fromkeys(names, text)}])
    assert [topic[name] for name in names] == [False, False, False, False]
    assert FILTERS["granted_acls"]([{"name": "a", "grants": [{"exporter": text}]}]) == []
    with pytest.raises(AnsibleFilterError, match="no password"):
        CLIENT["kafka_login"]([{"name": "a", "credential": text, "password": "x"}], "a")


def test_a_text_that_is_no_boolean_is_rejected() -> None:
    with pytest.raises(AnsibleFilterError) as error:
        FILTERS["resolved_topics"]([{"name": "t", "partitions": 1, "manage": "perhaps"}, {"name": None}])
    assert str(error.value) == (
        "kafka_topics: topic t: manage = perhaps: neither true nor false; a topic without a name"
    )


def test_null_is_no_value() -> None:
    assert FILTERS["resolved_topics"](None, None) == []
    assert FILTERS["granted_acls"](None, None) == []
    assert FILTERS["resolved_quotas"](None, None) == []
    assert FILTERS["scram_users"](None) == []
    with pytest.raises(AnsibleFilterError, match="it has no users"):
        CLIENT["kafka_login"](None, "a")


def test_a_number_in_an_acl_is_its_text() -> None:
    """An ACL that a grant already contains is not repeated."""
    literal = {"principal": "User:a", "operations": ["WRITE"], "resource": "topic", "name": 5, "pattern": "literal"}
    assert FILTERS["granted_acls"]([{"name": "a", "grants": [{"produce": [5]}]}], [literal]) == [
        {"principal": "User:a", "operations": ["WRITE"], "resource": "topic", "name": "5", "pattern": "literal"}
    ]
