"""The properties that ZooKeeper reads: no table of its own names them, so what javap lists of its classes is searched.

Of a method, each line of a listing that concerns names and values becomes a step: `text <string>`, `number <constant>`,
`arithmetic <which>`, `get <field>`, `put <field>` or `call <class>.<method>`. Branches are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tarballs import BuildError

Spec = dict[str, Any]
Specs = dict[str, Spec]

PARSE = "org.apache.zookeeper.server.quorum.QuorumPeerConfig.parseProperties"
X509 = "org.apache.zookeeper.common"
# Classes without one of these read no property.
MARK = re.compile(rb"zookeeper\.|getInteger|getLong|getBoolean")
PORT: Spec = {"min": 0, "max": 65535}
# Ranges that no constant says: refused, or replaced with a warning, by QuorumPeerConfig and java.net.InetSocketAddress.
RANGES: Specs = {
    "tickTime": {"min": 1},
    "initLimit": {"min": 1},
    "syncLimit": {"min": 1},
    "electionAlg": {"type": "string", "choices": ["3"]},
    "autopurge.snapRetainCount": {"min": 3},
    **dict.fromkeys(("clientPort", "secureClientPort", "observerMasterPort", "admin.serverPort"), PORT),
}
# Methods that read a property or a text, and the type that they make of it.
READS = {"getProperty": "string", "getPropertyBackwardCompatibleWay": "string", "getInteger": "int", "getInt": "int"}
READS |= {"getLong": "long", "getBoolean": "boolean", "isSystemPropertyTrue": "boolean", "getDoubleProp": "double"}
PARSES = {"parseInt": "int", "parseLong": "long", "parseDouble": "double", "parseFloat": "double"}
PARSES |= {"parseBoolean": "boolean"}
PARSE_CALL = rf"call (?:\S+\.)?({'|'.join(PARSES)})\n"
# Texts after which a property is a secret.
SECRET = re.compile(r"(?i)(password|superDigest)$")
# Properties that only a JVM option sets: of no prefix, not Java's own, and read by java.lang itself at once.
COMPUTED = r"call (?!java/util/concurrent/TimeUnit)"
JVM_ONLY = r"(?!zookeeper\.|java|sun\.|os\.|user\.|line\.|jdk\.|log4j)[a-z]\w*(?:\.[\w-]+)+"

LISTED = re.compile(
    r"""^(?:
    (?:[a-z]+\ )*(?:class|interface)\ (?P<class>[\w.$]+).*
    | \ \ (?P<method>\S.*?)(?:\(.*|;)
    | \ +\d+:\ (?:
        ldc.*//\ String\ ?(?P<text>.*)
        | (?:ldc.*//\ (?:int|long|float|double)\ |[bs]ipush\ +|[il]const_)(?P<number>[m\d.E-]+)[lfd]?
        | [ilfd](?P<arithmetic>add|sub|mul|div|rem|neg|u?sh[lr]|and|x?or)\b.*
        | get.*//\ Field\ (?:.*\.)?(?P<get>.*?):.*
        | put.*//\ Field\ (?:.*\.)?(?P<put>.*?):.*
        | invoke.*//\ \w*Method\ (?P<call>.*?):.*
    ))$""",
    re.MULTILINE | re.VERBOSE,
)


class Steps(dict[str, str]):
    """The steps of each `<class>.<method>`, a line for each; overloads are joined, constructors named as classes."""

    def __missing__(self, name: str) -> str:
        """Raise BuildError for a method that there was, and that this version lacks."""
        raise BuildError(f"ZooKeeper has no {name} any more: find out what this version has in its place")


def methods(listing: str) -> Steps:
    """Return the steps of all methods in what javap -p -c prints."""
    found = Steps()
    owner = name = ""
    for line in LISTED.finditer(listing):
        kind = line.lastgroup or ""
        if kind == "class":
            owner = line[kind]
        elif kind == "method":
            name = f"{owner}.{line[kind].split()[-1].rpartition('.')[2]}"
        else:
            found[name] = found.get(name, "") + f"{kind} {line[kind]}\n"
    return found


def constant(steps: str) -> int | float | str | None:
    """Return the constant that is the only step, None where there are others."""
    found = re.fullmatch(r"(text|number) (.*)\n", steps)
    if not found or found[1] == "text":
        return found and found[2]
    number = found[2].replace("m", "-")  # iconst_m1
    return float(number) if "." in number else int(number)


def config_keys(steps: str) -> Specs:
    """Return the keys that parseProperties compares with, each with the type that its branch parses."""
    found: Specs = {}
    key = ""
    compared = rf"(call \S+toLowerCase\n)?text (.*)\ncall \S+\.(equals|startsWith)\n|{PARSE_CALL}"
    # The last branch: any other key becomes the system property zookeeper.<key>.
    branches, last, _ = steps.partition("call java/lang/System.setProperty\n")
    if not last:
        raise BuildError(f"{PARSE} sets no system property any more: see what it does with unknown keys")
    for lower, text, test, parse in re.findall(compared, branches):
        if parse:
            found[key]["type"] = PARSES[parse]
        elif lower:
            found[key] |= {"choices": sorted([*found[key].get("choices", []), text]), "ignorecase": True}
        else:
            key = text if test == "equals" else text.rstrip(".") + "."
            found[key] = {"type": "string"}
    return found


def composed(steps: Steps) -> dict[str, list[str]]:
    """Return the properties that X509Util makes of a prefix and a suffix, by the fields and getters that hold them."""
    holders: dict[str, list[str]] = {}
    users_of_it = ("ClientX509Util", "QuorumX509Util")
    prefixes = {kind: steps[f"{X509}.{kind}.getConfigPrefix"].split()[1] for kind in users_of_it}
    for kind in ("X509Util", *prefixes):
        users = [prefixes[kind]] if kind in prefixes else list(prefixes.values())
        made = re.findall(r"text (.*)\n(?:(?!text |put ).*\n)*put (.*)\n", steps[f"{X509}.{kind}.{kind}"])
        holders |= {field: [prefix + suffix for prefix in users] for suffix, field in made}
        for name, does in steps.items():
            field = does.removeprefix("get ").rstrip("\n")
            if name.startswith(f"{X509}.{kind}.") and field in holders:
                holders[name.rpartition(".")[2]] = holders[field]
    return holders


def reading(holders: Mapping[str, list[str]]) -> re.Pattern[str]:
    """Return what finds a name in the steps of a method, and the call that reads it or compares names with it."""
    held = rf"(?:get |call (?:.*\.)?)(?P<held>{'|'.join(holders)})\n"
    read = rf"call (?!java/util/Properties)(?P<owner>(?:\S+\.)?)(?P<read>{'|'.join(READS)})\n"
    # What stands between them: a default, or what computes one, but nothing that another name is read or compared by.
    other = re.sub(r"\?P<\w+>", "?:", rf"{held}|{read}|text zookeeper\.|call .*\.equals(?:IgnoreCase)?\n")
    name = rf"(?:text zookeeper\.(?P<name>[\w.-]+)\n|text (?P<jvm>{JVM_ONLY})\n|{held})"
    use = rf"(?P<between>(?:(?!{other}).*\n){{0,5}}){read}(?=(?P<after>(?:.*\n){{0,5}}))"
    starts = r"(?P<starts>call java/lang/String\.startsWith)\n"
    return re.compile(rf"(?P<compared>text (?:true|false)\n)?{name}(?:{use}|{starts})")


def spec_of(found: re.Match[str]) -> Spec:
    """Return the spec of a property that is read; a text that is compared with constants or parsed has another type."""
    spec: Spec = {"type": READS[found["read"]]}
    default = constant(found["between"])
    if default is not None:
        spec["default"] = default
    if spec["type"] != "string":
        return spec
    if default in ("yes", "no"):
        return {**spec, "choices": ["no", "yes"]}
    parse = re.search(PARSE_CALL, found["after"])
    if found["compared"] or default in ("true", "false"):
        spec["type"] = "boolean"
    elif parse:
        spec["type"] = PARSES[parse[1]]
    if isinstance(default, str) and spec["type"] != "string":
        numeric = float if spec["type"] == "double" else int
        spec["default"] = default == "true" if spec["type"] == "boolean" else numeric(default)
    return spec


def system_properties(steps: Mapping[str, str], holders: Mapping[str, list[str]]) -> Iterator[tuple[str, Spec]]:
    """Yield the keys of zoo.cfg, which are system properties without their prefix, and what only a JVM option sets."""
    yield from ((name.removeprefix("zookeeper."), {"type": "string"}) for names in holders.values() for name in names)
    search = reading(holders).finditer
    for found in (found for does in steps.values() for found in search(does)):
        if found["starts"] and found["name"]:  # the names below it, and it itself unless it ends with the dot
            yield from ((name, {"type": "string"}) for name in {found["name"], found["name"].rstrip(".") + "."})
        elif found["name"]:
            yield found["name"], spec_of(found)
        elif found["held"] and found["read"]:
            yield from ((name.removeprefix("zookeeper."), spec_of(found)) for name in holders[found["held"]])
        elif re.match("java/lang/", found["owner"] or "") and not re.search(COMPUTED, found["between"]):
            yield found["jvm"], {**spec_of(found), "jvm": True}


def properties(listing: str) -> Specs:
    """Return the properties that the listed classes read, each with its type and, where it is known, default and range.

    Raises BuildError where a class does not do what this module knows of it.
    """
    steps = methods(listing)
    found: Specs = {}
    for name, spec in system_properties(steps, composed(steps)):
        if name not in found or found[name].get("jvm") or not (spec.get("jvm") or spec["type"] == "string"):
            found[name] = spec
    for name, spec in config_keys(steps[PARSE]).items():
        default = {"default": found[name]["default"]} if "default" in found.get(name, {}) else {}
        found[name] = spec | default
    for name, spec in RANGES.items():
        if name not in found:
            raise BuildError(f"ZooKeeper has no {name} any more: mend RANGES")
        found[name] |= spec
    for name, spec in found.items():
        if SECRET.search(name):
            spec["type"] = "password"
        if spec["type"] == "boolean" and "default" in spec:
            spec["default"] = bool(spec["default"])
    return found
