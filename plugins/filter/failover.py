"""Filters for the playbooks failover.yml, failback.yml and disaster.yml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disaster import LEADS
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import SERVES, order
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover import (
    datacenters,
    disaster_lines,
    enough_servers,
    hosts_of,
    lost_datacenters,
    plan,
    small_ensemble,
    statement_errors,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_checks import (
    ensemble_errors,
    fenced,
    not_alone,
    refusal,
    too_few,
    unseparated,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_record import (
    ENDED,
    HOST_LOCK,
    advanced,
    begun,
    conflict,
    copies_of,
    known,
    recorded,
    resumes,
    scope,
    state_of,
    text_of,
)


def failover_hosts(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], survivor: str) -> str:
    """Return the brokers and then the ZooKeeper servers of the survivor, and the witness, as a pattern for `hosts`.

    Without `hostvars` (no play has run, because --limit excludes localhost) return all brokers and ZooKeeper servers,
    so that a task can reject the limit.
    """
    if not hostvars:
        return ",".join([*groups.get("kafka", ()), *groups.get("zookeeper", ())]) or "all:!all"
    found, lost = datacenters(groups, hostvars), lost_datacenters(groups, hostvars, survivor)
    stay = [survivor, *(name for name in found if name not in {survivor, *lost})] if survivor in found else []
    return ",".join(host for name in stay for host in found[name]) or "all:!all"


def _readable(call: Callable[[], Any]) -> Any:
    """Return what `call` returns. Raises AnsibleFilterError if it raises ValueError, for a record."""
    try:
        return call()
    except ValueError as error:
        raise AnsibleFilterError(
            f"the record of a failover cannot be read: {error}. Compare the file that the variable failover_lock names "
            f"with {HOST_LOCK} of the hosts, and restore it. Nothing was changed."
        ) from error


def failover_text(path: str) -> str:
    """Return the text of the record on the control node; '' without a file. Raises AnsibleFilterError."""
    return str(_readable(lambda: text_of(path)))


def failover_record(text: str, hosts: Sequence[str], hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the failover, merged from those of the control node (`text`) and of probed hosts.

    Return {} without one. Raises AnsibleFilterError if a record cannot be read.
    """
    found: dict[str, Any] = _readable(lambda: recorded(text, hosts, hostvars))
    return found


def failover_known(
    text: str, hosts: Sequence[str], hostvars: Mapping[str, Any], survivor: str, path: str
) -> dict[str, Any]:
    """Return what all records mean for a failover (failover_record.known). Raises AnsibleFilterError."""
    found: dict[str, Any] = _readable(lambda: known(text, hosts, hostvars, survivor, path))
    return found


def failover_resumes(lock: Mapping[str, Any], hosts: Sequence[str], hostvars: Mapping[str, Any]) -> bool:
    """Tell whether a run continues a failover with a witness (failover_record.resumes). Raises AnsibleFilterError."""
    return bool(_readable(lambda: resumes(lock, hosts, hostvars)))


def failback_conflict(text: str, hosts: Sequence[str], hostvars: Mapping[str, Any], path: str) -> str:
    """Return why records of other failovers forbid a failback, '' without any. Raises AnsibleFilterError."""
    return str(_readable(lambda: conflict(text, hosts, hostvars, path)))


def disaster_record(path: str) -> dict[str, Any]:
    """Return the record in this file unless it has ended; {} without one, {'error': why} if it cannot be read."""
    try:
        found = recorded(text_of(path), (), {})
    except ValueError as error:
        return {"error": str(error)}
    return found if found and state_of(found) != ENDED else {}


def lock_of(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the failover on this control node (variable failover_lock).

    Return {} without one, and if this run has done all that there is to do for it (variable failback_done).
    """
    for host in groups.get("kafka", ()) if hostvars else ():
        path = str(hostvars[host].get("failover_lock") or "")
        done = any(hostvars[one].get("failback_done") for one in {*groups["kafka"], *groups.get("zookeeper", ())})
        return {} if done else failover_record(failover_text(path), (), {})
    return {}


def returning_hosts(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any]) -> str:
    """Return the ZooKeeper servers and brokers of the lost datacenters as a pattern for `hosts`."""
    lost = lock_of(groups, hostvars).get("lost", ())
    return ",".join(host for name in lost for host in hosts_of(groups, hostvars, str(name))) or "all:!all"


def once_separated_hosts(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any]) -> str:
    """Return the hosts that return and that have the record of a failover of theirs, as a pattern for `hosts`.

    The failover has ended, and its failback did not reach these hosts, so they can still be fenced. Return none if no
    host of the survivor was checked (variable failback_scope). Raises AnsibleFilterError.
    """
    names, checked = (
        [host for host in pattern.split(",") if host in hostvars]
        for pattern in (returning_hosts(groups, hostvars), surviving_hosts(groups, hostvars))
    )
    if not any("failback_scope" in hostvars[host] for host in checked):
        return "all:!all"
    found, survivor = _readable(lambda: copies_of(names, hostvars)), lock_of(groups, hostvars).get("survivor")
    left = [host for host, lock in found.items() if state_of(lock) != ENDED and lock["survivor"] != survivor]
    return ",".join(left) or "all:!all"


def surviving_hosts(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], modes: str = "") -> str:
    """Return the ZooKeeper servers and brokers that survived, as a pattern for `hosts`.

    With `modes`, the name of a variable with a result of zookeeper_ensemble, return the ZooKeeper servers only: first
    those that do not serve, the leader last.
    """
    lock = lock_of(groups, hostvars)
    if not lock:
        return "all:!all"
    lost = [host for name in lock["lost"] for host in hosts_of(groups, hostvars, str(name))]
    hosts = [host for host in dict.fromkeys([*groups["kafka"], *groups["zookeeper"]]) if host not in lost]
    if modes:
        seen: Mapping[str, str] = next((hostvars[host][modes]["modes"] for host in lost if modes in hostvars[host]), {})
        hosts = [host for host in hosts if host in groups["zookeeper"]]
        hosts = order(seen, hosts)
    return ",".join(hosts) or "all:!all"


def listeners_without(
    listeners: Mapping[str, Mapping[str, Any]], addresses: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return {listener: client properties} without the bootstrap servers at these addresses.

    A client tries bootstrap servers in a random order, and waits for each that does not answer. If no server remains,
    the properties stay as they are.
    """
    found = {}
    for name, properties in listeners.items():
        servers = [server.strip() for server in str(properties.get("bootstrap.servers", "")).split(",")]
        left = [server for server in servers if server.rpartition(":")[0].strip("[]") not in addresses]
        found[name] = {**properties, "bootstrap.servers": ",".join(left or servers)}
    return found


def serving_servers(modes: Mapping[str, str], leading: bool = False) -> list[str]:
    """Return the servers that serve; with `leading`, only those that lead. `modes` is {server: mode}."""
    return [name for name, mode in modes.items() if mode in (LEADS if leading else SERVES)]


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "disaster_lines": disaster_lines,
            "disaster_record": disaster_record,
            "failback_conflict": failback_conflict,
            "failback_fenced": fenced,
            "failback_not_alone": not_alone,
            "failback_scope": scope,
            "failback_too_few": too_few,
            "failover_advanced": advanced,
            "failover_begun": begun,
            "failover_ensemble_errors": ensemble_errors,
            "failover_enough_servers": enough_servers,
            "failover_errors": statement_errors,
            "failover_hosts": failover_hosts,
            "failover_known": failover_known,
            "failover_plan": plan,
            "failover_record": failover_record,
            "failover_refusal": refusal,
            "failover_resumes": failover_resumes,
            "failover_text": failover_text,
            "failover_unseparated": unseparated,
            "listeners_without": listeners_without,
            "once_separated_hosts": once_separated_hosts,
            "returning_hosts": returning_hosts,
            "serving_servers": serving_servers,
            "small_ensemble": small_ensemble,
            "surviving_hosts": surviving_hosts,
        }
