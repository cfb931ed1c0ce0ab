"""What every module of resources does first and last: connect, compare the cluster's id, answer; no Kafka library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Done,
    Failure,
    Look,
    Outcome,
    Plan,
    Unsure,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    WRITE,
    Admin,
    AdminError,
    Metadata,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError

OPTIONS: dict[str, Any] = {
    "admin": {"type": "dict", "required": True},
    "cluster_id": {"type": "str", "default": ""},
}
WRITES: dict[str, Any] = {**OPTIONS, "write_timeout": {"type": "int", "default": int(WRITE)}}
"""Of modules that write: how long one request may take."""
NAMES = {"type": "list", "elements": "str", "default": []}
PRUNE: dict[str, Any] = {
    "type": "dict",
    "options": {
        **dict.fromkeys(("topics", "acls", "users", "quotas"), NAMES),
        "max_deletes": {"type": "int", "default": 0},
    },
}
"""What may be deleted because it is not declared: the same for all modules, each takes its own kinds from it."""
TOPIC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "partitions": {"type": "int"},
    "replication_factor": {"type": "int"},
    "config": {"type": "dict", "default": {}},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "manage": {"type": "bool", "default": True},
    "allow_delete": {"type": "bool", "default": False},
    "allow_more_partitions": {"type": "bool", "default": False},
    "allow_data_loss": {"type": "bool", "default": False},
}
"""A declared topic."""

Work = tuple[Plan, Callable[[Sequence[Change], Look], Done]]
Planned = Callable[[Admin, Metadata], Sequence[Work]]


def client_of(module: AnsibleModule) -> Admin:
    """Return the cluster that is meant. Raises ClientError, ImportError."""
    patience = module.params.get("write_timeout", WRITE)
    if patience < 1:
        module.fail_json(
            msg=f"write_timeout {patience}: no write ends in that time; say seconds, 60 where it is left out"
        )
    return Admin(module.params["admin"], patience)


@contextmanager
def connected(module: AnsibleModule, what: str) -> Iterator[tuple[Admin, Metadata]]:
    """Yield the cluster that is meant, connected once for all that the module asks.

    What it does not answer, or refuses, ends the module, with the rung that failed.
    """
    admin: Admin | None = None
    try:
        admin = client_of(module)
        metadata = first_answer(module, admin)
        refuse_another_cluster(module, metadata)
        try:
            yield admin, metadata
        except AdminError as error:
            raise admin.explain(error) from error
    except ImportError as error:
        module.fail_json(msg=missing_required_lib(error.name or "confluent-kafka"))
    except (AdminError, ClientError) as error:
        module.fail_json(msg=f"{what}: {error}; look at: journalctl -u kafka on the brokers")
    finally:
        with suppress(AdminError):
            if admin:
                admin.close()


def first_answer(module: AnsibleModule, admin: Admin) -> Metadata:
    """Return who is there. A part of a wait in which nobody says it ends the module, and not the wait.

    Each part is a process that connects anew: of those of hours one meets any silence that there is. Raises AdminError
    after SILENT seconds of it.
    """
    begun, waited = waits.now(), module.params.get("waited")
    try:
        return admin.metadata()
    except AdminError as error:
        if "silent" not in (waited or {}):  # no wait that counts it
            raise
        silent = waited["silent"] or begun
        if begun - silent > waits.SILENT:
            why = f"{error}, for more than {waits.SILENT:.0f} s"
            raise AdminError(f"{why}; run the same again to go on") from error
        words = [f"nobody answers: {error}"]
        module.exit_json(changed=True, waiting=waits.waiting(words, 0, **{**waited, "silent": silent}))
        raise


def converge(
    module: AnsibleModule, what: str, planned: Planned, more: Callable[[], dict[str, Any]] = lambda: {}
) -> None:
    """Plan, refuse or write, and end the module.

    `planned` reads and returns plans with what writes each; nothing is written where one of them has a refusal, and no
    plan is begun after one that failed. `more` is what the module returns besides, once that is planned.
    """
    with connected(module, what) as (admin, metadata):
        works = planned(admin, metadata)
        result = {**answer(works, metadata, what), **more()}
        refusals = [text for plan, _ in works for text in plan.refusals]
        if refusals:
            words = "".join(f"\n- {text}" for text in refusals)
            result["changed"] = False
            module.fail_json(msg=f"{what}: nothing was written: {len(refusals)} refused{words}", **result)
        if module.check_mode or not result["changed"]:
            module.exit_json(**result)
        admin.reach_controller()
        write_all(module, what, works, result, seen_again(module, planned))


def seen_again(module: AnsibleModule, planned: Planned) -> Look:
    """Return what plans anew, by connections of its own, to see which changes are still to be made."""

    def look(changes: Sequence[Change], why: Outcome) -> Outcome:
        try:
            admin = client_of(module)
            plans = [plan for plan, _ in planned(admin, admin.metadata())]
        except Failure as error:
            advice = f"nobody knows whether it was done, for it could not be read back ({error})"
            return {one.name: Unsure(f"{why[one.name]}; {advice}") for one in changes}
        left = {(one.kind, one.name) for plan in plans for one in plan.changes}
        refused = any(plan.refusals for plan in plans)
        found: dict[str, str] = {}
        for one in changes:
            if (one.kind, one.name) in left:
                found[one.name] = Unsure(f"{why[one.name]}; it was read back, and is not done so far")
            elif refused:
                found[one.name] = Unsure(f"{why[one.name]}; nobody knows whether it was done")
        return found

    return look


def write_all(module: AnsibleModule, what: str, works: Sequence[Work], result: dict[str, Any], look: Look) -> None:
    """Write one plan after the other, and end the module."""
    done: list[Change] = []
    for number, (plan, write) in enumerate(works):
        written = write(plan.changes, look)
        done += written.done
        if written.failed:
            left = [*written.untried, *(change for later, _ in works[number + 1 :] for change in later.changes)]
            whole = Done(done, written.failed, left)
            outcome = {"done": names_of(done), "failed": dict(written.failed), "not_tried": names_of(left)}
            result |= {"changed": whole.changed, "outcome": {**outcome, "unknown": whole.unknown}}
            module.fail_json(msg=f"{what}: {whole.words()}. Run again when it is mended", **result)
    module.exit_json(**result)


def refuse_another_cluster(module: AnsibleModule, metadata: Metadata) -> None:
    """End the module where this is not the cluster that is meant."""
    wanted = module.params["cluster_id"]
    if wanted and wanted != metadata.cluster_id:
        module.fail_json(
            msg=f"the cluster that answers has the id {metadata.cluster_id}, and kafka_cluster_id says {wanted}: "
            "nothing was written; correct the inventory's addresses or kafka_cluster_id",
            cluster_id=metadata.cluster_id,
        )


def names_of(changes: Sequence[Change]) -> list[str]:
    """Return changes as kind and name."""
    return [f"{change.kind} {change.name}" for change in changes]


def answer(works: Sequence[Work], metadata: Metadata, what: str) -> dict[str, Any]:
    """Return what a module returns."""
    whole = Plan(
        [change for plan, _ in works for change in plan.changes],
        [name for plan, _ in works for name in plan.unchanged],
        [name for plan, _ in works for name in plan.unmanaged],
    )
    return {
        "changed": bool(whole.changes),
        "changes": [str(change) for change in whole.changes],
        "cluster_id": metadata.cluster_id,
        "plan": whole.summary(),
        "diff": whole.diff(what),
    }
