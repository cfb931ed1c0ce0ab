"""Rules on the ZooKeeper ensemble: number of servers, addresses, limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.properties import text
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

GROUP, CONFIG, OBSERVERS = "group zookeeper", "zookeeper_config", "zookeeper_observers"
MIN_TICK = 100  # ms: a smaller tickTime was probably written in seconds
ZOOKEEPER_LIMIT = ProblemKind(
    "ZOOKEEPER_LIMIT",
    "{milliseconds} ms are too short to receive a snapshot: a server could never join the ensemble",
    "remove it, or set at least {least}",
    warning=True,
)
ZOOKEEPER_LIMIT_SYNC = ZOOKEEPER_LIMIT.variant(
    message="{milliseconds} ms: followers would leave the ensemble during a garbage collection"
)
ZOOKEEPER_LIMIT_CONNECTIONS = ZOOKEEPER_LIMIT.variant(
    message="the server would reject tools, and brokers that reconnect while their old connection is open",
    advice="remove it (default: {default})",
)
ZOOKEEPER_LIMIT_SNAPSHOTS = ZOOKEEPER_LIMIT.variant(
    message="a server would write a snapshot of all data after so few writes, and keep its disk busy with snapshots",
    advice="remove it (default: {default})",
)
# By limit in ticks: the least milliseconds, and what is reported of less.
LIMITS = {"initLimit": (10_000, ZOOKEEPER_LIMIT), "syncLimit": (4_000, ZOOKEEPER_LIMIT_SYNC)}
# By count: the least, the default, and what is reported of less.
COUNTS = {
    "maxClientCnxns": (10, 60, ZOOKEEPER_LIMIT_CONNECTIONS),
    "snapCount": (1000, 100_000, ZOOKEEPER_LIMIT_SNAPSHOTS),
}
BUFFER, DEFAULT_BUFFER = "jute.maxbuffer", 0xFFFFF  # bytes (org.apache.jute.BinaryInputArchive)
WHITELIST, REQUIRED_COMMAND = "4lw.commands.whitelist", "mntr"
# org.apache.zookeeper.server.command.FourLetterCommands
COMMANDS = (
    "conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "ruok", "srst", "srvr", "stat",
    "stmk", "wchc", "wchp", "wchs", "*",
)  # fmt: skip
# Inputs that describe the ensemble, and must be the same on all servers.
ENSEMBLE_INPUTS = ("zookeeper_servers", "zookeeper_groups", "zookeeper_weights", "zookeeper_observers")
SERVERS_DIFFER = ProblemKind(
    "SERVERS_DIFFER",
    "the other servers have {others}, but all servers of an ensemble require the same value",
    "set it for the group zookeeper, not for a host",
)


def same_everywhere(model: Model) -> Iterator[Problem]:
    """Yield a problem for each time setting, such as tickTime, that differs between ZooKeeper servers.

    Servers with different times drop the connections to each other too early.
    """
    for name in ("tickTime", "initLimit", "syncLimit", "standaloneEnabled", "maxSessionTimeout", "minSessionTimeout"):
        by_value: dict[str, list[str]] = {}
        for server in model.servers:
            by_value.setdefault(str(server.config.get(name)), []).append(server.name)
        if len(by_value) > 1:
            value, hosts = min(by_value.items(), key=lambda item: len(item[1]))
            others = ["the default" if other == "None" else other for other in sorted(by_value) if other != value]
            shown = None if value == "None" else value
            yield SERVERS_DIFFER.problem(hosts, f"zookeeper_config[{name}]", shown, others=others)


ZOOKEEPER_SINGLE = ProblemKind(
    "ZOOKEEPER_SINGLE",
    "an ensemble of one server survives no failure",
    "use 3, 5 or 7 servers, or set allow_single_zookeeper: true for a test",
)
ZOOKEEPER_SINGLE_OBSERVERS = ZOOKEEPER_SINGLE.variant(
    message="{observers} {verb} not vote, and an ensemble with one voter survives no failure",
    advice="remove it{or_fewer}, or set allow_single_zookeeper: true for a test",
)
ZOOKEEPER_VOTERS_NONE = ProblemKind(
    "ZOOKEEPER_VOTERS_NONE",
    "all servers are observers, which do not vote: no leader could be elected",
    "remove it{or_fewer}",
)
ZOOKEEPER_VOTERS_NONE_DATACENTER = ZOOKEEPER_VOTERS_NONE.variant(
    message="all servers of {datacenters} are observers, which do not vote, but the layout requires voters in each "
    "datacenter",
    advice="remove it, or remove the ids of servers of {datacenters}, so that an odd number of servers votes there",
)
ZOOKEEPER_EVEN = ProblemKind(
    "ZOOKEEPER_EVEN",
    "an even ensemble survives no more failures than an ensemble of {smaller}",
    "use 3, 5 or 7 servers",
)
ZOOKEEPER_EVEN_OBSERVERS = ZOOKEEPER_EVEN.variant(
    message="{observers} {verb} not vote, and the {voters} servers that vote survive no more failures than {smaller}",
    advice="remove it{or_fewer}",
)
ZOOKEEPER_MANY = ProblemKind(
    "ZOOKEEPER_MANY",
    "every write waits for a majority of the voters, so each further voter slows it down",
    "use at most 7 voters, and zookeeper_observers for more readers",
    warning=True,
)
ZOOKEEPER_GROUPS_MISSING = ProblemKind(
    "ZOOKEEPER_GROUPS_MISSING",
    "two datacenters without voting groups: a quorum rebuilt in the surviving datacenter can lose "
    "acknowledged metadata",
    "set one group for each datacenter, for example {{1: [1, 2, 3], 2: [4, 5, 6]}}",
)
ZOOKEEPER_DATACENTER_MAJORITY = ProblemKind(
    "ZOOKEEPER_DATACENTER_MAJORITY",
    "if {datacenters} fails, the quorum is lost, but the layout promises to continue",
    "spread the servers so that no datacenter holds half of them",
)
ZOOKEEPER_DATACENTER_MAJORITY_OBSERVERS = ZOOKEEPER_DATACENTER_MAJORITY.variant(
    message="{observers} {verb} not vote: if {datacenters} fails, the quorum is lost, but the layout "
    "promises to continue",
    advice="remove it",
)


def size(model: Model) -> Iterator[Problem]:
    """Yield a problem if the number of voting ZooKeeper servers is 1, even or above 7.

    Also yield a problem if the loss of a datacenter would stop the ensemble, although the layout excludes this.
    """
    if not model.servers:
        return
    voters, groups = len(model.voters), model.servers[0].groups
    if problem := _without_voters(model):
        yield problem
        return
    observers = [server for server in model.servers if not server.votes]
    if voters == 1 and observers and not model.servers[0].inputs.on("allow_single_zookeeper"):
        yield ZOOKEEPER_SINGLE_OBSERVERS.problem(
            names(model.servers), OBSERVERS, ids_of(observers), **observer_details(observers), or_fewer=_fewer(model)
        )
    elif voters == 1 and not model.servers[0].inputs.on("allow_single_zookeeper"):
        yield ZOOKEEPER_SINGLE.problem((), GROUP, "1 server")
    elif voters % 2 == 0 and not groups and model.layout != "stretch2" and not _majorities(model):
        yield _even(model)
    if voters > 7:
        yield ZOOKEEPER_MANY.problem((), GROUP, f"{voters} servers that vote")
    if model.layout == "stretch2" and not groups:
        yield ZOOKEEPER_GROUPS_MISSING.problem((), "zookeeper_groups")
    if majorities := _majorities(model):
        datacenters_held = " or ".join(majorities)
        if observers and not _halves(model.servers):
            yield ZOOKEEPER_DATACENTER_MAJORITY_OBSERVERS.problem(
                names(model.servers),
                OBSERVERS,
                ids_of(observers),
                **observer_details(observers),
                datacenters=datacenters_held,
            )
        else:
            value = ", ".join(f"{number} of {voters} in {name}" for name, number in majorities.items())
            yield ZOOKEEPER_DATACENTER_MAJORITY.problem((), GROUP, value, datacenters=datacenters_held)


def without_voters(model: Model) -> list[str]:
    """Return the datacenters whose ZooKeeper servers are all observers, in a layout that requires a voter in each.

    With stretch3, `size` reports that a datacenter then has a majority.
    """
    known = datacenters(model.servers) if model.layout in ("stretch2", "stretch2_5") else {}
    return sorted(name for name, members in known.items() if not any(server.votes for server in members))


def _without_voters(model: Model) -> Problem | None:
    """Return the problem of an ensemble, or of datacenters, without a voter; None if there is none."""
    observers, missing = [server for server in model.servers if not server.votes], without_voters(model)
    where, value = names(model.servers), ids_of(observers)
    if not model.voters:
        return ZOOKEEPER_VOTERS_NONE.problem(where, OBSERVERS, value, or_fewer=_fewer(model))
    kind = ZOOKEEPER_VOTERS_NONE_DATACENTER
    return kind.problem(where, OBSERVERS, value, datacenters=" and ".join(missing)) if missing else None


def _fewer(model: Model) -> str:
    """Return the second advice of a problem of zookeeper_observers; '' if all servers have to vote."""
    return ", or keep 3 or more voters, so that an odd number of servers votes" if len(model.servers) > 3 else ""


def _majorities(model: Model) -> dict[str, int]:
    """Return {datacenter: number of its voters} for those whose loss stops the ensemble, against the layout."""
    groups = model.servers[0].groups
    return _halves(model.voters) if model.layout == "stretch3" and not groups else {}


def _halves(servers: Sequence[ZooKeeperServer]) -> dict[str, int]:
    """Return {datacenter: number of its servers} for the datacenters that hold at least half of `servers`."""
    counts = {name: len(members) for name, members in datacenters(servers).items()}
    return {name: number for name, number in counts.items() if 2 * number >= len(servers)}


def ids_of(servers: Sequence[ZooKeeperServer]) -> str:
    """Return the ids of ZooKeeper servers as a text for a message, such as "1, 2"."""
    return ", ".join(str(server.number) for server in servers)


def observer_details(observers: Sequence[ZooKeeperServer]) -> dict[str, Any]:
    """Return the details of a message about observers: {"observers": "zk1 and zk2", "verb": "does" or "do"}.

    The value of "observers" is the text of their names; "verb" is "does" for a single observer.
    """
    return {"observers": " and ".join(names(observers)), "verb": "does" if len(observers) == 1 else "do"}


def _even(model: Model) -> Problem:
    """Return the problem of an even number of voters.

    The problem names zookeeper_observers if the number of all servers is odd, else the group.
    """
    voters, observers = len(model.voters), [server for server in model.servers if not server.votes]
    if observers and len(model.servers) % 2:
        return ZOOKEEPER_EVEN_OBSERVERS.problem(
            names(model.servers),
            OBSERVERS,
            ids_of(observers),
            **observer_details(observers),
            voters=voters,
            smaller=voters - 1,
            or_fewer=_fewer(model),
        )
    return ZOOKEEPER_EVEN.problem((), GROUP, f"{voters} servers", smaller=voters - 1)


ZOOKEEPER_RACK_MAJORITY = ProblemKind(
    "ZOOKEEPER_RACK_MAJORITY",
    "if rack {rack} fails, the quorum is lost, and brokers of the other racks can elect no leader",
    "spread the servers so that no rack holds half of them",
    warning=True,
)


def racks(model: Model) -> Iterator[Problem]:
    """Yield a warning for each rack whose loss would stop the ZooKeeper ensemble.

    If there are fewer than three racks, yield nothing, because then this cannot be avoided.
    """
    places = {machine.rack for machine in model.cluster if machine.rack is not None}
    typos = {rack for rack in places if len(rack) > 1 and nearest(rack, places - {rack})}  # reported as RACK_TYPO
    places -= typos
    if model.layout != "single" or len(places) < 3 or any(server.groups or not server.rack for server in model.voters):
        return
    voters = len(model.voters)
    for rack in sorted(places):
        inside = [server for server in model.voters if server.rack == rack]
        if voters > 1 and voters % 2 and 2 * (voters - len(inside)) <= voters:
            value = f"{len(inside)} of {voters} servers"
            yield ZOOKEEPER_RACK_MAJORITY.problem(names(inside), "rack", value, rack=rack)


def limits(model: Model) -> Iterator[Problem]:
    """Yield a warning for each limit of a ZooKeeper server that is too low.

    Examples: servers wait for each other for less time than a garbage collection or a snapshot transfer takes; too few
    connections are allowed; snapshots are written too often.
    """
    for server in model.servers:
        tick = whole(server.config.get("tickTime", 2000)) or 2000
        for name, (least, kind) in LIMITS.items():
            ticks = whole(server.config.get(name))
            if ticks is not None and tick >= MIN_TICK and 0 < ticks * tick < least:
                variable = f"{CONFIG}[{name}]"
                yield server.report(kind, variable, ticks, milliseconds=ticks * tick, least=-(-least // tick))
        for variable, name, value, shown in settings_of(server):
            number = whole(value)
            if name in COUNTS and number is not None and 0 < number < COUNTS[name][0]:
                _, default, kind = COUNTS[name]
                yield server.report(kind, variable, shown, default=default)


def settings_of(server: ZooKeeperServer) -> Iterator[tuple[str, str, str, str]]:
    """Yield the settings of a server, as (variable, name, value, text to print): of its file and its Java options."""
    for name, value in server.config.items():
        yield f"{CONFIG}[{name}]", str(name).removeprefix("zookeeper."), text(value), text(value)
    for variable, java_options in options(server).items():
        for option in java_options:
            name, _, value = option.partition("=")
            if name.startswith("-Dzookeeper."):
                name = name.removeprefix("-Dzookeeper.")
                yield variable, name, value, f"{name}={value}"


BUFFER_DIFFERS = ProblemKind(
    "BUFFER_DIFFERS",
    "other servers have {others}, and a server rejects packets above its own limit",
    "set one value for all servers, and the same in kafka_java_options",
)
BUFFER_DIFFERS_BROKER = BUFFER_DIFFERS.variant(
    message="the ZooKeeper servers have {servers} (zookeeper_java_options), and a broker drops larger answers",
    advice="set {option} here too",
)


def buffers(model: Model) -> Iterator[Problem]:
    """Yield a problem if jute.maxbuffer differs between ZooKeeper servers, or is lower on a broker than on the servers.

    jute.maxbuffer is the size in bytes of the largest ZooKeeper packet.
    """
    by_limit: dict[int, list[ZooKeeperServer]] = {}
    for server in model.servers:
        by_limit.setdefault(_buffer(server, "zookeeper_java_options"), []).append(server)
    if len(by_limit) > 1:
        number, differing = min(by_limit.items(), key=lambda item: len(item[1]))
        others = [other for other in sorted(by_limit) if other != number]
        value = f"-D{BUFFER}={number}"
        yield BUFFER_DIFFERS.problem(names(differing), "zookeeper_java_options", value, others=others)
        return
    most = max(by_limit, default=0)
    for broker in model.brokers:
        own = _buffer(broker, "kafka_java_options")
        if own < most:
            yield broker.report(
                BUFFER_DIFFERS_BROKER,
                "kafka_java_options",
                f"-D{BUFFER}={own}",
                warning=True,
                servers=most,
                option=f"-D{BUFFER}={most}",
            )


def _buffer(machine: Machine, variable: str) -> int:
    """Return jute.maxbuffer, the largest accepted packet in bytes, from the Java options in `variable`."""
    parts = [option.partition("=") for option in options(machine).get(variable, ())]
    sizes = (whole(value) or DEFAULT_BUFFER for name, _, value in reversed(parts) if name == f"-D{BUFFER}")
    return next(sizes, DEFAULT_BUFFER)


WORDS_UNANSWERED = ProblemKind(
    "WORDS_UNANSWERED",
    "does not allow {command}, but every restart waits for an answer to {command}: the wait would never end",
    "add {command}, or remove it (default: srvr, {command}, ruok)",
)
WORDS_UNANSWERED_UNKNOWN = WORDS_UNANSWERED.variant(
    message="ZooKeeper has no command of this name", advice="use only {commands}"
)
WORDS_UNANSWERED_MEANT = WORDS_UNANSWERED_UNKNOWN.variant(advice="did you mean {near}?")


def words(model: Model) -> Iterator[Problem]:
    """Yield a problem if 4lw.commands.whitelist does not allow the command mntr, or contains an unknown command.

    Rolling restarts send mntr to the leader, which reports how many followers are in sync.
    """
    variable = f"zookeeper_config[{WHITELIST}]"
    for server in model.servers:
        declared = server.inputs.mapping("zookeeper_config").get(WHITELIST)
        texts = str(declared).split(",") if isinstance(declared, str) else declared or ()
        allowed = {word.strip() for word in texts} if isinstance(declared, str) else set(texts)
        if declared is not None and not allowed & {REQUIRED_COMMAND, "*"}:
            yield server.report(WORDS_UNANSWERED, variable, declared, command=REQUIRED_COMMAND)
        for word in sorted(map(str, allowed - {*COMMANDS, ""})) if allowed & {REQUIRED_COMMAND, "*"} else ():
            if near := nearest(word, COMMANDS):
                yield server.report(WORDS_UNANSWERED_MEANT, variable, word, near=near)
            else:
                yield server.report(WORDS_UNANSWERED_UNKNOWN, variable, word, commands=COMMANDS[:-1])


ZOOKEEPER_SERVERS_DIFFER = ProblemKind(
    "ZOOKEEPER_SERVERS_DIFFER",
    "describes another ensemble than the variables of the other servers",
    "set {names} and {last} for the group, not for a host",
)
ZOOKEEPER_SERVER_MISSING = ProblemKind(
    "ZOOKEEPER_SERVER_MISSING",
    "zookeeper_servers does not contain the server with this id",
    "add its id and address, for example {number}: 198.51.100.14",
)
ZOOKEEPER_SERVER_UNKNOWN = ProblemKind(
    "ZOOKEEPER_SERVER_UNKNOWN",
    "no host of the group zookeeper has this id, but the ensemble would count it as a voter that never votes",
    "remove this id, or declare its host",
)
ZOOKEEPER_SERVER_ADDRESS = ProblemKind(
    "ZOOKEEPER_SERVER_ADDRESS",
    "not an address of the host with this zookeeper_id",
    "use its replication_address, its client_address, or both",
)
ZOOKEEPER_SERVER_ADDRESS_PORTS = ZOOKEEPER_SERVER_ADDRESS.variant(
    message="contains a port, but the role adds the ports"
)


def servers(model: Model) -> Iterator[Problem]:
    """Yield a problem if zookeeper_servers differs between ZooKeeper servers, or from the servers in the inventory."""
    variable = ENSEMBLE_INPUTS[0]
    by_ensemble: dict[str, list[str]] = {}
    for server in model.servers:
        ensemble_text = repr([_plain(server.inputs.get(name)) for name in ENSEMBLE_INPUTS])
        by_ensemble.setdefault(ensemble_text, []).append(server.name)
    if len(by_ensemble) > 1:
        hosts = min(by_ensemble.values(), key=len)
        yield ZOOKEEPER_SERVERS_DIFFER.problem(hosts, variable, names=ENSEMBLE_INPUTS[:-1], last=ENSEMBLE_INPUTS[-1])
    numbers = {server.number: server for server in model.servers if server.number is not None}
    ensemble = model.servers[0].servers if model.servers else {}
    if not ensemble or len(numbers) < len(model.servers):
        return
    for number, server in numbers.items():
        if number not in ensemble:
            yield server.report(ZOOKEEPER_SERVER_MISSING, variable, number, number=number)
    for member, addresses in ensemble.items():
        if member in numbers:
            yield from _addresses(numbers[member], addresses)
        else:
            yield ZOOKEEPER_SERVER_UNKNOWN.problem(names(model.servers), variable, member)


def _addresses(server: ZooKeeperServer, addresses: Sequence[Any]) -> Iterator[Problem]:
    """Yield a problem for each of `addresses`, those of a server in zookeeper_servers, that is not the server's own."""
    for address in addresses:
        with_ports = re.fullmatch(r"[^:]+(:\d+)+", str(address))
        if str(address) not in map(str, server.addresses) and (is_address(address) or with_ports):
            kind = ZOOKEEPER_SERVER_ADDRESS_PORTS if with_ports else ZOOKEEPER_SERVER_ADDRESS
            yield server.report(kind, f"{ENSEMBLE_INPUTS[0]}[{server.number}]", address)


def _plain(value: Any) -> Any:
    """Return a value with mappings as sorted lists of pairs and sequences as lists, so that texts can be compared."""
    if isinstance(value, Mapping):
        return sorted((str(key), _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
