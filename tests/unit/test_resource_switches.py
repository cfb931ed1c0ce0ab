"""What filters of resources make of switches that are texts, of null, of numbers for names."""

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.filter import client
from ansible_collections.millrace.kafka.plugins.filter.resources import FilterModule

FILTERS, CLIENT = FilterModule().filters(), client.FilterModule().filters()


@pytest.mark.parametrize("text", ["no", "false", "off", "0", False])
def test_a_switch_that_is_a_text_says_what_it_says(text: Any) -> None:
    names = ("manage", "allow_delete", "allow_more_partitions", "allow_data_loss")
    (topic,) = FILTERS["resolved_topics"]([{"name": "t", "partitions": 1, **dict.fromkeys(names, text)}])
    assert [topic[name] for name in names] == [False, False, False, False]
    assert FILTERS["granted_acls"]([{"name": "a", "grants": [{"exporter": text}]}]) == []
    with pytest.raises(AnsibleFilterError, match="no password"):
        CLIENT["kafka_login"]([{"name": "a", "credential": text, "password": "x"}], "a")


def test_a_switch_that_is_none_is_refused() -> None:
    with pytest.raises(AnsibleFilterError) as error:
        FILTERS["resolved_topics"]([{"name": "t", "partitions": 1, "manage": "perhaps"}, {"name": None}])
    assert str(error.value) == (
        "kafka_topics: topic t: manage = perhaps: neither true nor false; a topic without a name"
    )


def test_null_is_nothing() -> None:
    assert FILTERS["resolved_topics"](None, None) == []
    assert FILTERS["granted_acls"](None, None) == []
    assert FILTERS["resolved_quotas"](None, None) == []
    assert FILTERS["scram_users"](None) == []
    with pytest.raises(AnsibleFilterError, match="it has no users"):
        CLIENT["kafka_login"](None, "a")


def test_a_number_in_an_acl_is_its_text() -> None:
    """What a grant says already is not said twice."""
    literal = {"principal": "User:a", "operations": ["WRITE"], "resource": "topic", "name": 5, "pattern": "literal"}
    assert FILTERS["granted_acls"]([{"name": "a", "grants": [{"produce": [5]}]}], [literal]) == [
        {"principal": "User:a", "operations": ["WRITE"], "resource": "topic", "name": "5", "pattern": "literal"}
    ]
