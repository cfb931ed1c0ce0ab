"""Rules on directories and files: absolute paths in one notation, on disks that keep their content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import checksum_source, is_url
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.exposure import DIGITS, EMPTIED, refused_checksum
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import (
    HOMES,
    UNSEEN,
    hidden,
    services_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Options of a JVM that name the files that it writes.
OUTPUT = re.compile(r"-XX:(?:HeapDumpPath|ErrorFile|LogFile)=(/.*)|-Xlog:.*?file=(?P<log>/[^:]*)")
EXAMPLE = "/opt/plugins/*"
DATA = ("zookeeper_data_dir", "zookeeper_data_log_dir")
# Not for data: folders of the system, and homes, which units do not see (sandbox_paths.py).
SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/sbin", "/sys", "/usr", "/home", "/root")


PATH_ROOT = ProblemKind(
    "PATH_ROOT",
    "the root of the whole file system, which the service would own",
    "set the mount point of a disk, for example /data/zookeeper",
)
PATH_RELATIVE = ProblemKind(
    "PATH_RELATIVE",
    "not an absolute path, but the service runs in another folder",
    "write an absolute path, which starts with /",
)
PATH_SIGNS = ProblemKind(
    "PATH_SIGNS",
    "contains a character that has a special meaning in systemd units or in lists of directories",
    "use only letters, digits and - _ . + @ =, and one entry for each directory",
)
PATH_SIGNS_ASCII = PATH_SIGNS.variant(
    message="contains {letters}: a JVM of a host whose locale is not UTF-8 does not find such a path",
    advice="use only the letters a to z and A to Z, digits and - _ . + @ =",
)
PATH_SIGNS_STAR = PATH_SIGNS.variant(
    message="Java expands * to all jars of a folder only if * is the whole last part of the path",
    advice="write {folder}/* for all jars of this folder, or name each jar",
)
PATH_SIGNS_STAR_ROOT = PATH_SIGNS_STAR.variant(
    advice="put the jars into a folder of their own, and write {example}, or name each jar"
)
PATH_SIGNS_ROOT = PATH_SIGNS_STAR_ROOT.variant(message="all jars in the root of the file system")
PATH_FORM = ProblemKind(
    "PATH_FORM",
    "not the shortest form of the path: preflight compares paths as texts, and would not notice the same directory",
    "write {plain}",
)
PATH_FORM_PARENT = PATH_FORM.variant(advice="write the path without ..")
PATH_FORM_FILE = PATH_FORM.variant(message="ends with /, as a folder, but this is the path of a file")
# Inputs in `paths` of functions/*.yml that are files, and files in class paths.
FILE = re.compile(r"\w+_(keystore|truststore|python)")


def written(model: Model) -> Iterator[Problem]:
    """Yield a problem for each path in the inventory that is not absolute, or has double or trailing slashes.

    Paths are compared as texts, so /data//a/ and /data/a would count as two directories.
    """
    for machine in model.functional:
        for name in model.input_names(machine, "paths"):
            path = machine.inputs.get(name)
            if isinstance(path, str) and path:
                yield from _written(machine, name, path)
        for path, name in model.executables(machine).items():
            yield from _written(machine, name, path, is_file=True)
        for path, name in class_paths(model, machine):
            is_jar = path.rstrip("/").endswith((".jar", ".JAR"))
            yield from _pattern(machine, name, path) or _written(machine, name, path.removesuffix("/*"), is_jar)
        for function in model.functions_of(machine):
            name = f"{function.prefix}_gc_log_dir"
            path = machine.inputs.text(name) or ""
            if path.startswith("/") and path.strip("/"):  # others are reported as GC_LOG_DIR
                yield from _written(machine, name, path)
        for path, name in _listener_stores(machine):
            yield from _written(machine, name, path, is_file=True)
    for broker in model.brokers:
        for path in broker.log_dirs:
            if path.startswith("/") and path.strip("/"):  # others are reported as LOG_DIRS_PATH
                yield from _written(broker, "kafka_log_dirs", path)


def _written(machine: Machine, name: str, path: str, is_file: bool = False) -> Iterator[Problem]:
    plain, is_file = plain_path(path), is_file or bool(FILE.fullmatch(name))
    if name in DATA and not path.strip("/"):
        yield machine.report(PATH_ROOT, name, path)
    elif not path.startswith("/"):
        yield machine.report(PATH_RELATIVE, name, path)
    elif letters := re.findall(r"[^\0-\x7f]", path):
        yield machine.report(PATH_SIGNS_ASCII, name, path, letters=list(dict.fromkeys(letters)))
    elif re.search(r"[^\w/.+@=-]", path):
        yield machine.report(PATH_SIGNS, name, path)
    elif path.rstrip("/") != plain or {".", ".."} & {*path.split("/")}:
        yield machine.report(PATH_FORM_PARENT if ".." in path.split("/") else PATH_FORM, name, path, plain=plain)
    elif is_file and path.endswith("/"):
        yield machine.report(PATH_FORM_FILE, name, path, plain=plain)


def _pattern(machine: Machine, name: str, path: str) -> list[Problem]:
    """Return [problem] if a path in a class path contains a star that the JVM would not expand, else []."""
    folder, star, rest = path.partition("*")
    if not path.startswith("/") or not star or ":" in path:
        return []
    parent = re.sub("/+", "/", folder).rpartition("/")[0]
    if not rest and folder.endswith("/"):
        return [] if parent else [machine.report(PATH_SIGNS_ROOT, name, path, example=EXAMPLE)]
    kind = PATH_SIGNS_STAR if parent else PATH_SIGNS_STAR_ROOT
    return [machine.report(kind, name, path, folder=parent, example=EXAMPLE)]


def class_paths(model: Model, machine: Machine) -> list[tuple[str, str]]:
    """Return [(path, role input that names the path)] of the additional class paths of a host's functions."""
    inputs = [f"{function.prefix}_class_path" for function in model.functions_of(machine)]
    return [(str(path), name) for name in inputs for path in machine.inputs.sequence(name)]


PATH_RELATIVE_HERE = PATH_RELATIVE.variant(
    message="not an absolute path: programs that run in another folder would not find it, and not all replace a ~",
    advice="write it from / on, such as {{{{ inventory_dir }}}}/{plain}",
)
PATH_RELATIVE_HOME = PATH_RELATIVE_HERE.variant(
    advice="write {{{{ lookup('ansible.builtin.env', 'HOME') }}}}/{plain}, or a folder that all administrators share",
)
PATH_RELATIVE_FORM = PATH_RELATIVE_HERE.variant(advice="write the absolute path of the file or folder, from / on")
HERE = ("archives", "pki_directory", "pki_requests_directory", "pki_signed_directory", "failover_lock")
"""Inputs that are paths on the control node; their default depends on others."""
FOLDERS = tuple(name for name in HERE if name != "failover_lock")
CERTIFICATES = ("admin_tls", "zookeeper_root_acl")
"""Site variables with the files `certificate` and `ca` of the control node; their default is below pki_directory."""


def of_control_node(model: Model) -> Iterator[Problem]:
    """Yield a problem for each path of an archive or certificate on the control node that is not absolute, as ~/pki.

    Also yield a problem for each file there whose path ends with /. Some programs replace a ~, others read it as the
    name of a folder. A path below a reported folder is left out, and so is a path of kafka_admin_listeners that is
    reported of admin_tls.
    """
    for machine in model.functional:
        reported, admin_paths = list[str](), set[str]()
        for name, path in (*_here(machine), *_archives(model, machine)):
            of_admins = name.startswith("kafka_admin_listeners[") and path in admin_paths
            if path.startswith("/") and path.endswith("/") and name not in FOLDERS and not of_admins:
                admin_paths |= {path} if name.startswith("admin_tls[") else set()
                yield machine.report(PATH_FORM_FILE, name, path, plain=plain_path(path))
            if not path or of_admins or path.startswith(("/", *reported)):
                continue
            reported += [path] if name in HERE else []
            admin_paths |= {path} if name.startswith("admin_tls[") else set()
            plain = path.removeprefix("~/").removeprefix("./").strip("/")
            other = path.startswith(("~", "$")) or "://" in path
            kind = PATH_RELATIVE_HOME if path.startswith("~/") else PATH_RELATIVE_FORM if other else PATH_RELATIVE_HERE
            yield machine.report(kind, name, path, plain=plain)


def _archives(model: Model, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (variable, path) for each archive of a host, and for each file with the checksum of an archive."""
    for name in model.input_names(machine, "archives"):
        path = str(machine.inputs.values.get(name) or "")
        if not is_url(path):
            yield name, path
        source = checksum_source(str(machine.inputs.values.get(f"{name}_checksum") or "")) or ""
        is_beside = bool(path) and source.startswith(path)  # the default, which follows the archive
        if not is_beside and not is_url(source) and not DIGITS.fullmatch(source) and not refused_checksum(source):
            yield f"{name}_checksum", source


def _here(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (place, path) for the folder of the archives, and for each path of certificates on the control node."""
    yield from ((name, path) for name in HERE if not is_url(path := machine.inputs.text(name) or ""))
    for variable, keys in (("pki_authorities", ("certificate",)), ("pki_certificates", ("certificate", "key"))):
        for entry in machine.inputs.entries(variable):
            yield from ((f"{variable}[{entry.get('name')}].{key}", str(entry.get(key) or "")) for key in keys)
    for entry in machine.inputs.entries("pki_truststores"):
        more = entry.get("extra")
        for path in more if isinstance(more, (list, tuple)) else ():
            yield f"pki_truststores[{entry.get('path')}].extra", str(path)
    for variable in CERTIFICATES:
        for key in ("certificate", "ca"):
            yield f"{variable}[{key}]", str(machine.inputs.mapping(variable).get(key) or "")
    for name, settings in machine.inputs.mapping("kafka_admin_listeners").items():
        for key, value in settings.items() if isinstance(settings, Mapping) else ():
            if str(key).endswith(".location"):
                yield f"kafka_admin_listeners[{name}][{key}]", str(value or "")


LOCK_DIRECTORY = ProblemKind(
    "LOCK_DIRECTORY",
    "other hosts have {others}: a run on some hosts would not find the lock of a run on other hosts",
    "set it once, for all hosts",
)
LOCK_DIRECTORY_RELATIVE = LOCK_DIRECTORY.variant(
    message="not an absolute path: a run that starts in another folder would not find the lock",
    advice="write an absolute path, which starts with /",
)


def of_locks(model: Model) -> Iterator[Problem]:
    """Yield a problem if run_lock_directory, which holds the lock of runs, is relative or differs between hosts."""
    name, by_path = "run_lock_directory", dict[str, list[str]]()
    for machine in model.functional:
        by_path.setdefault(str(machine.inputs.get(name) or ""), []).append(machine.name)
    for path, hosts in by_path.items():
        if path and not path.startswith("/"):
            yield LOCK_DIRECTORY_RELATIVE.problem(hosts, name, path)
    if len(by_path) > 1:
        path, hosts = min(by_path.items(), key=lambda item: len(item[1]))
        others = sorted(other or "the default" for other in by_path if other != path)
        yield LOCK_DIRECTORY.problem(hosts, name, path or None, others=others)


PATH_SYSTEM = ProblemKind(
    "PATH_SYSTEM",
    "below {folder}, which belongs to the operating system",
    "set a directory on a disk, for example /data/1",
)
PATH_SYSTEM_HOME = PATH_SYSTEM.variant(message="below {folder}, which the unit does not see (ProtectHome)")
PATH_SYSTEM_EXECUTABLE = PATH_SYSTEM.variant(
    message="below {folder}, which the unit does not see (ProtectHome, PrivateTmp)",
    advice="install it for all users, for example in /usr/lib/jvm",
)
PATH_SYSTEM_STORE = PATH_SYSTEM_EXECUTABLE.variant(
    advice="move the file elsewhere, for example to /etc/kafka/tls, and set that path"
)


def kept(model: Model) -> Iterator[Problem]:
    """Yield a problem for each data directory in a folder that is emptied at a boot or belongs to the operating system.

    Also yield a problem for each directory of garbage collection logs in a folder that is emptied at a boot, and for
    each Java executable, class path and keystore in a folder that the systemd unit hides from the service.
    """
    for server in model.servers:
        for name in DATA:
            yield from _kept(server, name, str(server.inputs.get(name) or ""))
    for broker in model.brokers:
        for path in broker.log_dirs:
            yield from _kept(broker, "kafka_log_dirs", path)
    for name in model.groups.get("database", ()):
        database = model.machines[name]
        yield from _kept(database, "postgresql_data_dir", str(database.inputs.get("postgresql_data_dir") or ""))
    for machine in model.functional:
        for function in model.functions_of(machine):
            name = f"{function.prefix}_gc_log_dir"
            path = str(machine.inputs.get(name) or "")
            if folder := below(path, *EMPTIED):
                yield machine.report(PATH_EMPTIED_LOGS, name, path, folder=folder, function=function.name)
        for path, name in [*model.executables(machine).items(), *class_paths(model, machine)]:
            if (folder := below(path, *UNSEEN)) and hidden(path, _services(model, machine)):
                yield machine.report(PATH_SYSTEM_EXECUTABLE, name, path, folder=folder)
        for path, name in _stores(model, machine):
            if (folder := below(path, *UNSEEN)) and hidden(path, _services(model, machine)):
                yield machine.report(PATH_SYSTEM_STORE, name, path, folder=folder)


def _services(model: Model, machine: Machine) -> list[Mapping[Any, Any]]:
    """Return the [Service] sections that a site adds to the units of a host (variables *_unit_overrides)."""
    return services_of(machine, *(f"{function.prefix}_unit_overrides" for function in model.functions_of(machine)))


def _stores(model: Model, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (path, variable) for each keystore and truststore of a host's services."""
    for name in model.input_names(machine, "paths"):
        if name.endswith(("keystore", "truststore")) and (path := machine.inputs.text(name)):
            yield path, name
    yield from _listener_stores(machine)


def _listener_stores(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield (path, place) for each keystore and truststore that a listener of a broker has of its own."""
    for entry in machine.inputs.entries("kafka_listeners"):
        for key in ("keystore", "truststore"):
            if entry.get(key):
                yield str(entry[key]), f"kafka_listeners[{entry.get('name')}].{key}"


DUMP_AMONG_DATA = ProblemKind(
    "DUMP_AMONG_DATA",
    "this file would be on the disk of {folder}: a dump as large as the heap would fill the disk, "
    "and the service would fail",
    "name a folder on another disk that the unit may write (ReadWritePaths)",
)


def dumped(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java option that writes heap dumps or logs to a disk with data.

    A heap dump is as large as the heap, so it would fill the disk.
    """
    for machine in model.functional:
        data = [str(item) for _, item in model.items(machine, "mounts")]
        for variable, arguments in options(machine).items():
            for option in arguments:
                match = OUTPUT.match(option)
                folder = match and below(match[1] or match[2], *(path for path in data if path.startswith("/")))
                if folder:
                    yield machine.report(DUMP_AMONG_DATA, variable, option, folder=folder)


PATH_EMPTIED = ProblemKind(
    "PATH_EMPTIED",
    "below {folder}: files there are deleted at each boot, or at each start of the service (/tmp, /var/tmp)",
    "set a directory on a disk, for example /data/1",
)
PATH_EMPTIED_LOGS = PATH_EMPTIED.variant(advice="use a directory of its own, such as /var/log/{function}")


def _kept(machine: Machine, name: str, path: str) -> Iterator[Problem]:
    if not path.startswith("/"):
        return
    if folder := below(path, *EMPTIED):
        yield machine.report(PATH_EMPTIED, name, path, folder=folder)
    elif folder := below(path, *SYSTEM):
        yield machine.report(PATH_SYSTEM_HOME if folder in HOMES else PATH_SYSTEM, name, path, folder=folder)
