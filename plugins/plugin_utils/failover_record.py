"""Reads, merges and judges the copies of the record of a failover.

Copies are on the control node (the variable failover_lock) and on each ZooKeeper server and broker that survived
(HOST_LOCK). A copy that no run reaches keeps its old state, even after the failback. The keys:

- `name`: start time of the failover, used in file names; unique and increasing;
- `survivor`, `lost`, `fenced`, `started`: the datacenters, the operator's statement, and the time; `lost_hosts`: the
  ZooKeeper servers and brokers of the lost datacenters;
- `state`: one of STATES, how far the failover and its failback are;
- `hosts`: the hosts that were separated; `unfenced`: the ones that the operator left unseparated;
- `min_isr`: the values of min.insync.replicas from before the failover, since the state `lowered`;
- `earlier`: names of the failovers that had ended when this one began, or that are a part of it.

A failback replaces the copy of each host by one in the state `ended`. So a copy that it did not reach proves nothing
once any copy of the same failover has ended.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disaster import ENSEMBLE, LOWERED, RETURNING
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.min_isr import joined, of_dict
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

HOST_LOCK = "/etc/millrace/failover.json"
VARIABLE = "failover_lock"
NAME = "%Y%m%dT%H%M%SZ"
SEPARATED, ENDED = "separated", "ended"
STATES = (SEPARATED, ENSEMBLE, LOWERED, RETURNING, ENDED)
"""In the order in which a failover has them; of two copies, the later state counts.

- `separated`: hosts are being separated;
- `ensemble`: the ensemble is being changed (not with a witness);
- `lowered`: min.insync.replicas is being lowered;
- `returning`: the failback restarts servers of the survivor;
- `ended`: everything is restored, and only fences of hosts may be left.
"""
OLD_KEYS = ("ensemble", "ended")
"""Keys of a record without `state`: true once the ensemble was being changed, and after the failback."""

FAILOVER_ACTIVE = ProblemKind(
    "FAILOVER_ACTIVE",
    "{survivor} took over from {lost} on {started}: this run could start {lost} beside it, or undo the failover",
    "run playbooks/failback.yml when {lost} has returned (docs/disaster.md)",
)
FAILOVER_UNREADABLE = ProblemKind(
    "FAILOVER_UNREADABLE",
    "the record of a failover cannot be read, so it is unknown which datacenter took over",
    "compare the file with {other}, and restore it. Delete it only if no failover is under way",
)


def read_lock(text: str) -> dict[str, Any]:
    """Return the record in a text; {} for '' (no file). Raises ValueError if it is not the record of a failover."""
    if not text:
        return {}
    if not text.strip():
        raise ValueError("it is empty")
    try:
        lock: dict[str, Any] = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(lock, dict) or not lock.get("lost") or not _texts(lock["lost"]) or "" in lock["lost"]:
        raise ValueError("it names no lost datacenter")
    if not isinstance(lock.get("survivor"), str) or not lock["survivor"] or lock["survivor"] in lock["lost"]:
        raise ValueError("it names no survivor")
    if not isinstance(lock.get("ended", False), bool):
        raise ValueError("ended: neither true nor false")
    name = lock.get("name")
    if not isinstance(name, str) or not name or "/" in name:
        raise ValueError("it has no name")
    if wrong := [key for key in ("hosts", "unfenced", "earlier", "lost_hosts") if not _texts(lock.get(key, []))]:
        raise ValueError(f"{', '.join(wrong)}: not a list of texts")
    if lock.get("state", ENDED) not in STATES:
        raise ValueError(f"state: none of {', '.join(STATES)}")
    if "min_isr" in lock and not isinstance(lock["min_isr"], dict):
        raise ValueError("min_isr: not a dict")
    if "min_isr" in lock:
        of_dict(lock["min_isr"])
    if state_of(lock) == LOWERED and "min_isr" not in lock:
        raise ValueError("min_isr is missing")
    return lock


def text_of(path: str) -> str:
    """Return the text of a record on the control node; '' without a file. Raises ValueError if it cannot be read."""
    try:
        return Path(path).expanduser().read_text("utf-8") or "\n" if path else ""
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from error


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def state_of(lock: Mapping[str, Any]) -> str:
    """Return the state of a copy of the record; of one without `state`, the state that its keys show."""
    if lock.get("ended"):
        return ENDED
    return str(lock.get("state") or (LOWERED if "min_isr" in lock else ENSEMBLE if "ensemble" in lock else SEPARATED))


def advanced(lock: Mapping[str, Any], state: str) -> dict[str, Any]:
    """Return the record in this state, or in its own state if that is a later one."""
    kept = {key: value for key, value in lock.items() if key not in OLD_KEYS}
    return {**kept, "state": max(state_of(lock), state, key=STATES.index)}


def copies_of(hosts: Iterable[str], hostvars: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return {host: its copy of a record} as host_probe read it, without hosts that have none. Raises ValueError."""
    probes = {host: (hostvars[host].get("preflight_probe") or {}).get("probe") or {} for host in hosts}
    texts = {host: str(probe.get("failover") or "") for host, probe in probes.items()}
    return {host: lock for host, text in texts.items() if (lock := _read(text, f"{HOST_LOCK} of {host}"))}


def _read(text: str, where: str) -> dict[str, Any]:
    """Return the record in a text of the file `where`. Raises ValueError with this name."""
    try:
        return read_lock(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def ended_names(copies: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the failovers of which a copy shows that they have ended.

    A new failover has a greater name than all that its hosts know, so the end of one is the end of those to the same
    datacenter with smaller names.
    """
    found = [lock for lock in copies if lock]
    done = [lock for lock in found if state_of(lock) == ENDED]
    last: dict[str, str] = {}
    for lock in done:
        last[lock["survivor"]] = max(lock["name"], last.get(lock["survivor"], ""))
    before = {lock["name"] for lock in found if lock["name"] <= last.get(lock["survivor"], "")}
    return before | {name for lock in found for name in lock.get("earlier", ())}


def active(copies: Iterable[Mapping[str, Any]], survivor: str) -> list[Mapping[str, Any]]:
    """Return the copies of failovers to this datacenter of which no copy shows the end: they are one failover.

    Two control nodes can have begun it, each with its own name, and clocks differ.
    """
    found = [lock for lock in copies if lock]
    ended = ended_names(found)
    return [lock for lock in found if lock["survivor"] == survivor and lock["name"] not in ended]


def merged(own: Mapping[str, Any], there: Mapping[str, Mapping[str, Any]], survivor: str) -> dict[str, Any]:
    """Return the record of the failover to `survivor`: of the control node (`own`) and of the hosts (`there`) together.

    It consists of all copies that are `active`; if there are none, of the newest copies. {} without any.

    - `name` is the greatest one, and `earlier` has the others: they end with this one;
    - `state` is the latest one, and `ended` if no copy is active;
    - `min_isr` are the values of all copies (min_isr.joined);
    - `hosts` are those of all copies, without the hosts whose own copy has ended. If the control node's copy has ended,
      the hosts are its `hosts` plus every host whose own copy has not ended. Hosts that an earlier failover to the same
      datacenter separated are among them: they may still have its fence.
    """
    copies = [lock for lock in (own, *there.values()) if lock]
    under_way = active(copies, survivor)
    found = under_way or [lock for lock in copies if lock["survivor"] == survivor]
    name = max((lock["name"] for lock in found), default="")
    same = sorted(under_way, key=lambda lock: str(lock["name"])) or [lock for lock in found if lock["name"] == name]
    if not same:
        return {}
    record = {key: value for lock in same for key, value in lock.items() if key not in OLD_KEYS}
    ended = ended_names(copies)
    record |= {"name": name, "state": max((state_of(lock) for lock in same), key=STATES.index) if under_way else ENDED}
    if earlier := ended.union(lock["name"] for lock in same) - {name}:
        record["earlier"] = sorted(earlier)
    if saved := [of_dict(lock["min_isr"]) for lock in same if "min_isr" in lock]:
        record["min_isr"] = joined(*saved).as_dict()
    open_copies = [lock for lock in copies if state_of(lock) != ENDED and lock["name"] not in ended - {name}]
    parts = [lock for lock in open_copies if lock["survivor"] == survivor]
    if own and own["name"] == name and state_of(own) == ENDED:
        parts = [own]
    if any("hosts" in lock for lock in same):
        done = {host for host, lock in there.items() if lock["name"] == name and state_of(lock) == ENDED}
        left = {host for host, lock in there.items() if lock["survivor"] == survivor} - done
        left = {host for host in left if state_of(there[host]) != ENDED}
        separated = left | {host for lock in parts for host in lock.get("hosts", ())} - done
        record["hosts"] = sorted(separated)
        record["unfenced"] = sorted({host for lock in same for host in lock.get("unfenced", ())} - separated)
    return record


def recorded(text: str, hosts: Iterable[str], hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the failover, merged from the copies of the control node, `text`, and of the probed hosts.

    Return {} if there is none. It is the failover to the survivor of the control node's copy; without such a copy, that
    to the survivor of the newest one. Raises ValueError.
    """
    own, there = _read(text, VARIABLE), copies_of(hosts, hostvars)
    newest = own or max(there.values(), key=lambda lock: str(lock["name"]), default={})
    return merged(own, there, newest["survivor"]) if newest else {}


def known(text: str, hosts: Collection[str], hostvars: Mapping[str, Any], survivor: str, path: str) -> dict[str, Any]:
    """Return what the copies mean for a failover to `survivor` that reaches `hosts`. Raises ValueError.

    - `why`: why it must neither begin nor continue; '' if it may. `path` is the file of the control node;
    - `lock`: the record of the failover that it continues; {} if it begins a new one;
    - `hosts`: the hosts that an earlier failover has left separated; `earlier`: the names of those that ended;
    - `newest`: the greatest name, '' without one.

    A failover is under way if a host has a copy, and no copy shows its end. If only the control node has a copy,
    another control node may have ended the failover. If all hosts that were separated are there without a copy, it has,
    unless the copy has a state and saved values: a failback would have left copies with the state `ended`.
    """
    own, there = _read(text, path), copies_of(hosts, hostvars)
    found = [lock for lock in (own, *there.values()) if lock]
    ended = ended_names(found)
    under_way = active(found, survivor)
    why, lock = _unread(hosts, hostvars) or _foreign(own, there, ended, survivor, path), dict[str, Any]()
    if not why and under_way:
        lock = merged(own, there, survivor)
        if not any(copy in under_way for copy in there.values()):
            why, lock = _alone(own, hosts, path), {}
            ended.add(own["name"])
        elif gone := _without_copy(under_way, there, hosts):
            why = (
                f"{', '.join(host for host in there if there[host] in under_way)} has the record of a failover, and "
                f"{', '.join(gone)}, which was separated too, has none. If failback.yml has ended it, remove "
                f"{HOST_LOCK} and {path}; otherwise copy the record to {', '.join(gone)}"
            )
    mine = {host: copy for host, copy in there.items() if own and copy["name"] == own["name"]}
    left = merged(own, mine, own["survivor"]).get("hosts", ()) if own and own["name"] in ended else ()
    newest = max((one["name"] for one in found), default="")
    return {"why": why, "lock": lock, "hosts": [*left], "earlier": sorted(ended), "newest": newest}


def _foreign(
    own: Mapping[str, Any], there: Mapping[str, Mapping[str, Any]], ended: Collection[str], survivor: str, path: str
) -> str:
    """Return why a failover to another datacenter forbids one to `survivor`; '' if there is none under way."""
    if own and own["survivor"] != survivor and own["name"] not in ended:
        done = f'If failback.yml has ended that failover on another control node, add "ended": true to {path}'
        if state_of(merged(own, there, own["survivor"])) == SEPARATED:
            return (
                f"survivor = {survivor!r}: a failover to {own['survivor']} began on {own.get('started')}, and has only "
                f"separated its hosts as far as the records show that can be read; run playbooks/failback.yml. {done}, "
                f"also if {own['survivor']} is lost and no other control node has continued that failover"
            )
        return (
            f"survivor = {survivor!r}: {own['survivor']} already took over on {own.get('started')}. A failover to the "
            f"other datacenter would lose what was written since; run playbooks/failback.yml. {done}"
        )
    other = [host for host, lock in there.items() if lock["survivor"] != survivor and lock["name"] not in ended]
    return (
        f"{', '.join(other)} has the record of a failover to another datacenter ({HOST_LOCK}): run "
        "playbooks/failback.yml from the control node of that failover"
        if other
        else ""
    )


def _alone(own: Mapping[str, Any], hosts: Collection[str], path: str) -> str:
    """Return why the copy of the control node, which no host has, may be in force; '' if it is not.

    Later steps than the separation need a copy on each reached host, and each run reaches a quorum of the survivor. So
    in the state `separated`, the run was killed before all hosts had a copy, and a new failover begins.
    """
    missing = [host for host in own.get("hosts", ()) if host not in hosts]
    removed = "state" in own and "min_isr" in own
    if state_of(own) == SEPARATED or not (missing or removed):
        return ""
    back = f" Bring {' or '.join(missing)} back." if missing else ""
    return (
        f"{path} has the record of a failover of {own.get('started')}, but no host that can be reached has it.{back} "
        f'If failback.yml has ended this failover on another control node, add "ended": true to {path}. If it has not'
        f"{', and these hosts never return' if missing else ''}, copy {path} to {HOST_LOCK} of a host"
    )


def _without_copy(
    same: Sequence[Mapping[str, Any]], there: Mapping[str, Mapping[str, Any]], hosts: Collection[str]
) -> list[str]:
    """Return separated hosts without a copy, if the copies (`same`) have no `state` and saved values; else [].

    Before there were states, a failback removed the copies of hosts.
    """
    if any("state" in lock for lock in same) or not any("min_isr" in lock for lock in same):
        return []
    separated = {host for lock in same for host in lock.get("hosts", ())}
    return [host for host in hosts if host in separated and host not in there]


def begun(
    found: Mapping[str, Any],
    plan_of: Mapping[str, Any],
    hosts: Iterable[str],
    unfenced: Iterable[str],
    fenced: str,
    at: str,
) -> dict[str, Any]:
    """Return the record of a failover of which `known` returned `found`, as it is when these hosts are separated.

    `unfenced` are the hosts that the operator leaves unseparated now, `fenced` is the operator's statement, and `at` is
    the time in the form of NAME.
    """
    newest = found["newest"].partition("-")[0]
    lock = found["lock"] or {
        "survivor": plan_of["survivor"],
        "lost": plan_of["lost"],
        "fenced": fenced,
        "started": datetime.strptime(at, NAME).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "name": f"{at if at > newest else f'{newest}1'}-{plan_of['survivor']}",
        "state": SEPARATED,
        "earlier": found["earlier"],
        "hosts": found["hosts"],
    }
    separated = {*lock.get("hosts", ()), *found["hosts"], *hosts}
    return {
        **lock,
        "lost_hosts": sorted({*lock.get("lost_hosts", ()), *plan_of["lost_kafka"], *plan_of["lost_zookeeper"]}),
        "hosts": sorted(separated),
        "unfenced": sorted(({*lock.get("unfenced", ()), *unfenced}) - separated),
    }


def resumes(lock: Mapping[str, Any], hosts: Iterable[str], hostvars: Mapping[str, Any]) -> bool:
    """Tell whether a run continues a failover with a witness that has begun to change the brokers.

    `lock` is its record, `hosts` are those of the run. Every host with a copy must still have its fence
    (failover_fence, a result of stat), because failback.yml first removes the fences. Other hosts get both now.
    """
    there = copies_of(hosts, hostvars)
    same = active(there.values(), str(lock.get("survivor")))
    mine = [host for host, copy in there.items() if copy in same]
    fences = [hostvars[host]["failover_fence"]["stat"]["exists"] for host in mine]
    return "min_isr" in lock and bool(fences) and all(fences)


def scope(lock: Mapping[str, Any], plan_of: Mapping[str, Any], changed: Collection[str]) -> str:
    """Return what a failback has to undo; `changed` are reached hosts of the survivor with zoo.cfg.before-failover.

    - `all`: the survivor serves alone;
    - `rest`: an earlier failback has restarted the survivor with the ensemble of both;
    - `separation`: hosts were only separated;
    - `fences`: the failback has ended, and fences of hosts are left.

    Servers that are not reached are fewer than a quorum of the survivor's ensemble. So if no reached server was
    changed, that ensemble does not serve.
    """
    state, own_ensemble = state_of(lock), not plan_of["keeps_ensemble"]
    if state == ENDED:
        return "rest" if changed and own_ensemble else "fences"
    if state == RETURNING and own_ensemble and not changed:
        return "rest"
    return "separation" if state in (SEPARATED, ENSEMBLE) and not changed else "all"


def conflict(text: str, hosts: Collection[str], hostvars: Mapping[str, Any], path: str) -> str:
    """Return why copies of other failovers forbid a failback; '' if there are none. Raises ValueError.

    `text` is the record of the control node, `path` its file, `hosts` are those that were probed.
    """
    own, lock = _read(text, path), recorded(text, hosts, hostvars)
    if unread := _unread(hosts, hostvars):
        return unread
    there = copies_of(hosts, hostvars)
    ended = ended_names([own, lock, *there.values()])
    copy_it = f"run playbooks/failback.yml from its control node, or copy {HOST_LOCK} of such a host to {path}"
    later = [host for host, copy in there.items() if copy["name"] == lock["name"] != own.get("name")]
    if later and own.get("name") in ended and lock["name"] not in ended:
        return f"{', '.join(later)} has the record of a later failover, of {lock.get('started')}: {copy_it}"
    other = {
        host: copy for host, copy in there.items() if copy["survivor"] != lock["survivor"] and copy["name"] not in ended
    }
    served = [host for host in other if str(hostvars[host].get("datacenter", "")) == other[host]["survivor"]]
    if served and lock["name"] not in ended:
        return _served(served, other)
    copies = sorted({f"{copy['survivor']} took over on {copy.get('started')}" for copy in other.values()})
    return f"{', '.join(other)} has the record of another failover ({', '.join(copies)}): {copy_it}" if other else ""


def _served(hosts: Sequence[str], copies: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what to do about hosts that return, and whose copies are of a failover to their own datacenter."""
    latest = max((state_of(copies[host]) for host in hosts), key=STATES.index)
    has = f"{', '.join(hosts)} has the record of a failover to its own datacenter"
    if latest == SEPARATED:
        return (
            f"{has}, which has only separated hosts. On each of them, remove {HOST_LOCK}, the unit millrace-fence, "
            "/etc/nftables.d/millrace-fence.nft and the table millrace_fence"
        )
    if latest == RETURNING:
        return (
            f'{has}, whose failback has begun. If its control node has recorded the end, add "ended": true to '
            f"{HOST_LOCK} of these hosts; otherwise, read docs/disaster.md#split-brain"
        )
    return f"{has}: both datacenters have served alone; read docs/disaster.md#split-brain"


def _unread(hosts: Collection[str], hostvars: Mapping[str, Any]) -> str:
    """Return why the copies of these hosts are unknown; '' if host_probe has asked one of them."""
    asked = any("preflight_probe" in hostvars[host] for host in hosts)
    return "" if asked or not hosts else "no host was asked for its record: run this without --skip-tags"


def lock_problem(text: str, where: str, other: str, hosts: Sequence[str], present: Iterable[str]) -> list[Problem]:
    """Return the problem of a run that changes hosts during a failover; [] without a record.

    `text` is the record at the path `where`, `other` the path of its copies, `hosts` the hosts that have it ([] for the
    control node), `present` the datacenters and hosts of the inventory. A record whose lost datacenters and hosts are
    no longer in the inventory stops no run: what survived is the whole site then. Neither does one of a failover that
    has ended.
    """
    try:
        lock = read_lock(text)
    except ValueError:
        return [FAILOVER_UNREADABLE.problem(tuple(hosts), VARIABLE, where, other=other)]
    lost = [str(name) for name in lock.get("lost", ())]
    if not lock or state_of(lock) == ENDED or not {*lost, *lock.get("lost_hosts", ())} & {*present}:
        return []
    started = str(lock.get("started", ""))
    return [
        FAILOVER_ACTIVE.problem(
            tuple(hosts), VARIABLE, where, survivor=lock["survivor"], lost=", ".join(lost), started=started
        )
    ]
