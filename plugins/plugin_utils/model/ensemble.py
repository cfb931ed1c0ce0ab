"""Rules on the ZooKeeper ensemble: size, addresses, sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

GROUP, CONFIG, OBSERVERS = "group zookeeper", "zookeeper_config", "zookeeper_observers"
SESSION, USUAL_SESSION = "zookeeper.session.timeout.ms", 30000  # roles/kafka/vars/main/server_properties.yml
LEAST_TICK = 100  # ms: below it seconds were meant
# Milliseconds that servers wait at least, by the limit that says it in ticks, and what comes of less.
LIMITS = {
    "initLimit": (10_000, "a server that needs a snapshot has no time to get it, and never joins"),
    "syncLimit": (4_000, "a pause for garbage looks like a failure, and followers leave"),
}
# The least of counts, what is usual, and what comes of less.
COUNTS = {
    "maxClientCnxns": (10, 60, "a broker that comes back while its old connection is open is refused, as are tools"),
    "snapCount": (1000, 100_000, "a snapshot of everything after so few writes: disks do nothing else"),
}
BUFFER, USUAL = "jute.maxbuffer", 0xFFFFF  # bytes (org.apache.jute.BinaryInputArchive)
WHITELIST, ASKED = "4lw.commands.whitelist", "mntr"
# org.apache.zookeeper.server.command.FourLetterCommands
WORDS = (
    "conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "ruok", "srst", "srvr", "stat",
    "stmk", "wchc", "wchp", "wchs", "*",
)  # fmt: skip
# What all servers have to be told alike.
TOLD = ("zookeeper_servers", "zookeeper_groups", "zookeeper_weights", "zookeeper_observers")


def same_everywhere(model: Model) -> Iterator[Problem]:
    """The clock of the ensemble is one: a server with other ticks gives up on the others, or they on it."""
    for name in ("tickTime", "initLimit", "syncLimit", "standaloneEnabled", "maxSessionTimeout", "minSessionTimeout"):
        told: dict[str, list[str]] = {}
        for server in model.servers:
            told.setdefault(str(server.config.get(name)), []).append(server.name)
        if len(told) > 1:
            value, few = min(told.items(), key=lambda item: len(item[1]))
            others = ", ".join("none" if other == "None" else other for other in sorted(told) if other != value)
            shown = None if value == "None" else value
            wrong, advice = f"the other servers have {others}, and it belongs to the ensemble", "set it for all servers"
            yield Problem(tuple(few), f"zookeeper_config[{name}]", "SERVERS_DIFFER", shown, wrong, advice)


def size(model: Model) -> Iterator[Problem]:
    """An ensemble is odd and small.

    An even one survives no more than the odd one below it, and each vote costs every write.
    """
    if not model.servers:
        return
    voters, groups = len(model.voters), model.servers[0].groups
    if voters == 1 and not model.servers[0].inputs.on("allow_single_zookeeper"):
        advice = "use 3, 5 or 7 servers, or set allow_single_zookeeper: true for a test"
        yield Problem((), GROUP, "ZOOKEEPER_SINGLE", "1 server", "an ensemble of one survives nothing", advice)
    elif voters % 2 == 0 and not groups and model.layout != "stretch2" and not _majorities(model):
        yield _even(model)
    if voters > 7:
        wrong = "every write waits for a majority of them, so it gets slower with each"
        advice = "use 7 voters at most, and zookeeper_observers for more readers"
        yield Problem((), GROUP, "ZOOKEEPER_MANY", f"{voters} servers that vote", wrong, advice, warning=True)
    if model.layout == "stretch2" and not groups:
        wrong = (
            "two datacenters without groups: rebuilding the quorum in the surviving one can lose acknowledged metadata"
        )
        advice = "set one group for each datacenter, as {1: [1, 2, 3], 2: [4, 5, 6]}"
        yield Problem((), "zookeeper_groups", "ZOOKEEPER_GROUPS_MISSING", None, wrong, advice)
    if held := _majorities(model):
        code, advice = "ZOOKEEPER_DATACENTER_MAJORITY", "spread the servers so that no datacenter holds half of them"
        wrong = f"with {' or with '.join(held)} the quorum is lost, and the layout promises to go on"
        shown = ", ".join(f"{number} of {voters} in {name}" for name, number in held.items())
        mute = _observers(model)
        if mute and not _halves(model.servers):
            shown, wrong = mute[1], f"{mute[0]}, so the quorum is lost with {' or with '.join(held)}, and the layout "
            yield Problem(names(model.servers), OBSERVERS, code, shown, f"{wrong}promises to go on", "take it out")
        else:
            yield Problem((), GROUP, code, shown, wrong, advice)


def _majorities(model: Model) -> dict[str, int]:
    """Return the datacenters without which there is no quorum, where the layout promises one: servers that vote."""
    groups = model.servers[0].groups
    return _halves(model.voters) if model.layout == "stretch3" and not groups else {}


def _halves(servers: Sequence[ZooKeeperServer]) -> dict[str, int]:
    """Return the datacenters that hold half of some servers, or more, each with its number."""
    found = {name: len(members) for name, members in datacenters(servers).items()}
    return {name: number for name, number in found.items() if 2 * number >= len(servers)}


def _observers(model: Model) -> tuple[str, str] | None:
    """Return that servers do not vote, in words, and their ids as they are written; None where all vote."""
    mute = [server for server in model.servers if not server.votes]
    verb = "does" if len(mute) == 1 else "do"
    shown = ", ".join(str(server.number) for server in mute)
    return (f"{' and '.join(names(mute))} {verb} not vote", shown) if mute else None


def _even(model: Model) -> Problem:
    """Return what is said of an even number of voters: of the observers where all servers would be an odd one."""
    voters, mute = len(model.voters), _observers(model)
    wrong = f"an even ensemble survives no more failures than one of {voters - 1}"
    if mute and len(model.servers) % 2:
        wrong = f"{mute[0]}, and the {voters} servers that do survive no more failures than {voters - 1}"
        advice = "take it out, or let an odd number vote"
        return Problem(names(model.servers), OBSERVERS, "ZOOKEEPER_EVEN", mute[1], wrong, advice)
    return Problem((), GROUP, "ZOOKEEPER_EVEN", f"{voters} servers", wrong, "use 3, 5 or 7 servers")


def racks(model: Model) -> Iterator[Problem]:
    """No rack takes the quorum with it where there are enough of them to avoid it."""
    places = {machine.rack for machine in model.cluster if machine.rack is not None}
    places -= {rack for rack in places if len(rack) > 1 and nearest(rack, places - {rack})}  # said as RACK_TYPO
    if model.layout != "single" or len(places) < 3 or any(server.groups or not server.rack for server in model.voters):
        return
    voters = len(model.voters)
    for rack in sorted(places):
        inside = [server for server in model.voters if server.rack == rack]
        if voters > 1 and voters % 2 and 2 * (voters - len(inside)) <= voters:
            wrong = f"with rack {rack} the quorum is lost, and brokers of the other racks can elect no leader"
            advice = "spread the servers so that no rack holds half of them"
            shown = f"{len(inside)} of {voters} servers"
            yield Problem(names(inside), "rack", "ZOOKEEPER_RACK_MAJORITY", shown, wrong, advice, warning=True)


def limits(model: Model) -> Iterator[Problem]:
    """Servers wait for one another for longer than a collection of garbage, or a snapshot on its way, takes."""
    for server in model.servers:
        tick = whole(server.config.get("tickTime", 2000)) or 2000
        for name, (least, wrong) in LIMITS.items():
            ticks = whole(server.config.get(name))
            if ticks is not None and tick >= LEAST_TICK and 0 < ticks * tick < least:
                advice = f"leave it out, or use {-(-least // tick)} at least"
                place, wrong = f"{CONFIG}[{name}]", f"{ticks * tick} ms: {wrong}"
                yield server.problem(place, "ZOOKEEPER_LIMIT", ticks, wrong, advice, warning=True)
        told = [(f"{CONFIG}[{name}]", name, whole(server.config.get(name))) for name in COUNTS]
        parts = [option.partition("=") for option in options(server).get("zookeeper_java_options", ())]
        told += [
            ("zookeeper_java_options", name.removeprefix("-Dzookeeper."), whole(value)) for name, _, value in parts
        ]
        for place, name, number in told:
            least, usual, wrong = COUNTS.get(name, (0, 0, ""))
            if number is not None and 0 < number < least:
                advice = f"leave it out: {usual}"
                yield server.problem(place, "ZOOKEEPER_LIMIT", f"{name}={number}", wrong, advice, warning=True)


def buffers(model: Model) -> Iterator[Problem]:
    """What one server writes, the others and the brokers take: ZooKeeper wants the limit alike in all of them."""
    told: dict[int, list[ZooKeeperServer]] = {}
    for server in model.servers:
        told.setdefault(_buffer(server, "zookeeper_java_options"), []).append(server)
    if len(told) > 1:
        number, few = min(told.items(), key=lambda item: len(item[1]))
        others = ", ".join(str(other) for other in sorted(told) if other != number)
        wrong = f"other servers have {others}, and one refuses what is larger than its own"
        place, advice = "zookeeper_java_options", "say it for all servers, and in kafka_java_options"
        yield Problem(names(few), place, "BUFFER_DIFFERS", f"-D{BUFFER}={number}", wrong, advice)
        return
    most = max(told, default=0)
    for broker in model.brokers:
        own = _buffer(broker, "kafka_java_options")
        if own < most:
            wrong = f"the servers' is {most} (zookeeper_java_options), and a broker drops an answer that is larger"
            advice = f"say -D{BUFFER}={most} here, too"
            place, shown = "kafka_java_options", f"-D{BUFFER}={own}"
            yield broker.problem(place, "BUFFER_DIFFERS", shown, wrong, advice, warning=True)


def _buffer(machine: Machine, variable: str) -> int:
    """Return the most bytes of a packet that a process takes from its peer; ZooKeeper's own where it says none."""
    told = [option.partition("=") for option in options(machine).get(variable, ())]
    return next((whole(value) or USUAL for name, _, value in reversed(told) if name == f"-D{BUFFER}"), USUAL)


def words(model: Model) -> Iterator[Problem]:
    """A leader says how many followers are in sync, which every restart waits for; srvr ZooKeeper answers always."""
    for server in model.servers:
        declared = server.inputs.mapping("zookeeper_config").get(WHITELIST)
        told = {word.strip() for word in str(declared).split(",")} if isinstance(declared, str) else set(declared or ())
        if declared is not None and not told & {ASKED, "*"}:
            wrong = f"without {ASKED}, by which a restart is waited for: it would never end"
            advice = f"add {ASKED}, or leave it out for srvr, {ASKED} and ruok"
            yield server.problem(f"zookeeper_config[{WHITELIST}]", "WORDS_UNANSWERED", declared, wrong, advice)
        for word in sorted(map(str, told - {*WORDS, ""})) if told & {ASKED, "*"} else ():
            near = nearest(word, WORDS)
            advice = f"did you mean {near}?" if near else f"there are {', '.join(WORDS[:-1])}"
            wrong = "no word that ZooKeeper has, and nobody is answered"
            yield server.problem(f"zookeeper_config[{WHITELIST}]", "WORDS_UNANSWERED", word, wrong, advice)


def servers(model: Model) -> Iterator[Problem]:
    """All servers are told the same ensemble, and it is the declared one."""
    told: dict[str, list[str]] = {}
    for server in model.servers:
        told.setdefault(repr([_plain(server.inputs.get(name)) for name in TOLD]), []).append(server.name)
    if len(told) > 1:
        few = min(told.values(), key=len)
        wrong = "told another ensemble than the other servers are"
        advice = f"set {', '.join(TOLD[:-1])} and {TOLD[-1]} for the group, not for a host"
        yield Problem(tuple(few), TOLD[0], "ZOOKEEPER_SERVERS_DIFFER", None, wrong, advice)
    numbers = {server.number: server for server in model.servers if server.number is not None}
    ensemble = model.servers[0].servers if model.servers else {}
    if not ensemble or len(numbers) < len(model.servers):
        return
    for number, server in numbers.items():
        if number not in ensemble:
            wrong = "the ensemble does not know this server"
            yield server.problem(TOLD[0], "ZOOKEEPER_SERVER_MISSING", number, wrong, "add its id and address")
    for told_number, addresses in ensemble.items():
        if told_number not in numbers:
            wrong = "no host of the group zookeeper has this id, and it would count as a vote that is never given"
            advice = "take it out, or declare the host"
            yield Problem(names(model.servers), TOLD[0], "ZOOKEEPER_SERVER_UNKNOWN", told_number, wrong, advice)
            continue
        server = numbers[told_number]
        for address in addresses:
            ported = re.fullmatch(r"[^:]+(:\d+)+", str(address))
            if str(address) not in map(str, server.addresses) and (is_address(address) or ported):
                variable, advice = f"zookeeper_servers[{told_number}]", "use its declared addresses"
                wrong = "with ports, which the role writes itself" if ported else "not an address of this host"
                yield server.problem(variable, "ZOOKEEPER_SERVER_ADDRESS", address, wrong, advice)


def session(model: Model) -> Iterator[Problem]:
    """Brokers ask for a session that the ensemble grants, and that outlives a move to the other network."""
    if not model.servers:
        return
    config = model.servers[0].config
    tick = whole(config.get("tickTime", 2000)) or 2000
    low = whole(config.get("minSessionTimeout", 2 * tick)) or 2 * tick
    high = whole(config.get("maxSessionTimeout", 20 * tick)) or 20 * tick
    if low > high:
        wrong = f"minSessionTimeout {low} is longer than maxSessionTimeout {high}"
        where = names(model.servers)
        yield Problem(where, "zookeeper_config", "ZOOKEEPER_SESSION_RANGE", None, wrong, "correct one of them")
        return
    if tick < LEAST_TICK:
        wrong = f"milliseconds: sessions would end after {high} ms at most, and servers leave one another as fast"
        yield Problem(names(model.servers), f"{CONFIG}[tickTime]", "SESSION_TIMEOUT", tick, wrong, "leave it out: 2000")
        return
    watched = "kafka_unregistered_timeout"
    for broker in model.brokers:
        wanted = whole(broker.config.get(SESSION, USUAL_SESSION))
        seconds = broker.inputs.whole(watched) or 0
        if wanted is not None and 0 < seconds * 1000 <= wanted <= high:
            wrong = (
                f"not more than its session ({SESSION}, {wanted} ms), in which a broker that was away comes back alone"
            )
            advice = f"say {2 * wanted // 1000} at least, twice the session"
            yield broker.problem(watched, "UNREGISTERED_EARLY", seconds, wrong, advice)
        if wanted is not None and not low <= wanted <= high and SESSION in broker.config:
            wrong = (
                f"the ensemble grants {low} to {high} ms (2 to 20 ticks of {tick} ms), and "
                "would give another in silence"
            )
            advice = "choose one in that range, or another tickTime"
            yield broker.problem(f"kafka_config[{SESSION}]", "SESSION_TIMEOUT", wanted, wrong, advice)
    if any(SESSION not in broker.config for broker in model.brokers) and not low <= USUAL_SESSION <= high:
        yield _bounded(model, config, low, high)


def _bounded(model: Model, config: Mapping[Any, Any], low: int, high: int) -> Problem:
    """Return what the servers say against the session that brokers ask for where nobody says another."""
    long = high < USUAL_SESSION
    name = f"{'max' if long else 'min'}SessionTimeout"
    advice = f"{'raise' if long else 'lower'} it to {USUAL_SESSION}, or leave it out"
    if name not in config:
        name, advice = "tickTime", "leave it out: 2000"
    wrong = f"brokers ask for sessions of {USUAL_SESSION} ms ({SESSION}), and the ensemble would grant {low} to {high}"
    place = f"{CONFIG}[{name}]"
    return Problem(names(model.servers), place, "SESSION_TIMEOUT", config.get(name), wrong, advice)


def _plain(value: Any) -> Any:
    """Return dicts and lists without regard to how Ansible wraps them."""
    if isinstance(value, Mapping):
        return sorted((str(key), _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
