"""kafka_reassign moves what was printed before: by the same run, or by check mode with `plan`."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.utils.display import Display
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, Reassign, limits, records

from ansible_collections.millrace.kafka.plugins.action.kafka_reassign import ActionModule

pytest_plugins = ["unit.reassigning"]


def named(plan: list[str]) -> str:
    """Return the name of a plan that was printed."""
    return plan[-1].split()[1]


def test_what_is_moved_is_what_was_printed(six: FakeCluster, reassign: Reassign) -> None:
    """Although the same request would be another plan by now: other brokers hold more than those that were chosen."""
    first = reassign(once=True, pause=1, drain=[3])
    assert six.topics["orders"] == [[1, 2], [4, 3]] and not six.under_way
    assert "  orders-1: 4,3 -> 4,5, 5.0 MiB" in first["plan"]
    six.topics["more"] = [[5, 6]] * 20
    reassign(pause=30, drain=[3], waited=first["waiting"]["waited"])
    assert six.topics["orders"] == [[1, 2], [4, 5]]
    assert limits(six) == ({}, {})


def test_a_run_that_was_reverted_meanwhile_does_not_start_again(six: FakeCluster, reassign: Reassign) -> None:
    first = reassign(once=True, pause=1, drain=[3])
    assert reassign(cancel=True, rate="")["changed"]
    answer = reassign(pause=30, drain=[3], waited=first["waiting"]["waited"])
    assert answer["failed"] and "drain=3 was ended or reverted by another run meanwhile" in answer["msg"]
    assert six.topics["orders"] == [[1, 2], [4, 3]]
    assert limits(six) == ({}, {})


def test_a_run_that_is_being_reverted_does_not_continue(six: FakeCluster, reassign: Reassign) -> None:
    first = reassign(once=True, pause=1, drain=[3])
    assert "waiting" in reassign(once=True, pause=1, cancel=True, rate="")
    answer = reassign(pause=30, drain=[3], waited=first["waiting"]["waited"])
    assert answer["failed"] and "drain=3 was ended or reverted by another run meanwhile" in answer["msg"]


def test_only_the_named_plan_is_run(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Bytes alone make no other plan; a partition that would go elsewhere does."""
    plan = named(reassign(check_mode=True, drain=[3])["plan"])
    six.topics["more"] = [[5, 6]] * 20
    refused = reassign(drain=[3], plan=plan)["msg"]
    assert f"nothing was moved: the cluster has changed, and plan {plan} is now another one:" in refused
    anew = named(reassign(check_mode=True, drain=[3])["plan"])
    assert anew != plan and f"plan {anew} (-e plan={anew} runs only this plan)" in refused
    assert six.written == [] and records(tmp_path) == []
    del six.topics["more"]
    six.sizes["orders", 1] = 7 * MIB
    assert reassign(drain=[3], plan=plan)["moved"] == ["orders-1"]


def test_its_action_prints_the_plan_before_anything_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """And asks for no other: the module answers it when it has written it down."""
    said: list[str] = []
    answers = iter(
        [
            {
                "changed": True,
                "plan": ["a plan"],
                "waiting": {"what": ["it begins"], "timeout": 0, "waited": {"at": 1}},
            },
            {"changed": True, "moved": ["t-0"], "notes": []},
        ]
    )

    def module(self: ActionModule, module_args: Mapping[str, Any], task_vars: object) -> dict[str, Any]:
        said.append(f"asked with {module_args.get('waited')}")
        return next(answers)

    monkeypatch.setattr(ActionModule, "_execute_module", module)
    monkeypatch.setattr(Display, "display", lambda self, text, *args, **more: said.append(text))
    action = ActionModule.__new__(ActionModule)
    action._task = SimpleNamespace(args={"drain": [3]}, name="Move them", check_mode=False, async_val=0)
    action._connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/there"))
    assert action.run() == {"changed": True, "moved": ["t-0"], "notes": [], "plan": ["a plan"]}
    assert said == ["asked with None", "a plan", ": Move them: 0 s: it begins", "asked with {'at': 1}"]
