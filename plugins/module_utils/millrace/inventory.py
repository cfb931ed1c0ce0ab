"""Read the model out of an Ansible inventory: site words and role inputs per host, with the role's own argument spec applied."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ansible._internal._datatag._tags import Origin, VaultedValue
from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from jinja2 import Environment, TemplateSyntaxError, nodes

from .model import Model, model_of
from .pki import Pki
from .problems import Problem
from .rotation import Before
from .secret import is_secret, texts
from .specs import argument_spec

PLUGINS = Path(__file__).resolve().parents[2]
# The roles that a function group gets, as playbooks/layers/*.yml apply them.
ROLES = {
    "zookeeper": ("base", "java", "pki", "zookeeper"),
    "kafka": ("base", "java", "pki", "kafka"),
    "spark": ("base", "java", "pki", "spark_job"),
}
# Identity has checks of its own in model/, with the other hosts in view.
IDENTITY = {"kafka_broker_id", "kafka_rack", "zookeeper_id"}
# Names in a template that make its value depend on more than the variables it names.
UNCACHED = {"lookup", "query", "q", "vars", "now", "varnames"}
# The roles' own variables that the playbooks hand over or register; no inventory sets them.
INTERNAL = re.compile(
    r"java_found|(kafka|zookeeper)_restart_|(kafka|zookeeper|spark_job)_pki$|pki_(made|state)$|(kafka|zookeeper)_state$"
    r"|preflight_(model|probe)$|archive_(list|installed)"
)


@cache
def site_words() -> dict[str, Any]:
    """Return the options of the site's own words (plugins/definitions/site.yml)."""
    with (PLUGINS / "definitions" / "site.yml").open(encoding="utf-8") as stream:
        words: dict[str, Any] = yaml_load(stream)
    return words


@cache
def undeclared(text: str) -> frozenset[str] | None:
    """Return the variables that a template names; None where its value may depend on more."""
    try:
        names = {node.name for node in Environment().parse(text).find_all(nodes.Name)}
    except TemplateSyntaxError:
        return None
    return None if names & UNCACHED else frozenset(names)


def templates(value: Any) -> Iterator[str]:
    """Yield every text inside a value that holds a template."""
    if isinstance(value, str):
        if "{{" in value or "{%" in value:
            yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from templates(key)
            yield from templates(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from templates(item)


def in_the_clear(text: str) -> bool:
    """Tell whether a text stands unencrypted in a file of the inventory, the file itself not being a vault either."""
    origin = Origin.get_tag(text)
    return origin is not None and origin.path is not None and not VaultedValue.is_tagged_on(text) and not is_vault(origin.path)


@cache
def is_vault(path: str) -> bool:
    """Tell whether a file is encrypted by ansible-vault."""
    try:
        with open(path, "rb") as stream:
            return stream.read(14) == b"$ANSIBLE_VAULT"
    except OSError:
        return False


class _Variables:
    """Stands in for Ansible's variable manager: reads each host's variables once, and lets them see the other hosts'."""

    def __init__(self, hostvars: Any, groups: Mapping[str, Sequence[str]]) -> None:
        self._source, self._groups = hostvars, groups
        self._known: dict[str, dict[str, Any]] = {}
        self._hostvars: Any = None

    def made_by_the_run(self, host: str) -> set[str]:
        """Return what earlier tasks of this run registered or set; Ansible has no public name for it."""
        manager = self._source._variable_manager
        caches = (getattr(manager, name, {}) for name in ("_nonpersistent_fact_cache", "_vars_cache"))
        return {name for cache in caches for name in cache.get(host, ())}

    def get_vars(self, host: Any, include_hostvars: bool = False) -> dict[str, Any]:
        if host.name not in self._known:
            self._known[host.name] = {**self._source.raw_get(host.name), "hostvars": self._hostvars, "groups": self._groups}
        return self._known[host.name]


class Reader:
    """Reads host variables; remembers what is missing, so that one missing word is one problem and not twenty."""

    def __init__(self, hostvars: Any, groups: Mapping[str, Sequence[str]], loader: Any) -> None:
        """`hostvars`, `groups` and `loader` are Ansible's own."""
        self._loader = loader
        self.all_groups = {**{name: [] for name in ROLES}, **{name: list(members) for name, members in groups.items()}}
        self._variables = _Variables(hostvars, self.all_groups)
        self._hostvars = HostVars(hostvars._inventory, self._variables, loader)
        self._computed: dict[Hashable, Any] = {}
        self._judged: dict[Hashable, list[str]] = {}
        self._failed: list[tuple[str, str, str]] = []
        self.problems: list[Problem] = []

    def read(self) -> Model:
        """Return the whole model; what is wrong with single variables is in `problems`."""
        hosts: dict[str, dict[str, Any]] = {}
        words: dict[str, dict[str, Any]] = {}
        names = {}
        groups = {function: list(self.all_groups.get(function, [])) for function in ROLES}
        for host in self.all_groups["all"]:
            raw = self.raw(host)
            names[host] = frozenset(name for name in raw if not INTERNAL.match(name)) - self._variables.made_by_the_run(host)
            words[host] = self._values(host, raw, site_words())
            hosts[host] = dict(words[host])
            self._validate(host, "site", hosts[host])
        for group, members in groups.items():
            for host in members:
                for role in ROLES[group]:
                    found = self._values(host, {**self.raw(host), **words[host]}, argument_spec(role))
                    self._validate(host, role, found)
                    hosts[host] |= found
        self._secrets(hosts)
        self._explain(hosts)
        roles = {role for applied in ROLES.values() for role in applied}
        options = {**site_words(), **{name: option for role in roles for name, option in argument_spec(role).items()}}
        return model_of(hosts, groups, self.all_groups, names, options, frozenset({*roles, "archive", "preflight"}))

    def raw(self, host: str) -> dict[str, Any]:
        """Return a host's variables as written."""
        variables: dict[str, Any] = self._hostvars.raw_get(host)
        return variables

    def _values(self, host: str, raw: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the variables that are set and can be computed."""
        templar, found = None, {}
        for name in names:
            if name not in raw:
                continue
            value = raw[name]
            if not any(templates(value)):
                found[name] = value
                continue
            key = self._key(value, raw, ())
            if key is not None and key in self._computed:
                found[name] = self._computed[key]
                continue
            templar = templar or Templar(loader=self._loader, variables=raw)
            try:
                found[name] = templar.template(value)
            except AnsibleError as error:
                self._failed.append((host, name, str(error)))
                continue
            if key is not None:
                self._computed[key] = found[name]
        return found

    def _key(self, value: Any, raw: Mapping[str, Any], above: tuple[str, ...]) -> Hashable:
        """Return what a value stands on, so that the same on the next host is computed once; None where that cannot be known."""
        parts: list[Hashable] = [repr(value)]
        for text in templates(value):
            names = undeclared(str(text))
            if names is None:
                return None
            for name in sorted(names - {"hostvars", "groups"}):
                if name in above or name not in raw:
                    parts.append(name)
                    continue
                part = self._key(raw[name], raw, (*above, name))
                if part is None:
                    return None
                parts.append((name, part))
        return tuple(parts)

    def _validate(self, host: str, role: str, values: Mapping[str, Any]) -> None:
        """Apply one argument spec to one host, option by option: unknown keys, types, choices, missing inputs."""
        options = site_words() if role == "site" else argument_spec(role)
        uncomputed = {name for failed_host, name, _ in self._failed if failed_host == host}
        advice = f"{'inventories/README.md' if role == 'site' else f'roles/{role}/README.md'} lists the valid names and types"
        for name, option in options.items():
            if name in uncomputed or name in IDENTITY:
                continue
            given = {name: values[name]} if name in values else {}
            key = (role, name, repr(given))
            if key not in self._judged:
                self._judged[key] = [text.rstrip(".") for text in ArgumentSpecValidator({name: option}).validate(given).error_messages]
            self.problems += [Problem((host,), name, "INPUT_REFUSED", None, message, advice) for message in self._judged[key]]
            # Ansible would take a text for a list of one, but the roles get the variable as it stands: a list of letters.
            if option.get("type") == "list" and isinstance(given.get(name), str):
                self.problems.append(Problem((host,), name, "INPUT_NOT_A_LIST", given[name], "a text, not a list", advice))

    def _secrets(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Report secrets that stand in the inventory as they are; a template is judged where it ends."""
        for host, values in hosts.items():
            raw = self.raw(host)
            for name in values:
                for path, text in texts(name, raw[name]):
                    if is_secret(path, text) and text and not any(templates(text)) and in_the_clear(text):
                        production = values.get("site_environment") == "production"
                        wrong, advice = "a secret in the clear", "encrypt it (ansible-vault encrypt_string), or name one of a vaulted file"
                        self.problems.append(Problem((host,), path, "SECRET_CLEAR", None, wrong, advice, warning=not production))

    def _explain(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Report variables that cannot be computed, unless a missing address, rack or id, reported as such, is why."""
        reported_elsewhere = [name for name in ("client_address", "replication_address") if any(name not in values for values in hosts.values())]
        reported_elsewhere += ["rack", "zookeeper_id", "kafka_broker_id", "datacenter"]
        needed = [host for host, _, error in self._failed if re.search(r"'vault' is undefined", error)]
        if needed:
            wrong = "not set, and passwords and certificates stand on it"
            advice = "make it with ansible-vault (inventories/README.md), and give --ask-vault-pass"
            self.problems.append(Problem(tuple(dict.fromkeys(needed)), "vault", "VAULT_MISSING", None, wrong, advice))
            reported_elsewhere.append("vault")
        for host, name, error in dict.fromkeys(self._failed):
            if not any(re.search(rf"['\"]{word}['\"]", error) for word in reported_elsewhere):
                self.problems.append(
                    Problem((host,), name, "NOT_COMPUTED", None, f"cannot be computed: {error.splitlines()[0]}", "set what it stands on")
                )

    def said_right(self, host: str, names: Iterable[str]) -> bool:
        """Tell whether these variables of a host could be computed and are what the argument spec wants."""
        wrong = {name for failed_host, name, _ in self._failed if failed_host == host}
        wrong |= {p.variable for p in self.problems if host in p.hosts and p.code.startswith("INPUT_")}
        return wrong.isdisjoint(names)

    def said_of(self, found: Iterable[Problem]) -> list[Problem]:
        """Return what is wrong with single variables, and those problems of the model that do not merely follow from it."""
        said = {(host, p.variable) for p in self.problems if p.code == "NOT_COMPUTED" for host in p.hosts}
        return [*self.problems, *(p for p in found if not any((host, p.variable) in said for host in p.hosts))]


@cache
def _plugins() -> None:
    """Let templates find plugins by their full names, as the command line does for a run."""
    init_plugin_loader()


def load(directory: Path, extra: Mapping[str, Any] | None = None) -> Reader:
    """Return a reader of an inventory directory, outside of any playbook run; `extra` are variables that go before all others."""
    _plugins()
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(directory)])
    variables = VariableManager(loader=loader, inventory=inventory)
    variables._extra_vars = {**variables._extra_vars, **(extra or {})}
    return Reader(HostVars(inventory, variables, loader), inventory.get_groups_dict(), loader)


def certificate_problems(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what is wrong with the certificates on the control node, which is all that is read; nothing is made.

    That an outside CA has not signed a request yet is a warning here: the run that writes the request has to be possible.
    """
    options, before = argument_spec("pki"), None
    for host in model.function_hosts:
        if not reader.said_right(host, options):
            continue
        given = {name: model.hosts[host][name] for name in options if name in model.hosts[host]}
        plain = json.loads(json.dumps(given, default=str))  # without what Ansible notes on every text: the validator copies it all
        settings = ArgumentSpecValidator(options).validate(plain).validated_parameters
        before = before or Before(Path(settings["pki_directory"]))
        pki = Pki(host, {name.removeprefix("pki_"): value for name, value in settings.items()}, check_mode=True, before=before)
        try:
            pki.converge()
        except OSError as error:
            wrong = f"cannot be read: {error.strerror}"
            yield Problem((host,), "pki_directory", "CERTIFICATE_FOLDER", settings["pki_directory"], wrong, "correct the path, or its permissions")
        yield from (replace(problem, warning=True) if problem.code == "CERTIFICATE_UNSIGNED" else problem for problem in pki.problems)


@cache
def judged(wheel: str, written: int, asked: str) -> tuple[list[list[str]], str]:
    """Return what a wheel, `written` then (ns), says of [[job, configuration], ...] as JSON; and why it cannot judge, "" where it can."""
    done = subprocess.run(
        [sys.executable, "-c", "import json, sys; from millrace.config import problems; "
         "print(json.dumps([problems(job, config) for job, config in json.load(sys.stdin)]))"],
        input=asked, capture_output=True, text=True, env={"PYTHONPATH": wheel, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    try:
        if done.returncode == 0:
            return json.loads(done.stdout), ""
    except ValueError:
        return [], f"it printed {done.stdout[:80]!r}"
    return [], (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]


def job_problems(model: Model) -> Iterator[Problem]:
    """Yield what is wrong with the jobs' configurations, as the very wheel that would be installed judges them."""
    for host in model.groups["spark"]:
        wheel = model.hosts[host].get("spark_job_wheel")
        # A job without a configuration is reported with the role's inputs.
        jobs = [job for job in model.hosts[host].get("spark_job_jobs") or [] if isinstance(job, Mapping) and isinstance(job.get("config"), Mapping)]
        if not wheel or not jobs:
            continue
        if not Path(wheel).is_file():
            yield Problem(
                (host,), "spark_job_wheel", "WHEEL_ABSENT", wheel, "no such file on the control node", "run `make archives`, or name another"
            )
            continue
        asked = json.dumps([[job.get("job", job.get("name")), job.get("config")] for job in jobs], default=str)
        answers, error = judged(str(wheel), Path(wheel).stat().st_mtime_ns, asked)
        if error:
            wrong = f"cannot judge job configurations: {error}"
            yield Problem((host,), "spark_job_wheel", "WHEEL_UNFIT", wheel, wrong, "build it anew: `make archives`")
            continue
        for job, found in zip(jobs, answers, strict=True):
            for text in found:
                wrong, _, advice = text.rpartition("; ")
                variable = f"spark_job_jobs[{job.get('name')}].config"
                yield Problem((host,), variable, "JOB_CONFIG", None, wrong or text, advice if wrong else "see spark_jobs/README.md")
