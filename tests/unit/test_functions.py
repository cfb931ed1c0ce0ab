"""Which keys functions/*.yml may have, the messages for wrong ones, and which role an input belongs to."""

from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input, role_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "roles: [base, konnect]",
            r"functions/echo\.yml: roles = konnect: roles/konnect/meta/.* does not exist; create the role",
        ),
        ("roles: [base, kafkas]", r"functions/echo\.yml: roles = kafkas: .*; did you mean kafka\?"),
        ("ordr: 1", r"functions/echo\.yml: ordr: unknown key; did you mean order\?"),
        ("frobnicate: 1", r"functions/echo\.yml: frobnicate: unknown key; use order, roles"),
        ("name: other", r"functions/echo\.yml: name: unknown key;"),
        ("order: late", r"functions/echo\.yml: order = late: not a whole number; set"),
        ("heaps: echo_heap", r"functions/echo\.yml: heaps = echo_heap: not a list of names; write it as \[echo_heap\]"),
        (
            "prefix: [a]",
            r"functions/echo\.yml: prefix = \['a'\]: not text; set what the names of its inputs begin with, like",
        ),
        ("variables: [a]", r"functions/echo\.yml: variables: not a mapping; write each"),
        (
            "ports: [{port: 7, from: [konnect]}]",
            r"functions/echo\.yml: from = konnect: .* port 7: neither .*; use",
        ),
        ("[1]", r"functions/echo\.yml: contains no keys; write them"),
    ],
)
def test_a_file_that_is_wrong_is_named(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "FOLDER", tmp_path / "functions")
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "echo.yml").write_text(f"{text}\n")
    with pytest.raises(ValueError, match=said):
        functions.read()


@pytest.mark.parametrize("kind", functions.INPUTS[1:])
def test_what_a_function_names_are_inputs_of_its_roles(kind: str) -> None:
    """One that is written wrongly would be judged by nobody."""
    known = {name: function.roles for name, function in functions.functions().items()}
    found = [
        (function, name) for function, name in functions.inputs(kind) if role_of().get(name) not in known[function]
    ]
    assert found == []


def test_functions_of_one_order_come_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system's order is another on each machine."""
    monkeypatch.setattr(functions, "FOLDER", tmp_path)
    for name, order in (("b", 2), ("c", 1), ("a", 2), ("d", 1), ("e", 2)):
        (tmp_path / f"{name}.yml").write_text(f"order: {order}\n")
    assert list(functions.read()) == ["c", "d", "a", "b", "e"]


def test_the_role_of_an_input_is_looked_up() -> None:
    """A role's name may have several words; what a host says goes before the default."""
    assert role_of()["spark_job_stop_timeout"] == "spark_job"
    assert role_input({}, "spark_job_memory_max") == "infinity"
    assert role_input({"spark_job_memory_max": "2G"}, "spark_job_memory_max") == "2G"
    assert role_input({}, "kafka_broker_id") is None
    with pytest.raises(ValueError, match="kafka_kestore is no input of any role; correct the name"):
        role_input({}, "kafka_kestore")
