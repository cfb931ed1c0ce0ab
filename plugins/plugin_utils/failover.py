"""Plans a failover to one datacenter of a stretched cluster: its statement, its hosts, its ensemble. No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disaster import LEADS
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import Voter, quorum

MOVED_ASIDE = ("before-failover-", "before-failback-")
"""How the names of folders begin in which failover.yml and failback.yml keep older data of a ZooKeeper server."""
LAYOUTS = ("stretch2", "stretch2_5")
FENCES = ("power", "network")

ENSEMBLE_LINE = re.compile(r"\s*(server|group|weight)\.(\d+)\s*[=: ]\s*(\S*)")


def _in(hosts: Iterable[str], hostvars: Mapping[str, Any], datacenters: Iterable[str]) -> list[str]:
    wanted = set(datacenters)
    return [host for host in hosts if str(hostvars[host].get("datacenter", "")) in wanted]


def datacenters(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return {datacenter: its brokers and then its ZooKeeper servers}, sorted by name of the datacenter."""
    found: dict[str, list[str]] = {}
    for host in dict.fromkeys([*groups.get("kafka", ()), *groups.get("zookeeper", ())]):
        found.setdefault(str(hostvars[host].get("datacenter", "")), []).append(host)
    return dict(sorted(found.items()))


def statement_errors(
    groups: Mapping[str, Sequence[str]],
    hostvars: Mapping[str, Any],
    survivor: Any,
    fenced: Any,
    confirm: Any,
) -> list[str]:
    """Return what is wrong with the operator's statement, one text for each mistake; [] if a failover may be planned.

    `survivor`, `fenced` and `confirm` are the values of -e.
    """
    found, errors = datacenters(groups, hostvars), []
    brokers = {str(hostvars[host].get("datacenter", "")) for host in groups.get("kafka", ())}
    names = ", ".join(name for name in found if name in brokers)
    layouts = {str(hostvars[host].get("layout", "single")) for host in groups.get("kafka", ())}
    if not layouts <= set(LAYOUTS):
        errors.append(
            f"layout = {', '.join(sorted(layouts))}: a failover is for {' and '.join(LAYOUTS)}. In stretch3, "
            "everything continues"
        )
    if not isinstance(survivor, str):
        errors.append(f"survivor = {survivor!r}: not a text; use -e survivor={survivor}")
    elif str(survivor) in set(found) - brokers:
        errors.append(f"survivor = {survivor!r}: a witness has no brokers and no records; set one of {names}")
    elif str(survivor) not in brokers:
        errors.append(f"survivor = {survivor!r}: not a datacenter with brokers; set one of {names}")
    elif str(confirm) != str(survivor):
        errors.append(f"confirm = {confirm!r}: not the name of the survivor; type {survivor}, or -e confirm={survivor}")
    if str(fenced) not in FENCES:
        errors.append(
            f"fenced = {fenced!r}: say how you know that the other datacenter cannot serve: -e fenced=power (its hosts "
            "have no power) or -e fenced=network (it is cut off from all clients). That it does not answer is no proof"
        )
    return errors


def lost_datacenters(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], survivor: str) -> list[str]:
    """Return the datacenters from which the survivor takes over: all others with brokers. A witness stays."""
    return sorted({str(hostvars[host].get("datacenter", "")) for host in groups.get("kafka", ())} - {survivor})


def plan(
    groups: Mapping[str, Sequence[str]],
    hostvars: Mapping[str, Any],
    survivor: str,
    lost: Sequence[str] | None = None,
    admin: str = "",
) -> dict[str, Any]:
    """Return the hosts, addresses and ids that a failover or failback needs.

    `survivor` is the datacenter that takes over, `lost` the lost ones (None or []: lost_datacenters). The keys:

    - `admin`: the first of the argument `admin` and the group admin that is not lost, else localhost. For a failback
      (`lost` is given), no ZooKeeper server or broker: they are fenced, and could not see those that return;
    - `keeps_ensemble`, `others_have_quorum`: whether those that stay (as with a witness), or all others, have a quorum;
    - `zookeeper`, `kafka`: the hosts that stay; `lost_zookeeper`, `lost_kafka`: the lost hosts;
    - `servers`: {ZooKeeper server: client address} of those that stay; `ids`: their ids; `all_servers`: of all;
    - `lost_ids`: the ids of the lost ZooKeeper servers; `voters`: {id of a server that votes: datacenter};
    - `brokers`, `lost_brokers`: ids of brokers; `lost_addresses`: all addresses of the lost hosts;
    - `port`, `tls`, `root_acl`, `chroot`: how to reach ZooKeeper, as an admin and as the owner of Kafka's znodes;
    - `disaster`: options of the module kafka_disaster, without `admin`;
    - `min_isr`: the replicas of each partition in one datacenter; `spare`: how many replicas may be out of sync.
    """
    found = datacenters(groups, hostvars)
    gone = [str(name) for name in lost or ()] or lost_datacenters(groups, hostvars, survivor)
    stays = [name for name in found if name not in gone]
    servers, brokers = list(groups.get("zookeeper", ())), list(groups.get("kafka", ()))
    zookeeper, kafka = _in(servers, hostvars, stays), _in(brokers, hostvars, stays)
    lost_zookeeper, lost_kafka = _in(servers, hostvars, gone), _in(brokers, hostvars, gone)
    server, broker = (hostvars[(names or ["localhost"])[0]] for names in (zookeeper or servers, kafka or brokers))
    reached = {
        "port": int(server.get("zookeeper_secure_client_port") or server.get("zookeeper_client_port") or 0),
        "tls": server.get("admin_tls") or {},
    }
    options = {host: _server(hostvars[host], [*found]) for host in servers}
    ids = {host: str(hostvars[host]["zookeeper_id"]) for host in servers}
    return {
        "survivor": survivor,
        "lost": gone,
        "keeps_ensemble": _has_quorum(options, zookeeper),
        "others_have_quorum": _has_quorum(options, [host for host in servers if host not in found.get(survivor, ())]),
        "admin": _admin(groups, hostvars, admin, gone, [*zookeeper, *kafka] if lost else ()),
        "zookeeper": zookeeper,
        "kafka": kafka,
        "lost_zookeeper": lost_zookeeper,
        "lost_kafka": lost_kafka,
        "servers": {host: str(hostvars[host]["client_address"]) for host in zookeeper},
        "all_servers": {host: str(hostvars[host]["client_address"]) for host in servers},
        "ids": [ids[host] for host in zookeeper],
        "lost_ids": [ids[host] for host in lost_zookeeper],
        "voters": {ids[host]: one["datacenter"] for host, one in options.items() if one["votes"]},
        "brokers": [int(hostvars[host]["kafka_broker_id"]) for host in kafka],
        "lost_brokers": [int(hostvars[host]["kafka_broker_id"]) for host in lost_kafka],
        "lost_addresses": _addresses([*lost_zookeeper, *lost_kafka], hostvars),
        **reached,
        "root_acl": server.get("zookeeper_root_acl") or {},
        "chroot": str(broker.get("kafka_zookeeper_chroot") or ""),
        "disaster": {**reached, "servers": options, "brokers": {host: _broker(hostvars[host]) for host in brokers}},
        "spare": int(broker.get("kafka_replication_factor", 1)) - int(broker.get("kafka_min_insync_replicas", 1)),
        "min_isr": max([int(hostvars[host]["kafka_replication_factor"]) for host in brokers], default=1) // 2,
    }


def _addresses(hosts: Iterable[str], hostvars: Mapping[str, Any]) -> list[str]:
    """Return all addresses of these hosts, sorted."""
    return sorted({str(item) for host in hosts for item in hostvars[host]["host_addresses"]})


def _admin(
    groups: Mapping[str, Sequence[str]],
    hostvars: Mapping[str, Any],
    named: str,
    lost: Sequence[str],
    fenced: Sequence[str],
) -> str:
    """Return the first of the host `named` and the group admin that is neither lost nor `fenced`, else localhost.

    Raises ValueError if the inventory has no host `named`.
    """
    if named and named not in {*hostvars, "localhost"}:
        raise ValueError(f"admin_host = {named}: not a host of the inventory, nor localhost")
    asked = [host for host in dict.fromkeys((named, *groups.get("admin", ()))) if host in {*hostvars, "localhost"}]
    away = {*fenced, *_in((host for host in asked if host in hostvars), hostvars, lost)}
    return next((host for host in asked if host not in away), "localhost")


def _has_quorum(options: Mapping[str, Mapping[str, Any]], servers: Collection[str]) -> bool:
    """Tell whether these servers are a quorum of the whole ensemble; `options` are those of kafka_disaster."""
    voters = [Voter(host, one["group"]) for host, one in options.items() if one["votes"]]
    return bool(voters) and quorum(voters, servers)


def enough_servers(plan_of: Mapping[str, Any], hosts: Collection[str]) -> bool:
    """Tell whether `hosts` have enough ZooKeeper servers for the ensemble that the survivor uses.

    If it keeps the ensemble, this is a quorum of all servers, with their groups. Otherwise it is a majority of the
    survivor's own servers.
    """
    options = plan_of["disaster"]["servers"]
    if plan_of["keeps_ensemble"]:
        return _has_quorum(options, hosts)
    voters = [Voter(host) for host in plan_of["zookeeper"] if options[host]["votes"]]
    return bool(voters) and quorum(voters, hosts)


def hosts_of(groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], datacenter: str) -> list[str]:
    """Return the brokers and then the ZooKeeper servers of a datacenter; [] if there is no such datacenter.

    Tasks with run_once run with the variables of the first host: a broker knows how admins reach the brokers.
    """
    return datacenters(groups, hostvars).get(datacenter, []) if hostvars else []


def disaster_lines(
    plan_of: Mapping[str, Any], seen: Mapping[str, Any], lock: Mapping[str, Any], path: str
) -> list[str]:
    """Return one line for each datacenter on what answers there, and one on the write; `seen` is of kafka_disaster.

    `lock` is the record of a failover in the file `path` of the control node: {} without one, {'error': why} if it
    cannot be read. During a failover, lines name the record, and brokers of the lost datacenter that are registered.
    """
    servers, brokers = plan_of["disaster"]["servers"], plan_of["disaster"]["brokers"]
    names = sorted({str(one["datacenter"]) for one in [*servers.values(), *brokers.values()]})
    lines = []
    for name in names:
        modes = [f"{host} {seen['modes'][host]}" for host, one in servers.items() if one["datacenter"] == name]
        ports = [
            f"{host} {'answers' if host in seen['answering'] else 'down'}"
            for host, one in brokers.items()
            if one["datacenter"] == name
        ]
        lines.append(f"{name}: {', '.join([*modes, *ports])}")
    if why := lock.get("error"):
        lines.append(f"{path}: the record of a failover cannot be read, so the verdict is without it: {why}")
    elif lock:
        lines.append(
            f"{path}: record of the failover from {', '.join(lock['lost'])} to {lock['survivor']} of "
            f"{lock.get('started')}, state {lock['state']}. If failback.yml has ended it on another control node, run "
            "failback.yml here too"
        )
    known = seen["registered"] or () if any(mode in LEADS for mode in seen["modes"].values()) else ()
    if back := [host for host in known if brokers[host]["datacenter"] in lock.get("lost", ())]:
        lines.append(
            f"{lock['survivor']} took over from {', '.join(lock['lost'])}, but {', '.join(back)} registered with "
            "ZooKeeper: a host has no fence. Run playbooks/failback.yml, or switch off "
            f"{', '.join(back)} and run playbooks/failover.yml again"
        )
    return [*lines, f"write with acks=all: {seen['probe'] or 'succeeded'}"]


def _server(variables: Mapping[str, Any], places: Sequence[str]) -> dict[str, Any]:
    """Return a ZooKeeper server as the module kafka_disaster takes it; `variables` are those of its host.

    Its group is its datacenter, one of `places`. A host cannot read the variable zookeeper_groups of another host,
    whose default reads other hosts itself; preflight rejects groups that span datacenters.
    """
    observers = [str(one) for one in variables.get("zookeeper_observers") or ()]
    return {
        "address": str(variables["client_address"]),
        "datacenter": str(variables["datacenter"]),
        "votes": str(variables["zookeeper_id"]) not in observers,
        "group": places.index(str(variables["datacenter"])) if variables.get("layout") in LAYOUTS else None,
    }


def _broker(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a broker, at the listener of the other brokers, as the module kafka_disaster takes it."""
    inner = str(variables["kafka_inter_broker_listener"]).upper()
    listener = next(one for one in variables["kafka_listeners"] if str(one["name"]).upper() == inner)
    return {
        "address": str(listener["address"]),
        "port": int(listener["port"]),
        "datacenter": str(variables["datacenter"]),
        "id": int(variables["kafka_broker_id"]),
    }


def small_ensemble(text: str, ids: Sequence[Any]) -> str:
    """Return a zoo.cfg in which only the servers with these ids form the ensemble, each with one vote.

    Lines of the other servers, of all groups and of all weights are removed; everything else stays as it is.
    """
    kept = {str(number) for number in ids}

    def stays(line: str) -> bool:
        match = ENSEMBLE_LINE.match(line)
        return match is None or (match.group(1) == "server" and match.group(2) in kept)

    return "".join(line for line in text.splitlines(keepends=True) if stays(line))
