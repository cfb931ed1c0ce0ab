"""Connects a module to its cluster, compares the cluster's id, writes the module's plans, and returns its result."""

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
"""Options of modules that write."""
NAMES = {"type": "list", "elements": "str", "default": []}
PRUNE: dict[str, Any] = {
    "type": "dict",
    "options": {
        **dict.fromkeys(("topics", "acls", "users", "quotas"), NAMES),
        "max_deletes": {"type": "int", "default": 0},
    },
}
"""The option `prune`: what may be deleted because it is not declared. Each module reads only its own kinds."""
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
"""Options of a declared topic."""

Work = tuple[Plan, Callable[[Sequence[Change], Look], Done]]
Planned = Callable[[Admin, Metadata], Sequence[Work]]


def client_of(module: AnsibleModule) -> Admin:
    """Return a client of the cluster that the module's options `admin` and `write_timeout` describe.

    Fails the module if `write_timeout` is below 1 s. Raises ClientError for invalid properties, ImportError without
    confluent-kafka.
    """
    patience = module.params.get("write_timeout", WRITE)
    if patience < 1:
        module.fail_json(msg=f"write_timeout {patience}: too short for any write; set at least 1 s, the default is 60")
    return Admin(module.params["admin"], patience)


@contextmanager
def connected(module: AnsibleModule, what: str) -> Iterator[tuple[Admin, Metadata]]:
    """Context manager: yield a client of the module's cluster and the cluster's metadata; fail the module on an error.

    The error message begins with `what`, and names the step of the connection that failed, or the rejected request. The
    module also fails if the option `cluster_id` is set and the cluster has another id.
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
    """Return the cluster's metadata; if no broker answers, end the module so that its action calls it again later.

    A long wait consists of several calls of the module, each with new connections, so any call may meet a short outage.
    Raises AdminError if the module does not wait in that way, or if the outage lasts for more than SILENT seconds.
    """
    begun, waited = waits.now(), module.params.get("waited")
    try:
        return admin.metadata()
    except AdminError as error:
        if "silent" not in (waited or {}):  # this module does not wait in parts, or does not count outages
            raise
        silent = waited["silent"] or begun
        if begun - silent > waits.SILENT:
            why = f"{error}, for more than {waits.SILENT:.0f} s"
            raise AdminError(f"{why}; run the same command again to resume") from error
        what = [f"no broker answers: {error}"]
        module.exit_json(changed=True, waiting=waits.waiting(what, 0, **{**waited, "silent": silent}))
        raise


def converge(
    module: AnsibleModule, what: str, planned: Planned, more: Callable[[], dict[str, Any]] = lambda: {}
) -> None:
    """Compute the plans with `planned`; fail with their refusals, or write the plans; then end the module.

    `planned` returns [(plan, function that writes the plan)]. If any plan has a refusal, nothing is written. After a
    plan that failed, no further plan is written. `more` returns additional results; error messages begin with `what`.
    """
    with connected(module, what) as (admin, metadata):
        works = planned(admin, metadata)
        result = {**answer(works, metadata, what), **more()}
        refusals = [text for plan, _ in works for text in plan.refusals]
        if refusals:
            lines = "".join(f"\n- {text}" for text in refusals)
            result["changed"] = False
            module.fail_json(msg=f"{what}: nothing was written: {len(refusals)} rejected{lines}", **result)
        if module.check_mode or not result["changed"]:
            module.exit_json(**result)
        admin.reach_controller()
        write_all(module, what, works, result, reader(module, planned))


def reader(module: AnsibleModule, planned: Planned) -> Look:
    """Return the function that decides for changes whose write got no answer which of them were not made.

    The function computes the plans again with new connections. A change counts as failed if a plan still contains it,
    or if the cluster cannot be read.
    """

    def look(changes: Sequence[Change], why: Outcome) -> Outcome:
        try:
            admin = client_of(module)
            plans = [plan for plan, _ in planned(admin, admin.metadata())]
        except Failure as error:
            unknown = f"unknown whether it was written, since it could not be read again ({error})"
            return {change.name: Unsure(f"{why[change.name]}; {unknown}") for change in changes}
        missing = {(change.kind, change.name) for plan in plans for change in plan.changes}
        rejected = any(plan.refusals for plan in plans)
        reasons: dict[str, str] = {}
        for change in changes:
            if (change.kind, change.name) in missing:
                reasons[change.name] = Unsure(f"{why[change.name]}; it was read again, and is not written so far")
            elif rejected:
                reasons[change.name] = Unsure(f"{why[change.name]}; unknown whether it was written")
        return reasons

    return look


def write_all(module: AnsibleModule, what: str, works: Sequence[Work], result: dict[str, Any], look: Look) -> None:
    """Write the plans one after the other; end the module with `result`, or fail it at the first plan that fails.

    The message of a failure begins with `what`. For changes whose write got no answer, `look` reads from the cluster
    whether they were made.
    """
    done: list[Change] = []
    for number, (plan, write) in enumerate(works):
        written = write(plan.changes, look)
        done += written.done
        if written.failed:
            left = [*written.untried, *(change for later, _ in works[number + 1 :] for change in later.changes)]
            whole = Done(done, written.failed, left)
            outcome = {"done": names_of(done), "failed": dict(written.failed), "not_tried": names_of(left)}
            result |= {"changed": whole.changed, "outcome": {**outcome, "unknown": whole.unknown}}
            module.fail_json(msg=f"{what}: {whole.message()}. Correct the cause and run again", **result)
    module.exit_json(**result)


def refuse_another_cluster(module: AnsibleModule, metadata: Metadata) -> None:
    """Fail the module if the option `cluster_id` is set and the cluster has another id."""
    expected = module.params["cluster_id"]
    if expected and expected != metadata.cluster_id:
        module.fail_json(
            msg=f"the cluster has the id {metadata.cluster_id}, but kafka_cluster_id is {expected}: "
            "nothing was written; correct the addresses in the inventory, or kafka_cluster_id",
            cluster_id=metadata.cluster_id,
        )


def names_of(changes: Sequence[Change]) -> list[str]:
    """Return `KIND NAME` of each change."""
    return [f"{change.kind} {change.name}" for change in changes]


def answer(works: Sequence[Work], metadata: Metadata, what: str) -> dict[str, Any]:
    """Return the result of a module, before anything is written: {changed, changes, cluster_id, plan, diff}.

    `works` are pairs (plan, function that writes the plan); `what` is the title of the diff.
    """
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
